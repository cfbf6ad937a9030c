"""Replaces an open file by another, on its disk or another disk, and stores the original beside it.

The number of the descriptor is unchanged (dup2), so a reader on another thread sees either the old file or the new
one, never another file.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from sessiond.store.errors import LogReplaced
from sessiond.store.files import paths
from sessiond.store.files.file_bytes import read_range, slices
from sessiond.store.files.folders import move_to_free_name, new_file, sync_folder, temporary, write_all
from sessiond.store.files.syscalls import Syscalls


def replace_file(path: Path, fd: int, parts: Iterable[bytes], end: int, calls: Syscalls) -> None:
    """Replace an open file by a new file of the same name, mode and owner.

    The folder is not synced, so after a power failure either file may be there.

    Args:
        path: The path of the file.
        fd: Its descriptor, which becomes that of the new file.
        parts: The content of the new file, which is synced.
        end: The known size of the old file in bytes. Bytes that another program has added after it are copied.
        calls: The system calls that access the disk.
    """
    old = os.fstat(fd)
    temp = temporary(path)
    made = new_file(temp, parts, calls, stat.S_IMODE(old.st_mode))
    try:
        new = os.fstat(made)
        if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
            os.fchown(made, old.st_uid, old.st_gid)
        calls.rename(temp, path)
        # Bytes that another program wrote before the rename must not be lost with the old file.
        write_all(made, read_range(fd, end, os.fstat(fd).st_size), calls)
        os.dup2(made, fd, inheritable=False)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise
    finally:
        os.close(made)


def move_to_other_disk(
    path: Path, fd: int, target: Path, size: int, calls: Syscalls, *, check: Callable[[], None]
) -> None:
    """Copy an open file of `size` bytes to `target`, a free name on another disk, then remove the original.

    Args:
        path: The path of the file.
        fd: Its descriptor, which becomes that of the copy.
        target: The new path.
        size: The size of the file in bytes.
        calls: The system calls that access the disk.
        check: Raises if the original was changed while it was copied.
    """
    temp = temporary(target)
    made = new_file(temp, exactly(fd, path, 0, size), calls)
    try:
        check()
        move_to_free_name(temp, target, calls)
        sync_folder(target.parent, calls)
        path.unlink()
        os.dup2(made, fd, inheritable=False)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise
    finally:
        os.close(made)


def link_beside(path: Path, suffix: str, copy: Callable[[], object], calls: Syscalls) -> None:
    """Give this file a second name. If the file system has no hard links, call `copy` instead."""
    names = paths.names_beside(path.name, suffix)
    while True:
        beside = path.with_name(next(names))
        try:
            os.link(path, beside, follow_symlinks=False)
        except FileExistsError:
            if not beside.samefile(path):
                continue
        except OSError:
            copy()
        sync_folder(path.parent, calls)
        return


def keep_beside(path: Path, fd: int, suffix: str, start: int, end: int, calls: Syscalls) -> Path:
    """Copy the bytes `[start, end)` to the first free name beside the file. Name and content are durable."""
    names = paths.names_beside(path.name, suffix)
    while True:
        beside = path.with_name(next(names))
        try:
            os.close(new_file(beside, exactly(fd, path, start, end), calls))
        except FileExistsError:
            continue
        sync_folder(path.parent, calls)
        return beside


def patched(fd: int, path: Path, unsynced: Iterable[tuple[int, bytes]], end: int) -> Iterator[bytes]:
    """Yield the first `end` bytes of a file, with the `unsynced` ones (offset and data, ascending) from memory."""
    at = 0
    for offset, data in unsynced:
        if offset > at and not data.startswith(b"\n"):
            # Before the write the line ended with a newline, but the system may have dropped it.
            offset, data = offset - 1, b"\n" + data
        yield from exactly(fd, path, at, offset)
        yield data
        at = offset + len(data)
    yield from exactly(fd, path, at, end)


def exactly(fd: int, path: Path, start: int, end: int) -> Iterator[bytes]:
    """Yield the bytes `[start, end)` of a file. Raises `LogReplaced` if it ends before."""
    for data in slices(fd, start, end):
        yield data
        start += len(data)
    if start != end:
        raise LogReplaced(str(path))
