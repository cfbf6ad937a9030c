"""Subscribe, unsubscribe and flush."""

from typing import Annotated

from sessiond.protocol.enums import opened
from sessiond.protocol.types.shared import After, Params, SessionId, SessionInfo, Wire


class SubscribeParams(Params, frozen=True):
    """Subscribe to the changes of a session, and with `after` also receive the lines after that position.

    The server sends exactly the lines after `after` as `session/appended`, before any live notification. If these are
    too many, or the session has another log than `after.logId`, `mode` is `snapshot`, and `reason` and `message` say
    why. The client then reads the tree again.
    """

    session_id: SessionId  # the session's full id
    after: After | None = None  # the last position that the client knows; default: no replay


class SubscribeResult(Wire, frozen=True):
    """How the gap is closed: `replay` of lines `fromSeq` to `toSeq`, or a `snapshot` as of `toSeq`, of `logId`."""

    mode: Annotated[str, opened("ResumeMode")]  # whether the daemon sends the lines of the gap
    log_id: str  # the log of `fromSeq` and `toSeq`
    from_seq: int  # the seq of the first line that the daemon sends
    to_seq: int  # the seq of the last line of the log
    session: SessionInfo  # the session
    reason: Annotated[str, opened("SnapshotReason")] | None  # why there is no replay; null with `replay`
    message: str | None  # the reason as a sentence; null with `replay`


class UnsubscribeParams(Params, frozen=True):
    """Cancel the subscription to a session. The session stays open for this client."""

    session_id: SessionId  # the session's full id


class UnsubscribeResult(Wire, frozen=True):
    """Whether there was a subscription."""

    was_subscribed: bool  # there was a subscription


class FlushParams(Params, frozen=True):
    """Wait until every line of a session (default: of all sessions) is synced to the disk."""

    session_id: SessionId | None = None  # the session's full id; default: all sessions


class FlushResult(Wire, frozen=True):
    """The lines that were synced."""

    session_count: int  # the number of sessions that had lines to sync
