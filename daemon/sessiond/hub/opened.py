"""The sessions that are open: found by id, prefix or path, and loaded once, however many ask at a time.

A log that is being let go of (closed, or moved to the trash) is not opened again before that has ended.
"""

import asyncio
import contextlib
import difflib
import hashlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, Final, TypeAlias

from sessiond.hub.blobs import SessionBlobs
from sessiond.hub.errors import Damaged, Draining, HubError, SessionAmbiguous, SessionNotFound, SessionTrashed
from sessiond.hub.events import NOBODY, Follower, Listener
from sessiond.hub.index.index import Index
from sessiond.hub.live import LiveSession
from sessiond.hub.loaded import LoadedSession
from sessiond.hub.trash import Trash
from sessiond.session.tree import Tree
from sessiond.store.base import Log, LogCopied, LogNotFound, StorageFailed, Store

Load: TypeAlias = Callable[[LoadedSession], Awaitable[None]]

LOADED_TOGETHER: Final = 32
"""Sessions that are loaded at the same time: each takes a descriptor of its own meanwhile."""
SHORTEST: Final = 4
"""Characters that a prefix of an id must have."""


class OpenSessions:
    """One `LiveSession` per log. A session that is slow to load holds up nobody who wants another one."""

    def __init__(self, files: Store, memory: Store, index: Index, trash: Trash) -> None:
        self.listener: Listener = NOBODY
        self.follower: Follower = NOBODY
        self._files = files
        self._memory = memory
        self._index = index
        self._trash = trash
        self._by_id: dict[str, LiveSession] = {}
        self._finding: dict[str, asyncio.Task[LiveSession]] = {}
        self._loading: dict[str, asyncio.Task[LiveSession]] = {}
        self._leaving: dict[str, asyncio.Future[None]] = {}
        self._gone = 0  # how many were let go of
        self._closed = False
        self._loads = asyncio.Semaphore(LOADED_TOGETHER)

    def close(self) -> None:
        """Open no more: the daemon lets go of what is open, and then of the disk."""
        self._closed = True

    def all(self) -> list[LiveSession]:
        return list(self._by_id.values())

    def cached(self, session_id: str) -> LiveSession | None:
        """The session if it is open under exactly this id."""
        live = self._by_id.get(session_id)
        if live is not None:
            live.used_at = time.monotonic()
        return live

    def at(self, ref: str) -> LiveSession | None:
        """The open session at a place, which is no key: it changes when the draft of the log is promoted."""
        return next((live for live in self._by_id.values() if live.log.ref == ref), None)

    async def session(self, session_id: str) -> LiveSession:
        """The session with this id or unique prefix, loaded. Raises `SessionNotFound`, `SessionTrashed`."""
        live = self.cached(session_id)
        while live is None or not self.has(live):
            # Those who wait for the same session go on in the order in which they came.
            live = await _shared(self._finding, session_id, lambda: self._find(session_id))
        return live

    async def at_path(self, path: str) -> LiveSession:
        """The session in a file. Raises as `session`, `Damaged`, and `LogExists`: another has its id."""
        live: LiveSession | None = None
        while live is None or not self.has(live):
            live = await self.adopt(await self._log_at(path))
        return live

    async def session_id_at(self, path: str) -> str | None:
        """The id of the session in a file, as its header says; None where there is none."""
        live = self.at(path)
        if live is not None:
            return live.session_id
        try:
            begin = await asyncio.to_thread(lambda: next(self._files.scan(path), b""))
        except (LogNotFound, StorageFailed):
            return None
        tree = Tree()
        tree.read(begin)
        return None if tree.header is None else tree.header.id

    def has(self, live: LiveSession) -> bool:
        """Whether a session is still open: it may have been let go of while somebody waited for it."""
        return self._by_id.get(live.session_id) is live

    def by_prefix(self, prefix: str) -> LiveSession | None:
        """The only open session whose id is this or begins so, or None."""
        near = [live for name, live in self._by_id.items() if name.startswith(prefix)]
        return self._by_id.get(prefix) or (near[0] if len(near) == 1 and len(prefix) >= SHORTEST else None)

    async def _find(self, session_id: str) -> LiveSession:
        try:
            log = await self._opened(lambda: self._files.open(session_id))
        except (LogNotFound, ValueError):
            ref = await self._ref_of(session_id)
            live = self.cached(ref)
            if live is not None:
                return live  # one in memory, which no path leads to
            log = await self._log_at(ref)
        return await self.adopt(log)

    async def ref_of(self, session_id: str) -> str:
        """Where the session lies that has this id or unique prefix. Raises `SessionNotFound`."""
        live = self.cached(session_id)
        return live.log.ref if live is not None else await self._ref_of(session_id)

    async def _ref_of(self, prefix: str) -> str:
        """Where the only session lies whose id begins so; or the id of an open one in memory."""
        near = await self._index.near(prefix, shortest=SHORTEST)
        refs = {name: ref for name, ref in near.refs.items() if name not in self._by_id}
        refs |= {name: live.log.ref for name, live in self._by_id.items() if _begins(name, prefix)}
        places = set(refs.values())
        if len(places) == 1:
            return places.pop()
        if refs:
            raise SessionAmbiguous(prefix, sorted(refs)[:5])
        alike = difflib.get_close_matches(prefix, {*near.alike, *self._by_id}, 3, 0.7)
        raise await self._absent(prefix, alike)

    async def _log_at(self, path: str) -> Log:
        try:
            return await self._opened(lambda: self._files.open_ref(path))
        except LogNotFound:
            raise await self._absent(path, []) from None

    async def _absent(self, name: str, alike: list[str]) -> HubError:
        """What is to be said of a session that is not there."""
        found = await self._trash.find(name, shortest=SHORTEST)
        if found is None:
            return SessionNotFound(name, did_you_mean=alike)
        return SessionTrashed(found.log.session_id, found.log.ref)

    async def _opened(self, find: Callable[[], Awaitable[Log]]) -> Log:
        while True:
            if self._closed:
                raise Draining
            gone = self._gone
            log = await find()
            leaving = self._leaving.get(log.ref)
            if leaving is None and gone == self._gone:
                return log
            await log.close()  # it may be the file of a moment ago, which lies in the trash by now
            if leaving is not None:
                await asyncio.wait([leaving])

    @contextlib.asynccontextmanager
    async def glance(self, path: str, load: Load = LoadedSession.load) -> AsyncIterator[LoadedSession]:
        """The session in a file, only to be read now: a copy of a session that is open elsewhere will do.

        `load` reads one that is not open, or knows it already. Raises `SessionNotFound`.
        """
        log = await self._log_at(path)
        try:
            known = self.at(log.ref)
            if known is not None:
                yield known
                return
            loaded = LoadedSession(log)
            await load(loaded)
            yield loaded
        finally:
            await log.close()

    async def adopt(self, log: Log, *, ephemeral: bool = False) -> LiveSession:
        """The session in an open log, which is closed again when the session is open already."""
        known = self.at(log.ref)
        if known is None and log.ref not in self._loading:
            return await _shared(self._loading, log.ref, lambda: self._load(log, ephemeral=ephemeral))
        await log.close()
        return known or await _shared(self._loading, log.ref, lambda: self._load(log, ephemeral=ephemeral))

    async def _load(self, log: Log, *, ephemeral: bool) -> LiveSession:
        live = LiveSession(
            log,
            ephemeral=ephemeral,
            blobs=self._blobs_of(log, self._memory if ephemeral else self._files),
            listener=self.listener,
            follower=self.follower,
        )
        try:
            async with self._loads:
                await live.load()
            if live.tree.damaged:
                if not live.tree.count_entries():
                    raise Damaged(log.path or log.session_id, live.tree.problems[0])
                live.name(_damaged_id(log))
            if other := self._by_id.get(live.session_id):
                raise LogCopied(live.session_id, log.ref, other.log.path)
        except BaseException:
            await log.close()
            raise
        self._by_id[live.session_id] = live
        return live

    def blobs_of(self, log: Log) -> SessionBlobs:
        """The blobs of a log on disk that is not open."""
        return self._blobs_of(log, self._files)

    def _blobs_of(self, log: Log, store: Store) -> SessionBlobs:
        kept = [store.blobs] if store is self._files else [store.blobs, self._files.blobs]
        own = store.blobs if store.keeps(log.ref) else None
        return SessionBlobs(own, kept=kept, beside=store.blobs_beside(log.ref))

    @contextlib.asynccontextmanager
    async def leaving(self, ref: str) -> AsyncIterator[None]:
        """Within this block a log is let go of: whoever wants to open it waits, and then looks again."""
        ended = self._leaving[ref] = asyncio.get_running_loop().create_future()
        live = self.at(ref)
        if live is not None:
            del self._by_id[live.session_id]
        try:
            yield
        finally:
            del self._leaving[ref]
            self._gone += 1
            ended.set_result(None)

    def may_leave(self, ref: str) -> bool:
        """Whether nobody opens or lets go of a log just now."""
        return ref not in self._loading and ref not in self._leaving


def _begins(name: str, prefix: str) -> bool:
    """Whether a session may be called so: by its id, or by enough of its beginning."""
    return name == prefix or (len(prefix) >= SHORTEST and name.startswith(prefix))


async def _shared(
    tasks: dict[str, asyncio.Task[LiveSession]],
    key: str,
    start: Callable[[], Coroutine[Any, Any, LiveSession]],
) -> LiveSession:
    """Await the work for a key, which is done once for all who want it; nobody's cancellation ends it."""
    task = tasks.get(key)
    if task is None:
        task = tasks[key] = asyncio.get_running_loop().create_task(start())
        task.add_done_callback(lambda done: _end(tasks, key, done))
    return await asyncio.shield(task)


def _end(tasks: dict[str, asyncio.Task[LiveSession]], key: str, task: asyncio.Task[LiveSession]) -> None:
    if tasks.get(key) is task:
        del tasks[key]
    if not task.cancelled():
        task.exception()  # taken, should nobody wait for it any more


def _damaged_id(log: Log) -> str:
    """An id for a file whose header has none: the same for every reader of the same place."""
    return "damaged-" + hashlib.sha256(log.ref.encode("utf-8", "surrogateescape")).hexdigest()[:12]
