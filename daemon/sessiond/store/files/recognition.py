"""Recognizes a file that is opened again after its descriptor was closed."""

import os
from dataclasses import dataclass
from typing import Final

HEAD: Final = 4096


@dataclass(frozen=True, slots=True)
class LastSeen:
    """The state of a file when its descriptor was closed. Times are in nanoseconds since 1970."""

    identity: tuple[int, int]
    """Device and inode."""
    size: int
    modified_ns: int
    changed_ns: int
    head: bytes

    @classmethod
    def of(cls, fd: int, known: int) -> "LastSeen":
        """Return the state of a descriptor's file, whose first `known` bytes are known. Raises `OSError`."""
        status = os.fstat(fd)
        head = os.pread(fd, min(HEAD, known), 0)
        return cls(
            (status.st_dev, status.st_ino), status.st_size, status.st_mtime_ns, status.st_ctime_ns, head
        )

    def is_identity_of(self, status: os.stat_result) -> bool:
        """Return whether a file has the same device and inode. The inode of a deleted file may be reused."""
        return (status.st_dev, status.st_ino) == self.identity

    def is_unchanged(self, status: os.stat_result) -> bool:
        """Return whether it is the same file with unchanged content, name and permissions."""
        return self.is_identity_of(status) and (status.st_size, status.st_mtime_ns, status.st_ctime_ns) == (
            self.size,
            self.modified_ns,
            self.changed_ns,
        )
