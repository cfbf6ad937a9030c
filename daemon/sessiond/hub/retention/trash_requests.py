"""Restores sessions from the trash, purges them, and lists the trash. A purge cannot be undone."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec

from sessiond.hub import clock
from sessiond.hub.caller import Caller
from sessiond.hub.errors import (
    Damaged,
    ForeignDialect,
    IncompatibleParams,
    NotInTrash,
    SessionNotFound,
    SessionTrashed,
)
from sessiond.hub.idempotency.commands import Commands, Intent
from sessiond.hub.index.index import Index
from sessiond.hub.retention import trash_results
from sessiond.hub.retention.forgotten import ForgottenSessions
from sessiond.hub.session.description import session_result
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.registry import SHORTEST, OpenSessions
from sessiond.hub.trash import InTrash, Trash
from sessiond.protocol import methods as m, types as t
from sessiond.session.tree import lines
from sessiond.store.base import Store
from sessiond.store.errors import LogExists, LogNotFound

if TYPE_CHECKING:
    from sessiond.hub.idempotency.journal import Entry

log = logging.getLogger(__name__)


class TrashRequests:
    """Carries out the requests about the trash.

    `memory` is the store of the ephemeral sessions. `purging` is called for each log before it is deleted,
    and `restored` for each session on disk that left the trash.
    """

    def __init__(
        self, opened: OpenSessions, trash: Trash, index: Index, memory: Store,
        commands: Commands, purging: Callable[[InTrash], Awaitable[None]],
        restored: Callable[[LiveSession], Awaitable[None]], forgotten: ForgottenSessions,
    ) -> None:  # fmt: skip
        self._forgotten = forgotten
        self._purging = purging
        self._restored = restored
        self._open = opened
        self._trash = trash
        self._index = index
        self._memory = memory
        self._commands = commands
        commands.settle_with(m.TRASH_RESTORE, self._settle_restore)
        commands.settle_with(m.TRASH_PURGE, self._settle_purge)

    async def restore(self, params: t.RestoreParams, caller: Caller) -> t.SessionResult:
        """Move a session from the trash to its former place, and notify all clients unless the command is a repeat.

        Raises:
            NotInTrash: The trash has no such session.
            LogExists: A session with this id exists.
            StorageFailed: The file could not be moved.
            Damaged: The session cannot be read.
            CommandReused: The `commandId` belongs to another request.
            IncompatibleParams: The request does not name exactly one of `sessionId` and `trashId`.
        """

        async def run() -> t.SessionResult:
            return session_result(await self._restore(params))

        async def intent() -> Intent:
            found = (await self._named(params.session_id, params.trash_id)).log
            return {"trashId": found.trash_id, "path": lines.valid_text(found.origin)}

        command = self._commands.of(m.TRASH_RESTORE, params)
        back = await self._commands.once(command, t.SessionResult, run, intent)
        if not back.duplicate:
            origin = caller.origin(params.command_id)
            caller.announce(m.RESTORED, t.RestoredNote(session=back.session, origin=origin))
        return back

    async def _restore(self, params: t.RestoreParams) -> LiveSession:
        self._open.refuse_when_draining()
        store, found, _ = await self._named(params.session_id, params.trash_id)
        if params.silently and await asyncio.to_thread(self._forgotten.is_forgotten, [found.session_id]):
            raise NotInTrash(
                found.session_id
            )  # a sync of an older version does not know that it was forgotten
        matches = await self._index.find_by_id(found.session_id, min_prefix=SHORTEST)
        if self._open.cached(found.session_id) is not None or found.session_id in matches.refs:
            raise LogExists(found.session_id)
        with self._open.returning():
            ref = await store.restore(found.ref)
            self._open.log_moved(ref)
        if store is self._memory:
            return await self._open.adopt(await store.open_ref(ref), ephemeral=True)
        try:
            live = await self._open.at_path(ref)
        except SessionNotFound:
            live = await self._open.session(found.session_id)  # another request has moved it already
        if not params.silently:
            await asyncio.to_thread(self._forgotten.revoke, [found.session_id])
            await self._restored(live)
        return live

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
            return {"sessions": [trash_results.listed(trashed) for trashed in chosen]}

        async def run() -> t.PurgeResult:
            self._open.refuse_when_draining()
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
        purged = chosen if params.dry_run else [trashed for trashed in chosen if await self._purge(trashed)]
        return trash_results.purged(
            [trash_results.listed(trashed) for trashed in purged], remaining, dry_run=params.dry_run
        )

    async def purge_old(self, max_age: float) -> int:
        """Purge the sessions that have been in the trash for `max_age` seconds. Returns their number.

        Raises `StorageFailed`.
        """
        return sum([await self._purge(trashed) for trashed in await self._older_than(max_age)])

    async def _older_than(self, seconds: float) -> list[InTrash]:
        until = clock.iso(max(time.time_ns() - int(seconds * 1e9), 0))
        return [trashed for trashed in await self._trash.list() if trashed.log.trashed_at <= until]

    async def _purge(self, found: InTrash) -> bool:
        """Purge a log. Returns False if it has already left the trash."""
        try:
            await self._purging(found)
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
                matches = await self._trash.beginning(session_id, shortest=SHORTEST)
                raise NotInTrash(
                    session_id, did_you_mean=sorted({trashed.log.session_id for trashed in matches})[:5]
                )
            return found
        if trash_id is None or session_id is not None:
            raise IncompatibleParams("exactly one of `sessionId` and `trashId` is required")
        found = await self._trash.deleted_as(trash_id)
        if found is None:
            raise NotInTrash(trash_id)
        return found

    async def page(self, params: t.TrashListParams) -> t.TrashListResult:
        """Return a page of the trash, the newest first. Raises `CursorExpired`, `StorageFailed`."""
        return trash_results.page_of(await self._trash.list(), params)

    async def _settle_restore(self, entry: "Entry") -> t.SessionResult | None:
        path = str(entry.intent.get("path"))
        if await self._trash.deleted_as(str(entry.intent.get("trashId"))) is not None:
            return None
        try:
            return session_result(await self._open.at_path(path))
        except (SessionNotFound, SessionTrashed, Damaged, ForeignDialect, LogExists):
            return None

    async def _settle_purge(self, entry: "Entry") -> t.PurgeResult | None:
        """Report the sessions that are no longer in the trash as purged. The others are not purged."""
        left = {trashed.log.trash_id for trashed in await self._trash.list()}
        requested = msgspec.convert(entry.intent.get("sessions"), list[t.TrashedSession])
        purged = [session for session in requested if session.trash_id not in left]
        return trash_results.purged(purged, len(left), dry_run=False) if purged else None
