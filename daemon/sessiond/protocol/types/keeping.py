"""Delete, clean up, restore and purge sessions, and list the trash."""

from typing import Annotated

from msgspec import Meta

from sessiond.protocol.enums import opened
from sessiond.protocol.types.sessions import ListedSession
from sessiond.protocol.types.shared import CommandId, Limit, Params, SessionId, Wire


class DeleteParams(Params, frozen=True):
    """Move a session to the trash, even if clients have it open. `session/restore` moves it back.

    The session is closed for every client, and every client is notified. A session in a folder of another program is
    deleted only if it is named by `path`, the absolute path of its file.
    """

    session_id: SessionId | None = None  # the full id of the session; this or `path`
    path: str | None = None  # the absolute path of the session's file
    reason: str = ""  # the reason, for the notification and the trash
    command_id: CommandId | None = None  # requests with the same id take effect once


class DeleteResult(Wire, frozen=True):
    """The deleted session, its former path, and its place in the trash."""

    session_id: str
    path: str | None  # null for an ephemeral session
    trashed: str
    duplicate: bool = False  # it was in the trash, or an earlier request with this `commandId` took effect


class RestoreParams(Params, frozen=True):
    """Move a session from the trash back to its former path, byte for byte.

    `sessionId` selects the session that was deleted last under this full id. `trashed` selects exactly one. The server
    overwrites nothing. It does not open the session.
    """

    session_id: SessionId | None = None  # the full id of the session; this or `trashed`
    trashed: str | None = None  # the folder of the session in the trash
    command_id: CommandId | None = None  # requests with the same id take effect once


class TrashListParams(Params, frozen=True):
    """List the sessions in the trash, the most recently deleted first."""

    cursor: str | None = None  # from an earlier result; default: the first page
    limit: Limit = 50  # maximum number of sessions per page


class TrashedSession(Wire, frozen=True):
    """A session in the trash, with the reason, time and originator of its deletion."""

    session_id: str
    trashed: str  # its place in the trash
    path: str | None  # its former path; null for an ephemeral session, or if the note was lost
    trashed_at: str  # ISO 8601, UTC
    reason: str
    by: str  # the id of a client, or `daemon`
    draft: bool
    size_bytes: int
    cwd: str | None
    title: str | None  # the title, or the beginning of the first prompt
    remains: list[str]  # files beside its former path: torn tails, originals before a rewrite


class TrashListResult(Wire, frozen=True):
    """One page of the trash. `total` counts the sessions of all pages."""

    sessions: list[TrashedSession]
    total: int
    next_cursor: str | None


class PurgeParams(Params, frozen=True):
    """Remove sessions from the trash permanently. This is the only operation that cannot be undone.

    `sessionId` and `trashed` select one session, as for `session/restore`. `olderThanSeconds` selects all sessions
    that have been in the trash for at least that long; 0 selects all. Unless `dryRun` is false, nothing is removed.
    The files that a session left beside its former path (`remains`) are removed with it. `blob/collect` removes blobs
    that are no longer referenced.
    """

    session_id: SessionId | None = None  # the full id of the session; this, `trashed` or `olderThanSeconds`
    trashed: str | None = None  # the folder of the session in the trash
    older_than_seconds: Annotated[int, Meta(ge=0)] | None = None  # seconds since their deletion
    dry_run: bool = True  # change nothing, and return what would be done
    command_id: CommandId | None = None  # requests with the same id take effect once


class PurgeResult(Wire, frozen=True):
    """The sessions that were removed permanently, or with `dryRun` would be."""

    purged: list[TrashedSession]
    purged_bytes: int
    kept: int  # sessions that stay in the trash
    dry_run: bool
    duplicate: bool = False  # an earlier request with this `commandId` took effect


class CleanupParams(Params, frozen=True):
    """Move to the trash the sessions that exceed a maximum age or a maximum number.

    `maxAgeSeconds` counts from the last change of the file. If there are more than `maxSessions` sessions, the newest
    stay. With `tags`, only sessions with one of them are considered. Sessions that are open, labeled or read-only are
    spared. Draft sessions and the folders of other programs are not considered. Unless `dryRun` is false, nothing is
    moved.
    """

    max_age_seconds: Annotated[int, Meta(ge=0)] | None = None  # seconds since the last change of the file
    max_sessions: Annotated[int, Meta(ge=0)] | None = None  # number of sessions that stay, the newest
    tags: list[str] | None = None  # only sessions with one of these tags
    dry_run: bool = True  # change nothing, and return what would be done
    command_id: CommandId | None = None  # requests with the same id take effect once


class CleanedSession(Wire, frozen=True):
    """A session that was moved to the trash, or would be: for its age, or because `maxSessions` are newer."""

    session: ListedSession
    ground: Annotated[str, opened("CleanupLimit")]
    trashed: str | None  # null in a dry run


class SparedSession(Wire, frozen=True):
    """A session that exceeds a limit, and the reason why it stays."""

    session: ListedSession
    ground: Annotated[str, opened("CleanupLimit")]
    because: Annotated[str, opened("SkipReason")]


class CleanupResult(Wire, frozen=True):
    """The sessions that were moved to the trash or with `dryRun` would be, the spared ones, and how many stay."""

    removed: list[CleanedSession]
    spared: list[SparedSession]
    kept: int
    dry_run: bool
    duplicate: bool = False  # an earlier request with this `commandId` took effect
