"""The file that a bundle is written to: under another name until it is complete."""

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from sessiond.sync.bundle.errors import FileExistsAlreadyError, UnusableFileError


@contextlib.contextmanager
def replacing(path: Path, *, force: bool) -> Iterator[BinaryIO]:
    """Yield a new file that gets the name `path` when the context is left without an exception; else it is removed.

    Only this user can read it. It is on the disk when it gets the name.

    Args:
        path: The name.
        force: Whether a file of this name is replaced.

    Raises:
        FileExistsAlreadyError: There is something of this name, and `force` is false or it is no file.
        UnusableFileError: The system refuses to write.
    """
    _refuse_existing(path, force=force)
    part = path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}.part")
    try:
        fd = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with open(fd, "r+b") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            _rename(part, path, force=force)
        finally:
            part.unlink(missing_ok=True)
        _sync_folder(path.parent)
    except OSError as error:
        raise UnusableFileError(str(path), "written", error.strerror or str(error)) from None


def _refuse_existing(path: Path, *, force: bool) -> None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        found = path.lstat()
        if not force or not stat.S_ISREG(found.st_mode):
            raise FileExistsAlreadyError(str(path))


def _rename(part: Path, path: Path, *, force: bool) -> None:
    if not force:
        try:
            os.link(part, path)  # unlike a rename, it replaces nothing
        except FileExistsError:
            raise FileExistsAlreadyError(str(path)) from None
        except OSError:
            _refuse_existing(path, force=False)  # a file system without links
        else:
            return
    part.replace(path)


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
