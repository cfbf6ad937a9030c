"""The lines about messages that a command leaves out: those on other branches, and those that were not found."""

from __future__ import annotations

import sys

from sessiond.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def print_off_path(result: dict[str, Any]) -> None:
    """Print how many messages are not on the path of a result; nothing if all are."""
    if off_path := result.get("offPathCount"):
        are = "is on another branch" if off_path == 1 else "are on other branches"
        print(f"{off_path:,} of {result['messageCount']:,} messages {are}", file=sys.stderr)


def print_missing_history(session: dict[str, Any]) -> None:
    """Print which part of the history of a session was not found; nothing if it is whole."""
    if (lacks := (session.get("origin") or {}).get("missingHistory")) is not None:
        source = f"the first {lacks['lineCount']:,} lines of {one_line(lacks['sessionId'])}"
        print(f"the history before the fork is missing: {source}, whose file was not found", file=sys.stderr)
