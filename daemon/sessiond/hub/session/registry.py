"""The open sessions: found by id or path, and loaded once for concurrent requests.

A session is open under its id, whichever path leads to it. Requests for a session that is being created wait until it
is open. A log that is being closed or trashed cannot be opened again before that has ended.
"""

import asyncio
import contextlib
import hashlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from typing import Any, Final, TypeAlias, TypeVar

from sessiond.hub.errors import (
    Damaged,
    Draining,
    HubError,
    IncompatibleParams,
    SessionNotFound,
    SessionTrashed,
    refuse_unless_absolute,
)
from sessiond.hub.session.blobs import SessionBlobs
from sessiond.hub.session.description import list_row_of
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.log_reader import LogReader, ReadableSession
from sessiond.hub.session.lookup import SessionLookup
from sessiond.hub.session.observers import NO_OBSERVER, GrowthObserver, SessionObserver
from sessiond.hub.trash import Trash
from sessiond.protocol import types as t
from sessiond.session.dialects.import_builder import session_ids
from sessiond.session.tree.tree import Tree
from sessiond.store.base import Log, Store
from sessiond.store.errors import LogCopied, LogExists, LogNotFound, LogReplaced, StorageFailed

T = TypeVar("T")

Load: TypeAlias = Callable[[LogReader], Awaitable[None]]

LOADED_TOGETHER: Final = 32
"""The number of sessions that are loaded at the same time. Each uses a file descriptor while it is loaded."""
_HEADER_BYTES: Final = 64 * 1024
"""The bytes at the start of a log that are searched for its header."""
_SEARCHES: Final = 5
SHORTEST: Final = 4
"""The minimum number of characters in an id prefix."""


class OpenSessions:
    """The registry: one `LiveSession` for each log. Loading one session does not block requests for others."""

    def __init__(self, files: Store, memory: Store, index: SessionLookup, trash: Trash) -> None:
        self.observer: SessionObserver[LiveSession] = NO_OBSERVER
        self.growth_observer: GrowthObserver[LiveSession] = NO_OBSERVER
        self._files = files
        self._memory = memory
        self._index = index
        self._trash = trash
        self._by_id: dict[str, LiveSession] = {}
        self._diverged: set[LiveSession] = set()
        self._finding: dict[str, asyncio.Task[LiveSession]] = {}
        self._loading: dict[str, asyncio.Task[LiveSession]] = {}
        self._creating: dict[str, asyncio.Task[LiveSession]] = {}
        self._loading_refs: set[str] = set()
        self._leaving: dict[str, asyncio.Future[None]] = {}  # by ref
        self._leaving_ids: dict[str, asyncio.Future[None]] = {}
        self._gone = 0  # the number of closed logs
        self._returning: set[asyncio.Future[None]] = set()
        self._returned = 0  # the number of logs that came back from the trash
        self._closed = False
        self._loads = asyncio.Semaphore(LOADED_TOGETHER)
        self.draining = False
        """Whether the daemon is stopping, so that writes are refused."""
        self.log_moved: Callable[[str], None] = _ignore
        """Called with the ref at which a log was added or removed."""

    def refuse_when_draining(self) -> None:
        """Raise `Draining` if the daemon is stopping."""
        if self.draining:
            raise Draining

    def close(self) -> None:
        """Open no more sessions: the daemon closes the open ones, and then the stores."""
        self._closed = True

    def all(self) -> list[LiveSession]:
        """Return all open sessions."""
        return list(self._by_id.values())

    def diverged(self) -> list[LiveSession]:
        """Return the sessions that other readers of their files may see differently, after a write or a write block."""
        self._diverged -= {live for live in self._diverged if not self.has(live)}
        return list(self._diverged)

    def cached(self, session_id: str) -> LiveSession | None:
        """Return the session if it is open under exactly this id."""
        live = self._by_id.get(session_id)
        if live is not None:
            live.used_at = time.monotonic()
        return live

    def at(self, ref: str) -> LiveSession | None:
        """Return the open session at a ref. The ref is not a key, because it changes when a draft is promoted."""
        return next((live for live in self._by_id.values() if live.log.ref == ref), None)

    async def session(self, session_id: str) -> LiveSession:
        """Open and return the session with this id. Raises `SessionNotFound`, `SessionTrashed`."""
        live = self.cached(session_id)
        while live is None or not self.has(live):
            if creating := self._creating.get(session_id):
                await asyncio.wait([creating])
                live = self.cached(session_id)
                if live is not None:
                    continue
            # Requests that wait for the same session resume in the order of their arrival.
            live = await _shared(
                self._finding, session_id, lambda: self._search(lambda: self._find(session_id))
            )
        return live

    async def at_path(self, path: str) -> LiveSession:
        """Open and return the session in a file. Raises as `session`, `Damaged`, and `LogExists` for a used id."""
        live: LiveSession | None = None
        while live is None or not self.has(live):
            live = await self._adopt(await self._search(lambda: self._log_at(path)))
        return live

    async def named(self, session_id: str | None, path: str | None) -> LiveSession:
        """Open and return the session that a request names by id or by path. Raises as `session` and `at_path`.

        Raises:
            IncompatibleParams: Both or neither are given, or the path is not absolute.
        """
        if session_id is not None and path is None:
            return await self.session(session_id)
        if path is None or session_id is not None:
            raise IncompatibleParams("exactly one of `sessionId` and `path` is required")
        refuse_unless_absolute(path, "path")
        return await self.at_path(path)

    async def _search(self, find: Callable[[], Awaitable[T]]) -> T:
        """Return what `find` returns. It is called again if a session came back from the trash meanwhile.

        `find` finds such a session neither in its first place nor in the trash, which it searches next.
        """
        for _ in range(_SEARCHES - 1):
            count = self._returned, self._gone
            try:
                return await find()
            except (SessionNotFound, SessionTrashed):
                if self._returning:
                    await asyncio.wait(self._returning)
                elif count == (self._returned, self._gone):
                    raise
        return await find()

    @contextlib.contextmanager
    def returning(self) -> Iterator[None]:
        """Mark a session as coming back from the trash during the block. Requests that do not find it wait."""
        ended = asyncio.get_running_loop().create_future()
        self._returning.add(ended)
        try:
            yield
        finally:
            self._returning.discard(ended)
            self._returned += 1
            ended.set_result(None)

    async def create(
        self, session_id: str, make: Callable[[], Awaitable[Log]], *, ephemeral: bool
    ) -> LiveSession:
        """Create and open a session. It stays open until its creator holds it.

        Args:
            session_id: The id of the new session.
            make: Creates its log.
            ephemeral: Whether the log is in memory only.

        Raises:
            LogExists: A session with this id is open, being opened or created, or on disk.
        """
        if session_id in self._by_id or session_id in self._creating or session_id in self._loading:
            raise LogExists(session_id)

        async def create() -> LiveSession:
            return await self._load(await make(), ephemeral=ephemeral, awaits_holder=True)

        return await _shared(self._creating, session_id, create)

    async def session_id_at(self, path: str) -> str | None:
        """Return the id in the header of a file; None if there is none."""
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
        """Whether a session is still open. It may have been closed while a request waited for it."""
        return self._by_id.get(live.session_id) is live

    async def _find(self, session_id: str) -> LiveSession:
        while True:
            try:
                log = await self._opened(lambda: self._files.open(session_id))
            except (LogNotFound, ValueError):
                live = self.cached(session_id)  # it may have been opened and moved during the search
                if live is None:
                    ref = await self._ref_of(session_id)
                    live = self.cached(ref) or self.at(ref)
                if live is not None:
                    return live
                log = await self._log_at(ref, session_id)
            live = await self._adopt(log)
            if live is not None:
                return live

    async def ref_of(self, session_id: str) -> str:
        """Return the ref of the session with this id. Raises `SessionNotFound`, `SessionTrashed`."""
        if creating := self._creating.get(session_id):
            await asyncio.wait([creating])
        live = self.cached(session_id)
        if live is not None:
            return live.log.ref
        return await self._search(lambda: self._ref_of(session_id))

    async def _ref_of(self, session_id: str) -> str:
        """Return the ref of the session with this id. Raises `SessionNotFound`, `SessionTrashed`."""
        matches = await self._index.find_by_id(session_id, min_prefix=SHORTEST)
        live = self.cached(session_id)
        ref = matches.refs.get(session_id) if live is None else live.log.ref
        if ref is not None:
            return ref
        if matches.of_agents:
            raise await self._absent(session_id, list(matches.of_agents))
        longer = {name for name in (*matches.refs, *self._by_id) if _begins(name, session_id)}
        import difflib  # only errors need it

        alike = difflib.get_close_matches(session_id, {*matches.similar_ids, *self._by_id}, 3, 0.7)
        raise await self._absent(session_id, sorted(longer)[:5] or alike)

    async def resolve(self, params: t.ResolveParams) -> t.ResolveResult:
        """Return the sessions whose id is `params.query` or begins with it."""
        query = params.query
        closed = await self._index.find_by_prefix(query, min_prefix=SHORTEST, limit=params.limit + 1)
        named = {name: list_row_of(live) for name, live in self._by_id.items() if _begins(name, query)}
        found = {
            session.session_id: session
            for session in closed
            if not named or _begins(session.session_id, query)
        } | named
        rows = [found[name] for name in sorted(found)]
        is_exact = query in found
        if rows and not _begins(rows[0].session_id, query):
            rows, is_exact = _of_agent(rows, query)
        return t.ResolveResult(sessions=rows[: params.limit], exact=is_exact, more=len(rows) > params.limit)

    async def _log_at(self, path: str, session_id: str | None = None) -> Log:
        """Open the log at a path, which may be outdated if it came from the index.

        `session_id` is the id that the request names, if any. The trash is searched for it.
        """
        try:
            return await self._opened(lambda: self._files.open_ref(path))
        except LogNotFound:
            raise await self._absent(session_id or path, []) from None

    async def _absent(self, name: str, alike: list[str]) -> HubError:
        """Return the error for a session that does not exist."""
        found = await self._trash.find(name)
        if found is not None:
            return SessionTrashed(found.log.session_id, trash_id=found.log.trash_id, trash_path=found.path)
        matches = {trashed.log.session_id for trashed in await self._trash.beginning(name, shortest=SHORTEST)}
        return SessionNotFound(name, did_you_mean=[*alike, *sorted(matches - {*alike})][:5])

    async def _opened(self, find: Callable[[], Awaitable[Log]]) -> Log:
        while True:
            if self._closed:
                raise Draining
            gone = self._gone
            log = await find()
            leaving = self._leaving.get(log.ref)
            if leaving is None and gone == self._gone:
                return log
            await log.close()  # its file may have been trashed meanwhile
            if leaving is not None:
                await asyncio.wait([leaving])

    @contextlib.asynccontextmanager
    async def open_for_reading(
        self, path: str, load: Load = LogReader.load
    ) -> AsyncIterator[ReadableSession]:
        """Yield the session in a file for reading only. The file may be a copy of a session that is open.

        `load` reads a session that is not open, or restores it from what is known. Raises `SessionNotFound`.
        """
        async with self._reading(await self._search(lambda: self._log_at(path)), load) as session:
            yield session

    @contextlib.asynccontextmanager
    async def open_by_id_for_reading(self, session_id: str) -> AsyncIterator[ReadableSession]:
        """Yield the session with this id for reading only. Raises `SessionNotFound`, `SessionTrashed`."""

        async def find() -> LiveSession | Log:
            try:
                ref = await self.ref_of(session_id)
                return self.cached(session_id) or await self._log_at(ref, session_id)
            except (SessionNotFound, SessionTrashed):
                live = self.cached(session_id)  # it may have been opened and moved during the search
                if live is None:
                    raise
                return live

        found = await self._search(find)
        if isinstance(found, LiveSession):
            yield found
            return
        async with self._reading(found, LogReader.load) as session:
            yield session

    @contextlib.asynccontextmanager
    async def _reading(self, log: Log, load: Load) -> AsyncIterator[ReadableSession]:
        try:
            known = self.at(log.ref)
            if known is not None:
                yield known
                return
            loaded = LogReader(log)
            await load(loaded)
            yield loaded
        finally:
            await log.close()

    async def adopt(self, log: Log, *, ephemeral: bool) -> LiveSession:
        """Open the session in a log that no other request can open meanwhile. Raises as `at_path`."""
        live = await self._adopt(log, ephemeral=ephemeral)
        return live or await self.session(log.session_id)

    async def _adopt(self, log: Log, *, ephemeral: bool = False) -> LiveSession | None:
        """Return the session in an open log. If the session is open already, the log is closed.

        Returns None if the log moved or was closed while it was opened. The caller searches again. Raises as
        `at_path`.
        """
        try:
            session_id = _id_in(log) or _damaged_id(log)
            while (busy := self._creating.get(session_id) or self._loading.get(session_id)) is not None:
                await asyncio.wait([busy])
            leaving = self._leaving_ids.get(session_id)
            known = self._by_id.get(session_id) or self.at(log.ref)
        except BaseException:
            await log.close()
            raise
        if known is None and leaving is None:
            return await _shared(self._loading, session_id, lambda: self._load(log, ephemeral=ephemeral))
        try:
            if known is not None and (known.log.ref == log.ref or not _is_in_its_place(log)):
                return known if known.log.ref == log.ref else None
            if known is not None:
                raise LogCopied(session_id, log.ref, known.log.path)
        finally:
            await log.close()
        if leaving is not None:
            await asyncio.wait([leaving])
        return None

    async def _load(self, log: Log, *, ephemeral: bool, awaits_holder: bool = False) -> LiveSession:
        self._loading_refs.add(log.ref)
        try:
            return await self._loaded(log, ephemeral=ephemeral, awaits_holder=awaits_holder)
        finally:
            self._loading_refs.discard(log.ref)

    async def _loaded(self, log: Log, *, ephemeral: bool, awaits_holder: bool) -> LiveSession:
        live = LiveSession(
            log,
            ephemeral=ephemeral,
            blobs=self._blobs_of(log, self._memory if ephemeral else self._files),
            observer=self.observer,
            growth_observer=self.growth_observer,
            diverges=self._diverged.add,
            is_shared=not ephemeral and not self._files.local,
        )
        try:
            async with self._loads:
                await live.load()
                live.blobs.takes_images = takes_images(live)
            if live.tree.damaged:
                if not live.tree.count_entries():
                    raise Damaged(log.path or log.session_id, live.tree.problems[0])
                live.set_id(_damaged_id(log))
            if other := self._by_id.get(live.session_id):
                raise LogCopied(live.session_id, log.ref, other.log.path)
        except BaseException:
            await log.close()
            raise
        live.awaits_holder = awaits_holder
        self._by_id[live.session_id] = live
        return live

    def blobs_of(self, session: ReadableSession) -> SessionBlobs:
        """Return the blobs of a session on disk, open or not."""
        return session.blobs if isinstance(session, LiveSession) else self._blobs_of(session.log, self._files)

    def _blobs_of(self, log: Log, store: Store) -> SessionBlobs:
        stores = [store.blobs] if store is self._files else [store.blobs, self._files.blobs]
        own = store.blobs if store.keeps(log.ref) else None
        return SessionBlobs(own, stores=stores, fallback=store.blobs_beside(log.ref))

    @contextlib.asynccontextmanager
    async def leaving(self, ref: str) -> AsyncIterator[None]:
        """Mark a log as being closed during the block. Requests that open it wait, and then search again."""
        ended = self._leaving[ref] = asyncio.get_running_loop().create_future()
        live = self.at(ref)
        if live is not None:
            del self._by_id[live.session_id]
            self._leaving_ids[live.session_id] = ended
        try:
            yield
        finally:
            del self._leaving[ref]
            if live is not None:
                del self._leaving_ids[live.session_id]
            self._gone += 1
            ended.set_result(None)

    async def close_unless_in_use(self, live: LiveSession) -> None:
        """Close a session unless it is in use: see `LiveSession.is_in_use`."""
        if not live.is_in_use and self.has(live):
            await self.close_session(live)

    async def close_session(self, live: LiveSession) -> None:
        """Close a session, even with subscribers, unless it is being loaded or closed already."""
        ref = live.log.ref
        if not self.may_leave(ref):
            return
        live.subscribers.lag_all()
        async with self.leaving(ref):
            await live.close()
            if not live.ephemeral:
                await self._files.release(ref)

    def may_leave(self, ref: str) -> bool:
        """Whether a log is neither being opened nor being closed."""
        return ref not in self._loading_refs and ref not in self._leaving


def _ignore(_ref: str) -> None:
    return


def _of_agent(rows: list[t.ListedSession], query: str) -> tuple[list[t.ListedSession], bool]:
    """Return the sessions that an id of an agent, or its beginning, names, and whether it is the id of the first one.

    A copy of a whole session has the origin of its source. The session that was read from the agent comes before it.
    """
    read = [
        row
        for row in rows
        if row.origin and row.session_id in session_ids(row.origin.agent, row.origin.session_id)
    ]
    whole = [session for session in read or rows if session.origin and session.origin.session_id == query]
    return whole or read or rows, len(whole) == 1


def _begins(name: str, prefix: str) -> bool:
    """Whether `prefix` is the session's id or a sufficiently long prefix of it."""
    return name == prefix or (len(prefix) >= SHORTEST and name.startswith(prefix))


def takes_images(live: LiveSession) -> bool:
    """Return whether images of a session become blobs: only if pi cannot read the session.

    pi reads neither sessions in memory nor files with a title slot.
    """
    return live.ephemeral or live.tree.slot_title is not None


async def _shared(
    tasks: dict[str, asyncio.Task[LiveSession]],
    key: str,
    start: Callable[[], Coroutine[Any, Any, LiveSession]],
) -> LiveSession:
    """Await the task of a key, which is shared by all requests. Canceling a request does not cancel the task."""
    task = tasks.get(key)
    if task is None:
        task = tasks[key] = asyncio.get_running_loop().create_task(start())
        task.add_done_callback(lambda done: _end(tasks, key, done))
    return await asyncio.shield(task)


def _end(tasks: dict[str, asyncio.Task[LiveSession]], key: str, task: asyncio.Task[LiveSession]) -> None:
    if tasks.get(key) is task:
        del tasks[key]
    if not task.cancelled():
        task.exception()  # retrieved, in case no request awaits it any more


def _id_in(log: Log) -> str | None:
    """Return the id in the header of a log; None if its first bytes hold no header."""
    tree = Tree()
    tree.read(log.read(0, _HEADER_BYTES))
    return None if tree.header is None else tree.header.id


def _is_in_its_place(log: Log) -> bool:
    """Whether the log is still the file at its path."""
    try:
        log.foreign_bytes()
    except LogReplaced:
        return False
    return True


def _damaged_id(log: Log) -> str:
    """Return an id for a file without a header, the same for every reader of the same place."""
    return "damaged-" + hashlib.sha256(log.ref.encode("utf-8", "surrogateescape")).hexdigest()[:12]
