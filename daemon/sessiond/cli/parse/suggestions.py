"""Suggestions for commands that do not exist: the nearest command, or what other tools call it here."""

from __future__ import annotations

from sessiond.cli.parse.verbs import FOREIGN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str], before: str = "") -> str:
    """What to do instead of a command that there is not: the one that was meant, as it is typed, or the list."""
    from difflib import get_close_matches

    close = [FOREIGN[name]] if name in FOREIGN and not before else get_close_matches(name, known, n=1)
    return f"Did you mean sessiond {before}{close[0]}?" if close else "sessiond --help lists them."
