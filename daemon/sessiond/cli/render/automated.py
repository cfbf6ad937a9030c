"""The sentence about sessions that a list hides because a program gave their prompts."""

from __future__ import annotations

import sys

from sessiond import human


def tell_of_hidden(count: int) -> None:
    """Print on standard error how many automated sessions a list hides, and how they are shown."""
    if count:
        verb, them = ("is", "it") if count == 1 else ("are", "them")
        sessions = human.count(count, "automated session")
        print(f"{sessions} {verb} hidden; --automated shows {them}.", file=sys.stderr)
