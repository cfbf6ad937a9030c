"""Put another file in the place of an open one, on its disk or another, and keep the original beside it.

A descriptor keeps its number (dup2), so that a reader on another thread sees the old file or the new one, never a
stranger's.
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
    """Put a new file under the name of an open one; its mode and owner stay.

    The folder is not synced yet, so after a power cut either file may be there.

    Args:
        path: Where the file lies.
        fd: Its descriptor, which is that of the new file afterwards.
        parts: The content of the new file, which is synced.
        end: How many bytes the old file had; what another program has added behind them is copied, too.
        calls: What reaches the disk.

    """
    old = os.fstat(fd)
    temp = temporary(path)
    made = new_file(temp, parts, calls, stat.S_IMODE(old.st_mode))
    try:
        new = os.fstat(made)
        if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
            os.fchown(made, old.st_uid, old.st_gid)
        calls.rename(temp, path)
        # What another program wrote until the rename must not go with the old file.
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
        path: Where the file lies.
        fd: Its descriptor, which is that of the copy afterwards.
        target: The new name.
        size: The bytes of the file.
        calls: What reaches the disk.
        check: Raises when the original was changed while it was copied.

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
    """Keep this very file under a second name, too; call `copy` instead where the file system has no links."""
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
    """Copy the bytes `[start, end)` to the first free name beside the file, name and content durable."""
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
            # A newline was seen there before the write, but it may be among what the system dropped.
            offset, data = offset - 1, b"\n" + data
        yield from exactly(fd, path, at, offset)
        yield data
        at = offset + len(data)
    yield from exactly(fd, path, at, end)


def exactly(fd: int, path: Path, start: int, end: int) -> Iterator[bytes]:
    """Yield the bytes `[start, end)` of a file. Raises `LogReplaced` when it ends before."""
    for data in slices(fd, start, end):
        yield data
        start += len(data)
    if start != end:
        raise LogReplaced(str(path))
