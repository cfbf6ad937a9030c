"""What every store offers for blobs: bytes beside the logs, named by their SHA-256.

A blob is written once and never changed. The same bytes are kept once, however often they are put.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from sessiond.error_text import TemplatedError


class BlobAbsent(TemplatedError):
    """Raised when a store is asked for a blob that it does not have."""

    sentence = "There is no blob {hash!r:.80} here."

    def __init__(self, hash: str) -> None:
        super().__init__(hash=hash)
        self.hash = hash


class BlobDamaged(TemplatedError):
    """Raised when the digest of a blob's file is not its hash."""

    sentence = "What lies at {path} are not the bytes that blob {hash} had. The file is left as it is."

    def __init__(self, hash: str, path: str) -> None:
        super().__init__(hash=hash, path=path)
        self.hash = hash
        self.path = path


class PutBlob(NamedTuple):
    """What became of bytes that were put; `created` is False when they were there already."""

    hash: str
    size: int
    created: bool


class KeptBlob(NamedTuple):
    """One blob as a listing finds it; `modified_ns` is when it was last put or touched."""

    hash: str
    size: int
    modified_ns: int


class BlobSource(Protocol):
    """Where blobs can be read, on any thread. What is not a hash names no blob."""

    def read(self, hash: str, offset: int = 0, limit: int | None = None) -> bytes:
        """The bytes of a blob from `offset` on, at most `limit`.

        Bytes that are read as a whole are compared with their name. Raises `BlobAbsent`, `BlobDamaged`.
        """

    def size(self, hash: str) -> int:
        """How many bytes a blob has. Raises `BlobAbsent`."""

    def place(self, hash: str) -> str | None:
        """The path of a blob's file, None when it is in no file. Raises `BlobAbsent`."""


class BlobStore(BlobSource, Protocol):
    """The blobs that a store keeps."""

    async def put(self, data: bytes) -> PutBlob:
        """Keep bytes, durable when this returns; bytes that are there already count as put now.

        What lies under their name but is something else goes to the trash first.
        """

    async def touch(self, hashes: Collection[str]) -> set[str]:
        """Count blobs as put now, durable when this returns; answers which of them there are."""

    async def list(self) -> Sequence[KeptBlob]:
        """Every blob there is, in no order."""

    async def trash(
        self, hashes: Sequence[str], *, older_than_ns: int, folder: str, reason: str
    ) -> Sequence[str]:
        """Move those of the blobs to a folder of the trash that were last put before a time; answers which.

        That time is looked at right before each is moved: one that was put meanwhile stays. The folder gets a
        note of why and when, before anything else.
        """

    def trash_folder(self, folder: str) -> str:
        """Where `trash` moves blobs to, for people."""
