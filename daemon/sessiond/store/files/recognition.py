"""By what a file is recognized when it is opened again after it had no descriptor for a while."""

import os
from dataclasses import dataclass
from typing import Final

HEAD: Final = 4096


@dataclass(frozen=True, slots=True)
class LastSeen:
    """A file as it was when its descriptor was closed. Times are in nanoseconds since 1970."""

    identity: tuple[int, int]
    """Device and inode."""
    size: int
    modified_ns: int
    changed_ns: int
    head: bytes

    @classmethod
    def of(cls, fd: int, known: int) -> "LastSeen":
        """The file of a descriptor, whose first `known` bytes are ours. Raises `OSError`."""
        status = os.fstat(fd)
        head = os.pread(fd, min(HEAD, known), 0)
        return cls(
            (status.st_dev, status.st_ino), status.st_size, status.st_mtime_ns, status.st_ctime_ns, head
        )

    def is_identity_of(self, status: os.stat_result) -> bool:
        """Whether a file has the same device and inode; one that was deleted may have left them to another file."""
        return (status.st_dev, status.st_ino) == self.identity

    def is_unchanged(self, status: os.stat_result) -> bool:
        """Whether a file is the same, and nothing about it was changed: not its content, name or rights."""
        return self.is_identity_of(status) and (status.st_size, status.st_mtime_ns, status.st_ctime_ns) == (
            self.size,
            self.modified_ns,
            self.changed_ns,
        )
