"""The batches of one log that are not written yet, in the order of the calls."""

import asyncio

from sessiond.store.base import Durability


class CommitQueue:
    """Holds batches until a write takes all of them.

    Attributes:
        size: The bytes of all queued batches.
        has_hurried: Whether a batch waits for its write only, and not for a sync.
    """

    def __init__(self) -> None:
        self._batches: list[QueuedBatch] = []
        self.size = 0
        self.has_hurried = False

    def __len__(self) -> int:
        return len(self._batches)

    def add(self, batch: "QueuedBatch") -> None:
        """Queue a batch after all others."""
        self._batches.append(batch)
        self.size += batch.size
        self.has_hurried = self.has_hurried or not batch.synced

    def extend(self, future: asyncio.Future[bool], data: bytes) -> bool:
        """Add lines to the last batch if it has this future. Return whether they were added."""
        if not self._batches or (last := self._batches[-1]).future is not future:
            return False
        last.parts.append(data)
        last.size += len(data)
        self.size += len(data)
        return True

    def take(self) -> "list[QueuedBatch]":
        """Remove and return all batches in order."""
        batches, self._batches = self._batches, []
        self.size = 0
        self.has_hurried = False
        return batches

    def put_back(self, batches: "list[QueuedBatch]") -> None:
        """Queue batches that were taken before all batches that were added since."""
        later = self.take()
        for batch in (*batches, *later):
            self.add(batch)


class QueuedBatch:
    """The lines that are reported as one, until their outcome is reported.

    Attributes:
        parts: The lines, in pieces of whole lines; empty after they are written.
        size: The bytes of the lines.
    """

    __slots__ = ("drifted", "future", "generation", "offset", "parts", "reported_size", "size", "synced")

    def __init__(self, data: bytes, durability: Durability, future: asyncio.Future[bool]) -> None:
        self.parts = [data]
        self.size = len(data)
        self.synced = durability == "synced"
        self.future = future
        self.drifted = False
        self.generation = 0
        self.offset = 0
        self.reported_size = 0
