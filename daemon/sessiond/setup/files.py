"""Reads and replaces files of the user: whole, through symbolic links, with their permissions."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import Final

from sessiond.error_text import TemplatedError

MAX_BYTES: Final = 4 << 20
"""Larger settings files are not edited."""


class UneditableFileError(TemplatedError):
    """Raised when a file cannot be edited for a reason other than its content."""

    sentence = "{reason}"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


def read(path: str) -> bytes | None:
    """Return the content of a file; None if there is none.

    Raises:
        UneditableFileError: It is not a regular file, or larger than `MAX_BYTES`.
        OSError: It cannot be read.
    """
    try:
        # Without O_NONBLOCK, opening a named pipe waits for its writer.
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with open(opened, "rb") as file:
        found = os.fstat(opened)
        if not stat.S_ISREG(found.st_mode):
            raise UneditableFileError("it is not a regular file")
        if found.st_size > MAX_BYTES:
            raise UneditableFileError(f"it is larger than {MAX_BYTES >> 20} MiB")
        return file.read(MAX_BYTES + 1)


def replace(path: str, content: bytes, expected: bytes | None) -> None:
    """Write a file atomically. A symbolic link stays one: the file that it points to is replaced.

    Args:
        path: The file. Its folder exists.
        content: The new content.
        expected: The content that the caller has read; None if there was no file.

    Raises:
        UneditableFileError: The file is read-only, or another program has changed it since it was read.
        OSError: The file cannot be written.
    """
    target = Path(os.path.realpath(path))
    mode = None
    if expected is not None:
        found = target.stat()
        mode = stat.S_IMODE(found.st_mode)
        if not mode & stat.S_IWUSR or not os.access(target, os.W_OK):
            raise UneditableFileError("it is read-only")
    fresh = target.with_name(f".{target.name}.{os.getpid()}.sessiond")
    opened = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(opened, "wb") as file:
            file.write(content)
            file.flush()
            if mode is not None:
                if (found.st_uid, found.st_gid) != (os.geteuid(), os.getegid()):
                    with contextlib.suppress(PermissionError):
                        os.fchown(opened, found.st_uid, found.st_gid)
                os.fchmod(opened, mode)
            os.fsync(opened)
        if read(path) != expected:
            raise UneditableFileError("another program is changing it; run the command again")
        fresh.rename(target)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    sync_folder(str(target.parent))


def remove(path: str) -> None:
    """Remove a file that setup has created. A symbolic link stays: the file that it points to is removed."""
    target = Path(os.path.realpath(path))
    target.unlink()
    sync_folder(str(target.parent))


def missing_folders(path: str) -> list[str]:
    """Return the folders above a file that do not exist, outermost first."""
    missing: list[str] = []
    folder = os.path.dirname(os.path.realpath(path))  # noqa: PTH120 - a text
    while not os.path.lexists(folder):
        missing.insert(0, folder)
        folder = os.path.dirname(folder)  # noqa: PTH120
    return missing


def create_folders(folders: list[str]) -> None:
    """Create private folders, outermost first."""
    for folder in folders:
        with contextlib.suppress(FileExistsError):
            Path(folder).mkdir(mode=0o700)


def remove_empty_folders(folders: list[str]) -> None:
    """Remove the folders that are empty, innermost first."""
    for folder in reversed(folders):
        with contextlib.suppress(OSError):
            Path(folder).rmdir()


def sync_folder(folder: str) -> None:
    """Make renames in a folder durable."""
    opened = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
