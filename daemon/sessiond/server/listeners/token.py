"""The token that opens the daemon to a client without a user id: made once, kept in a file for its owner only."""

import hmac
import os
import secrets
import stat
from pathlib import Path
from typing import Final

from sessiond.server.listeners.unix_socket import CannotListen
from sessiond.store.files.folders import move_to_free_name, new_file, sync_folder, temporary
from sessiond.store.files.syscalls import Syscalls

_BYTES: Final = 32
_LONGEST: Final = 1_000
_CALLS: Final = Syscalls()


class BadToken(CannotListen):
    """Raised when the token of the TCP listener cannot be read, or others may read it."""

    sentence = "The token file {path} cannot be used: {reason}."
    advice = "Remove it, and the daemon makes another: sessiond restart."


def token_of(path: str, calls: Syscalls = _CALLS) -> str:
    """The token in the file, which is made when there is none. Raises `BadToken` for one that others could know."""
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
    """Put a new token where there is none: whole, or not at all. Only one daemon at a time does this."""
    begun = temporary(path)
    os.close(new_file(begun, [f"{secrets.token_urlsafe(_BYTES)}\n".encode()], calls))
    move_to_free_name(begun, path, calls)
    sync_folder(path.parent, calls)


def is_same(token: str, said: str) -> bool:
    """Whether somebody knows the token; in a time that says nothing of how much of it he knows."""
    return hmac.compare_digest(token.encode(), said.encode("utf-8", "replace"))
