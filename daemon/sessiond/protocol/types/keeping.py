"""The end of sessions: delete, cleanup, the trash, restore, purge."""

from typing import Annotated, Literal

from msgspec import Meta

from sessiond.protocol.types.sessions import ListedSession
from sessiond.protocol.types.shared import CommandId, Limit, Params, SessionId, Wire


class DeleteParams(Params, frozen=True):
    """Move a session to the trash, whoever has it open; `session/restore` is the way back.

    It is closed for every client, and everybody is told. A session in a folder of another program goes only when
    it is named by `path`, the absolute path of its file.
    """

    session_id: SessionId | None = None  # the whole id of the session; this or `path`
    path: str | None = None  # the absolute path of the session's file
    reason: str = ""  # why, for the notification and the trash
    command_id: CommandId | None = None  # requests with the same one take effect once


class DeleteResult(Wire, frozen=True):
    """Which session went, from where, and where in the trash it is."""

    session_id: str
    path: str | None  # null for a session that lived in memory only
    trashed: str
    duplicate: bool = (
        False  # it was in the trash before, or an earlier request with this `commandId` has moved it
    )


class RestoreParams(Params, frozen=True):
    """Put a session of the trash back to where it was, byte for byte.

    `sessionId` means the one that was deleted last under this whole id; `trashed` says exactly which.
    Nothing is overwritten. The session is not opened.
    """

    session_id: SessionId | None = None  # the whole id of the session; this or `trashed`
    trashed: str | None = None  # the folder of the session in the trash
    command_id: CommandId | None = None  # requests with the same one take effect once


class TrashListParams(Params, frozen=True):
    """List the sessions in the trash, those that went there last first."""

    cursor: str | None = None  # from an earlier result; without it, the first page
    limit: Limit = 50  # sessions a page


class TrashedSession(Wire, frozen=True):
    """A session in the trash: what it was, why it went, when, and through whom."""

    session_id: str
    trashed: str  # where it is now
    path: str | None  # where it was; null for one that lived in memory, or whose note is lost
    trashed_at: str  # ISO 8601, UTC
    reason: str
    by: str  # the id of a client, or `daemon`
    draft: bool
    size_bytes: int
    cwd: str | None
    title: str | None  # or what its first prompt began with
    remains: list[str]  # files beside the place where it was: torn tails, originals before a rewrite


class TrashListResult(Wire, frozen=True):
    """One page of the trash; `total` counts all pages."""

    sessions: list[TrashedSession]
    total: int
    next_cursor: str | None


class PurgeParams(Params, frozen=True):
    """Take sessions out of the trash for good: the only act that has no inverse.

    One is named as for `session/restore`; or with `olderThanSeconds` all that have been there for so long, 0 for
    all that are there. Unless `dryRun` is false, nothing is done but said. With a session go the files that it left
    beside its place (`remains`); blobs that nobody names any more are left to `blob/collect`.
    """

    session_id: SessionId | None = None  # the whole id of the session; this, `trashed` or `olderThanSeconds`
    trashed: str | None = None  # the folder of the session in the trash
    older_than_seconds: Annotated[int, Meta(ge=0)] | None = None  # seconds since they were deleted
    dry_run: bool = True  # change nothing, and return what would be done
    command_id: CommandId | None = None  # requests with the same one take effect once


class PurgeResult(Wire, frozen=True):
    """What is gone for good, or with `dryRun` would be."""

    purged: list[TrashedSession]
    purged_bytes: int
    kept: int  # sessions that stay in the trash
    dry_run: bool
    duplicate: bool = False  # an earlier request with this `commandId` has done it


class CleanupParams(Params, frozen=True):
    """Move to the trash the sessions to which nothing was written for long, or of which there are too many.

    `maxAgeSeconds` counts from the last change of the file; of more than `maxSessions` the newest stay. With `tags`
    only sessions with one of them are looked at. Sessions that are open, labeled or read-only are spared; drafts and
    the folders of other programs are not looked at. Unless `dryRun` is false, nothing is done but said.
    """

    max_age_seconds: Annotated[int, Meta(ge=0)] | None = None  # seconds since the last change of the file
    max_sessions: Annotated[int, Meta(ge=0)] | None = None  # how many sessions stay, the newest
    tags: list[str] | None = None  # only sessions with one of these tags
    dry_run: bool = True  # change nothing, and return what would be done
    command_id: CommandId | None = None  # requests with the same one take effect once


class CleanedSession(Wire, frozen=True):
    """A session that went to the trash, or would: for its age, or because there were `maxSessions` newer ones."""

    session: ListedSession
    ground: Literal["age", "count"]
    trashed: str | None  # null in a dry run


class SparedSession(Wire, frozen=True):
    """A session that should go, and why it does not."""

    session: ListedSession
    ground: Literal["age", "count"]
    because: Literal["open", "labeled", "readOnly"]


class CleanupResult(Wire, frozen=True):
    """What was, or with `dryRun` would be, moved to the trash, what was spared, and how many sessions stay."""

    removed: list[CleanedSession]
    spared: list[SparedSession]
    kept: int
    dry_run: bool
    duplicate: bool = False  # an earlier request with this `commandId` has done it
