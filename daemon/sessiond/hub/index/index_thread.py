"""The thread of the index, and the queue of changes that it applies before each query."""

import asyncio
from collections import deque
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from sessiond.hub.errors import Draining
from sessiond.hub.index.tracker import OpenChanges, OpenTracker
from sessiond.store.base import Store

if TYPE_CHECKING:
    from sessiond.hub.index.worker import Worker

T = TypeVar("T")


class IndexThread:
    """Runs work of the event loop on the one thread that may use the database.

    Args:
        store: The store of the logs.
        path: The database file; None means a temporary file.
        tracker: The open sessions that differ from their files.
    """

    def __init__(self, store: Store, path: str | None, tracker: OpenTracker) -> None:
        self._store = store
        self._path = path
        self._tracker = tracker
        self._queue_lock = asyncio.Lock()  # changes are passed on in the order in which they were recorded
        self._pending_changes: deque[tuple[OpenChanges, set[str]]] = deque()
        """Changes of open sessions and changed files that the thread applies before the next query."""
        self._changed_files: set[str] = set()
        self._worker: Worker | None = None
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="sessiond-index")
        self._is_used = False
        self._closed = False

    async def query(self, query: "Callable[[Worker], T]") -> T:
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

    async def run(self, work: "Callable[[Worker], T]") -> T:
        """Run work without applying changes."""
        return await self._submit(work)

    def report_changes(self, refs: Collection[str]) -> None:
        """Report logs that other programs changed. The next query checks them."""
        self._changed_files.update(refs)

    @property
    def is_current(self) -> bool:
        """Whether no open session has moved or changed since the last query began."""
        return self._tracker.is_current() and not (self._worker is not None and self._worker.is_file_missing)

    @property
    def position(self) -> int:
        """The position of the last change of the list."""
        return 0 if self._worker is None else self._worker.position

    @property
    def has_provisional(self) -> bool:
        """Whether there are provisional rows."""
        return self._worker is not None and self._worker.has_provisional

    async def close(self) -> None:
        """Finish the work under way. Later queries raise `Draining`."""
        if not self._closed:
            self._closed = True
            if self._is_used:
                await asyncio.get_running_loop().run_in_executor(self._executor, self._close_worker)
            self._executor.shutdown(wait=False)

    def _submit(self, work: "Callable[[Worker], T]") -> "asyncio.Future[T]":
        if self._closed:
            raise Draining
        self._is_used = True
        return asyncio.get_running_loop().run_in_executor(self._executor, self._work, work)

    def _work(self, work: "Callable[[Worker], T]") -> T:
        """Run work on the thread. The worker is imported there, so that the daemon starts faster."""
        if self._worker is None:
            from sessiond.hub.index.worker import Worker

            self._worker = Worker(self._store, self._path)
        return work(self._worker)

    def _close_worker(self) -> None:
        """Close the worker on the thread. Work that was submitted before may only then have made it."""
        if self._worker is not None:
            self._worker.close()
