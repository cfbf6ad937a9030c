"""The common part of search and recall: the wait for the index, and the lines about an entry that was found."""

from __future__ import annotations

import os
import sys

from sessiond import human
from sessiond.text import fit, one_line, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from sessiond.cli.render.style import Style
    from sessiond.client.blocking import BlockingDaemon

WAIT_MS: Final = 60_000
"""The maximum time that `--wait` waits for the index."""
_GAP: Final = "  "
_MIN_FOLDER_COLUMNS: Final = 8
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
        field: The field of the result that lists the found entries.
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


def session_head(found: dict[str, Any], style: Style) -> str:
    """Return the title of a session, its agent and its folder, on one line. On a narrow one, the title stays."""
    title = one_line(found.get("title") or found.get("firstPrompt") or "untitled")
    agent = _agent_of(found)
    folder = one_line(human.folder(found["cwd"], os.path.expanduser("~")))  # noqa: PTH111 - as in sessions
    if style.columns is not None:
        gaps = len(_GAP) * (2 if agent else 1)
        title = fit(
            title,
            max(style.columns - width(agent) - width(folder) - gaps, style.columns // 2),
            style.ellipsis,
        )
        room = style.columns - width(title) - width(agent) - gaps
        folder = fit(folder, room, style.ellipsis) if room >= min(width(folder), _MIN_FOLDER_COLUMNS) else ""
    parts = [style(title, "bold"), agent and style(agent, "cyan"), folder and style(folder, "blue")]
    return _GAP.join(filter(None, parts))


def _agent_of(found: dict[str, Any]) -> str:
    """Return the short name of the agent that made the session; empty if the session began here."""
    if not (origin := found.get("origin")):
        return ""
    from sessiond.agents import names

    return one_line(names.short_name_of(origin["agent"]))


def show_command(session_id: str, entry_id: str | None) -> str:
    """Return the command that shows an entry, or its session if it has no id."""
    command = f"sessiond show {one_line(session_id)}"
    return f"{command} --entry {one_line(entry_id)}" if entry_id else command
