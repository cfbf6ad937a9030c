"""Threads that run the blocking calls of the group commit, and report them to the event loop.

A sync takes about as long as everything else that an append needs, and there may be one for each session at a time.
So the way to a thread and back is short: calls wait in one queue, and results that arrive together are reported by one
callback of the loop. `concurrent.futures` would take a lock, a condition and a wakeup of the loop for each call.
"""

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")

THREADS: Final = 8
"""Limit of threads. Syncs of different files do not combine, so more threads only help while disks are slow."""


class CallResult(Generic[T]):
    """The result of one call, or the exception that it raised."""

    __slots__ = ("_error", "_value")

    def __init__(self, value: T | None, error: BaseException | None) -> None:
        self._value = value
        self._error = error

    def exception(self) -> BaseException | None:
        """Return the exception, or None."""
        return self._error

    def result(self) -> T:
        """Return the result. Raises the exception of the call."""
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # a call that did not raise has returned a T


class Workers:
    """Runs calls on threads that are started when they are needed. Must be used on the event loop's thread."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._calls: queue.SimpleQueue[tuple[Callable[[], Any], Callable[[CallResult[Any]], None]] | None] = (
            queue.SimpleQueue()
        )
        self._threads: list[threading.Thread] = []
        self._running = 0  # calls that are queued or running
        self._finished: deque[tuple[Callable[[CallResult[Any]], None], CallResult[Any]]] = deque()
        self._report_is_due = False

    def run(self, call: Callable[[], T], done: Callable[[CallResult[T]], None]) -> None:
        """Run `call` on a thread, then `done` on the event loop's thread."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        self._running += 1
        if self._running > len(self._threads) < THREADS:
            name = f"sessiond-commit-{len(self._threads)}"
            thread = threading.Thread(target=self._work, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()
        self._calls.put((call, done))

    async def close(self) -> None:
        """Wait for all calls, report them, and end the threads."""
        for _ in self._threads:
            self._calls.put(None)
        threads, self._threads = self._threads, []
        for thread in threads:
            await asyncio.to_thread(thread.join)
        self._report()

    def _work(self) -> None:
        while (item := self._calls.get()) is not None:
            call, done = item
            try:
                result: CallResult[Any] = CallResult(call(), None)
            except BaseException as error:  # noqa: BLE001 - reported like a result
                result = CallResult(None, error)
            self._finished.append((done, result))
            # The callback resets the flag before it takes results, so a result that finds it set is not missed.
            if not self._report_is_due:
                self._report_is_due = True
                self._wake()

    def _wake(self) -> None:
        assert self._loop is not None
        with suppress(RuntimeError):  # the loop is closed: no callback can run any more
            self._loop.call_soon_threadsafe(self._report)

    def _report(self) -> None:
        self._report_is_due = False
        while self._finished:
            done, result = self._finished.popleft()
            self._running -= 1
            try:
                done(result)
            except Exception as error:  # noqa: BLE001 - a defect of one caller; others must get their results
                message = "the callback of a finished call failed"
                loop = asyncio.get_running_loop()
                loop.call_exception_handler({"message": message, "exception": error})
