"""Open indexes of logs: one file for each, named by the id of the log. Any of them may be deleted at any time.

An index is only as true as the log id in its name: the id changes when the first bytes of a log are not those that it
had before (`log_ids`). A file is replaced atomically and is not synced. A damaged file is reported and deleted, and the
log is read instead (decision 0035).
"""

import logging
import mmap
import os
import struct
import zlib
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from sessiond.store.files import paths

log = logging.getLogger(__name__)

FOLDER: Final = "open-indexes"
MAX_BYTES: Final = 1024 * 1024 * 1024
"""Limit of the bytes of all indexes. The least recently written ones are deleted first."""

_HEAD: Final = struct.Struct("<16sQII")
"""Magic, the bytes of the index, the bytes of the path of its log, and the checksum of what follows this head."""
_MAGIC: Final = b"sessiond opening"
_ALIGNMENT: Final = 8
_READ_ONLY: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


class OpenIndexes:
    """The folder of the indexes. All methods may wait for the disk, and none raises if the disk refuses."""

    def __init__(self, state: Path) -> None:
        self._folder = state / FOLDER

    def read(self, log_id: str) -> memoryview | None:
        """Return the index of a log, mapped; None if there is none or it is damaged."""
        path = self._folder / log_id
        try:
            index = _mapped(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            log.warning("an open index cannot be read: %s", error)
            return None
        if index is None:
            log.warning("the open index %s is damaged; the session is read instead", path)
            self.remove(log_id)
        return index

    def write(self, log_id: str, ref: str, parts: Sequence[bytes]) -> None:
        """Store the index of a log, given as parts, in place of the former one.

        Args:
            log_id: The id of the log.
            ref: The path of the log. When the file is gone, `sweep` deletes the index.
            parts: The bytes of the index.

        """
        path = self._folder / log_id
        made = path.with_name(f"{log_id}.new")
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            with os.fdopen(os.open(made, _NEW, 0o600), "wb") as file:
                file.writelines(_framed(os.fsencode(ref), parts))
            made.rename(path)
        except OSError as error:
            log.warning("an open index cannot be written: %s", error)
            with suppress(OSError):
                made.unlink()

    def remove(self, log_id: str) -> None:
        """Delete the index of a log, if there is one."""
        with suppress(OSError):
            (self._folder / log_id).unlink()

    def sweep(self, known: Container[str]) -> None:
        """Delete the indexes that no log needs any more, and the oldest ones beyond `MAX_BYTES`.

        Args:
            known: The ids of all logs that have a record.

        """
        left: list[tuple[int, int, str]] = []
        with suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    if entry.name in known and _is_there(_ref_in(Path(entry.path))):
                        status = entry.stat(follow_symlinks=False)
                        left.append((status.st_mtime_ns, status.st_size, entry.name))
                        continue
                self.remove(entry.name)
        size = 0
        for _, its_size, name in sorted(left, reverse=True):
            size += its_size
            if size > MAX_BYTES:
                self.remove(name)


def _is_there(ref: bytes) -> bool:
    """Return whether the log of a path exists, packed or not."""
    return os.path.lexists(ref) or os.path.lexists(paths.other_name(os.fsdecode(ref)))


def _framed(ref: bytes, parts: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the content of a file: the head, the path of the log, and the index."""
    padded = ref + bytes(-(_HEAD.size + len(ref)) % _ALIGNMENT)
    yield _HEAD.pack(_MAGIC, sum(map(len, parts)), len(ref), _checksum((padded, *parts)))
    yield padded
    yield from parts


def _mapped(path: Path) -> memoryview | None:
    """Return the index in a file; None if the file is damaged. Raises `OSError`."""
    fd = os.open(path, _READ_ONLY)
    try:
        if os.fstat(fd).st_size < _HEAD.size:
            return None
        whole = memoryview(mmap.mmap(fd, 0, access=mmap.ACCESS_READ))
    finally:
        os.close(fd)
    magic, size, ref_size, checksum = _HEAD.unpack_from(whole)
    start = _HEAD.size + ref_size
    start += -start % _ALIGNMENT
    if magic != _MAGIC or len(whole) != start + size or zlib.crc32(whole[_HEAD.size :]) != checksum:
        return None
    return whole[start:]


def _ref_in(path: Path) -> bytes:
    """Return the path of the log that a file's index belongs to; b"" if the file has no head. Raises `OSError`."""
    fd = os.open(path, _READ_ONLY)
    try:
        head = os.pread(fd, _HEAD.size, 0)
        if len(head) < _HEAD.size:
            return b""
        magic, _, ref_size, _ = _HEAD.unpack(head)
        return os.pread(fd, ref_size, _HEAD.size) if magic == _MAGIC else b""
    finally:
        os.close(fd)


def _checksum(parts: Iterable[bytes]) -> int:
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return checksum
