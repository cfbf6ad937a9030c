"""Packed logs: the plain file of a cold session is replaced by a compressed one, `NAME.jsonl.zst`, and back.

A packed log is in the seekable format (`seekable`), so it is read in place. Before the first change, it is unpacked.
Both directions write the new file completely under a temporary name and rename it before the old file is removed. So
after a crash there is the old file, the new file, or both. If both are there, the plain file counts, and the packed one
is removed after it was compared (`settle`).

The new file has the modification time of the old one. A packed log that has the size and the modification time of a
plain log therefore has its content: records about a log (the index, imports, syncs, log ids) stay valid by this rule,
and packing writes to none of them.

This module knows no open logs. `LogFile` unpacks itself, and `FileStore` packs only logs that are not open.
"""

import logging
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sessiond.store.errors import DamagedPackedLog, LogExists, StorageFailed
from sessiond.store.files import paths
from sessiond.store.files.file_bytes import SLICE, read_range, slices
from sessiond.store.files.folders import move_to_free_name, new_file, sync_folder, temporary, write_all
from sessiond.store.files.syscalls import Syscalls

if TYPE_CHECKING:
    from sessiond.store.files.seekable import SeekTable

log = logging.getLogger(__name__)

_READ_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
KEPT: Final = "packed"
"""The end of the name of a packed log that is kept beside the plain one, because they differ or it is damaged."""


def table_of(path: str | Path, fd: int) -> "SeekTable | None":
    """Return the seek table of a packed log; None for the path of a plain one.

    Raises:
        DamagedPackedLog: The packed log is cut off, or it is another kind of file.
    """
    if not paths.is_packed(os.path.basename(path)):  # noqa: PTH119 - a path may be a text
        return None
    # The module zstandard takes longer to import than a daemon to start, and most daemons read no packed log.
    from sessiond.store.files.seekable import NoSeekTable, SeekTable

    try:
        return SeekTable(fd)
    except NoSeekTable as error:
        lines, size, unreadable = _count_salvaged(fd)
        rest = f"{lines:,} whole lines can be read ({size:,} bytes)" if lines else "no line can be read"
        if unreadable:
            rest += f"; {unreadable[0]}"
        reason = f"{path} is a damaged packed session: {error.reason}; {rest}"
        raise DamagedPackedLog(reason, path=str(path)) from None


def content_of(path: str | Path, fd: int, start: int = 0) -> Iterator[bytes]:
    """Yield the bytes of a log from `start` to its present end in slices, whether it is packed or not.

    A damaged packed log that is only kept gives the lines that can be read. Raises as `table_of`.
    """
    try:
        table = table_of(path, fd)
    except DamagedPackedLog:
        if str(path).endswith(paths.PACKED_SUFFIX):
            raise
        yield from _from(_salvaged(fd, []), start)
        return
    if table is None:
        yield from slices(fd, start, os.fstat(fd).st_size)
    else:
        yield from table.slices(fd, start, table.size)


def ends_of(path: str | Path, fd: int, first: int, last: int) -> tuple[bytes, bytes]:
    """Return the first and the last bytes of a log, packed or not. Raises as `table_of`."""
    table = table_of(path, fd)
    if table is None:
        size = os.fstat(fd).st_size
        return read_range(fd, 0, first), read_range(fd, max(0, size - last), size)
    return table.read(fd, 0, first), table.read(fd, max(0, table.size - last), table.size)


def size_of(path: str | Path, fd: int) -> int:
    """Return the number of bytes of a log, packed or not. Raises as `table_of`."""
    table = table_of(path, fd)
    return os.fstat(fd).st_size if table is None else table.size


@dataclass(frozen=True, slots=True)
class Replaced:
    """A plain file that was replaced by a packed one just now. A program that has it open may still append to it.

    Attributes:
        path: The former path of the plain file.
        packed: The packed file.
        fd: The descriptor of the plain file, which has no name any more.
        size: Its size in bytes when it was packed.
        packed_size: The size of the packed file in bytes.
    """

    path: Path
    packed: Path
    fd: int
    size: int
    packed_size: int

    def finish(self, calls: Syscalls) -> bool:
        """Close the plain file. If a program appended to it, put it back. Return whether the log stays packed."""
        try:
            if os.fstat(self.fd).st_size == self.size:
                return True
            _put_back(self.path, self.packed, self.fd, self.size, calls)
            return False
        finally:
            os.close(self.fd)


def pack(path: Path, calls: Syscalls, may_replace: Callable[[], bool]) -> Replaced | None:
    """Replace a plain log by a packed one. It is durable on return. The caller calls `Replaced.finish` soon afterwards.

    Args:
        path: The plain file. No part of this daemon has it open.
        calls: The system calls that access the disk.
        may_replace: Removes the plain file if the log is still not in use. Returns whether it did.

    Returns:
        The replaced file; None if the log was changed or used meanwhile, or would not get smaller. It is then
        unchanged.

    Raises:
        OSError: The system refuses.
        StorageFailed: The packed file has other bytes than the plain one.
    """
    from sessiond.store.files import seekable

    target = Path(paths.other_name(str(path)))
    fd = os.open(path, _READ_FLAGS)
    made = temporary(target)
    try:
        before = os.fstat(fd)
        if not stat.S_ISREG(before.st_mode) or before.st_nlink != 1 or not before.st_size:
            return None
        if os.path.lexists(target):
            settle(path, calls)
        packed = new_file(made, seekable.compressed(fd, before.st_size), calls, stat.S_IMODE(before.st_mode))
        try:
            packed_size = os.fstat(packed).st_size
            if packed_size >= before.st_size:
                return None
            _verify(packed, fd, path, before.st_size)
            os.utime(packed, ns=(before.st_atime_ns, before.st_mtime_ns))
        finally:
            os.close(packed)
        if _changed(fd, path, before):
            return None
        move_to_free_name(made, target, calls)
        sync_folder(path.parent, calls)
        if _changed(fd, path, before) or not may_replace():
            target.unlink(missing_ok=True)
            sync_folder(path.parent, calls)
            return None
        sync_folder(path.parent, calls)
        return Replaced(path, target, os.dup(fd), before.st_size, packed_size)
    except seekable.NoSeekTable as error:
        log.info("the session file %s is not packed: %s", path, error)
        return None
    finally:
        os.close(fd)
        made.unlink(missing_ok=True)


def unpacked_copy(path: Path, fd: int, table: "SeekTable", plain: Path, calls: Syscalls) -> int:
    """Write the plain file of a packed log, durable under its name, and return its descriptor.

    If the plain file is there already, from a crash or because another program made it, it is used if it begins with
    the content of the packed log.

    Args:
        path: The packed log.
        fd: Its descriptor.
        table: Its seek table.
        plain: The path of the plain file.
        calls: The system calls that access the disk.

    Raises:
        StorageFailed: Another file is there.
        OSError: The system refuses.
    """
    if os.path.lexists(plain):
        made = os.open(plain, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            if not _begins_with(made, table.slices(fd, 0, table.size)):
                raise StorageFailed(f"{plain} is in the place of the session: move it away", path=str(plain))
            calls.fsync(made)
            sync_folder(plain.parent, calls)
        except BaseException:
            os.close(made)
            raise
        return made
    status = os.fstat(fd)
    temp = temporary(plain)
    made = new_file(temp, table.slices(fd, 0, table.size), calls, stat.S_IMODE(status.st_mode))
    try:
        if not table.damages:
            os.utime(made, ns=(status.st_atime_ns, status.st_mtime_ns))
        move_to_free_name(temp, plain, calls)
        sync_folder(plain.parent, calls)
    except BaseException:
        os.close(made)
        temp.unlink(missing_ok=True)
        raise
    return made


def remove_packed(path: Path, table: "SeekTable", calls: Syscalls) -> None:
    """Remove a packed log whose plain file is durable. If it is damaged, it is kept under another name."""
    with suppress(FileNotFoundError):
        if table.damages:
            _keep(path, calls)
        else:
            path.unlink()
    sync_folder(path.parent, calls)


def settle(plain: Path, calls: Syscalls) -> str | None:
    """Remove or put aside the packed file that a crash left beside a plain one.

    Returns:
        A sentence about what was found; None if there is no packed file.

    Raises:
        OSError: The system refuses.
    """
    packed = Path(paths.other_name(str(plain)))
    try:
        fd = os.open(packed, _READ_FLAGS)
    except FileNotFoundError:
        return None
    try:
        with open(plain, "rb", buffering=0) as file:
            try:
                table = table_of(packed, fd)
            except DamagedPackedLog:
                table = None
            is_same = (
                table is not None
                and _begins_with(file.fileno(), table.slices(fd, 0, table.size))
                and not table.damages
            )
            if is_same:
                calls.fsync(file.fileno())
                sync_folder(plain.parent, calls)
                packed.unlink(missing_ok=True)
                sync_folder(plain.parent, calls)
                said = f"{packed} was left by a crash and has nothing that {plain.name} lacks: it is removed"
                log.info("%s", said)
            else:
                kept = _keep(packed, calls)
                said = f"{packed} differs from {plain.name} beside it: it is kept as {kept.name}"
                log.warning("%s", said)
            return said
    finally:
        os.close(fd)


def save_damaged(path: Path, calls: Syscalls) -> tuple[Path, list[str]]:
    """Replace a packed log that cannot be opened by a plain one with the lines that can be read. It is kept beside.

    Returns:
        The plain file, and a sentence for each part that cannot be read.

    Raises:
        LogExists: The plain file exists.
        StorageFailed: No line can be read.
        OSError: The system refuses.
    """
    plain = Path(paths.plain_name(str(path)))
    if os.path.lexists(plain):
        raise LogExists(str(plain))
    unreadable: list[str] = []
    fd = os.open(path, _READ_FLAGS)
    temp = temporary(plain)
    try:
        os.close(new_file(temp, _salvaged(fd, unreadable), calls))
        if not temp.stat().st_size:
            raise StorageFailed(f"{path}: no line of it can be read", path=str(path))
        move_to_free_name(temp, plain, calls)
        sync_folder(plain.parent, calls)
        _keep(path, calls)
        return plain, unreadable
    finally:
        os.close(fd)
        temp.unlink(missing_ok=True)


def _keep(packed: Path, calls: Syscalls) -> Path:
    """Give a packed file the first free name of a file that is kept beside its log. Durable on return."""
    for name in paths.names_beside(paths.plain_name(packed.name), KEPT):
        with suppress(FileExistsError):
            kept = packed.with_name(name)
            move_to_free_name(packed, kept, calls)
            sync_folder(packed.parent, calls)
            return kept
    raise AssertionError("names do not end")


def _put_back(path: Path, packed: Path, fd: int, packed_size: int, calls: Syscalls) -> None:
    """Write the plain file again from its descriptor, to which another program has appended after its name was gone.

    If the log was unpacked meanwhile, the lines are appended to it, as the program would have done.
    """
    log.warning("another program appended to %s while it was packed: the lines are put back", path)
    if os.path.lexists(path):
        made = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            for part in slices(fd, packed_size, os.fstat(fd).st_size):
                write_all(made, part, calls)
            calls.fsync(made)
        finally:
            os.close(made)
        return
    size = os.fstat(fd).st_size
    temp = temporary(path)
    made = new_file(temp, slices(fd, 0, size), calls, stat.S_IMODE(os.fstat(fd).st_mode))
    try:
        while (more := os.fstat(fd).st_size) > size:
            for part in slices(fd, size, more):
                write_all(made, part, calls)
            size = more
        calls.fsync(made)
        move_to_free_name(temp, path, calls)
        sync_folder(path.parent, calls)
        packed.unlink(missing_ok=True)
        sync_folder(path.parent, calls)
    finally:
        os.close(made)
        temp.unlink(missing_ok=True)


def _verify(packed: int, plain: int, path: Path, size: int) -> None:
    """Decompress a packed log and compare it with the plain one. Raises `StorageFailed`."""
    from sessiond.store.files.seekable import SeekTable

    table = SeekTable(packed)
    if table.size != size or not _begins_with(plain, table.slices(packed, 0, size)) or table.damages:
        raise StorageFailed(f"{path}: what was packed is not what is in the file", path=str(path))


def _begins_with(fd: int, parts: Iterator[bytes]) -> bool:
    """Return whether a plain file begins with these bytes."""
    place = 0
    for part in parts:
        if read_range(fd, place, place + len(part)) != part:
            return False
        place += len(part)
    return True


def _changed(fd: int, path: Path, before: os.stat_result) -> bool:
    """Return whether a plain file was written, renamed or replaced since `before`."""
    try:
        named = path.stat(follow_symlinks=False)
    except FileNotFoundError:
        return True
    now = os.fstat(fd)
    return (named.st_dev, named.st_ino) != (before.st_dev, before.st_ino) or (
        now.st_size, now.st_mtime_ns, now.st_nlink
    ) != (before.st_size, before.st_mtime_ns, 1)  # fmt: skip


def _salvaged(fd: int, unreadable: list[str]) -> Iterator[bytes]:
    """Yield the whole lines that can be read of a file whose seek table is missing or wrong."""
    from sessiond.store.files.seekable import salvaged

    rest = b""
    for part in salvaged(fd, unreadable):
        data = rest + part
        end = data.rfind(b"\n") + 1
        rest = data[end:]
        if end:
            yield data[:end]
    if rest:
        yield rest


def _count_salvaged(fd: int) -> tuple[int, int, list[str]]:
    """Return the lines and the bytes that can be read of a damaged file, and what cannot be read."""
    unreadable: list[str] = []
    lines = size = 0
    for part in _salvaged(fd, unreadable):
        lines, size = lines + part.count(b"\n"), size + len(part)
    return lines, size, unreadable


def _from(parts: Iterator[bytes], start: int) -> Iterator[bytes]:
    for part in parts:
        for place in range(0, len(part), SLICE):
            piece = part[place : place + SLICE]
            if start < len(piece):
                yield piece[start:]
            start = max(0, start - len(piece))
