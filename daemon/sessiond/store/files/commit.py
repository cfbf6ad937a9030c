"""Group commit: each log has one queue, one write for all queued batches, and one sync at a time for all written ones.

The event loop writes small batches itself and never waits for a sync. Batches that arrive during a sync are the next
write. Outcomes are reported strictly in the order of the calls (decision 0004). For failed syncs see decision 0005.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from enum import Enum, auto
from functools import partial
from typing import TypeVar

from sessiond.store.base import Durability
from sessiond.store.errors import LogReplaced, StorageFailed, StorageFull, SyncFailed
from sessiond.store.files.appending import ForeignHalfLine, WriteOutcome
from sessiond.store.files.commit_queue import CommitQueue, QueuedBatch
from sessiond.store.files.half_lines import HalfLine
from sessiond.store.files.logfile import LogFile
from sessiond.store.files.syscalls import refusal
from sessiond.store.files.workers import CallResult, Workers

INLINE = 256 * 1024  # bytes that the event loop's thread may write itself: a tenth of a millisecond
_SYNC_WRITTEN_AFTER = 0.5  # seconds; the limit promised for `written` is one second
_HALF_LINE_CHECK = 0.01  # seconds between two checks of another program's unfinished line

_T = TypeVar("_T")


class Commits:
    """Writes the batches of one log to disk in order. All methods must be called on the event loop's thread.

    Batches move from `_queued` to `_written` (outcome not yet reported) and leave it in order. Each write has a
    generation. A sync covers the generations that were written before it started. `_unsynced` holds the bytes that no
    sync has covered, in case a sync fails. `_reported_size` is the end of the file as known to callers.
    """

    def __init__(self, file: LogFile, workers: Workers, *, unsynced: StorageFailed | None = None) -> None:
        """Create the queue of a file. `unsynced` is the error of a failed sync at open; it is not retried either."""
        self.write_error: StorageFailed | LogReplaced | None = unsynced
        """The error of the last write; None after a successful write."""
        self._file = file
        self._workers = workers
        self._loop = asyncio.get_running_loop()
        self._work = _Work.NOTHING
        self._step_scheduled = False
        self._visitors: deque[Callable[[], None]] = deque()
        self._queued = CommitQueue()
        self._shifted = False
        self._written: deque[QueuedBatch] = deque()
        self._doomed: list[QueuedBatch] = []
        self._doom: StorageFailed | LogReplaced | None = None
        self._generation = 0
        self._synced_generation = 0
        self._unsynced: deque[tuple[int, int, bytes]] = deque()  # generation, offset, data
        self._sync_failed = unsynced is not None
        self._sync_is_due = False
        self._timer: asyncio.TimerHandle | None = None
        self._accepted = 0
        self._reported_size = file.size
        self._half_line = HalfLine()
        self._half_line_timer: asyncio.TimerHandle | None = None

    def append(self, data: bytes, durability: Durability) -> asyncio.Future[bool]:
        """Queue one batch. The future's result is whether it drifted (see `base.Log.append`)."""
        future: asyncio.Future[bool] = self._loop.create_future()
        self._queued.add(QueuedBatch(data, durability, future))
        if not self._step_scheduled:
            self._step_scheduled = True
            self._loop.call_soon(self._step)
        return future

    def extend(self, batch: asyncio.Future[bool], data: bytes) -> bool:
        """Add lines to a batch if it is the last one that waits for a write. Return whether they were added."""
        return self._queued.extend(batch, data)

    async def flush(self) -> bool:
        """Wait until all batches that were queued before are synced. Return False if nothing was unsynced."""
        if not (self._queued or self._written or self._unsynced):
            return False
        await self.append(b"", "synced")
        return True

    async def alone(self, call: Callable[[], _T]) -> _T:
        """Run `call` on a worker thread with exclusive access to the file. Appends wait in the queue.

        The call runs to its end even if the caller is canceled.
        """
        future: asyncio.Future[_T] = self._loop.create_future()
        self._visitors.append(partial(self._visit, call, future))
        self._step()
        return await future

    def sync_has_failed(self, error: OSError) -> None:
        """Record that a sync outside of this class has failed. The file is then replaced before the next write."""
        self._sync_failed = True
        self.write_error = self._as_unsynced(error)

    @property
    def is_unsynced(self) -> bool:
        """Whether a sync has failed and the file has not yet been replaced."""
        return self._sync_failed

    async def fix(self) -> None:
        """Replace a file whose sync failed with a new one. An error is stored in `write_error`."""
        if self._sync_failed and self._work is _Work.NOTHING and not self._visitors:
            self._renew()
            await self.alone(_nothing)

    @property
    def moves_file(self) -> bool:
        """Whether this daemon is changing the file, so that its size does not show changes by other programs."""
        return self._work is not _Work.NOTHING and self._work is not _Work.SYNC

    def accept(self, size: int) -> None:
        """Accept the bytes up to `size`, which another program added, as soon as the file is not being changed."""
        self._accepted = size
        if not self.moves_file:
            self._accept_late()

    def stop(self) -> None:
        """Cancel the timers. The queue must be empty."""
        self._cancel_timer()
        self._end_wait_for_half_line()

    def _step(self) -> None:
        """Start the next operation. Called on the tick after an append, and after every operation."""
        self._step_scheduled = False
        if self._visitors:
            if self._work is _Work.NOTHING:
                self._visitors.popleft()()
            return
        if self._queued and self._may_write():
            self._write()
        self._report()
        if self._work is not _Work.NOTHING:
            return
        if self._sync_failed and (self._queued or self._written or self._sync_is_due):
            self._renew()
        elif self._written or (self._unsynced and self._sync_is_due):
            self._sync()
        elif self._unsynced and self._timer is None and not self._sync_failed:
            self._timer = self._loop.call_later(_SYNC_WRITTEN_AFTER, self._sync_now)

    def _may_write(self) -> bool:
        """Return whether to write now. During a sync, only batches that do not wait for a sync are written."""
        if self._doom is not None or self._sync_failed:
            return False
        if self._work is _Work.SYNC:
            return self._queued.has_hurried and self._queued.size <= INLINE
        return self._work is _Work.NOTHING

    def _write(self) -> None:
        batches = self._queued.take()
        parts = [part for batch in batches for part in batch.parts]
        size = sum(map(len, parts))
        if not size:
            self._place(batches, WriteOutcome(self._file.size, b"", drifted=False))
        elif size > INLINE or self._file.is_packed:
            self._run(_Work.WRITE, lambda: self._file.put(b"".join(parts)), partial(self._put_done, batches))
        else:
            try:
                placed = self._file.put(b"".join(parts))
            except ForeignHalfLine as half:
                self._wait_for_half_line(batches, half.size)
            except (OSError, StorageFailed, LogReplaced) as error:
                self._condemn(batches, self._as_refusal(error))
            else:
                self._place(batches, placed)

    def _put_done(self, batches: list[QueuedBatch], done: CallResult[WriteOutcome]) -> None:
        error = done.exception()
        if error is None:
            self._place(batches, done.result())
        elif isinstance(error, ForeignHalfLine):
            self._wait_for_half_line(batches, error.size)
        else:
            self._condemn(batches, self._as_refusal(error))

    def _place(self, batches: list[QueuedBatch], placed: WriteOutcome) -> None:
        self._end_wait_for_half_line()
        if placed.data:
            self._generation += 1
            self._unsynced.extend((self._generation, blank.offset, blank.data) for blank in placed.blanked)
            self._unsynced.append((self._generation, placed.offset, placed.data))
        drifted, self._shifted = placed.drifted or self._shifted, False
        offset = placed.offset + len(placed.data) - sum(batch.size for batch in batches)
        for batch in batches:
            batch.offset = offset
            offset += batch.size
            batch.generation = self._generation
            batch.drifted = drifted
            batch.reported_size = self._file.size if drifted else offset
            batch.parts.clear()
            # Clients may write faster than the delayed syncs let descriptors be closed.
            batch.synced = batch.synced or self._file.must_sync_soon
        self._written.extend(batches)

    def _wait_for_half_line(self, batches: list[QueuedBatch], size: int) -> None:
        """Queue batches again until another program has completed or abandoned the line that ends at `size`."""
        self._queued.put_back(batches)
        if self._half_line.is_abandoned(size, self._loop.time()):
            self._file.waits_for_half_lines = False
        if self._half_line_timer is None:
            self._half_line_timer = self._loop.call_later(_HALF_LINE_CHECK, self._check_half_line)

    def _check_half_line(self) -> None:
        self._half_line_timer = None
        self._step()

    def _end_wait_for_half_line(self) -> None:
        self._half_line.forget()
        self._file.waits_for_half_lines = True
        if self._half_line_timer is not None:
            self._half_line_timer.cancel()
            self._half_line_timer = None

    def _report(self) -> None:
        """Resolve the futures of batches that have reached their level, in order."""
        while self._written:
            batch = self._written[0]
            if batch.synced and batch.generation > self._synced_generation:
                return
            self._written.popleft()
            self._reported_size = batch.reported_size
            self.write_error = None
            if not batch.future.done():
                batch.future.set_result(batch.drifted)
        if self._doom is not None and self._doomed:
            # `_forget_failure` runs immediately before the callbacks of the futures. An append before it could not know
            # of the failure and may depend on the failed batch. An append after it knows of the failure.
            self.write_error = self._doom
            self._loop.call_soon(self._forget_failure)
            self._fail_doomed(self._doom)

    def _condemn(self, batches: list[QueuedBatch], error: StorageFailed | LogReplaced) -> None:
        self._end_wait_for_half_line()
        self._doomed = batches
        self._doom = error

    def _forget_failure(self) -> None:
        assert self._doom is not None
        self._doomed = self._queued.take()
        self._fail_doomed(self._doom)
        self._doom = None
        self._step()

    def _fail_doomed(self, error: StorageFailed | LogReplaced) -> None:
        doomed, self._doomed = self._doomed, []
        for batch in doomed:
            if not batch.future.done():
                batch.future.set_exception(error)

    def _accept_late(self) -> None:
        if self._accepted > self._file.size:
            self._file.set_size(self._accepted)
            self._resized()
        self._accepted = 0

    def _resized(self) -> None:
        """Note that the file ends at another offset than callers expect: queued batches drift."""
        self._shifted = self._shifted or bool(self._queued)
        if not self._written:
            self._reported_size = self._file.size

    def _visit(self, call: Callable[[], _T], future: asyncio.Future[_T]) -> None:
        size = self._file.size

        def done(result: CallResult[_T]) -> None:
            if self._file.size != size:
                self._resized()
            error = result.exception()
            if isinstance(error, StorageFailed | LogReplaced):
                self.write_error = error
            if future.done():
                return
            if error is None:
                future.set_result(result.result())
            else:
                future.set_exception(error)

        self._run(_Work.VISIT, call, done)

    def _sync_now(self) -> None:
        self._timer = None
        self._sync_is_due = True
        self._step()

    def _sync(self) -> None:
        self._cancel_timer()
        self._sync_is_due = False
        self._run(_Work.SYNC, self._file.sync, partial(self._sync_done, self._generation))

    def _sync_done(self, generation: int, done: CallResult[None]) -> None:
        if done.exception() is not None:
            self._sync_failed = self._sync_is_due = True
            return
        self._synced_generation = generation
        while self._unsynced and self._unsynced[0][0] <= generation:
            self._unsynced.popleft()

    def _renew(self) -> None:
        """Recover from a failed sync, which must not be retried on the same file (decision 0005)."""
        self._cancel_timer()
        self._sync_is_due = False
        unsynced = [(offset, data) for _, offset, data in self._unsynced]
        self._run(_Work.RENEW, partial(self._file.renew, unsynced), self._renew_done)

    def _renew_done(self, done: CallResult[None]) -> None:
        error = done.exception()
        if error is None:
            self._file.set_size(self._file.size)  # its last bytes may have been among those that were dropped
            self._all_synced()
            self.write_error = None
            return
        refused = self.write_error = self._as_unsynced(error)
        written = list(self._written)
        self._written.clear()
        lost = [*written, *self._doomed, *self._queued.take()]
        if lost:
            self._condemn(lost, refused)
        if written:
            self._give_up(written[0].offset)

    def _give_up(self, cut: int) -> None:
        """Discard the bytes from `cut` on, which could not be synced, in the file and in memory."""
        ours = cut
        for _, offset, data in self._unsynced:
            if offset <= ours < offset + len(data):
                ours = offset + len(data)
        if ours == self._file.size:
            self._file.cut(cut)
        self._file.set_size(min(cut, self._reported_size))
        self._unsynced = deque(
            (generation, offset, data[: cut - offset])
            for generation, offset, data in self._unsynced
            if offset < cut
        )

    def _all_synced(self) -> None:
        self._cancel_timer()
        self._synced_generation = self._generation
        self._unsynced.clear()
        self._sync_failed = self._sync_is_due = False

    def _run(self, work: "_Work", call: Callable[[], _T], done: Callable[[CallResult[_T]], None]) -> None:
        """Run `call` on a worker thread, then `done` and the next step on the event loop's thread."""
        self._work = work

        def finish(result: CallResult[_T]) -> None:
            self._work = _Work.NOTHING
            try:
                done(result)
                self._accept_late()
            finally:
                self._step()

        self._workers.run(call, finish)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _as_unsynced(self, error: BaseException) -> StorageFailed | LogReplaced:
        """Return why a file whose sync failed could not be replaced."""
        refused = self._as_refusal(error)
        if isinstance(refused, StorageFull | LogReplaced):
            return refused
        reason = f"{self._file.path}: {(isinstance(error, OSError) and error.strerror) or error}"
        return SyncFailed(reason, path=str(self._file.path), errno=refused.errno)

    def _as_refusal(self, error: BaseException) -> StorageFailed | LogReplaced:
        if isinstance(error, StorageFailed | LogReplaced):
            return error
        if isinstance(error, OSError):
            return refusal(error, self._file.path)
        return StorageFailed(f"{self._file.path}: {error!r}", path=str(self._file.path))


def _nothing() -> None:
    """Do nothing. The operation only waits for the earlier ones to end."""


class _Work(Enum):
    """The operation that a pool thread performs on the file."""

    NOTHING = auto()
    WRITE = auto()
    SYNC = auto()
    RENEW = auto()
    VISIT = auto()
