"""Suggestions for unknown commands: a similar command, or the equivalent of another tool's command."""

from __future__ import annotations

from sessiond.cli.table.index import GROUPS, SIMILAR_COMMANDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def did_you_mean(name: str, topics: Iterable[str] = (), before: str = "") -> str:
    """Return advice for an unknown command: a similar command or one of `topics`, or how to list the commands."""
    from difflib import get_close_matches

    if name in SIMILAR_COMMANDS and not before:
        close = [SIMILAR_COMMANDS[name]]
    else:
        known = [name for _, names in GROUPS.values() for name in names]
        close = get_close_matches(name, [*known, *topics], n=1)
    return f"Did you mean sessiond {before}{close[0]}?" if close else "sessiond --help lists them."
