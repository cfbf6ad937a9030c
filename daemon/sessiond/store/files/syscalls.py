"""The system calls that a disk may refuse, replaceable for fault tests, and what a refusal is called."""

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sessiond.store.errors import StorageFailed, StorageFull, TooManyOpenFiles

_FULL_SYNC: int | None = getattr(fcntl, "F_FULLFSYNC", None)
"""macOS: only this empties the cache of the drive, and there is no fdatasync."""


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
    """`os.pwrite` for a descriptor opened to append, which Linux would otherwise let append here, too."""
    flags = fcntl.fcntl(fd, fcntl.F_GETFL)
    fcntl.fcntl(fd, fcntl.F_SETFL, flags & ~os.O_APPEND)
    try:
        return os.pwrite(fd, data, offset)
    finally:
        fcntl.fcntl(fd, fcntl.F_SETFL, flags)


@dataclass(frozen=True, slots=True)
class Syscalls:
    """What reaches the disk. Each raises `OSError` as the function of `os` does.

    `write` appends. `overwrite` writes at an offset, to a descriptor opened to append, too. Both may write less.
    """

    write: Callable[[int, bytes | memoryview], int] = os.write
    overwrite: Callable[[int, bytes, int], int] = _overwrite
    fdatasync: Callable[[int], None] = _sync_data
    fsync: Callable[[int], None] = _sync_fully
    ftruncate: Callable[[int, int], None] = os.ftruncate
    rename: Callable[[Path, Path], object] = Path.rename


def refusal(error: OSError, path: Path) -> StorageFailed:
    """What the store calls an `OSError` met at `path`."""
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return TooManyOpenFiles(error.errno, str(path))
    kind = StorageFull if error.errno in (errno.ENOSPC, errno.EDQUOT) else StorageFailed
    return kind(f"{path}: {error.strerror or error}", path=str(path), errno=error.errno)


@contextmanager
def refusals_of(path: Path) -> Iterator[None]:
    """Within this block an `OSError` becomes `StorageFailed` or `StorageFull`, told with `path`."""
    try:
        yield
    except OSError as error:
        raise refusal(error, path) from error
