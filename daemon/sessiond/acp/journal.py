"""The journal of a turn: every message of it, written before the editor sees it, until the daemon has its entries.

A write to a file survives the end of the process that wrote it. So a proxy that is killed loses nothing that an editor
has shown: the next one reads the journals that no living process has locked. All functions are short writes to the
page cache; no sync is waited for, since the entries in the daemon are synced.
"""

import contextlib
import fcntl
import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Raw

_SUFFIX: Final = ".journal"
_record = msgspec.json.Decoder(tuple[str, Raw]).decode


class TurnJournal:
    """The journal of one session, which exists while this process does.

    Args:
        folder: The folder of all journals, which is created if it does not exist.
        head: Returns the messages with which it begins, whenever it is empty.
    """

    def __init__(self, folder: str, head: Callable[[], Iterable[tuple[str, bytes]]]) -> None:
        Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = f"{folder}/{os.getpid()}-{secrets.token_hex(4)}{_SUFFIX}"
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
        self._file = os.open(self.path, flags, 0o600)
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self._head = head
        self._is_empty = True

    def write(self, kind: str, value: bytes | Raw) -> None:
        """Append a message: its kind, and JSON on one line. Raises `OSError`."""
        line = _line(kind, value)
        if self._is_empty:
            line = b"".join([*(_line(*part) for part in self._head()), line])
            self._is_empty = False
        view = memoryview(line)
        while view:
            view = view[os.write(self._file, view) :]

    def clear(self) -> None:
        """Drop all messages, because the daemon has them."""
        if not self._is_empty:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, 0)
            self._is_empty = True

    def close(self) -> None:
        """End the journal. If it has messages, its file stays for the next start."""
        if self._is_empty:
            with contextlib.suppress(OSError):
                os.unlink(self.path)  # noqa: PTH108 - the path is a string
        os.close(self._file)


class Orphan:
    """A journal whose process has ended. It is locked until `done` or `leave` is called.

    Attributes:
        records: Its messages: pairs of a kind and JSON. A torn last message is left out.
    """

    def __init__(self, path: str, file: int) -> None:
        self.path = path
        self._file = file
        self.records = list(_records(file))

    def done(self) -> None:
        """Remove the journal: the daemon has its messages."""
        with contextlib.suppress(OSError):
            os.unlink(self.path)  # noqa: PTH108
        os.close(self._file)

    def leave(self) -> None:
        """Leave the journal for a later start."""
        os.close(self._file)


def orphans(folder: str) -> Iterator[Orphan]:
    """Yield the journals whose processes have ended, the oldest first."""
    with contextlib.suppress(OSError):
        for path in sorted(Path(folder).glob(f"*{_SUFFIX}"), key=lambda file: file.stat().st_mtime_ns):
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(file)
                continue
            yield Orphan(str(path), file)


def _line(kind: str, value: bytes | Raw) -> bytes:
    return b'["' + kind.encode() + b'",' + bytes(value).strip() + b"]\n"


def _records(file: int) -> Iterator[tuple[str, Raw]]:
    with open(file, "rb", closefd=False) as lines:
        for line in lines:
            with contextlib.suppress(msgspec.DecodeError):
                yield _record(line)
