"""The seal of a closed index file: a checksum that detects damage which SQLite does not detect.

It is written when the index is closed and removed when it is opened. An index without a seal (after the daemon was
killed) is checked as far as SQLite can.
"""

import hashlib
import logging
import os
import threading
from typing import Final

log = logging.getLogger(__name__)

_SUFFIX: Final = "-seal"
_MAX_BYTES: Final = 1 << 30
"""Files with more bytes than this are not sealed, because the daemon would take too long to stop."""
_CHUNK_BYTES: Final = 1 << 20


class Verification(threading.Thread):
    """Reads a file in a thread and compares it with its seal. Nothing may write to the file meanwhile."""

    def __init__(self, path: str, expected: str) -> None:
        super().__init__(name="sessiond-seal", daemon=True)
        self._path = path
        self._expected = expected
        self.has_changed = False
        self.start()

    def run(self) -> None:
        """Read the file and set `has_changed` if its checksum differs from the seal."""
        self.has_changed = _digest(self._path) != self._expected


def write_seal(path: str) -> None:
    """Seal a file that no process has open. If that fails, the file has no seal."""
    try:
        if os.stat(path).st_size <= _MAX_BYTES:  # noqa: PTH116
            with open(path + _SUFFIX, "w", encoding="ascii") as file:
                file.write(_digest(path))
    except OSError as error:
        log.warning("the index could not be sealed: %s", error)


def remove_seal(path: str) -> str | None:
    """Remove and return the seal of a file; None if it has none."""
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
            while data := file.read(_CHUNK_BYTES):
                digest.update(data)
    except OSError as error:
        return f"unreadable: {error}"
    return digest.hexdigest()
