"""Finds logs by file name, and opens the file that a path names if it is a regular file."""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from sessiond.store.errors import LogNotFound
from sessiond.store.files import paths
from sessiond.store.files.census import Root, id_of_log
from sessiond.store.files.known_file import OPEN_FLAGS
from sessiond.store.files.packing import ends_of
from sessiond.store.files.syscalls import refusal

_NO_LOG_THERE: Final = {
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.ENXIO,
}


def logs_in(root: Root) -> "Iterator[tuple[os.DirEntry[str], str]]":
    """Yield every log in a root and in its folders, with the id in its name. Symbolic links are not followed."""
    entries = entries_of(root.path, root)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _named_logs(entries_of(entry.path, root), root)
    yield from _named_logs(entries, root)


def _named_logs(
    entries: "Sequence[os.DirEntry[str]]", root: Root
) -> "Iterator[tuple[os.DirEntry[str], str]]":
    names = {entry.name for entry in entries}
    for entry in entries:
        session_id = id_of_log(entry.name, names, root)
        if session_id is not None and entry.is_file(follow_symlinks=False):
            yield entry, session_id


def entries_of(folder: str, root: Root) -> "list[os.DirEntry[str]]":
    """Return the entries of a folder; none if it is missing. Raises `OSError` if an own folder cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError:
        if root.own:
            raise
        return []  # the census logs a warning


def resolved(ref: str) -> Path:
    """Return the file that a path names. Symbolic links are followed only here, because a user may name one.

    The path of a log that was packed or unpacked meanwhile names the file that is there now.

    Raises:
        LogNotFound: The path is relative, or cannot be that of a log.
    """
    try:
        if not Path(ref).is_absolute():
            raise LogNotFound(ref)
        try:
            return Path(os.path.realpath(ref, strict=True))
        except FileNotFoundError:
            if paths.session_id_of(os.path.basename(ref)) is None:  # noqa: PTH119 - as the call above
                raise
            return Path(os.path.realpath(paths.other_name(ref), strict=True))
    except OSError as error:
        if error.errno in _NO_LOG_THERE:
            raise LogNotFound(ref) from None
        raise refusal(error, Path(ref)) from error
    except ValueError:
        raise LogNotFound(ref) from None


def open_regular(path: Path, ref: str, flags: int) -> int:
    """Open a regular file and return its descriptor. Raises `LogNotFound` for anything else."""
    try:
        if not stat.S_ISREG(path.stat(follow_symlinks=False).st_mode):
            raise LogNotFound(ref)
        fd = os.open(path, flags | OPEN_FLAGS)
    except OSError as error:
        if error.errno in _NO_LOG_THERE:
            raise LogNotFound(ref) from None
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise LogNotFound(ref)
    return fd


def read_ends(path: str, first: int, last: int) -> tuple[bytes, bytes]:
    """Return the first and the last bytes of a regular file, with as few system calls as possible.

    Raises:
        OSError: It cannot be opened, or it is a link or no regular file.
    """
    fd = os.open(path, os.O_RDONLY | OPEN_FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        return ends_of(path, fd, first, last)
    finally:
        os.close(fd)
