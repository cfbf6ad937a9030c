"""Refuses a source only if the memory of the machine does not suffice to read it. All functions block."""

import os
from typing import Final

from sessiond import human

ALWAYS_READ: Final = 1 << 30
"""Bytes up to which a source is read with any amount of free memory: the system can swap."""
FACTOR: Final = 5
"""The memory that reading takes, as a multiple of the size: bytes, entries and log exist at the same time."""
_MEMORY: Final = "/proc/meminfo"
_AVAILABLE: Final = b"MemAvailable:"


def reason_to_refuse(size: int) -> str | None:
    """Return the reason why a source of this many bytes cannot be read now; None if it can be read."""
    if size <= ALWAYS_READ or (free := free_bytes()) is None or size * FACTOR <= free:
        return None
    return (
        f"reading its {human.size(size)} takes about {human.size(size * FACTOR)} of memory,"
        f" and {human.size(free)} are free"
    )


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
