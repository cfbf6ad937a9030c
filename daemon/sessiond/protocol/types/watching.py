"""Keeping up to date: subscribe, unsubscribe, flush."""

from typing import Literal

from sessiond.protocol.types.shared import After, Params, SessionId, SessionInfo, Wire


class SubscribeParams(Params, frozen=True):
    """Hear of every change of a session from now on, and with `after` of what was missed since.

    Exactly what came after the position `after` is replayed as `session/appended`, before anything live. When that
    would be too much, or when the session has another log than `after.logId`, `mode` is `snapshot` and `reason` says
    why: read the tree again.
    """

    session_id: SessionId  # the whole id of the session
    after: After | None = None  # the position behind which the client wants what it missed


class SubscribeResult(Wire, frozen=True):
    """How the gap is closed: `replay` of lines `fromSeq` to `toSeq`, or a `snapshot` as of `toSeq`, of `logId`."""

    mode: Literal["replay", "snapshot"]
    log_id: str
    from_seq: int
    to_seq: int
    session: SessionInfo
    reason: str | None


class UnsubscribeParams(Params, frozen=True):
    """Hear no more of a session; it stays open for this client."""

    session_id: SessionId  # the whole id of the session


class UnsubscribeResult(Wire, frozen=True):
    """Whether there was a subscription."""

    was_subscribed: bool


class FlushParams(Params, frozen=True):
    """Wait until every line of a session (of all, without `sessionId`) would survive a power cut."""

    session_id: SessionId | None = None  # the whole id of the session; default: all sessions


class FlushResult(Wire, frozen=True):
    """How many sessions had something to sync."""

    flushed: int
