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
        """Queue a batch behind all others."""
        self._batches.append(batch)
        self.size += len(batch.data)
        self.has_hurried = self.has_hurried or not batch.synced

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
    """The lines of one append, until their outcome is reported."""

    __slots__ = ("data", "drifted", "future", "generation", "offset", "reported_size", "synced")

    def __init__(self, data: bytes, durability: Durability, future: asyncio.Future[bool]) -> None:
        self.data = data
        self.synced = durability == "synced"
        self.future = future
        self.drifted = False
        self.generation = 0
        self.offset = 0
        self.reported_size = 0
