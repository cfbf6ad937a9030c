"""Watches of the session list: server/watch, server/unwatch, and their notifications."""

from typing import Annotated

from msgspec import Meta

from sessiond.protocol.enums import opened
from sessiond.protocol.types.shared import AgentName, Params, Path, Tag, Wire


class ListFilter(Params, frozen=True):
    """The sessions of a list. They meet all of these conditions, which are those of `session/list`."""

    cwd: str | None = None  # only sessions of this folder
    project: Path | None = None  # only those of the project of this absolute folder
    tags: Annotated[list[Tag], Meta(max_length=100)] | None = None  # only sessions with all of these tags
    query: Annotated[str, Meta(max_length=1_000)] | None = (
        None  # only sessions whose id, title, first prompt, cwd or agent contains each word of this text
    )
    agent: AgentName | None = None  # only sessions read from this agent
    automated: bool | None = None  # only sessions whose `origin.automated` is this
    include_drafts: bool = False  # also draft sessions


class ListPosition(Params, frozen=True):
    """A position in the changes of the session list. The client knows every change up to and including it."""

    epoch: Annotated[
        str, Meta(min_length=1, max_length=128)
    ]  # the epoch of the daemon that counts the changes
    position: Annotated[int, Meta(ge=0)]  # from an earlier result or notification


class WatchParams(Params, frozen=True):
    """Watch a list: receive its changed rows as `server/sessionsChanged`, without a subscription to any session.

    With `after`, the server first sends the changes since that position (`mode` is `replay`). If it does not know all
    of them, `mode` is `snapshot`, and `reason` and `message` say why. The client then reads the list again. A client
    may have up to 64 watches. They end with its connection.
    """

    filter: ListFilter = ListFilter()  # the sessions of the list; default: all but draft sessions
    after: ListPosition | None = None  # the last position that the client knows; default: no replay
    interval_ms: Annotated[int, Meta(ge=20, le=60_000)] = 200  # minimum time between two notifications


class WatchResult(Wire, frozen=True):
    """The watch, and whether the changes since `after` are sent (`replay`) or the list has to be read (`snapshot`)."""

    watch_id: str  # unique on this connection, and never used again
    mode: Annotated[str, opened("ResumeMode")]
    epoch: str  # as in the handshake
    position: int  # the list as of now: later changes are sent
    reason: Annotated[str, opened("ListSnapshotReason")] | None  # why it is a snapshot
    message: str | None  # a sentence about the reason


class UnwatchParams(Params, frozen=True):
    """End a watch. No notification about it follows the response."""

    watch_id: Annotated[
        str, Meta(min_length=1, max_length=128)
    ]  # from the result of `server/watch` or `session/watchTree`


class UnwatchResult(Wire, frozen=True):
    """Whether there was such a watch."""

    was_watching: bool  # whether there was a watch with this id
