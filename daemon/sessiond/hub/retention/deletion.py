"""Deletes, moves and restores sessions, and purges the trash.

A deletion moves a session to the trash and can be undone. A purge cannot.
"""

import base64
import binascii
import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from sessiond.hub import clock, session_info
from sessiond.hub.errors import (
    CursorExpired,
    Damaged,
    ForeignDialect,
    IncompatibleParams,
    NotInTrash,
    SessionNotFound,
    SessionTrashed,
)
from sessiond.hub.idempotency.commands import Commands, Intent, refuse_reused
from sessiond.hub.index.index import Index
from sessiond.hub.retention.lineage import Lineage
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.registry import SHORTEST, OpenSessions
from sessiond.hub.trash import InTrash, Trash, path_in_trash
from sessiond.protocol import methods as m, types as t
from sessiond.session.tree import lines
from sessiond.session.tree.command_ids import CommandRecord
from sessiond.store.base import Store
from sessiond.store.errors import LogExists, LogNotFound
from sessiond.store.records import TrashNote, TrashPlace

if TYPE_CHECKING:
    from sessiond.hub.idempotency.journal import Entry

log = logging.getLogger(__name__)

CLOSED_UNANSWERED: Final = "closed before the first answer"
"""The note of a draft session that its last client closed."""
_BY_ITSELF: Final = t.Origin(kind="daemon")


class DeletionHost(Protocol):
    """The part of the hub that deletion calls."""

    index: Index
    lineage: Lineage

    def info(self, live: LiveSession) -> t.SessionInfo:
        """Return the description of an open session on the wire."""

    def refuse_when_draining(self) -> None:
        """Raise `Draining` while the daemon shuts down."""


class Retention:
    """Moves sessions to the trash of their store and back. `memory` is the store of the ephemeral sessions."""

    def __init__(
        self, sessions: DeletionHost, opened: OpenSessions, trash: Trash, files: Store, memory: Store,
        commands: Commands,
    ) -> None:  # fmt: skip
        self._sessions = sessions
        self._open = opened
        self._trash = trash
        self._files = files
        self._memory = memory
        self._commands = commands
        commands.settle_with(m.DELETE, self._settle_delete)
        commands.settle_with(m.MOVE, self._settle_move)
        commands.settle_with(m.TRASH_RESTORE, self._settle_restore)
        commands.settle_with(m.TRASH_PURGE, self._settle_purge)

    async def deleted_before(self, gone: SessionTrashed) -> t.DeleteResult | None:
        """Return the result of an earlier deletion of a session; None if the session is no longer in the trash."""
        if gone.trash_id is None:
            found = await self._trash.last_deleted(gone.session_id)
        else:
            found = await self._trash.deleted_as(gone.trash_id)
        return None if found is None else _deleted(found)

    async def delete(
        self,
        live: LiveSession,
        *,
        by_path: bool,
        note: str | None,
        by: str,
        command: CommandRecord | None = None,
    ) -> t.DeleteResult:
        """Move a session to the trash, even if clients have it open. Earlier appends are written first.

        Args:
            live: The session.
            by_path: Whether the request names the session by its path. A file in a folder of another program is
                deleted only then.
            note: A text for the trash.
            by: The client id, or `daemon`.
            command: The command that the request is, if it brought a `commandId`.

        Raises:
            IncompatibleParams: The session is in a folder of another program, and `by_path` is False.
            LogReplaced: Another program replaced the file.
            StorageFailed: The file could not be moved.
            Draining: The daemon shuts down.
            CommandReused: The `commandId` belongs to another request.
        """
        self._sessions.refuse_when_draining()
        refuse_reused(live, command)
        if not live.ephemeral and not by_path and not self._files.keeps(live.log.ref):
            where = lines.valid_text(live.log.ref)
            raise IncompatibleParams(
                f"the session is in a folder of another program; request it by its path, {where}"
            )
        while True:
            live.closing_error = SessionTrashed(live.session_id)
            try:
                await live.ingest()  # a move in progress ends first, and no other starts
                await live.flush()
            except BaseException:
                live.closing_error = None
                raise
            if self._open.has(live):
                break
            live = await self._open.session(live.session_id)  # it was unloaded in the meantime
        return await self._to_trash(live, note or "", by, command)

    async def _to_trash(
        self, live: LiveSession, note: str, by: str, command: CommandRecord | None
    ) -> t.DeleteResult:
        store = self._memory if live.ephemeral else self._files
        was, about = live.log.ref, self.about(live, by)
        if command is not None:
            about = replace(about, command_id=command.id)
        async with self._open.leaving(was):
            try:
                place = await store.trash(live.log, note, about)
                live.subscribers.remove_all()
                live.holders.clear()
            finally:
                live.subscribers.lag_all()  # if the move failed, subscribers remain and must resubscribe
                await live.close()
        self._has_moved(was)
        return deleted(live.session_id, None if live.ephemeral else was, place)

    def about(self, live: LiveSession, by: str) -> TrashNote:
        """Return the note for a session that moves to the trash; `by` is the client id or `daemon`."""
        session = self._sessions.info(live)
        return TrashNote(by, live.session_id, session.cwd, session.title or session.first_prompt)

    async def move(self, params: t.MoveParams, origin: t.Origin) -> t.SessionResult:
        """Change the working directory of a session; see `LiveSession.move`.

        Raises:
            SessionNotFound: There is no such session.
            IncompatibleParams: The session is in a folder of another program.
            LogExists: The new folder has a file of this name.
            ReadOnly: The session accepts no writes.
            StorageFailed: The file could not be moved.
            CommandReused: The `commandId` belongs to another request.
        """
        command = self._commands.of(m.MOVE, params)

        async def run() -> t.SessionResult:
            live = await self._open.session(params.session_id)
            refuse_reused(live, command)
            await self._move(live, params.cwd, origin)
            return self._result(live)

        async def intent() -> Intent:
            ref = await self._open.ref_of(params.session_id)
            name = (await self._open.session(params.session_id)).session_id
            return {"sessionId": name, "from": lines.valid_text(ref), "cwd": params.cwd}

        return await self._commands.once(command, t.SessionResult, run, intent)

    async def _move(self, live: LiveSession, cwd: str, origin: t.Origin) -> None:
        self._sessions.refuse_when_draining()
        was = live.log.ref
        if not live.ephemeral and not self._files.keeps(was):
            raise IncompatibleParams(
                "the session is in a folder of another program, which sessiond does not reorganize; "
                "session/fork with this cwd creates a copy"
            )
        await live.move(cwd, origin)
        self._has_moved(was)
        self._has_moved(live.log.ref)

    async def restore(self, params: t.RestoreParams) -> t.SessionResult:
        """Move a session from the trash to its former place.

        Raises:
            NotInTrash: The trash has no such session.
            LogExists: A session with this id exists.
            StorageFailed: The file could not be moved.
            Damaged: The session cannot be read.
            CommandReused: The `commandId` belongs to another request.
            IncompatibleParams: The request does not name exactly one of `sessionId` and `trashId`.
        """

        async def run() -> t.SessionResult:
            return self._result(await self._restore(params))

        async def intent() -> Intent:
            found = (await self._named(params.session_id, params.trash_id)).log
            return {"trashId": found.trash_id, "path": lines.valid_text(found.origin)}

        return await self._commands.once(
            self._commands.of(m.TRASH_RESTORE, params), t.SessionResult, run, intent
        )

    async def _restore(self, params: t.RestoreParams) -> LiveSession:
        self._sessions.refuse_when_draining()
        store, found = await self._named(params.session_id, params.trash_id)
        near = await self._sessions.index.find_by_id(found.session_id, min_prefix=SHORTEST)
        if self._open.cached(found.session_id) is not None or found.session_id in near.refs:
            raise LogExists(found.session_id)
        ref = await store.restore(found.ref)
        self._has_moved(ref)
        if store is self._memory:
            return await self._open.adopt(await store.open_ref(ref), ephemeral=True)
        return await self._open.at_path(ref)

    async def purge(self, params: t.PurgeParams) -> t.PurgeResult:
        """Delete sessions in the trash permanently.

        Raises:
            NotInTrash: The trash has no such session.
            IncompatibleParams: The request does not name exactly one of `sessionId`, `trashId` and `olderThanMs`.
            StorageFailed: A file could not be deleted.
            CommandReused: The `commandId` belongs to another request.
        """
        if params.dry_run:
            return await self._purge_chosen(params, await self._to_purge(params))
        chosen: list[InTrash] | None = None

        async def intent() -> Intent:
            nonlocal chosen
            chosen = await self._to_purge(params)
            return {"sessions": [listed(it) for it in chosen]}

        async def run() -> t.PurgeResult:
            self._sessions.refuse_when_draining()
            return await self._purge_chosen(params, chosen or await self._to_purge(params))

        return await self._commands.once(self._commands.of(m.TRASH_PURGE, params), t.PurgeResult, run, intent)

    async def _to_purge(self, params: t.PurgeParams) -> list[InTrash]:
        if params.older_than_ms is None:
            return [await self._named(params.session_id, params.trash_id)]
        if params.session_id is None and params.trash_id is None:
            return await self._older_than(params.older_than_ms / 1_000)
        raise IncompatibleParams("a session and `olderThanMs` cannot be combined")

    async def _purge_chosen(self, params: t.PurgeParams, chosen: list[InTrash]) -> t.PurgeResult:
        remaining = len(await self._trash.list()) - len(chosen)
        purged = chosen if params.dry_run else [it for it in chosen if await self._purge(it)]
        return _purged([listed(it) for it in purged], remaining, dry_run=params.dry_run)

    async def purge_old(self, max_age: float) -> int:
        """Purge the sessions that have been in the trash for `max_age` seconds. Returns their number.

        Raises `StorageFailed`.
        """
        return sum([await self._purge(it) for it in await self._older_than(max_age)])

    async def _older_than(self, seconds: float) -> list[InTrash]:
        until = clock.iso(max(time.time_ns() - int(seconds * 1e9), 0))
        return [it for it in await self._trash.list() if it.log.trashed_at <= until]

    async def _purge(self, found: InTrash) -> bool:
        """Purge a log. Returns False if it has already left the trash."""
        try:
            await found.store.purge(found.log.ref)
        except LogNotFound:
            return False
        log.info("Purged session %s, which was in the trash since %s",
                 found.log.session_id, found.log.trashed_at)  # fmt: skip
        return True

    async def _named(self, session_id: str | None, trash_id: str | None) -> InTrash:
        """Find the log in the trash that a request names.

        Raises `NotInTrash` if there is none and `IncompatibleParams` unless exactly one of the two is given.
        """
        if session_id is not None and trash_id is None:
            found = await self._trash.last_deleted(session_id)
            if found is None:
                near = await self._trash.beginning(session_id, shortest=SHORTEST)
                raise NotInTrash(session_id, did_you_mean=sorted({it.log.session_id for it in near})[:5])
            return found
        if trash_id is None or session_id is not None:
            raise IncompatibleParams("exactly one of `sessionId` and `trashId` is required")
        found = await self._trash.deleted_as(trash_id)
        if found is None:
            raise NotInTrash(trash_id)
        return found

    async def page(self, params: t.TrashListParams) -> t.TrashListResult:
        """Return a page of the trash, the newest first. Raises `CursorExpired`, `StorageFailed`."""
        edge = None if params.cursor is None else _decode(params.cursor)
        everything = await self._trash.list()
        rest = [it for it in everything if edge is None or _key(it) < edge]
        shown = rest[: params.limit]
        return t.TrashListResult(
            sessions=[listed(it) for it in shown],
            total_count=len(everything) if params.with_total else None,
            next_cursor=_encode(shown[-1]) if len(rest) > len(shown) else None,
        )

    def _result(self, live: LiveSession, *, duplicate: bool = False) -> t.SessionResult:
        return session_info.session_result(self._sessions.info(live), live.tree, duplicate=duplicate)

    # --- commands that a crash has interrupted ---------------------------------------------------------

    async def _settle_delete(self, entry: "Entry") -> t.DeleteResult | None:
        found = [it for it in await self._trash.list() if it.log.about.command_id == entry.id]
        return _deleted(found[0], duplicate=False) if found else None

    async def _settle_move(self, entry: "Entry") -> t.SessionResult | None:
        try:
            live = await self._open.session(str(entry.intent.get("sessionId")))
        except (SessionNotFound, SessionTrashed, Damaged, ForeignDialect, LogExists):
            return None
        if lines.valid_text(live.log.ref) == entry.intent.get("from"):
            return None
        if live.tree.header is not None and live.tree.header.cwd != entry.intent.get("cwd"):
            await self._move(
                live, str(entry.intent.get("cwd")), _BY_ITSELF
            )  # the crash occurred between the move of the file and the change of its header
        return self._result(live)

    async def _settle_restore(self, entry: "Entry") -> t.SessionResult | None:
        path = str(entry.intent.get("path"))
        if await self._trash.deleted_as(str(entry.intent.get("trashId"))) is not None:
            return None
        try:
            return self._result(await self._open.at_path(path))
        except (SessionNotFound, SessionTrashed, Damaged, ForeignDialect, LogExists):
            return None

    async def _settle_purge(self, entry: "Entry") -> t.PurgeResult | None:
        """Report the sessions that are no longer in the trash as purged. The others are not purged."""
        left = {it.log.trash_id for it in await self._trash.list()}
        requested = msgspec.convert(entry.intent.get("sessions"), list[t.TrashedSession])
        purged = [it for it in requested if it.trash_id not in left]
        return _purged(purged, len(left), dry_run=False) if purged else None

    def _has_moved(self, ref: str) -> None:
        """Update the index and the lineage: a log was added or removed at `ref`."""
        self._sessions.index.report_changes({ref})
        self._sessions.lineage.forget()


def deleted(session_id: str, ref: str | None, place: TrashPlace) -> t.DeleteResult:
    """Return the result of moving a session to the trash; `ref` is its former ref, None for an ephemeral session."""
    return t.DeleteResult(
        session_id=session_id,
        path=None if ref is None else lines.valid_text(ref),
        trash_id=place.trash_id,
        trash_path=path_in_trash(place.ref),
    )


def _deleted(found: InTrash, *, duplicate: bool = True) -> t.DeleteResult:
    """Return the result of a deletion for a log in the trash."""
    it = listed(found)
    return t.DeleteResult(
        session_id=it.session_id,
        path=it.path,
        trash_id=it.trash_id,
        trash_path=it.trash_path,
        duplicate=duplicate,
    )


def _purged(sessions: list[t.TrashedSession], remaining: int, *, dry_run: bool) -> t.PurgeResult:
    return t.PurgeResult(
        purged=sessions[: t.MOST_REPORTED],
        purged_count=len(sessions),
        truncated=len(sessions) > t.MOST_REPORTED,
        purged_bytes=sum(it.size_bytes for it in sessions),
        kept_count=remaining,
        dry_run=dry_run,
    )


def listed(found: InTrash) -> t.TrashedSession:
    """Return the description of a log in the trash on the wire."""
    it = found.log
    return t.TrashedSession(
        trash_id=it.trash_id,
        session_id=lines.valid_text(it.session_id),
        trash_path=found.path,
        path=lines.valid_text(it.origin) if it.origin is not None and it.origin.startswith("/") else None,
        trashed_at=lines.valid_text(it.trashed_at),
        note=lines.valid_text(it.reason) or None,
        deleted_by=lines.valid_text(it.about.by),
        is_draft=it.draft,
        size_bytes=it.size,
        cwd=lines.valid_text(it.about.cwd),
        title=lines.valid_text(it.about.title),
        leftover_paths=[lines.valid_text(name) for name in it.leftovers[: t.MOST_REPORTED]],
    )


def _key(found: InTrash) -> str:
    key: str = lines.valid_text(f"{found.log.trashed_at} {found.log.ref}")
    return key


def _encode(found: InTrash) -> str:
    return base64.urlsafe_b64encode(_key(found).encode()).decode()


def _decode(cursor: str) -> str:
    try:
        return base64.b64decode(cursor.encode(), b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError):
        raise CursorExpired from None
