"""The token that authenticates TCP clients: created once, stored in a file that only its owner can read."""

import hmac
import os
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

    sentence = "Cannot use the token file {path}: {reason}."
    advice = "Remove it, and run: sessiond restart. The daemon creates a new one."


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
            raise BadToken(path, "it is not a regular file with one name that belongs to you")
        if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise BadToken(path, "other users can read it")
        token = file.read(_LONGEST).decode("ascii", "replace").strip()
    if len(token) < _BYTES:
        raise BadToken(path, f"it contains fewer than {_BYTES} characters")
    return token


def _make(path: Path, calls: Syscalls) -> None:
    """Create the file with a new token atomically. The caller holds the daemon's lock."""
    new = temporary(path)
    os.close(new_file(new, [f"{os.urandom(_BYTES).hex()}\n".encode()], calls))
    move_to_free_name(new, path, calls)
    sync_folder(path.parent, calls)


def token_matches(token: str, candidate: str) -> bool:
    """Return whether `candidate` equals the token. The time does not depend on the number of equal characters."""
    return hmac.compare_digest(token.encode(), candidate.encode("utf-8", "replace"))
