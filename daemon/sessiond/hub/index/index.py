"""The interface of the index for the rest of the hub. One thread does all its work.

The index is never authoritative: every query checks the files first, open sessions override their files, and an index
file that is damaged, deleted or of another version is rebuilt and gives the same results (decision 0027).
"""

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from sessiond.hub.errors import Draining
from sessiond.hub.index.committed_entries import next_entries
from sessiond.hub.index.tracker import OpenChanges, OpenTracker
from sessiond.hub.session.log_reader import ReadableSession
from sessiond.protocol import types as t
from sessiond.session.tree import steps
from sessiond.session.tree.tree import Tree
from sessiond.store.base import Store
from sessiond.store.errors import LogReplaced, StorageFailed

if TYPE_CHECKING:
    from sessiond.hub.index.listing import IndexedIds, ListDelta
    from sessiond.hub.index.worker import Worker
    from sessiond.hub.session.live import LiveSession

log = logging.getLogger(__name__)
T = TypeVar("T")

START_SECONDS: Final = 1.0
"""The delay after startup before the index is updated in the background."""
MAX_UPDATE_SECONDS: Final = 10.0
"""The maximum time between two background updates. It applies if no change is reported."""
GATHER_SECONDS: Final = 0.2
"""The time that the background update waits for further changes after a reported change."""
WAIT_SECONDS: Final = 2.0
"""The time that a search waits for texts that are not indexed yet."""
_MAX_ATTEMPTS: Final = 3
"""The maximum number of attempts of a query, if open sessions change or move meanwhile."""
_RETRY_SECONDS: Final = 0.02
"""The pause before the next attempt: the disk takes time to move the file of a session."""
_PAUSE_FACTOR: Final = 1.0
"""The background work pauses for this multiple of the time that it worked."""
_BUSY_PAUSE_FACTOR: Final = 19.0
"""The multiple while the event loop is busy, because the thread holds the interpreter lock that the loop needs."""
_BUSY_FRACTION: Final = 0.25
"""The fraction of time from which on the event loop counts as busy."""


class Index:
    """The index of a store.

    Args:
        store: The store of the logs.
        path: The database file; None means a temporary file.
        open_sessions: Returns the open sessions that may differ from their files.
        describe: Returns the protocol's description of an open session.
    """

    def __init__(
        self,
        store: Store,
        path: str | None,
        open_sessions: "Callable[[], Iterable[LiveSession]]",
        describe: "Callable[[LiveSession], t.SessionInfo]",
    ) -> None:
        self._store = store
        self._path = path
        self._tracker = OpenTracker(open_sessions, describe, store.lists)
        self._queue_lock = asyncio.Lock()  # changes are passed on in the order in which they were recorded
        self._pending_changes: deque[tuple[OpenChanges, set[str]]] = deque()
        """Changes of open sessions and changed files that the thread applies before the next query."""
        self._indexed_extents: dict[LiveSession, tuple[Tree, int]] = {}
        self._indexed_build_number = 0
        self._worker: Worker | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sessiond-index")
        self._changed_files: set[str] = set()
        self._change_reported = asyncio.Event()
        self._position_changed = asyncio.Event()
        self._closed = False
        self.position = 0
        """The position of the list up to which its changes may be sent. It grows with every change of a row."""

    async def page(self, params: t.ListParams) -> t.ListResult:
        """Return a page of the list. Raises `CursorExpired`, `StorageFailed`."""
        return await self._query_fresh(lambda it: it.page(params))

    async def all_sessions(self, *, cwd: str | None = None) -> list[t.ListedSession]:
        """Return all sessions on disk including drafts, or those of one folder. Raises `StorageFailed`."""
        return await self._query_fresh(lambda it: it.all_sessions(cwd))

    async def known_positions(self) -> tuple[int, int]:
        """Return the positions after which all changes of the list are known: the oldest and the newest.

        Raises `StorageFailed`.
        """
        return await self._query_fresh(lambda it: it.known_positions())

    async def delta(
        self, list_filter: t.ListFilter, after: int, *, complete_at: int, limit: int
    ) -> "ListDelta | None":
        """Return the changes of a list after a position, up to `position`; see `listing.ListRange`.

        Raises `StorageFailed`.
        """
        from sessiond.hub.index.listing import ListRange  # loaded with the worker, for a fast start

        range_ = ListRange(after, complete_at, self.position, limit)
        return await self._run(lambda it: it.delta(list_filter, range_))

    async def wait_beyond(self, position: int) -> None:
        """Wait until the list has changed after a position. Does not check the files: see `known_positions`."""
        while self.position <= position:
            await self._position_changed.wait()

    async def find_by_id(self, session_id: str, *, min_prefix: int) -> "IndexedIds":
        """Return the sessions on disk whose id begins with `session_id`, or similar ids. Raises `StorageFailed`."""
        return await self._query_fresh(lambda it: it.find_by_id(session_id, min_prefix))

    async def find_by_prefix(self, prefix: str, *, min_prefix: int, limit: int) -> list[t.ListedSession]:
        """Return up to `limit` sessions on disk whose id begins with `prefix`. Raises `StorageFailed`."""
        return await self._query_fresh(lambda it: it.find_by_prefix(prefix, min_prefix, limit))

    async def search(self, params: t.SearchParams, ref: str | None) -> t.SearchResult:
        """Return a page of hits; `ref` is the ref of the session that `sessionId` names.

        Raises `IncompatibleParams`, `CursorExpired`, `StorageFailed`.
        """
        while True:  # if the index is rebuilt during the search, it is empty at first
            build_number = await self._catch_up(time.monotonic() + WAIT_SECONDS)
            open_now = self._tracker.overrides()
            found, waiting = await self._run(lambda it: it.search(params, ref))
            if await self._run(lambda it: it.build_number) == build_number:
                break
        paths: dict[str, frozenset[int]] = {}
        hits: list[t.Hit] = []
        for hit_ref, hit in zip(found.refs, found.hits, strict=True):
            if hit_ref not in open_now:
                hits.append(hit)
                continue
            tree = open_now[hit_ref].tree
            if hit.seq < tree.committed:
                if hit_ref not in paths:
                    walk = open_now[hit_ref].drive(steps.path(tree, tree.leaf))
                    paths[hit_ref] = frozenset(await walk)
                on_path = not hit.seq or hit.seq in paths[hit_ref]
                hits.append(msgspec.structs.replace(hit, on_path=on_path))
        return t.SearchResult(hits=hits, next_cursor=found.next_cursor, unsearched_count=waiting)

    def report_changes(self, refs: Collection[str]) -> None:
        """Report logs that other programs changed, so that the background update checks them soon."""
        self._changed_files.update(refs)
        self._change_reported.set()

    async def update_in_background(self) -> None:
        """Update the index in the background. Runs until canceled or closed."""
        await asyncio.sleep(START_SECONDS)
        with contextlib.suppress(Draining):
            while True:
                self._change_reported.clear()
                try:
                    await self._update_all()
                except StorageFailed as error:
                    log.warning("the index cannot be updated: %s", error)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(MAX_UPDATE_SECONDS):
                        await self._change_reported.wait()
                await asyncio.sleep(GATHER_SECONDS)

    async def close(self) -> None:
        """Finish the work under way. Later queries raise `Draining`."""
        if not self._closed:
            self._closed = True
            if self._worker is not None:
                await asyncio.get_running_loop().run_in_executor(self._thread, self._worker.close)
            self._thread.shutdown(wait=False)

    async def _query_fresh(self, query: "Callable[[Worker], T]") -> T:
        """Run a query after checking the files and applying the changes of open sessions."""
        for _ in range(_MAX_ATTEMPTS):
            result = await self._query(query)
            if (
                self._is_current()
            ):  # otherwise a session may be listed twice, not at all, or with pending lines
                break
            await asyncio.sleep(_RETRY_SECONDS)
        self._note_position()
        if self._worker is not None and self._worker.has_provisional:
            self._change_reported.set()  # the background update reads the whole files
        return result

    async def _query(self, query: "Callable[[Worker], T]") -> T:
        """Run a query after all recorded changes are applied.

        The changes are queued apart from the query: if the query is canceled before the thread starts it, the next
        query applies them.
        """

        def apply_and_query(worker: "Worker") -> T:
            while self._pending_changes:
                worker.record_changes(*self._pending_changes.popleft())
            return query(worker)

        async with self._queue_lock:
            changes = await self._tracker.changes()
            self._pending_changes.append((changes, self._changed_files))
            self._changed_files = set()
            result = self._submit(apply_and_query)
        return await result

    def _is_current(self) -> bool:
        """Whether no open session has moved or changed since the last query began."""
        return self._tracker.is_current() and not (self._worker is not None and self._worker.is_file_missing)

    def _note_position_if_current(self) -> None:
        if self._is_current():
            self._note_position()

    def _note_position(self) -> None:
        """Publish the position of the worker. Before this call, a moved session may appear to be removed."""
        if self._worker is not None and self._worker.position > self.position:
            self.position = self._worker.position
            changed, self._position_changed = self._position_changed, asyncio.Event()
            changed.set()

    async def _update_all(self) -> None:
        await self._index_open_sessions(await self._check_files(), None)
        while True:
            work = _BackgroundWork()
            if not await self._step():
                return
            self._note_position_if_current()
            await work.rest()

    async def _catch_up(self, until: float) -> int:
        """Update the index until the time `until`. Returns the build number of the index."""
        build_number = await self._check_files()
        await self._index_open_sessions(build_number, until)
        while await self._step() and time.monotonic() < until:
            pass
        return build_number

    async def _check_files(self) -> int:
        build_number = await self._query(lambda it: it.check_files())
        self._note_position_if_current()
        return build_number

    async def _step(self) -> bool:
        return await self._query(lambda it: it.step())

    async def _index_open_sessions(self, build_number: int, until: float | None) -> None:
        """Index the entries that were committed to open sessions since the last call."""
        overriding = self._tracker.overrides()
        before = self._indexed_extents if build_number == self._indexed_build_number else {}
        self._indexed_build_number = build_number
        self._indexed_extents = {live: before[live] for live in overriding.values() if live in before}
        outdated = {
            ref: live for ref, live in overriding.items() if self._indexed_extents.get(live) != _extent(live)
        }
        if not outdated:
            return
        rows = await self._run(lambda it: it.indexed_rows(outdated.keys()))
        indexed: dict[str, tuple[LiveSession, tuple[Tree, int]]] = {}
        for ref, live in outdated.items():
            try:
                extent = await self._index_open_session(ref, live, rows[ref], until)
                if extent is not None:
                    indexed[ref] = live, extent
            except (StorageFailed, LogReplaced) as error:
                if live not in self._tracker.open_sessions():
                    continue  # it was closed meanwhile: the next check reads its file
                log.warning("session %s cannot be read for the index: %s", live.log.session_id, error)
        if indexed:
            await self._run(lambda it: it.mark_indexed(indexed.keys()))
            self._indexed_extents |= dict(indexed.values())

    async def _index_open_session(
        self, ref: str, live: ReadableSession, rows: int | None, until: float | None
    ) -> tuple[Tree, int] | None:
        """Index the new entries of an open session. Returns its extent, or None if some entries are not indexed."""
        while rows is not None and rows != live.tree.committed:
            if live.log.ref != ref or (until is not None and time.monotonic() > until):
                return None
            work = _BackgroundWork()
            added = next_entries(live, min(rows, live.tree.committed))
            before, rows = rows, await self._run(lambda it, added=added: it.add_committed(ref, added))  # type: ignore[misc]
            if rows == before:
                return None
            if until is None:
                await work.rest()
        return None if rows is None else _extent(live)

    async def _run(self, work: "Callable[[Worker], T]") -> T:
        return await self._submit(work)

    def _submit(self, work: "Callable[[Worker], T]") -> "asyncio.Future[T]":
        if self._closed:
            raise Draining
        return asyncio.get_running_loop().run_in_executor(self._thread, self._work, work)

    def _work(self, work: "Callable[[Worker], T]") -> T:
        """Run work on the thread. The worker is imported there, so that the daemon starts faster."""
        if self._worker is None:
            from sessiond.hub.index.worker import Worker

            self._worker = Worker(self._store, self._path)
        return work(self._worker)


def _extent(live: ReadableSession) -> tuple[Tree, int]:
    """Return the extent of a session. A rebuilt tree is a new extent."""
    return live.tree, live.tree.committed


class _BackgroundWork:
    """A piece of background work that starts now."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._loop_began = time.thread_time()

    async def rest(self) -> None:
        """Pause after the work, for a longer time while the event loop is busy."""
        worked = time.monotonic() - self._began
        busy = time.thread_time() - self._loop_began > worked * _BUSY_FRACTION
        await asyncio.sleep(worked * (_BUSY_PAUSE_FACTOR if busy else _PAUSE_FACTOR))
