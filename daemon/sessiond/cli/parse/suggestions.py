"""Suggestions for unknown commands: a similar command, or the equivalent of another tool's command."""

from __future__ import annotations

from sessiond.cli.parse.verbs import FOREIGN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str], before: str = "") -> str:
    """Return advice for an unknown command: the command that was probably meant, or the list of commands."""
    from difflib import get_close_matches

    close = [FOREIGN[name]] if name in FOREIGN and not before else get_close_matches(name, known, n=1)
    return f"Did you mean sessiond {before}{close[0]}?" if close else "sessiond --help lists them."
