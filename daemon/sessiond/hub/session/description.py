"""The description of an open session on the wire. It is made once for each state of the session."""

from collections.abc import Callable, Sequence

from sessiond.hub import session_info
from sessiond.hub.session.live import LiveSession
from sessiond.protocol import types as t
from sessiond.store.errors import LogReplaced, StorageFailed


def info_of(live: LiveSession) -> t.SessionInfo:
    """Return the description of an open session.

    If the file cannot be read any more, the result has only the facts in the tree.
    """
    key = live.facts_key()
    if live.cached_info is None or live.cached_info[0] != key:
        try:
            live.cached_info = key, _described(live, live.read_rows)
        except (StorageFailed, LogReplaced):
            # Not cached, because the failure may be temporary.
            return _described(live, lambda rows: [b"{}"] * len(rows))
    return live.cached_info[1]


def list_row_of(live: LiveSession) -> t.ListedSession:
    """Return the list row of an open session."""
    return session_info.list_row(info_of(live), live.tree, live.read_rows)


def session_result(live: LiveSession, *, duplicate: bool = False) -> t.SessionResult:
    """Return the description of an open session, with the problems of its file."""
    return session_info.session_result(info_of(live), live.tree, duplicate=duplicate)


def _described(live: LiveSession, read: Callable[[Sequence[int]], list[bytes]]) -> t.SessionInfo:
    return session_info.session_info(
        live.tree, read, session_id=live.session_id, path=live.log.path,
        draft=live.is_draft, size=live.tree.end,
        ephemeral=live.ephemeral, read_only=live.read_only is not None, write_block=live.write_block,
        stale=live.log.stale, log_id=live.log.log_id,
    )  # fmt: skip
