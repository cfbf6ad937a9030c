"""The token that authenticates TCP clients: created once, stored in a file that only its owner can read."""

import hmac
import os
import secrets
import stat
from pathlib import Path
from typing import Final

from sessiond.server.listeners.unix_socket import CannotListen
from sessiond.store.files.folders import move_to_free_name, new_file, sync_folder, temporary
from sessiond.store.files.syscalls import Syscalls

_BYTES: Final = 32  # random bytes of a new token; also the fewest characters of a token
_LONGEST: Final = 1_000  # bytes of the file that are read
_CALLS: Final = Syscalls()


class BadToken(CannotListen):
    """Raised when the token file of the TCP listener cannot be read, or other users can read it."""

    sentence = "The token file {path} cannot be used: {reason}."
    advice = "Remove it, and the daemon makes another: sessiond restart."


def token_of(path: str, calls: Syscalls = _CALLS) -> str:
    """Return the token in the file at `path`. A missing file is created.

    Raises:
        BadToken: The file cannot be read or created, is no regular file of this user alone, or other users can read
            it.

    """
    flags = os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        if not os.path.lexists(path):
            _make(Path(path), calls)
        descriptor = os.open(path, flags | os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        raise BadToken(path, error.strerror or str(error)) from error
    found = os.fstat(descriptor)
    if stat.S_ISDIR(found.st_mode):
        os.close(descriptor)
        raise BadToken(path, "it is a folder")
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_nlink != 1:
            raise BadToken(path, "it is not a file of yours alone")
        if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise BadToken(path, "others may read it, so it is no secret")
        token = file.read(_LONGEST).decode("ascii", "replace").strip()
    if len(token) < _BYTES:
        raise BadToken(path, f"it holds less than {_BYTES} characters")
    return token


def _make(path: Path, calls: Syscalls) -> None:
    """Create the file with a new token atomically. The caller holds the daemon's lock."""
    begun = temporary(path)
    os.close(new_file(begun, [f"{secrets.token_urlsafe(_BYTES)}\n".encode()], calls))
    move_to_free_name(begun, path, calls)
    sync_folder(path.parent, calls)


def is_same(token: str, said: str) -> bool:
    """Return whether `said` equals the token. The time does not depend on how much of it is equal."""
    return hmac.compare_digest(token.encode(), said.encode("utf-8", "replace"))
