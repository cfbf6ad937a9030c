"""Blobs in memory, for ephemeral sessions and tests. Nothing outlives the process."""

import hashlib
import time
from collections.abc import Collection, Sequence

from sessiond.store.blobs import BlobAbsent, KeptBlob, PutBlob


class MemoryBlobs:
    """Stores blobs until they are trashed. A trashed blob is in `kept` under `<folder>/<hash>`."""

    def __init__(self, kept: dict[str, bytes]) -> None:
        self._kept = kept
        self._blobs: dict[str, bytes] = {}
        self._touched: dict[str, int] = {}

    def read(self, hash: str, offset: int = 0, limit: int | None = None) -> bytes:
        if hash not in self._blobs:
            raise BlobAbsent(hash)
        return self._blobs[hash][offset : None if limit is None else offset + limit]

    def size(self, hash: str) -> int:
        return len(self.read(hash))

    def place(self, hash: str) -> str | None:
        self.size(hash)
        return None

    async def put(self, data: bytes) -> PutBlob:
        digest = hashlib.sha256(data).hexdigest()
        created = digest not in self._blobs
        self._blobs[digest] = bytes(data)
        self._touched[digest] = time.time_ns()
        return PutBlob(digest, len(data), created)

    async def touch(self, hashes: Collection[str]) -> set[str]:
        there = self._blobs.keys() & set(hashes)
        self._touched |= dict.fromkeys(there, time.time_ns())
        return there

    async def list(self) -> Sequence[KeptBlob]:
        return [KeptBlob(name, len(data), self._touched[name]) for name, data in self._blobs.items()]

    async def trash(
        self, hashes: Sequence[str], *, older_than_ns: int, folder: str, reason: str
    ) -> Sequence[str]:
        moved = [name for name in hashes if self._touched.get(name, older_than_ns) < older_than_ns]
        for name in moved:
            self._kept[f"{self.trash_folder(folder)}/{name}"] = self._blobs.pop(name)
            del self._touched[name]
        if moved:
            self._kept.setdefault(f"{self.trash_folder(folder)}/note.json", reason.encode())
        return moved

    def trash_folder(self, folder: str) -> str:
        return f"trash/{folder}"
