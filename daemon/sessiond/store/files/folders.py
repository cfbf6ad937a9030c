"""Makes folders and files that only their owner can read, and makes their names durable.

An own folder that other users may enter gets mode 0700. A folder of another user or a symbolic link is refused,
because its owner could read or replace the files in it (decision 0006).
"""

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from sessiond.store.errors import StorageFailed, TooManyOpenFiles
from sessiond.store.files.syscalls import Syscalls, refusal

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW_FILE_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def make_folder(path: Path, calls: Syscalls) -> None:
    """Make a folder (0700) and its missing parents, or use the existing one.

    Its name is durable on return, even if a daemon that crashed before it could sync had made it.

    Raises:
        StorageFailed: The path belongs to another user, is a symbolic link, or is not a folder.
    """
    try:
        path.mkdir(0o700)
    except FileNotFoundError:
        make_folder(path.parent, calls)
        make_folder(path, calls)
        return
    except FileExistsError:
        _close_to_others(path)
    sync_folder(path.parent, calls)


def sync_folder(path: Path, calls: Syscalls) -> None:
    """Make the names in a folder durable: without it no rename survives a power failure (decision 0004)."""
    fd = os.open(path, _FOLDER_FLAGS)
    try:
        calls.fsync(fd)
    finally:
        os.close(fd)


def new_file(path: Path, parts: Iterable[bytes | bytearray], calls: Syscalls, mode: int = 0o600) -> int:
    """Make a file with the content `parts`, synced. Its name is not durable yet.

    Returns:
        A descriptor for reading and appending.

    Raises:
        FileExistsError: The file exists. On any error no partial file remains.
    """
    fd = os.open(path, _NEW_FILE_FLAGS, 0o600)
    try:
        os.fchmod(fd, mode)
        for part in parts:
            write_all(fd, part, calls)
        calls.fsync(fd)
    except BaseException:
        os.close(fd)
        path.unlink()
        raise
    return fd


def write_file(path: Path, data: bytes, calls: Syscalls, mode: int = 0o600) -> None:
    """Write a file atomically, in place of an earlier one. Its name is not durable yet. Raises `OSError`."""
    made = temporary(path)
    os.close(new_file(made, [data], calls, mode))
    try:
        calls.rename(made, path)
    except BaseException:
        made.unlink()
        raise


def write_all(fd: int, data: bytes | bytearray, calls: Syscalls) -> None:
    """Write all of `data`, in as many writes as the system needs."""
    view = memoryview(data)
    while view:
        view = view[calls.write(fd, view) :]


def temporary(path: Path) -> Path:
    """Return a name beside `path` for a file that will replace it. The name is hidden, so no listing finds it."""
    return path.with_name(f".{path.name[:160]}.{os.urandom(6).hex()}.tmp")


def move_to_free_name(source: Path, target: Path, calls: Syscalls) -> None:
    """Rename a file to a name that must be free. The folders are not synced. Raises `FileExistsError`.

    The check and the rename are two steps. This is safe because only one daemon creates names in these folders.
    """
    if os.path.lexists(target):
        raise FileExistsError(f"{target} is there already")
    calls.rename(source, target)


def _close_to_others(path: Path) -> None:
    try:
        fd = os.open(path, _FOLDER_FLAGS | os.O_NOFOLLOW)
    except OSError as error:
        if isinstance(refused := refusal(error, path), TooManyOpenFiles):
            raise refused from error
        raise StorageFailed(
            f"{path} is not a folder that we may use: {error.strerror}", path=str(path)
        ) from error
    try:
        status = os.fstat(fd)
        if status.st_uid != os.geteuid():
            raise StorageFailed(f"{path} belongs to another user (uid {status.st_uid})", path=str(path))
        if stat.S_IMODE(status.st_mode) & 0o077:
            os.fchmod(fd, 0o700)
    finally:
        os.close(fd)
