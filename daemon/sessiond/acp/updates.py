"""Notifications `session/update` of the agent: recorded, and sent to each client of the session."""

import time
from typing import Final

import msgspec
from msgspec import UNSET, Raw

from sessiond.acp import jsonrpc
from sessiond.acp.jsonrpc import Envelope
from sessiond.acp.running_session import LATEST, SPOKEN, AcpClient, RunningSession
from sessiond.acp.running_sessions import RunningSessions

MAX_BEHIND_BYTES: Final = 16 * 1024 * 1024
"""The maximum number of unread bytes of an attached client. Above it, the client is detached."""


class _Update(msgspec.Struct, frozen=True, rename="camel"):
    session_id: str
    update: Raw


class _Kind(msgspec.Struct, frozen=True, rename="camel"):
    session_update: str


_update = msgspec.json.Decoder(_Update).decode
_kind = msgspec.json.Decoder(_Kind).decode


def take_update(sessions: RunningSessions, envelope: Envelope, line: bytes) -> bool:
    """Record an update and send it to the clients of its session. Returns False if its session does not run.

    Args:
        sessions: The sessions that run in the agent.
        envelope: The notification.
        line: Its line.
    """
    try:
        found = _update(envelope.params if envelope.params is not UNSET else b"")
    except (msgspec.DecodeError, RecursionError):
        return False
    if found.session_id in sessions.replaying:
        client = sessions.replaying[found.session_id]
        if client is not None:
            client.peer.send(line)
        return True
    session = sessions.of_agent(found.session_id)
    if session is None:
        return False
    kind = _kind_of(found.update)
    if session.replay is None or kind not in SPOKEN:
        session.recording.update(found.update)
    else:
        session.replayed_at = time.monotonic()
        if session.replay == "hidden":
            return True
    if session.agent_id != session.id:
        line = jsonrpc.with_session_id(line, session.id)
    if kind in LATEST:
        session.latest[kind] = line
    for client in list(session.clients):
        show(session, client, line)
    return True


def show(session: RunningSession, client: AcpClient, line: bytes) -> None:
    """Send a client of a session a line, after the past that it may still be shown.

    An attached client that is too far behind is detached: it can attach again, and then sees the missed lines.
    """
    if client.held is not None:
        client.held.append(line)
        client.held_bytes += len(line)
        if client.held_bytes > MAX_BEHIND_BYTES:
            _detach(session, client)
        return
    client.peer.send(line)
    if not client.is_editor and client.peer.unread_bytes > MAX_BEHIND_BYTES:
        _detach(session, client)


def _detach(session: RunningSession, client: AcpClient) -> None:
    if client in session.clients:
        session.clients.remove(client)
    client.peer.close()


def _kind_of(update: Raw) -> str:
    try:
        return _kind(update).session_update
    except msgspec.DecodeError:
        return ""
