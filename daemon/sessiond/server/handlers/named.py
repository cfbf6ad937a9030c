"""Finds the session that a request names, and builds the result that describes it."""

from sessiond.hub import session_info
from sessiond.hub.errors import IncompatibleParams, refuse_unless_absolute
from sessiond.hub.session.description import info_of
from sessiond.hub.session.live import LiveSession
from sessiond.protocol import types as t
from sessiond.server.connection.client import Client


async def named(client: Client, session_id: str | None, path: str | None) -> LiveSession:
    """Return the session that a request names by id or by path.

    Raises:
        IncompatibleParams: Both or neither are given, or the path is not absolute.

    """
    if session_id is not None and path is None:
        return await client.hub.sessions.session(session_id)
    if path is None or session_id is not None:
        raise IncompatibleParams("exactly one of `sessionId` and `path` is required")
    refuse_unless_absolute(path, "path")
    return await client.hub.sessions.at_path(path)


def session_result(client: Client, live: LiveSession, *, duplicate: bool = False) -> t.SessionResult:
    """Return the description of a session, with the problems of its file."""
    return session_info.session_result(info_of(live), live.tree, duplicate=duplicate)
