"""The memory, the file descriptors and the tasks of this process, read from the system at most once a second."""

import asyncio
import os
import time
from pathlib import Path
from typing import Final, NamedTuple

_VALID_SECONDS: Final = 1.0
"""Seconds for which a reading is used. To list the descriptors takes longer than any other request of its size."""


class Usage(NamedTuple):
    """One reading: bytes of resident memory, open files and sockets, running and waiting tasks."""

    rss_bytes: int
    descriptors: int
    tasks: int


class ResourceUsage:
    """The last reading."""

    def __init__(self) -> None:
        self._read_at = float("-inf")
        self._last = Usage(0, 0, 0)

    def read(self) -> Usage:
        """Return a reading that is at most one second old. Must be called on the event loop's thread."""
        now = time.monotonic()
        if now - self._read_at > _VALID_SECONDS:
            self._read_at = now
            self._last = Usage(_resident(), _descriptors(), len(asyncio.all_tasks()))
        return self._last


def _resident() -> int:
    """Return the bytes of resident memory. On systems without /proc, the maximum since the start."""
    try:
        with open("/proc/self/statm", "rb") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _descriptors() -> int:
    """Return the number of open files and sockets. 0 if the system does not report it."""
    for folder in ("/proc/self/fd", "/dev/fd"):
        try:
            return sum(1 for _ in Path(folder).iterdir()) - 1  # without the descriptor of this listing
        except OSError:
            continue
    return 0
