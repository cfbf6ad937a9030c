"""One log in memory. No other program can reach its bytes, so there is no drift, and nothing is replaced."""

import asyncio
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Final

from sessiond.store.base import Durability
from sessiond.store.batch_checks import refused_batch
from sessiond.store.errors import LogReplaced

_SLICE = 64 * 1024


@dataclass(slots=True)
class MemoryContent:
    """The bytes of one session, which all open logs of the session share."""

    session_id: str
    data: bytearray
    draft: bool
    changes: int = 0
    log_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    modified_ns: int = field(default_factory=time.time_ns)

    def put(self, data: bytes) -> None:
        """Append bytes."""
        self.data += data
        self._changed()

    def replace(self, data: bytes) -> None:
        """Replace all bytes."""
        self.data = bytearray(data)
        self._changed()

    def _changed(self) -> None:
        self.changes += 1
        self.modified_ns = time.time_ns()


class MemoryLog:
    """One log of a `MemoryStore`."""

    path: Final = None
    """None, since the log is in no file."""
    unchanged_size: Final = 0
    """0: the log has no open index."""
    is_touched: Final = False
    """False: no other program can write to the log."""

    def __init__(self, content: MemoryContent, remains: dict[str, bytes]) -> None:
        self.session_id = self.ref = content.session_id
        self.draft = content.draft
        self._content = content
        self._remains = remains
        self._queue: list[tuple[list[bytes], asyncio.Future[bool]]] = []
        self._closed = False
        self.closed_error: Exception | None = None

    @property
    def log_id(self) -> str:
        """The id of the content, which all logs of the session share."""
        return self._content.log_id

    @property
    def size(self) -> int:
        """The number of bytes of the content."""
        return len(self._content.data)

    @property
    def read_only(self) -> str | None:
        """The reason why nothing can be appended: the log is closed. None if it is open."""
        return "it is closed" if self._closed else None

    @property
    def write_error(self) -> None:
        """The error of the last write: always None, since no write to memory fails."""
        return None

    @property
    def stale(self) -> None:
        """The reason why the lines may be older than those in the store: always None, since memory is the store."""

    async def retry(self) -> None:
        """Do nothing. Memory never refuses a write."""

    def read(self, start: int, end: int) -> bytes:
        """Return a copy of the bytes `[start, end)`."""
        return bytes(self._content.data[start:end])

    def scan(self, start: int = 0) -> Iterator[bytes]:
        """Yield the bytes from `start` on in slices of at most 64 KiB."""
        return slices_of(self._content.data, start)

    async def read_open_index(self) -> memoryview | None:
        """Return None, since the log is read from memory."""
        return None

    async def write_open_index(self, parts: Sequence[bytes]) -> None:
        """Do nothing."""

    def distrust(self) -> LogReplaced:
        """Return the error to raise. The log is not marked, because no other program can replace it."""
        return LogReplaced(self.ref)

    def foreign_bytes(self) -> int:
        """Return 0: no other program can add bytes."""
        return 0

    def accept(self, size: int) -> None:
        """Raise `ValueError` unless `size` is the present size."""
        if size != self.size:
            raise ValueError(f"no bytes were added: the log has {self.size}, not {size}")

    def append(
        self, data: bytes, durability: Durability, ids: Sequence[str | None] = ()
    ) -> asyncio.Future[bool]:
        """Queue a batch, which is written on the next tick of the event loop or before any other change."""
        if (refused := refused_batch(data, self.read_only)) is not None:
            return refused
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bool] = loop.create_future()
        if not self._queue:
            loop.call_soon(self._write)
        self._queue.append(([data], future))
        return future

    def extend(self, batch: asyncio.Future[bool], data: bytes, ids: Sequence[str | None] = ()) -> bool:
        """Add lines to the last queued batch."""
        if not self._queue or self._queue[-1][1] is not batch:
            return False
        self._queue[-1][0].append(data)
        return True

    def locked(self) -> AbstractAsyncContextManager[None]:
        """Do nothing: one daemon has the store for itself."""
        return nullcontext()

    async def flush(self) -> bool:
        """Write the queued batches. Return False if there were none."""
        queued = bool(self._queue)
        self._write()
        return queued

    async def complete_tail(self) -> None:
        """Write the queued batches, then a newline if the last line lacks one."""
        self._write()
        if self._content.data and not self._content.data.endswith(b"\n"):
            self._content.put(b"\n")

    async def quarantine_tail(self, start: int, seq: int) -> str:
        """Write the queued batches, then move the bytes from `start` to the remains."""
        self._write()
        if not 0 <= start < self.size:
            raise ValueError(f"there is no tail at {start} in a log of {self.size} bytes")
        where = _keep_remains(self._remains, f"{self.ref}.torn-{seq}", self.read(start, self.size))
        self._content.replace(self.read(0, start))
        return where

    async def rewrite(self, lines: bytes, version: int, *, same_log: bool = False) -> None:
        """Write the queued batches, then replace the content. The original is added to the remains."""
        self._write()
        if not same_log:
            self._content.log_id = uuid.uuid4().hex
        _keep_remains(self._remains, f"{self.ref}.v{version}.bak", self.read(0, self.size))
        self._content.replace(lines)

    async def overwrite(self, offset: int, former: bytes, new: bytes) -> None:
        """Write the queued batches, then replace `former` at `offset` by `new`."""
        self._write()
        data = self.read(0, self.size)
        if len(former) != len(new) or data[offset : offset + len(former)] != former:
            raise LogReplaced(self.ref)
        self._content.replace(data[:offset] + new + data[offset + len(new) :])

    async def unpack(self) -> None:
        """Do nothing: the log is never packed."""

    async def move(self, cwd: str) -> None:
        """Write the queued batches. A log in memory is in no folder."""
        self._write()

    async def promote(self) -> None:
        """Write the queued batches, then make the draft a session."""
        self._write()
        self.draft = self._content.draft = False

    async def close(self) -> None:
        """Write the queued batches, then refuse further appends."""
        self._write()
        self._closed = True

    def _write(self) -> None:
        queue, self._queue = self._queue, []
        for parts, future in queue:
            self._content.put(b"".join(parts))
            if not future.done():
                future.set_result(False)


def _keep_remains(remains: dict[str, bytes], ref: str, data: bytes) -> str:
    """Store bytes under this ref or the next free one. Existing bytes are never overwritten."""
    name, number = ref, 1
    while remains.get(name, data) != data:
        number += 1
        name = f"{ref}.{number}"
    remains[name] = data
    return name


def slices_of(data: bytes | bytearray, start: int) -> Iterator[bytes]:
    """Yield the bytes from `start` on in slices of at most 64 KiB."""
    end = len(data)
    for at in range(start, end, _SLICE):
        yield bytes(data[at : min(at + _SLICE, end)])
