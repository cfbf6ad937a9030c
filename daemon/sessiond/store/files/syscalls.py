"""The system calls that access the disk, replaceable in fault tests, and the conversion of their errors."""

import errno
import fcntl
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sessiond.store.errors import StorageFailed, StorageFull, TooManyOpenFiles

_FULL_SYNC: int | None = getattr(fcntl, "F_FULLFSYNC", None)
"""macOS: only this call flushes the drive's cache, and there is no fdatasync."""


def _sync_fully(fd: int) -> None:
    if _FULL_SYNC is None:
        os.fsync(fd)
    else:
        fcntl.fcntl(fd, _FULL_SYNC)


def _sync_data(fd: int) -> None:
    if _FULL_SYNC is None:
        os.fdatasync(fd)
    else:
        fcntl.fcntl(fd, _FULL_SYNC)


def _overwrite(fd: int, data: bytes, offset: int) -> int:
    """Call `os.pwrite` with `O_APPEND` cleared: Linux otherwise appends instead of writing at the offset."""
    flags = fcntl.fcntl(fd, fcntl.F_GETFL)
    fcntl.fcntl(fd, fcntl.F_SETFL, flags & ~os.O_APPEND)
    try:
        return os.pwrite(fd, data, offset)
    finally:
        fcntl.fcntl(fd, fcntl.F_SETFL, flags)


@dataclass(frozen=True, slots=True)
class Syscalls:
    """The system calls that access the disk. Each raises `OSError` like its function in `os`.

    `write` appends. `overwrite` writes at an offset, also to a descriptor opened with `O_APPEND`. Both may write less
    than requested.
    """

    write: Callable[[int, bytes | memoryview], int] = os.write
    overwrite: Callable[[int, bytes, int], int] = _overwrite
    fdatasync: Callable[[int], None] = _sync_data
    fsync: Callable[[int], None] = _sync_fully
    ftruncate: Callable[[int, int], None] = os.ftruncate
    rename: Callable[[Path, Path], object] = Path.rename


def refusal(error: OSError, path: Path) -> StorageFailed:
    """Return the store's error for an `OSError` at `path`."""
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return TooManyOpenFiles(error.errno, str(path))
    kind = StorageFull if error.errno in (errno.ENOSPC, errno.EDQUOT) else StorageFailed
    return kind(f"{path}: {error.strerror or error}", path=str(path), errno=error.errno)


def refusals_of(path: Path) -> "_Refusals":
    """Convert an `OSError` in the block to a `StorageFailed` that names `path`."""
    return _Refusals(path)


class _Refusals:
    """See `refusals_of`. Every read enters one, and a generator would cost three times as much."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Enter the block."""

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, OSError):
            raise refusal(error, self._path) from error
