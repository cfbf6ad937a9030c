"""A seal on the index at rest: what SQLite cannot see of damage, such as a word that is another word, breaks it.

It is written when the index was closed in order, and taken off when it is opened. An index without one (the
daemon was killed) is looked through as far as SQLite can.
"""

import hashlib
import logging
import os
import threading
from typing import Final

log = logging.getLogger(__name__)

_SUFFIX: Final = "-seal"
_LARGEST: Final = 1 << 30
"""A larger file is not sealed: the end of a daemon would have to wait for it."""
_SLICE: Final = 1 << 20


class Verification(threading.Thread):
    """Reads a file while others use it, as long as nobody writes to it."""

    def __init__(self, path: str, expected: str) -> None:
        super().__init__(name="sessiond-seal", daemon=True)
        self._path = path
        self._expected = expected
        self.broken = False
        self.start()

    def run(self) -> None:
        self.broken = _digest(self._path) != self._expected


def put_on(path: str) -> None:
    """Seal a file that nobody has open; where that is refused it has no seal."""
    try:
        if os.stat(path).st_size <= _LARGEST:  # noqa: PTH116
            with open(path + _SUFFIX, "w", encoding="ascii") as file:
                file.write(_digest(path))
    except OSError as error:
        log.warning("the index could not be sealed: %s", error)


def take_off(path: str) -> str | None:
    """The seal of a file, which is gone then; None when it has none."""
    try:
        with open(path + _SUFFIX, encoding="ascii") as file:
            seal = file.read()
        os.unlink(path + _SUFFIX)  # noqa: PTH108
    except (OSError, ValueError):
        return None
    return seal


def _digest(path: str) -> str:
    digest = hashlib.blake2b(digest_size=16)
    try:
        with open(path, "rb") as file:
            while data := file.read(_SLICE):
                digest.update(data)
    except OSError as error:
        return f"unreadable: {error}"
    return digest.hexdigest()
