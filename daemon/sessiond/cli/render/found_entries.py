"""What search and recall have in common: the wait for the index, and what they print of an entry that they found."""

from __future__ import annotations

import os
import sys

from sessiond import human
from sessiond.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from sessiond.cli.render.style import Style
    from sessiond.client.blocking import BlockingDaemon

WAIT_MS: Final = 60_000
"""The maximum time that `--wait` waits for the index."""
_EMPTY_WAIT_MS: Final = 20_000
"""The maximum time that a request waits that would find nothing otherwise, for example just after an installation."""


def request_found(
    daemon: BlockingDaemon, method: str, params: dict[str, Any], *, field: str
) -> dict[str, Any]:
    """Send `session/search` or `session/recall`, and return its result.

    If nothing is found and not all sessions are indexed, the request is repeated and waits for them.

    Args:
        daemon: The connection.
        method: The method.
        params: Its params.
        field: The field of the result with what was found.
    """
    result: dict[str, Any] = daemon.call(method, params)
    if result[field] or not result["unsearched"]["sessionCount"] or "waitMs" in params:
        return result
    print(f"Reading {_unsearched(result)} first ...", file=sys.stderr)
    waited: dict[str, Any] = daemon.call(method, {**params, "waitMs": _EMPTY_WAIT_MS})
    return waited


def print_unsearched(result: dict[str, Any]) -> bool:
    """Print a note on standard error if sessions are not searched completely. Returns whether that is so."""
    if not result["unsearched"]["sessionCount"]:
        return False
    print(f"{_unsearched(result)} could not be searched yet. --wait waits for them.", file=sys.stderr)
    return True


def _unsearched(result: dict[str, Any]) -> str:
    left = result["unsearched"]
    return f"{human.count(left['sessionCount'], 'session')} ({human.size(left['sizeBytes'])})"


def agent_of(found: dict[str, Any], style: Style) -> list[str]:
    """Return the short name of the agent that made the session; nothing if the session began here."""
    if not (origin := found.get("origin")):
        return []
    from sessiond.agents import names

    return [style(one_line(names.short_name_of(origin["agent"])), "cyan")]


def folder_of(found: dict[str, Any], style: Style) -> str:
    """Return the folder of the session."""
    return style(one_line(human.folder(found["cwd"], os.path.expanduser("~"))), "blue")  # noqa: PTH111 - as in sessions


def show_command(session_id: str, entry_id: str | None) -> str:
    """Return the command that shows an entry, or its session if it has no id."""
    command = f"sessiond show {one_line(session_id)}"
    return f"{command} --entry {one_line(entry_id)}" if entry_id else command
