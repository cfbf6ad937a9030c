"""The state of a source file when it was read: its status, and a digest of the bytes that were read.

The state shows whether a file is unchanged, and at which byte a reader continues. All functions block.
"""

import hashlib
import os
from collections.abc import Mapping
from typing import BinaryIO, Final

import msgspec

UNSETTLED_SECONDS: Final = 3.0
"""A file that changed less than this many seconds before it was read is not recognized by its status.

A further change may leave the same times: a file system rounds them to milliseconds, some to two seconds.
"""
_DIGEST_BYTES: Final = 16
_BLOCK: Final = 1024 * 1024


class FileStatus(msgspec.Struct, frozen=True, array_like=True):
    """The status of a file as the system reports it. It differs after each change, unless two have the same time.

    `changed_ns` (ctime) cannot be set by a program, so a file with a restored modification time differs, too.
    """

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> "FileStatus":
        """Return the status from a result of `os.stat`."""
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)

    @classmethod
    def at(cls, path: str) -> "FileStatus | None":
        """Return the status of a file; None if there is none."""
        try:
            return cls.of(os.stat(path))  # noqa: PTH116 - a text
        except (OSError, ValueError):
            return None


class LookedAt(msgspec.Struct, frozen=True, array_like=True):
    """A file or folder beside a source, when it was looked at.

    Attributes:
        status: Its status; None if it did not exist, or may have changed since without another status.
        digest: The SHA-256 of the content of the file, if it has a blob.
        is_text: Whether the content is a text.
    """

    status: FileStatus | None
    digest: str = ""
    is_text: bool = False


class SourceState(msgspec.Struct, frozen=True):
    """The state of a source file.

    Attributes:
        status: Its status before it was read.
        is_settled: Whether a file with this status has the same content.
        is_final: Whether it gives the same result when it is read again unchanged. A reader of a growing file may
            leave its last lines to a later import.
        consumed_bytes: The offset of the end of the last line that was read. A reader of lines continues here.
        digest: The digest of the bytes before `consumed_bytes`.
        companions: The digest of the data that was read from files beside it.
        attachments: The files beside it that were kept or not found, and their folders, by path.
    """

    status: FileStatus
    is_settled: bool
    is_final: bool
    consumed_bytes: int
    digest: str
    companions: str
    attachments: dict[str, LookedAt] = {}


def unread(status: FileStatus) -> SourceState:
    """Return the state of a file that was not read at all. It is read again at the next import."""
    return SourceState(status, is_settled=False, is_final=False, consumed_bytes=0, digest="", companions="")


def is_settled(status: FileStatus, now_ns: int) -> bool:
    """Return whether a later change gives another status. `now_ns` is a time before the file was read."""
    return max(status.modified_ns, status.changed_ns) < now_ns - int(UNSETTLED_SECONDS * 1e9)


def digest_of(data: bytes | memoryview) -> str:
    """Return the digest of bytes in hexadecimal digits."""
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()


class Digests:
    """The digests of a source that is read in pieces: of all its bytes, and of its whole lines."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin again with the first byte."""
        self._whole = hashlib.blake2b(digest_size=_DIGEST_BYTES)
        self._lines = self._whole.copy()
        self._size = self._line_size = 0

    def update(self, data: bytes) -> None:
        """Add bytes."""
        end = data.rfind(b"\n") + 1
        if end:
            self._lines = self._whole.copy()
            self._lines.update(memoryview(data)[:end])
            self._line_size = self._size + end
        self._whole.update(data)
        self._size += len(data)

    @property
    def whole(self) -> tuple[int, str]:
        """The number of all bytes, and their digest."""
        return self._size, self._whole.hexdigest()

    @property
    def lines(self) -> tuple[int, str]:
        """The number of the bytes of whole lines, and their digest."""
        return self._line_size, self._lines.hexdigest()


def digest_of_file(file: BinaryIO, size: int) -> tuple[str, int]:
    """Return the digest of the first bytes of a file, and the number of their lines. Raises `OSError`."""
    digest, line_count = hashlib.blake2b(digest_size=_DIGEST_BYTES), 0
    file.seek(0)
    while size > 0 and (block := file.read(min(_BLOCK, size))):
        digest.update(block)
        line_count += block.count(b"\n")
        size -= len(block)
    return digest.hexdigest(), line_count


def digest_of_companions(companions: Mapping[str, object]) -> str:
    """Return the digest of the data from files beside a source."""
    # As Python shows them, because a path may have bytes that no JSON text can have.
    return digest_of(repr(sorted(companions.items())).encode())
