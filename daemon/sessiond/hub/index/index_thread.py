"""The thread of the index, and the queue of changes that it records before each question."""

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
    """Passes questions from the event loop to the worker, on the only thread that may use the database.

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
        """Changes of open sessions and of files that the thread records before the next question."""
        self._changed_files: set[str] = set()
        self._worker: Worker | None = None
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="sessiond-index")
        self._is_used = False
        self._closed = False
        self._is_file_missing = False
        self.position = 0
        """The position of the last change of the list, as of the last answer."""
        self.has_provisional = False
        """Whether there were provisional rows, as of the last answer."""

    def ask(self, question: "Callable[[Worker], T]") -> "asyncio.Future[T]":
        """Return the answer to a question about the index as it is. Raises `Draining`, and what `Worker.ask` does."""
        if self._closed:
            raise Draining
        self._is_used = True
        return asyncio.get_running_loop().run_in_executor(self._executor, self._answer, question)

    async def ask_with_changes(self, question: "Callable[[Worker], T]") -> T:
        """Return the answer to a question after all changes are recorded. Raises what `ask` does.

        The changes are queued apart from the question: if the question is canceled before the thread starts it, they
        are recorded before the next one.
        """
        async with self._queue_lock:
            changes = await self._tracker.changes()
            if self._changed_files or changes.changed or changes.released:
                self._pending_changes.append((changes, self._changed_files))
                self._changed_files = set()
            answer = self.ask(question)
        return await answer

    def report_changes(self, refs: Collection[str]) -> None:
        """Report logs that other programs changed. The next check of the files reads them."""
        self._changed_files.update(refs)

    @property
    def is_current(self) -> bool:
        """Whether no open session has moved or changed since the last question with changes began."""
        return self._tracker.is_current() and not self._is_file_missing

    async def close(self) -> None:
        """Finish the work in progress. Later questions raise `Draining`."""
        if not self._closed:
            self._closed = True
            if self._is_used:
                await asyncio.get_running_loop().run_in_executor(self._executor, self._close_worker)
            self._executor.shutdown(wait=False)

    def _answer(self, question: "Callable[[Worker], T]") -> T:
        """Answer a question on the thread. The worker is imported there, so that the daemon starts faster."""
        if self._worker is None:
            from sessiond.hub.index.worker import Worker

            self._worker = Worker(self._store, self._path)
        files = self._worker.files
        while self._pending_changes:
            files.record_changes(*self._pending_changes.popleft())
        try:
            return self._worker.ask(question)
        finally:
            self._is_file_missing = files.is_file_missing
            self.position, self.has_provisional = files.changes.position, files.has_provisional

    def _close_worker(self) -> None:
        """Close the worker on the thread. A question that was asked before may create it only then."""
        if self._worker is not None:
            self._worker.close()
