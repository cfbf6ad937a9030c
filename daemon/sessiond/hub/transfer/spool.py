"""Files of blobs before they are stored. The process that reads a source writes them, and the daemon moves them.

So a text of any size gets from a source into its blob without being in memory as a whole.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from sessiond.hashing import sha256_for_many, sha256_of
from sessiond.store.files.folders import temporary

NEW_FILE: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
"""The flags that open a new file."""


class SpooledBlob(NamedTuple):
    """A blob in a file: its hash, the path of the file, and its size in bytes."""

    digest: str
    path: str
    size: int


@dataclass(frozen=True, slots=True)
class Spool:
    """The files of one source.

    Attributes:
        folder: Their folder, on the file system of the store.
        token: A part of their names, 12 hexadecimal digits.
    """

    folder: str
    token: str = field(default_factory=lambda: os.urandom(6).hex())

    @classmethod
    def of_source(cls, folder: str, path: str, format: str | None) -> "Spool":
        """Return the spool of a source, which has the same files at each import. Only one may be in use at a time.

        Args:
            folder: The folder of the files.
            path: The path of the source.
            format: The format that an import names; None if it is detected.
        """
        return cls(folder, sha256_of(os.fsencode(path) + b"\0" + (format or "").encode()).hexdigest()[:12])

    def write(self, parts: Iterable[bytes]) -> SpooledBlob:
        """Write a blob into a new file, synced. Raises `OSError`, or what `parts` raises; no file remains then."""
        path = self.path()
        digest, size = sha256_for_many()(b""), 0
        try:
            with open(os.open(path, NEW_FILE, 0o600), "wb") as file:
                for part in parts:
                    digest.update(part)
                    size += file.write(part)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return SpooledBlob(digest.hexdigest(), str(path), size)

    def path(self) -> Path:
        """Return a path for a new file. The folder of the spool exists then."""
        folder = Path(self.folder)
        folder.mkdir(0o700, parents=True, exist_ok=True)
        return temporary(folder / self._name)

    def named(self, name: str) -> Path:
        """Return the path of a file that another spool with the same token has, too."""
        return Path(self.folder) / f".{self._name}.{name}.{self.token}.tmp"

    def unnamed(self) -> BinaryIO:
        """Return a new file without a name, which is gone when it is closed. Raises `OSError`."""
        path = self.path()
        descriptor = os.open(path, NEW_FILE, 0o600)
        path.unlink()
        return os.fdopen(descriptor, "w+b")

    def clear(self) -> None:
        """Remove the files that are left. Blocks."""
        for path in Path(self.folder).glob(f".{self._name}.*.tmp"):
            path.unlink(missing_ok=True)

    @property
    def _name(self) -> str:
        return f"text-{self.token}"
