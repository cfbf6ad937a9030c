"""The lines of one session of the database. For the methods see `base.Log`.

They are read from the mirror. Several logs of a session share it; each has its own end (`size`), up to which it has
accepted lines.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final, Protocol

from sessiond.store.base import Durability
from sessiond.store.batch_checks import refused_batch
from sessiond.store.errors import LogReplaced, StorageFailed
from sessiond.store.postgres.batches import BatchQueue, WaitingBatch
from sessiond.store.postgres.session import SharedSession


class LogService(Protocol):
    """The part of its store that a log needs."""

    @property
    def error(self) -> StorageFailed | None:
        """The reason why the server is out of reach, or None."""

    def wake(self, log: "PostgresLog") -> None:
        """Have the batches of a log written."""

    async def look(self) -> None:
        """Compare all open sessions with the database."""

    async def flush(self) -> None:
        """Wait for a commit that the server has synced."""

    def locked(self, log: "PostgresLog") -> AbstractAsyncContextManager[None]:
        """Lock the row of a session during the block."""

    async def complete_tail(self, log: "PostgresLog") -> None:
        """Add a newline to the last line."""

    async def quarantine(self, log: "PostgresLog", start: int, seq: int) -> str:
        """Move the lines from a byte on to the remains. Return their ref."""

    async def rewrite(self, log: "PostgresLog", lines: bytes, version: int, *, same_log: bool) -> None:
        """Replace all lines."""

    async def overwrite(self, log: "PostgresLog", offset: int, new: bytes) -> None:
        """Overwrite bytes inside a line."""

    async def promote(self, log: "PostgresLog") -> None:
        """Mark a session as no draft."""

    async def release(self, log: "PostgresLog") -> None:
        """Close the mirror of a log, unless another log has it."""


class PostgresLog:
    """One open log, made by `PostgresStore`.

    Attributes:
        seq: the number of lines before `size`.
        queue: the batches that no statement has taken.
        is_locking: whether batches wait for the end of `locked`.
    """

    path: Final = None
    """None, since the log is in no file of its own."""
    unchanged_size: Final = 0
    """0: the log has no open index."""
    is_touched: Final = False
    """False: bytes before `size` do not change while the log is open; `LogReplaced` says so if they would."""

    def __init__(self, session: SharedSession, sessions: LogService) -> None:
        self.session = session
        self.session_id = self.ref = session.session_id
        self.draft = session.draft
        self.queue = BatchQueue()
        self.seq = session.mirror.seq
        self.is_locking = False
        self._sessions = sessions
        self._size = session.mirror.size
        self._next = self.seq  # the number of lines with those of all queued batches
        self._in_flight = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False
        self.closed_error: Exception | None = None
        self._distrusted: LogReplaced | None = None

    @property
    def log_id(self) -> str:
        """The id in the row of the session."""
        return self.session.log_id

    @property
    def size(self) -> int:
        """The bytes that this log has accepted or written."""
        return self._size

    @property
    def read_only(self) -> str | None:
        """The reason why nothing can be appended: the log is closed. None if it is open."""
        return "it is closed" if self._closed else None

    @property
    def write_error(self) -> StorageFailed | LogReplaced | None:
        """The reason why the next write would fail: replaced lines, a server that is out of reach, or a full disk."""
        return self._distrusted or self.session.replaced or self._sessions.error or self.session.disk_error

    @property
    def stale(self) -> str | None:
        """The reason why the server is out of reach, or None."""
        error = self._sessions.error
        return None if error is None else error.reason

    async def retry(self) -> None:
        """Look whether the server is in reach, and take the lines that are missing here."""
        if not self._closed:
            await self._sessions.look()

    def read(self, start: int, end: int) -> bytes:
        """Read from the mirror."""
        self._raise_if_closed()
        return self.session.mirror.read(start, end)

    def scan(self, start: int = 0) -> Iterator[bytes]:
        """Yield the bytes of the mirror from `start` to `size`."""
        self._raise_if_closed()
        yield from self.session.mirror.slices(start, self._size)

    def _raise_if_closed(self) -> None:
        if self._closed and self.closed_error is not None:
            raise self.closed_error

    async def read_open_index(self) -> None:
        """Return None, since a log of the database has no open index."""

    async def write_open_index(self, parts: Sequence[bytes]) -> None:
        """Do nothing."""

    def distrust(self) -> LogReplaced:
        """Mark the session as replaced, and return the error to raise."""
        self.session.replace()
        self._distrusted = self.session.replaced or LogReplaced(self.ref)
        return self._distrusted

    def foreign_bytes(self) -> int:
        """Return the bytes in the mirror after `size`. Raises `LogReplaced`, `LogGone`."""
        if self.session.replaced is not None:
            raise self.session.replaced
        if self._in_flight or self.session.changing:
            return 0
        return max(0, self.session.mirror.size - self._size)

    def accept(self, size: int) -> None:
        """Set `size`. Batches that wait fail with `LogMoved`: their entries were placed without these lines."""
        if size == self._size:
            return
        if not self._size < size <= self.session.mirror.size:
            raise ValueError(f"the log has {self.session.mirror.size} bytes, {self._size} known, not {size}")
        self.seq += self.session.mirror.lines_in(self._size, size)
        self._size = size
        if not self.queue:
            self._next = self.seq

    def append(
        self, data: bytes, durability: Durability, ids: Sequence[str | None] = ()
    ) -> asyncio.Future[bool]:
        """Queue a batch for the group commit (`writer`)."""
        if (refused := refused_batch(data, self.read_only)) is not None:
            return refused
        future = self.queue.append(data, durability, ids, self._next)
        if self.queue:
            self._next = self.queue.end
            self._idle.clear()
            self._sessions.wake(self)
        return future

    def extend(self, batch: asyncio.Future[bool], data: bytes, ids: Sequence[str | None] = ()) -> bool:
        """Add lines to the last queued batch."""
        added = self.queue.extend(batch, data, ids)
        self._next += added
        return added > 0

    @asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        """Lock the row of the session during the block. The batches of the block are in the transaction of the lock."""
        await self._until_idle()
        async with self._sessions.locked(self):
            yield

    async def flush(self) -> bool:
        """Wait for the queued batches, then for a commit that the server has synced."""
        waited = bool(self.queue or self._in_flight)
        await self._until_idle()
        if self.session.unsynced:
            waited = True
            self.session.unsynced = False
            try:
                await self._sessions.flush()
            except BaseException:
                self.session.unsynced = True
                raise
        elif self.session.unflushed:
            waited = True
        self.session.unflushed = False
        return waited

    async def complete_tail(self) -> None:
        """Add a newline to the last line in the database if it lacks one."""
        await self._until_idle()
        if self.session.mirror.lacks_newline:
            await self._sessions.complete_tail(self)

    async def quarantine_tail(self, start: int, seq: int) -> str:
        """Move the bytes from `start` to the remains, in one transaction."""
        await self._until_idle()
        if not 0 <= start < self._size:
            raise ValueError(f"there is no tail at {start} in a log of {self._size} bytes")
        return await self._sessions.quarantine(self, start, seq)

    async def rewrite(self, lines: bytes, version: int, *, same_log: bool = False) -> None:
        """Replace the lines. The original lines are moved to the remains, in the same transaction."""
        await self._until_idle()
        await self._sessions.rewrite(self, lines, version, same_log=same_log)

    async def overwrite(self, offset: int, former: bytes, new: bytes) -> None:
        """Replace `former` in its line in the database."""
        await self._until_idle()
        if len(former) != len(new) or self.read(offset, offset + len(former)) != former:
            raise LogReplaced(self.ref)
        await self._sessions.overwrite(self, offset, new)

    async def promote(self) -> None:
        """Mark the session as no draft, in its row."""
        await self._until_idle()
        if self.draft:
            await self._sessions.promote(self)

    async def unpack(self) -> None:
        """Do nothing: the log is never packed."""

    async def move(self, cwd: str) -> None:
        """Wait for the queued batches. A session of the database is in no folder."""
        await self._until_idle()

    async def close(self) -> None:
        """Wait for the queued batches, then release the mirror."""
        if self._closed:
            return
        self._closed = True
        await self._until_idle()
        await self._sessions.release(self)

    # --- for the group commit ----------------------------------------------------------------------------------

    def took(self, batches: Sequence[WaitingBatch]) -> None:
        """Count batches that a statement has taken."""
        self._in_flight += len(batches)

    def stored(self, batches: Sequence[WaitingBatch]) -> None:
        """Finish batches whose lines are in the mirror."""
        self._in_flight -= len(batches)
        self.session.unflushed = True
        for batch in batches:
            self.seq += len(batch.lines)
            self._size += batch.size
            if not batch.future.done():
                batch.future.set_result(False)
        self._settle()

    def fail(self, batches: Sequence[WaitingBatch], error: Exception) -> None:
        """Fail batches that were taken, and all that wait."""
        self._in_flight -= len(batches)
        self.queue.fail(batches, error)
        self._next = self.seq
        self._settle()

    def reset(self) -> None:
        """Take the extent of the mirror, after this daemon has changed lines."""
        self.seq = self._next = self.session.mirror.seq
        self._size = self.session.mirror.size

    async def _until_idle(self) -> None:
        while self.queue or self._in_flight:
            await self._idle.wait()

    def _settle(self) -> None:
        if not self.queue and not self._in_flight:
            self._idle.set()
