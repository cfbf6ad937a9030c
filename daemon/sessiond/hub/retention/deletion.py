"""Deletes sessions: moves them to the trash. A deletion can be undone (`trash_requests`)."""

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sessiond.hub import clock
from sessiond.hub.caller import Caller
from sessiond.hub.errors import IncompatibleParams, SessionTrashed
from sessiond.hub.idempotency.commands import Commands, refuse_reused
from sessiond.hub.index.index import Index
from sessiond.hub.retention import trash_results
from sessiond.hub.retention.forgotten import ForgottenSessions, Tombstone
from sessiond.hub.session.description import info_of
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.registry import OpenSessions
from sessiond.hub.trash import Trash
from sessiond.protocol import methods as m, types as t
from sessiond.session.content.prompt_key import prompt_key
from sessiond.session.tree import lines
from sessiond.session.tree.command_ids import CommandRecord
from sessiond.store.base import Store
from sessiond.store.records import TrashNote

if TYPE_CHECKING:
    from sessiond.hub.idempotency.journal import Entry

CLOSED_UNANSWERED: Final = "closed before the first answer"
"""The note of a draft session that its last client closed."""


class Deletion:
    """Moves sessions to the trash of their store. `memory` is the store of the ephemeral sessions."""

    def __init__(
        self, opened: OpenSessions, trash: Trash, files: Store, memory: Store, commands: Commands,
        forgotten: ForgottenSessions, index: Index,
    ) -> None:  # fmt: skip
        self._open = opened
        self._trash = trash
        self._files = files
        self._memory = memory
        self._commands = commands
        self._forgotten = forgotten
        self._index = index
        commands.settle_with(m.DELETE, self._settle)

    async def delete_named(self, params: t.DeleteParams, caller: Caller) -> t.DeleteResult:
        """Move the session that a request names to the trash, and notify all clients.

        A repeated command returns the first result, as does a request for a session that is in the trash already.
        Raises the same errors as `delete`.
        """
        command = self._commands.of(m.DELETE, params)

        async def run() -> t.DeleteResult:
            by_path = params.path is not None
            try:
                live = await self._open.named(params.session_id, params.path)
                if params.forget:  # before the deletion, so that nothing brings it back in between
                    await asyncio.to_thread(self._forgotten.put, _forgotten(live))
                    await self._index.erase_removed()
                gone = await self.delete(
                    live, by_path=by_path, note=params.note, by=caller.client_id, command=command
                )
                if params.forget:  # an erasure that began before the session was removed has not erased it
                    await self._index.erase_removed()
            except SessionTrashed as before:
                known = await self._deleted_before(before)
                if known is None:
                    raise
                if params.forget:
                    gone_session = Tombstone(known.session_id, clock.timestamp())
                    await asyncio.to_thread(self._forgotten.put, gone_session)
                    await self._index.erase_removed()
                return known
            origin = caller.origin(params.command_id)
            caller.announce(m.DELETED, trash_results.deleted_note(gone, params.note or None, origin))
            return gone

        return await self._commands.once(command, t.DeleteResult, run)

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
            command: The command of the request, if it has a `commandId`.

        Raises:
            IncompatibleParams: The session is in a folder of another program, and `by_path` is False.
            LogReplaced: Another program replaced the file.
            StorageFailed: The file could not be moved.
            Draining: The daemon shuts down.
            CommandReused: The `commandId` belongs to another request.
        """
        self._open.refuse_when_draining()
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
            live = await self._open.session(live.session_id)  # the session was unloaded in the meantime
        return await self._to_trash(live, note or "", by, command)

    async def _deleted_before(self, gone: SessionTrashed) -> t.DeleteResult | None:
        """Return the result of an earlier deletion of a session; None if the session is no longer in the trash."""
        if gone.trash_id is None:
            found = await self._trash.last_deleted(gone.session_id)
        else:
            found = await self._trash.deleted_as(gone.trash_id)
        return None if found is None else trash_results.deleted_earlier(found)

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
                live.tree_watches.lapse_all("deleted")
                live.holders.clear()
            finally:
                live.subscribers.lag_all()  # if the move failed, subscribers remain and must resubscribe
                await live.close()
        self._open.log_moved(was)
        return trash_results.deleted(live.session_id, None if live.ephemeral else was, place)

    def about(self, live: LiveSession, by: str) -> TrashNote:
        """Return the note for a session that moves to the trash; `by` is the client id or `daemon`."""
        session = info_of(live)
        return TrashNote(by, live.session_id, session.cwd, session.title or session.first_prompt)

    async def _settle(self, entry: "Entry") -> t.DeleteResult | None:
        found = [trashed for trashed in await self._trash.list() if trashed.log.about.command_id == entry.id]
        return trash_results.deleted_earlier(found[0], duplicate=False) if found else None


def _forgotten(live: LiveSession) -> Tombstone:
    """Return the record of a session that is forgotten."""
    tree = live.tree
    origin = tree.origin
    prompts = live.read_rows(list(tree.user_rows(1)))
    return Tombstone(
        live.session_id,
        clock.timestamp(),
        agent=None if origin is None else origin.agent,
        path=None if origin is None else origin.path,
        first_prompt=prompt_key(prompts[0]) if prompts else "",
    )
