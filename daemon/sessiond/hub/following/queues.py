"""Queues of the files of a followed agent: those that wait, the newest first, and those that are due at a time.

Both are heaps: an agent may have 100,000 files, and no call may hold the event loop for as long as sorting them takes.
"""

import heapq
from collections.abc import Iterable, Iterator
from typing import Final

from sessiond.hub.transfer.source_state import FileStatus

_MIN_STALE: Final = 64


class Backlog:
    """Files that wait to be read, with their status."""

    def __init__(self, files: Iterable[tuple[str, FileStatus]] = ()) -> None:
        self._heap = [(-status.modified_ns, path, status) for path, status in files]
        heapq.heapify(self._heap)

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[tuple[str, FileStatus]]:
        """Yield the files in no particular order. May be called on any thread."""
        return iter([(path, status) for _, path, status in list(self._heap)])

    def take(self, max_files: int, max_bytes: int) -> dict[str, FileStatus]:
        """Remove and return the newest files: at least one, and at most a number of files with a total of bytes."""
        taken: dict[str, FileStatus] = {}
        size = 0
        while self._heap and len(taken) < max_files and size < max_bytes:
            _, path, status = heapq.heappop(self._heap)
            size += status.size
            taken[path] = status
        return taken


class DueFiles:
    """Files that are due at a time, in seconds of the monotonic clock. A file has one time, the last that was set."""

    def __init__(self) -> None:
        self._times: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []  # with entries of former times, which are skipped

    def __setitem__(self, path: str, at: float) -> None:
        self._times[path] = at
        heapq.heappush(self._heap, (at, path))
        if len(self._heap) > 2 * len(self._times) + _MIN_STALE:
            self._heap = [(at, path) for path, at in self._times.items()]
            heapq.heapify(self._heap)

    def __len__(self) -> int:
        return len(self._times)

    @property
    def next_at(self) -> float | None:
        """The time at which the next file is due; None if there are no files."""
        while self._heap:
            at, path = self._heap[0]
            if self._times.get(path) == at:
                return at
            heapq.heappop(self._heap)
        return None

    def take(self, now: float) -> str | None:
        """Remove and return the file that has been due for the longest time; None if none is due."""
        at = self.next_at
        if at is None or at > now:
            return None
        _, path = heapq.heappop(self._heap)
        del self._times[path]
        return path
