"""Taking sessions away and bringing them back: everything goes through the trash, so each step has its inverse."""

import base64
import binascii
from typing import Protocol

from sessiond.hub.errors import CursorExpired, InvalidRequest, NotInTrash, SessionTrashed
from sessiond.hub.index.index import Index
from sessiond.hub.lineage import Lineage
from sessiond.hub.live import LiveSession
from sessiond.hub.opened import SHORTEST, OpenSessions
from sessiond.hub.trash import InTrash, Trash
from sessiond.protocol import types as t
from sessiond.session import lines
from sessiond.store.base import About, LogExists, Store


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

    async def restore(self, params: t.RestoreParams) -> LiveSession:
        """Put a session back to where it was. Raises `NotInTrash`, `LogExists`, `StorageFailed`, `Damaged`."""
        self._sessions.refuse_when_draining()
        store, log = await self._named(params)
        near = await self._sessions.index.near(log.session_id, shortest=SHORTEST)
        if self._open.cached(log.session_id) is not None or log.session_id in near.refs:
            raise LogExists(log.session_id)
        ref = await store.restore(log.ref)
        self._has_moved(ref)
        if store is self._memory:
            return await self._open.adopt(await store.open_ref(ref), ephemeral=True)
        return await self._open.at_path(ref)

    async def _named(self, params: t.RestoreParams) -> InTrash:
        """What a request names in one of two ways."""
        if (params.session_id is None) is (params.trashed is None):
            raise InvalidRequest("say either sessionId or trashed")
        name = params.session_id or params.trashed or ""
        found = await self._trash.find(name, shortest=SHORTEST)
        if found is None or (params.trashed is not None and found.log.ref != params.trashed):
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
    log = found.log
    return t.TrashedSession(
        session_id=lines.sound(log.session_id),
        trashed=lines.sound(log.ref),
        path=lines.sound(log.origin) if log.origin is not None and log.origin.startswith("/") else None,
        trashed_at=log.trashed_at, reason=lines.sound(log.reason), by=lines.sound(log.about.by),
        draft=log.draft, size_bytes=log.size,
        cwd=log.about.cwd and lines.sound(log.about.cwd),
        title=log.about.title and lines.sound(log.about.title),
        remains=[lines.sound(it) for it in log.remains],
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
