"""Refuses a source only if the memory of the machine does not suffice to read it. All functions block."""

import contextlib
import os
from typing import Final

from sessiond import human
from sessiond.error_text import TemplatedError

ALWAYS_READ: Final = 1 << 30
"""Bytes up to which a source is read with any amount of free memory: the system can swap."""
FACTOR: Final = 5
"""The memory that reading takes, as a multiple of the size: bytes, entries and log exist at the same time."""
_MEMORY: Final = "/proc/meminfo"
_AVAILABLE: Final = b"MemAvailable:"
_BLOCK_BYTES: Final = 512
"""The unit of `st_blocks`, on every file system."""


class LineExceedsMemory(TemplatedError):
    """Raised for a line that must be read as a whole and does not fit in memory; the reason is the whole message."""

    sentence = "{reason}"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


def check_line(size: int) -> None:
    """Raise `LineExceedsMemory` if a line of this many bytes cannot be read as a whole now."""
    if (reason := reason_to_refuse(size)) is not None:
        raise LineExceedsMemory(f"a line cannot be read in parts, and {reason}")


def reason_to_refuse(size: int) -> str | None:
    """Return the reason why a source of this many bytes cannot be read now; None if it can be read."""
    if size <= ALWAYS_READ or (free := free_bytes()) is None or size * FACTOR <= free:
        return None
    return (
        f"reading its {human.size(size)} takes about {human.size(size * FACTOR)} of memory,"
        f" and {human.size(free)} are free"
    )


def reason_to_refuse_holes(descriptor: int, status: os.stat_result) -> str | None:
    """Return the reason why a file with holes cannot be read now; None if it has none, or can be read.

    A hole is a part of one line, of which no text can be taken out. It has any size, and takes no space on the disk.
    """
    if status.st_size <= ALWAYS_READ or status.st_blocks * _BLOCK_BYTES >= status.st_size:
        return None
    holes = _size_of_holes(descriptor, status.st_size)
    if reason_to_refuse(holes) is None:
        return None
    return f"{human.size(holes)} of its {human.size(status.st_size)} are holes, in which nothing was written"


def _size_of_holes(descriptor: int, size: int) -> int:
    holes = position = 0
    with contextlib.suppress(OSError):  # the file has become shorter, or the file system does not tell
        while (start := os.lseek(descriptor, position, os.SEEK_HOLE)) < size:
            try:
                position = os.lseek(descriptor, start, os.SEEK_DATA)
            except OSError:
                position = size  # the last hole ends with the file
            holes += position - start
            if position >= size:
                break
    os.lseek(descriptor, 0, os.SEEK_SET)
    return holes


def largest_readable() -> int | None:
    """Return the size of the largest source that can be read now; None if the free memory is not known."""
    free = free_bytes()
    return None if free is None else max(ALWAYS_READ, free // FACTOR)


def free_bytes() -> int | None:
    """Return the bytes of memory that programs can use without swapping; None if the system does not report it.

    Without Linux's estimate, it is the memory of the machine.
    """
    try:
        with open(_MEMORY, "rb") as file:
            for line in file:
                if line.startswith(_AVAILABLE):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None
