"""Blobs in memory, for ephemeral sessions and tests. Nothing outlives the process."""

import asyncio
import tempfile
import time
from collections.abc import Collection, Sequence
from pathlib import Path

from sessiond.hashing import sha256_of
from sessiond.store.blobs import BlobAbsent, PutBlob, StoredBlob


class MemoryBlobs:
    """Stores blobs until they are trashed. A trashed blob is in `remains` under `trash/<folder>/<hash>`."""

    def __init__(self, remains: dict[str, bytes]) -> None:
        self._remains = remains
        self._blobs: dict[str, bytes] = {}
        self._touched: dict[str, int] = {}

    def read(self, hash: str, offset: int = 0, limit: int | None = None) -> bytes:
        """Return the bytes of a blob from `offset`, at most `limit`. Raises `BlobAbsent`."""
        if hash not in self._blobs:
            raise BlobAbsent(hash)
        return self._blobs[hash][offset : None if limit is None else offset + limit]

    def size(self, hash: str) -> int:
        """Return the size of a blob in bytes. Raises `BlobAbsent`."""
        return len(self.read(hash))

    def place(self, hash: str) -> str | None:
        """Return None, since a blob is in no file. Raises `BlobAbsent`."""
        self.size(hash)
        return None

    async def put(self, data: bytes) -> PutBlob:
        """Store bytes under their hash. An existing blob gets a new time."""
        digest = sha256_of(data).hexdigest()
        created = digest not in self._blobs
        self._blobs[digest] = bytes(data)
        self._touched[digest] = time.time_ns()
        return PutBlob(digest, len(data), created)

    async def put_file(self, path: str, hash: str) -> PutBlob:
        """Store the content of a file. The file stays."""
        return await self.put(await asyncio.to_thread(Path(path).read_bytes))

    def folder_for_files(self) -> str:
        """Return the folder for temporary files."""
        return tempfile.gettempdir()

    async def touch(self, hashes: Collection[str]) -> set[str]:
        """Set the times of blobs to now. Return the hashes that exist."""
        there = self._blobs.keys() & set(hashes)
        self._touched |= dict.fromkeys(there, time.time_ns())
        return there

    async def list(self) -> Sequence[StoredBlob]:
        """Return every blob."""
        return [StoredBlob(name, len(data), self._touched[name]) for name, data in self._blobs.items()]

    async def trash(
        self, hashes: Sequence[str], *, older_than_ns: int, folder: str, reason: str
    ) -> Sequence[str]:
        """Move the blobs that are older than the time to `remains`, with the reason as `note.json`."""
        moved = [name for name in hashes if self._touched.get(name, older_than_ns) < older_than_ns]
        for name in moved:
            self._remains[f"{self.trash_folder(folder)}/{name}"] = self._blobs.pop(name)
            del self._touched[name]
        if moved:
            self._remains.setdefault(f"{self.trash_folder(folder)}/note.json", reason.encode())
        return moved

    def trash_folder(self, folder: str) -> str:
        """Return the prefix of the trashed blobs of a folder in `remains`."""
        return f"trash/{folder}"
