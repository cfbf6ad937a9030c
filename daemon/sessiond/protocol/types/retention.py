"""Delete, clean up, restore and purge sessions, and list the trash."""

from typing import Annotated, Final

from msgspec import Meta

from sessiond.protocol.enums import opened
from sessiond.protocol.types.sessions import ListedSession
from sessiond.protocol.types.shared import CommandId, Limit, Params, SessionId, Tag, Wire

MAX_REPORTED: Final = 1_000
"""Limit of the rows of a result about many sessions or blobs. The counts beside the rows are complete."""

TrashId = Annotated[str, Meta(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9_-]+$")]
"""Identifies one deletion of one session. Opaque to clients; never the id of another deletion."""
Note = Annotated[str, Meta(max_length=1_000)]
"""A free text of the caller."""
Milliseconds = Annotated[int, Meta(ge=0)]


class DeleteParams(Params, frozen=True):
    """Move a session to the trash, even if clients have it open. `trash/restore` moves it back.

    The session is closed for every client, and every client is notified. A session in a folder of another program is
    deleted only if it is named by `path`, the absolute path of its file.
    """

    session_id: SessionId | None = None  # the session's full id; this or `path`
    path: str | None = None  # the absolute path of the session's file
    note: Note | None = None  # a text for the notification and the trash, for example the reason
    forget: bool = False  # also keep imports, followed agents, syncs and bundles from bringing it back
    command_id: CommandId | None = None  # repeats take effect once


class DeleteResult(Wire, frozen=True):
    """The deleted session, its former path, and its place in the trash."""

    session_id: str  # the session's full id
    path: str | None  # its former path; null for an ephemeral session
    trash_id: str  # its id in the trash, for `trash/restore` and `trash/purge`
    trash_path: str | None  # its file in the trash, for information; null for an ephemeral session
    duplicate: bool = False  # it was in the trash, or an earlier request took effect


class ForgottenListParams(Params, frozen=True):
    """List the sessions that were deleted with `forget`."""


class ForgottenSession(Wire, frozen=True):
    """A forgotten session. New copies and forks of it are not imported, either."""

    session_id: str  # the session's full id
    forgotten_at: str  # ISO 8601, UTC
    agent: str | None  # the agent that it was read from
    path: str | None  # the file of that agent


class ForgottenListResult(Wire, frozen=True):
    """All of them."""

    sessions: list[ForgottenSession]  # the last one first


class ForgottenRevokeParams(Params, frozen=True):
    """Allow that forgotten sessions come back, as `trash/restore` does."""

    session_ids: Annotated[list[SessionId], Meta(min_length=1, max_length=10_000)]  # their full ids


class ForgottenRevokeResult(Wire, frozen=True):
    """Those that were forgotten."""

    revoked: list[str]  # their ids


class RestoreParams(Params, frozen=True):
    """Move a session from the trash back to its former path, byte for byte.

    `sessionId` selects the session that was deleted last under this full id. `trashId` selects exactly one. The server
    overwrites nothing. It does not open the session.

    If the store takes part in syncs, the server then appends a `leaf` entry with the leaf that the session has. The
    entry tells other machines that the session is in use again, so that they restore it instead of deleting it here.
    No entry is appended in the folders of other programs.
    """

    session_id: SessionId | None = None  # the session's full id; this or `trashId`
    trash_id: TrashId | None = None  # the id of the session in the trash
    silently: bool = (
        False  # append no entry: a sync restores the session because of what another machine has added
    )
    command_id: CommandId | None = None  # repeats take effect once


class TrashListParams(Params, frozen=True):
    """List the sessions in the trash, the most recently deleted first."""

    cursor: str | None = None  # from an earlier result; default: none
    limit: Limit = 50  # maximum number of sessions per page
    with_total: bool = False  # also count the sessions of all pages


class TrashedSession(Wire, frozen=True):
    """A session in the trash, with the note, time and originator of its deletion."""

    trash_id: str  # its id in the trash, for `trash/restore` and `trash/purge`
    session_id: str  # the session's full id
    trash_path: str | None  # its file in the trash, for information; null if it is in no file
    path: (
        str | None
    )  # its former path; null for an ephemeral session, or if the note beside the file was lost
    trashed_at: str  # ISO 8601, UTC
    note: str | None  # the text of the request or of the daemon; null without one
    deleted_by: str  # the id of a client, or `daemon`
    is_draft: bool  # true for a session without an assistant message
    size_bytes: int  # the size of its file
    cwd: str | None  # the folder that it belongs to; null if the note beside the file was lost
    title: str | None  # the title, or the beginning of the first prompt
    leftover_paths: list[
        str
    ]  # files beside its former path: torn tails, originals before a rewrite; at most 1,000
    ephemeral: bool = False  # it is in memory only


class TrashListResult(Wire, frozen=True):
    """One page of the trash."""

    sessions: list[TrashedSession]  # at most `limit`
    total_count: int | None  # the number of sessions of all pages; null without `withTotal`
    next_cursor: str | None  # for the next page; null on the last one


class PurgeParams(Params, frozen=True):
    """Remove sessions from the trash permanently. This is the only operation that cannot be undone.

    `sessionId` and `trashId` select one session, as for `trash/restore`. `olderThanMs` selects all sessions that have
    been in the trash for at least that long; 0 selects all. Unless `dryRun` is false, nothing is removed. The files
    that a session left beside its former path (`leftoverPaths`) are removed with it. `blob/collect` removes blobs that
    are no longer referenced.
    """

    session_id: SessionId | None = None  # the session's full id; this, `trashId` or `olderThanMs`
    trash_id: TrashId | None = None  # the id of the session in the trash
    older_than_ms: Milliseconds | None = None  # milliseconds since their deletion
    dry_run: bool = True  # change nothing, and return what would be done
    command_id: CommandId | None = None  # repeats take effect once


class PurgeResult(Wire, frozen=True):
    """The sessions that were removed permanently, or with `dryRun` would be."""

    purged: list[TrashedSession]  # the first 1,000 of these sessions
    purged_count: int  # their number
    truncated: bool  # true if `purged` does not have all of them
    purged_bytes: int  # the size of their files
    kept_count: int  # the number of sessions that stay in the trash
    dry_run: bool  # true if nothing was removed
    duplicate: bool = False  # an earlier request took effect


class CleanupParams(Params, frozen=True):
    """Move to the trash the sessions that exceed a maximum age or a maximum number.

    `maxAgeMs` counts from the last change of the file. If there are more than `maxSessions` sessions, the newest stay.
    With `tags`, only sessions with one of them are considered. Sessions that are open, labeled or read-only are
    skipped. Draft sessions and the folders of other programs are not considered. Unless `dryRun` is false, nothing is
    moved.
    """

    max_age_ms: Milliseconds | None = None  # milliseconds since the last change of the file
    max_sessions: Annotated[int, Meta(ge=0)] | None = None  # number of sessions that stay, the newest
    tags: Annotated[list[Tag], Meta(max_length=100)] | None = None  # only sessions with one of these tags
    dry_run: bool = True  # change nothing, and return what would be done
    command_id: CommandId | None = None  # repeats take effect once


class CleanedSession(Wire, frozen=True):
    """A session that was moved to the trash, or would be: for its age, or because `maxSessions` are newer."""

    session: ListedSession  # the session before it moved
    limit: Annotated[str, opened("CleanupLimit")]  # the limit that it exceeds
    trash_id: str | None  # its id in the trash; null in a dry run
    trash_path: str | None  # its file in the trash, for information; null in a dry run


class SkippedSession(Wire, frozen=True):
    """A session that exceeds a limit, and the reason why it stays."""

    session: ListedSession  # the session
    limit: Annotated[str, opened("CleanupLimit")]  # the limit that it exceeds
    reason: Annotated[str, opened("SkipReason")]  # why it stays


class CleanupResult(Wire, frozen=True):
    """The sessions that were moved to the trash or with `dryRun` would be, the skipped ones, and how many stay."""

    removed: list[CleanedSession]  # the first 1,000 of these sessions
    removed_count: int  # their number
    skipped: list[SkippedSession]  # the first 1,000 of these sessions
    skipped_count: int  # their number
    truncated: bool  # true if `removed` or `skipped` does not have all of them
    kept_count: int  # the number of considered sessions that stay, with the skipped ones
    dry_run: bool  # true if nothing was moved
    duplicate: bool = False  # an earlier request took effect
