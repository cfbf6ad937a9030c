"""Blobs as rows of a table. For the methods see `blobs.BlobStore`."""

import asyncio
import re
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from sessiond.hashing import sha256_of
from sessiond.store.blobs import BlobAbsent, BlobDamaged, PutBlob, StoredBlob
from sessiond.store.postgres.link import Link
from sessiond.store.postgres.queries import query
from sessiond.store.postgres.requests import DatabaseRequests

_HASH: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_MAX: Final = 2**31 - 1


class PostgresBlobs:
    """The blobs of one owner. A trashed blob is in the table `trashed_blobs` under the name of its folder."""

    def __init__(self, requests: DatabaseRequests, link: Link) -> None:
        self._requests = requests
        self._link = link

    def read(self, hash: str, offset: int = 0, limit: int | None = None) -> bytes:
        """Read from the database, and wait for it. A whole blob is compared with its hash."""
        if _HASH.fullmatch(hash) is None:
            raise BlobAbsent(hash)
        first, count = min(offset, _MAX - 1) + 1, _MAX if limit is None else min(limit, _MAX)
        count = min(count, _MAX - first)
        owner = self._link.owner
        row = self._requests.wait_for(
            lambda connection: connection.fetchrow(query("blob"), owner, hash, first, count)
        )
        if row is None:
            raise BlobAbsent(hash)
        data: bytes = row["data"]
        if not offset and len(data) == row["size"] and sha256_of(data).hexdigest() != hash:
            raise BlobDamaged(hash, f"the table of blobs, row {hash}")
        return data

    def size(self, hash: str) -> int:
        """Ask the database, and wait for it."""
        owner = self._link.owner
        if _HASH.fullmatch(hash) is None:
            raise BlobAbsent(hash)
        found: int | None = self._requests.wait_for(
            lambda connection: connection.fetchval(query("blob_size"), owner, hash)
        )
        if found is None:
            raise BlobAbsent(hash)
        return found

    def place(self, hash: str) -> None:
        """Return None, since a blob is in no file. Raises `BlobAbsent`."""
        self.size(hash)

    async def put(self, data: bytes) -> PutBlob:
        """Store bytes under their hash. For an existing blob only its time is set."""
        owner, data = self._link.owner, bytes(data)
        digest = (await asyncio.to_thread(sha256_of, data)).hexdigest()
        created = await self._requests.change(
            lambda connection: connection.fetchval(query("put_blob"), owner, digest, len(data), data)
        )
        return PutBlob(digest, len(data), bool(created))

    async def put_file(self, path: str, hash: str) -> PutBlob:
        """Store the content of a file. The file stays."""
        return await self.put(await asyncio.to_thread(Path(path).read_bytes))

    def folder_for_files(self) -> str:
        """Return the folder for temporary files."""
        return tempfile.gettempdir()

    async def touch(self, hashes: Collection[str]) -> set[str]:
        """Set the times of blobs to now. Return the hashes that exist."""
        owner, names = self._link.owner, _valid(hashes)
        rows = await self._requests.change(
            lambda connection: connection.fetch(query("touch_blobs"), owner, names)
        )
        return {row["hash"] for row in rows}

    async def list(self) -> Sequence[StoredBlob]:
        """Return every blob."""
        owner = self._link.owner
        rows = await self._requests.read(lambda connection: connection.fetch(query("list_blobs"), owner))
        return [StoredBlob(row["hash"], row["size"], row["modified"] * 1_000) for row in rows]

    async def trash(
        self, hashes: Sequence[str], *, older_than_ns: int, folder: str, reason: str
    ) -> Sequence[str]:
        """Move the blobs that are older than the time to the table of trashed blobs."""
        owner, names, limit = self._link.owner, _valid(hashes), older_than_ns // 1_000
        rows = await self._requests.change(
            lambda connection: connection.fetch(query("trash_blobs"), owner, names, limit, folder, reason)
        )
        return [row["hash"] for row in rows]

    def trash_folder(self, folder: str) -> str:
        """Return the name of the table and of the folder in it that have these trashed blobs."""
        return f"sessiond.trashed_blobs, folder {folder}"


def _valid(hashes: Collection[str]) -> "list[str]":
    return sorted({name for name in hashes if _HASH.fullmatch(name)})
