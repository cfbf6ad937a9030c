"""Taking sessions away and bringing them back: everything goes through the trash, so each step has its inverse.

All but a purge, which takes what is in the trash for good.
"""

import base64
import binascii
import logging
import time
from typing import Protocol

from sessiond.hub import clock
from sessiond.hub.errors import CursorExpired, InvalidRequest, NotInTrash, SessionTrashed
from sessiond.hub.index.index import Index
from sessiond.hub.lineage import Lineage
from sessiond.hub.live import LiveSession
from sessiond.hub.opened import SHORTEST, OpenSessions
from sessiond.hub.trash import InTrash, Trash
from sessiond.protocol import types as t
from sessiond.session import lines
from sessiond.store.base import About, LogExists, LogNotFound, Store

log = logging.getLogger(__name__)


class Sessions(Protocol):
    """What keeping needs of the hub."""

    index: Index
    lineage: Lineage

    def info(self, live: LiveSession) -> t.SessionInfo:
        """What the wire says of an open session."""

    def refuse_when_draining(self) -> None:
        """Raise `Draining` when no more writes are taken."""


class Keeping:
    """Moves sessions to the trash of `files` or `memory`, and back."""

    def __init__(
        self, sessions: Sessions, opened: OpenSessions, trash: Trash, files: Store, memory: Store
    ) -> None:
        self._sessions = sessions
        self._open = opened
        self._trash = trash
        self._files = files
        self._memory = memory

    async def delete(self, live: LiveSession, *, by_path: bool, reason: str, by: str) -> t.DeleteResult:
        """Move a session to the trash, whoever has it open. What was appended before goes with it.

        Raises `InvalidRequest` for another program's file that is not named `by_path`, `LogReplaced`,
        `StorageFailed`.
        """
        self._sessions.refuse_when_draining()
        if not live.ephemeral and not by_path and not self._files.keeps(live.log.ref):
            where = lines.sound(live.log.ref)
            raise InvalidRequest(
                f"the session lies in a folder of another program: name it by its path, {where}"
            )
        while True:
            live.ended = SessionTrashed(live.session_id, None)
            try:
                await live.ingest()  # a move that is under way ends first; no other begins
                await live.flush()
            except BaseException:
                live.ended = None
                raise
            if self._open.has(live):
                break
            live = await self._open.session(live.session_id)  # somebody let go of it meanwhile
        return await self._move(live, reason or "deleted", by)

    async def _move(self, live: LiveSession, reason: str, by: str) -> t.DeleteResult:
        store = self._memory if live.ephemeral else self._files
        was, about = live.log.ref, self.about(live, by)
        async with self._open.leaving(was):
            try:
                where = await store.trash(live.log, reason, about)
                live.watchers.let_go()
                live.holders.clear()
            finally:
                live.watchers.cut_off()  # those that the disk has left here: they may subscribe again
                await live.close()
        self._has_moved(was)
        path = None if live.ephemeral else lines.sound(was)
        return t.DeleteResult(session_id=live.session_id, path=path, trashed=lines.sound(where))

    def about(self, live: LiveSession, by: str) -> About:
        """What the note of a session in the trash says of it."""
        session = self._sessions.info(live)
        return About(by, live.session_id, session.cwd, session.title or session.first_prompt)

    async def move(self, live: LiveSession, cwd: str, origin: t.Origin) -> None:
        """Let a session belong to another working directory; see `LiveSession.move`.

        Raises `InvalidRequest` for another program's file, `LogExists`, `ReadOnly`, `StorageFailed`.
        """
        self._sessions.refuse_when_draining()
        was = live.log.ref
        if not live.ephemeral and not self._files.keeps(was):
            raise InvalidRequest(
                "the session lies in a folder of another program, which has an order of its own; "
                "session/fork with this cwd makes a copy here"
            )
        await live.move(cwd, origin)
        self._has_moved(was)
        self._has_moved(live.log.ref)

    async def restore(self, params: t.RestoreParams) -> LiveSession:
        """Put a session back to where it was. Raises `NotInTrash`, `LogExists`, `StorageFailed`, `Damaged`."""
        self._sessions.refuse_when_draining()
        store, found = await self._named(params.session_id, params.trashed)
        near = await self._sessions.index.near(found.session_id, shortest=SHORTEST)
        if self._open.cached(found.session_id) is not None or found.session_id in near.refs:
            raise LogExists(found.session_id)
        ref = await store.restore(found.ref)
        self._has_moved(ref)
        if store is self._memory:
            return await self._open.adopt(await store.open_ref(ref), ephemeral=True)
        return await self._open.at_path(ref)

    async def purge(self, params: t.PurgeParams) -> t.PurgeResult:
        """Take sessions out of the trash for good. Raises `NotInTrash`, `InvalidRequest`, `StorageFailed`."""
        if not params.dry_run:
            self._sessions.refuse_when_draining()
        if params.older_than_seconds is None:
            chosen = [await self._named(params.session_id, params.trashed)]
        elif params.session_id is None and params.trashed is None:
            chosen = await self._older_than(params.older_than_seconds)
        else:
            raise InvalidRequest("say either which session, or olderThanSeconds")
        kept = len(await self._trash.list()) - len(chosen)
        purged = chosen if params.dry_run else [it for it in chosen if await self._purge(it)]
        return t.PurgeResult(
            purged=[listed(it) for it in purged],
            purged_bytes=sum(it.log.size for it in purged),
            kept=kept,
            dry_run=params.dry_run,
        )

    async def purge_old(self, max_age: float) -> int:
        """Take for good what has been in the trash for `max_age` seconds; how many. Raises `StorageFailed`."""
        return sum([await self._purge(it) for it in await self._older_than(max_age)])

    async def _older_than(self, seconds: float) -> list[InTrash]:
        until = clock.iso(max(time.time_ns() - int(seconds * 1e9), 0))
        return [it for it in await self._trash.list() if it.log.trashed_at <= until]

    async def _purge(self, found: InTrash) -> bool:
        """Whether it was there still."""
        try:
            await found.store.purge(found.log.ref)
        except LogNotFound:
            return False
        log.info("session %s, which was in the trash since %s, is gone for good",
                 found.log.session_id, found.log.trashed_at)  # fmt: skip
        return True

    async def _named(self, session_id: str | None, trashed: str | None) -> InTrash:
        """What a request names in one of two ways."""
        if (session_id is None) is (trashed is None):
            raise InvalidRequest("say either sessionId or trashed")
        name = session_id or trashed or ""
        found = await self._trash.find(name, shortest=SHORTEST)
        if found is None or (trashed is not None and found.log.ref != trashed):
            raise NotInTrash(name)
        return found

    async def page(self, params: t.TrashListParams) -> t.TrashListResult:
        """A page of the trash. Raises `CursorExpired`, `StorageFailed`."""
        edge = None if params.cursor is None else _decode(params.cursor)
        everything = await self._trash.list()
        rest = [it for it in everything if edge is None or _key(it) < edge]
        shown = rest[: params.limit]
        return t.TrashListResult(
            sessions=[listed(it) for it in shown],
            total=len(everything),
            next_cursor=_encode(shown[-1]) if len(rest) > len(shown) else None,
        )

    def _has_moved(self, ref: str) -> None:
        """Lists shall show at once that a log came or went."""
        self._sessions.index.changed({ref})
        self._sessions.lineage.forget()


def listed(found: InTrash) -> t.TrashedSession:
    """What the wire says of a log in the trash."""
    it = found.log
    return t.TrashedSession(
        session_id=lines.sound(it.session_id),
        trashed=lines.sound(it.ref),
        path=lines.sound(it.origin) if it.origin is not None and it.origin.startswith("/") else None,
        trashed_at=lines.sound(it.trashed_at), reason=lines.sound(it.reason), by=lines.sound(it.about.by),
        draft=it.draft, size_bytes=it.size, cwd=lines.sound(it.about.cwd), title=lines.sound(it.about.title),
        remains=[lines.sound(name) for name in it.remains],
    )  # fmt: skip


def _key(found: InTrash) -> str:
    key: str = lines.sound(f"{found.log.trashed_at} {found.log.ref}")
    return key


def _encode(found: InTrash) -> str:
    return base64.urlsafe_b64encode(_key(found).encode()).decode()


def _decode(cursor: str) -> str:
    try:
        return base64.b64decode(cursor.encode(), b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError):
        raise CursorExpired from None
