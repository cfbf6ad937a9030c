"""The option --prompt of continue: this terminal's session in a few words, for the prompt of a shell.

A shell runs it before every prompt, so it starts no daemon, waits for none, changes nothing and prints no errors. The
breadcrumb has the session's id, and a daemon that responds immediately has its title. Otherwise the output is empty.
"""

# Without pathlib; the client is imported only if a daemon may run. Each import takes as long as the rest.
# ruff: noqa: PTH110

from __future__ import annotations

import os

from sessiond.client import terminal
from sessiond.paths import find_locations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessiond.client.light_socket import LightSocket
    from sessiond.paths import Locations

_AT_ONCE = 0.2
"""Seconds that the daemon may take. An idle daemon responds in a thousandth of that."""
_TITLE = 40
_ID = 8
_EXPANDED = dict.fromkeys(map(ord, "%$`\\!"))
"""Characters that shells may expand in a prompt."""


def words(cwd: str) -> str:
    """Return the prefix of the session's id and its title on one line; empty when this terminal has none here."""
    locations = find_locations()
    session = last_here(cwd)
    if session is None or not _may_run(locations):
        return ""
    listed = _fetch(locations, session)
    return "" if listed is None else _formatted(listed)


def last_here(cwd: str) -> str | None:
    """Return the id of the session that this terminal had last in a folder."""
    here = terminal.here()
    return None if here is None else _breadcrumb(find_locations(), str(here["id"]), cwd)


def _breadcrumb(locations: Locations, terminal_id: str, cwd: str) -> str | None:
    """Return the id in the breadcrumb of this terminal for this folder; None when there is none."""
    from sessiond.store.files import paths

    try:
        with open(f"{locations.state}/terminal-sessions/{paths.terminal_name(terminal_id)}", "rb") as file:
            records = os.fsdecode(file.read(65_536)).split("\n\n")
    except OSError:
        return None
    for record in records:
        lines = record.split("\n")
        if lines[0] == cwd:
            return lines[2] if len(lines) > 2 and paths.is_known_id(lines[2]) else None
    return None


def _may_run(locations: Locations) -> bool:
    """Return whether a daemon may run, so that the client is worth importing."""
    return (
        os.path.exists(locations.endpoint)
        or os.path.exists(locations.socket)
        or "SESSIOND_CONNECT" in os.environ
    )


def _fetch(locations: Locations, session: str) -> dict[str, Any] | None:
    """Return the session from the list of a running daemon; None if none runs, or it does not respond in time."""
    from sessiond.client import dial
    from sessiond.client.daemon_socket import DaemonConnectionError
    from sessiond.client.wire import DisconnectedError, InvalidResponseError
    from sessiond.paths import UnsafeFolderError

    try:
        sock = dial.connect_if_running(locations)
        if sock is None:
            return None
        with sock:
            found = _matching_sessions(sock, session)
    except (DaemonConnectionError, DisconnectedError, InvalidResponseError, UnsafeFolderError, OSError):
        return None
    return next((row for row in found if row.get("sessionId") == session), None)


def _matching_sessions(sock: LightSocket, session: str) -> list[dict[str, Any]]:
    """Return the sessions that match this id; none if the request fails."""
    from sessiond.client.wire import MessageReader, frame, members

    params = {"includeDrafts": True, "query": session, "limit": 5}
    sock.sendall(frame({"jsonrpc": "2.0", "id": 1, "method": "session/list", "params": params}))
    reader = MessageReader(sock)
    reader.wait(_AT_ONCE)
    while "id" not in (message := members(reader.read())) or "method" in message:
        pass  # other messages
    result = message.get("result", (None,))[0]
    rows = result.get("sessions") if isinstance(result, dict) else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _formatted(session: dict[str, Any]) -> str:
    from sessiond.text import fit, one_line

    name = one_line(str(session.get("title") or session.get("firstPrompt") or "")).translate(_EXPANDED)
    return f"{session['sessionId'][:_ID]} {fit(name, _TITLE)}".rstrip()
