"""The batches that wait at one log, in the order of the calls, and the group of them that one statement writes."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from sessiond.store.base import Durability
from sessiond.store.postgres.lines import entry_ids, lines_of

MAX_GROUP_BYTES: Final = 4 * 1024 * 1024
"""The size in bytes from which a group takes no further batch."""


@dataclass(eq=False, slots=True)
class WaitingBatch:
    """Lines that are stored together. `after` is the number of lines that the log must have before them."""

    after: int
    durability: Durability
    future: asyncio.Future[bool]
    lines: list[bytes] = field(default_factory=list)
    ids: list[str | None] = field(default_factory=list)
    size: int = 0

    def add(self, data: bytes, ids: Sequence[str | None]) -> None:
        """Add lines with their ids; ids that are not given are taken from the lines."""
        lines = [data] if data.find(b"\n") == len(data) - 1 else lines_of(data)
        self.lines += lines
        self.ids += ids or entry_ids(lines)
        self.size += len(data)


class BatchQueue:
    """The batches of one log that no statement has taken."""

    def __init__(self) -> None:
        self._batches: list[WaitingBatch] = []
        self._error: Exception | None = None

    def __len__(self) -> int:
        return len(self._batches)

    @property
    def end(self) -> int:
        """The number of lines of the log with those of all batches. There must be one."""
        last = self._batches[-1]
        return last.after + len(last.lines)

    def append(
        self, data: bytes, durability: Durability, ids: Sequence[str | None], after: int
    ) -> asyncio.Future[bool]:
        """Queue a batch. While the failure of former batches is being reported, it fails with them."""
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        if self._error is not None:
            asyncio.get_running_loop().call_soon(_fail, future, self._error)
            return future
        batch = WaitingBatch(after, durability, future)
        batch.add(data, ids)
        self._batches.append(batch)
        return future

    def extend(self, future: asyncio.Future[bool], data: bytes, ids: Sequence[str | None]) -> int:
        """Add lines to the last batch if it has this future. Return the number of the lines."""
        if not self._batches or self._batches[-1].future is not future:
            return 0
        last = self._batches[-1]
        before = len(last.lines)
        last.add(data, ids)
        return len(last.lines) - before

    def take(self) -> list[WaitingBatch]:
        """Remove and return the first batches, up to the size of a group."""
        size = count = 0
        for batch in self._batches:
            if count and size + batch.size > MAX_GROUP_BYTES:
                break
            size += batch.size
            count += 1
        taken, self._batches = self._batches[:count], self._batches[count:]
        return taken

    def fail(self, taken: Sequence[WaitingBatch], error: Exception) -> None:
        """Fail batches that were taken, all that wait, and all that are queued until that has been reported."""
        failed, self._batches = [*taken, *self._batches], []
        self._error = error
        # Batches that are queued before the callbacks of the futures run may have a failed line as their parent.
        asyncio.get_running_loop().call_soon(self._reported)
        for batch in failed:
            _fail(batch.future, error)

    def _reported(self) -> None:
        self._error = None


def _fail(future: asyncio.Future[bool], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
        future.exception()  # a caller that gave up does not retrieve it
