"""The interface of every store for blobs: bytes beside the logs, named by their SHA-256.

A blob is written once and never changed. Equal bytes are stored once.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from sessiond.error_text import TemplatedError


class BlobAbsent(TemplatedError):
    """Raised for a hash without a blob in the store."""

    sentence = "The store has no blob {hash!r:.80}."

    def __init__(self, hash: str) -> None:
        super().__init__(hash=hash)
        self.hash = hash


class BlobDamaged(TemplatedError):
    """Raised when the digest of a blob's file is not its hash."""

    sentence = "The content of {path} does not match the hash {hash} of the blob. The file is unchanged."

    def __init__(self, hash: str, path: str) -> None:
        super().__init__(hash=hash, path=path)
        self.hash = hash
        self.path = path


class PutBlob(NamedTuple):
    """The result of storing a blob. `created` is False if it existed."""

    hash: str
    size: int
    created: bool


class StoredBlob(NamedTuple):
    """One blob in a listing. `modified_ns` is the time it was last put or touched, in nanoseconds since 1970."""

    hash: str
    size: int
    modified_ns: int


class BlobSource(Protocol):
    """A read-only source of blobs, usable on any thread. A name that is not a hash names no blob.

    The methods may wait for a disk or a server, so the thread of the event loop calls none of them.
    """

    def read(self, hash: str, offset: int = 0, limit: int | None = None) -> bytes:
        """Return the bytes of a blob from `offset`, at most `limit`.

        Bytes that are read as a whole are verified against their hash. Raises `BlobAbsent`, `BlobDamaged`.
        """

    def size(self, hash: str) -> int:
        """Return the size of a blob in bytes. Raises `BlobAbsent`."""

    def place(self, hash: str) -> str | None:
        """Return the path of a blob's file; None if it is in no file. Raises `BlobAbsent`."""


class BlobStore(BlobSource, Protocol):
    """The blobs of a store."""

    async def put(self, data: bytes) -> PutBlob:
        """Store bytes, durable on return. For an existing blob only the time of its last put is updated.

        A file of this name with other content is moved to the trash first.
        """

    async def put_file(self, path: str, hash: str) -> PutBlob:
        """Store the content of a synced file, as `put` does. The file is taken away if the store can use it.

        Args:
            path: A file in `folder_for_files`.
            hash: The hash of its content.
        """

    def folder_for_files(self) -> str:
        """Return the path of a folder for files that `put_file` stores. It need not exist."""

    async def touch(self, hashes: Collection[str]) -> set[str]:
        """Set the time of the last put of blobs to now, durable on return. Return the hashes that exist."""

    async def list(self) -> Sequence[StoredBlob]:
        """Return every blob, in no particular order."""

    async def trash(
        self, hashes: Sequence[str], *, older_than_ns: int, folder: str, reason: str
    ) -> Sequence[str]:
        """Move blobs that were last put before a time to a folder of the trash.

        The time is checked immediately before each move, so a blob that is put meanwhile stays. The folder gets a note
        of the reason and the time before anything else.

        Args:
            hashes: The blobs.
            older_than_ns: The time, in nanoseconds since 1970.
            folder: The name of the folder in the trash.
            reason: The reason for the note.

        Returns:
            The hashes of the moved blobs.
        """

    def trash_folder(self, folder: str) -> str:
        """Return the path of a folder of the trash, for messages."""
