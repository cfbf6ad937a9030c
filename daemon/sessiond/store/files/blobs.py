"""Blobs in files: one folder, each file named by the SHA-256 of its content.

A new blob is written under a temporary name, synced, and then renamed, so a file named by a hash is always complete.
Everything that may wait for the disk runs on the store's threads.
"""

import asyncio
import errno
import os
import re
import stat
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Final, TypeVar

from sessiond.hashing import sha256_for_many, sha256_of
from sessiond.store.blobs import BlobAbsent, BlobDamaged, PutBlob, StoredBlob
from sessiond.store.files.folders import (
    make_folder,
    move_to_free_name,
    new_file,
    sync_folder,
    temporary,
)
from sessiond.store.files.syscalls import Syscalls, refusals_of
from sessiond.store.files.trash import make_trash_folder

_HASH: Final = re.compile(r"[0-9a-f]{64}")
_NO_BLOB_THERE: Final = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENXIO)
_READ_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_LOCKS: Final = 16
_BLOCK: Final = 1024 * 1024

_T = TypeVar("_T")


class BlobFolder:
    """Read-only blobs in a folder of another program. The folder may be missing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, hash: str, offset: int = 0, limit: int | None = None) -> bytes:
        """Return bytes of a blob's file. If they are the whole file, their hash is verified."""
        path = self._path(hash)
        fd, size = self._open(path)
        try:
            count = size - offset if limit is None else min(limit, size - offset)
            data = _read(fd, offset, count)
        finally:
            os.close(fd)
        if len(data) == size and sha256_of(data).hexdigest() != hash:
            raise BlobDamaged(hash, str(path))
        return data

    def size(self, hash: str) -> int:
        """Return the size of a blob's file in bytes. Raises `BlobAbsent`."""
        fd, size = self._open(self._path(hash))
        os.close(fd)
        return size

    def place(self, hash: str) -> str | None:
        """Return the path of a blob's file. Raises `BlobAbsent`."""
        self.size(hash)
        return str(self._path(hash))

    def _path(self, hash: str) -> Path:
        if not _HASH.fullmatch(hash):
            raise BlobAbsent(hash)
        return self.folder / hash

    def _open(self, path: Path) -> tuple[int, int]:
        """Return a descriptor of a regular file, and its size in bytes."""
        with refusals_of(path):
            try:
                fd = os.open(path, _READ_FLAGS)
            except OSError as error:
                if error.errno in _NO_BLOB_THERE:
                    raise BlobAbsent(path.name) from None
                raise
            status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            os.close(fd)
            raise BlobAbsent(path.name)
        return fd, status.st_size


class FileBlobs(BlobFolder):
    """The blobs of a file store. The folders `folder` and `trash` are created when first needed."""

    def __init__(self, folder: Path, trash: Path, *, pool: Executor, calls: Syscalls) -> None:
        super().__init__(folder)
        self._trash = trash
        self._pool = pool
        self._calls = calls
        # A blob is put, touched or moved by one thread at a time. Locks of other blobs are independent.
        self._locks = [Lock() for _ in range(_LOCKS)]

    async def put(self, data: bytes) -> PutBlob:
        """Store bytes in a file that is synced and then renamed to their hash. An existing blob gets a new time."""
        return await self._in_pool(partial(self._put, data))

    async def put_file(self, path: str, hash: str) -> PutBlob:
        """Rename a file to its hash. An existing blob gets a new time."""
        return await self._in_pool(partial(self._put_file, Path(path), hash))

    def folder_for_files(self) -> str:
        """Return the folder of the blobs."""
        return str(self.folder)

    async def touch(self, hashes: Collection[str]) -> set[str]:
        """Set the times of the blobs' files to now, and sync the folder. Return the hashes that exist."""
        return await self._in_pool(partial(self._touch, hashes)) if hashes else set()

    async def list(self) -> Sequence[StoredBlob]:
        """Return the regular files of the folder whose names are hashes."""
        return await self._in_pool(self._list)

    async def trash(
        self, hashes: Sequence[str], *, older_than_ns: int, folder: str, reason: str
    ) -> Sequence[str]:
        """Move the files that are older than the time to a folder of the trash. Return their hashes."""
        return await self._in_pool(partial(self._move, hashes, older_than_ns, self._trash / folder, reason))

    def trash_folder(self, folder: str) -> str:
        """Return the path of a folder of the trash, whether it exists or not."""
        return str(self._trash / folder)

    async def _in_pool(self, call: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, call)

    def _lock_of(self, digest: str) -> Lock:
        return self._locks[int(digest[0], _LOCKS)]

    def _put(self, data: bytes) -> PutBlob:
        digest = sha256_of(data).hexdigest()
        path = self.folder / digest
        with self._lock_of(digest), refusals_of(path):
            if self._holds(path, data):
                _renew(path)
                self._sync_names()
                return PutBlob(digest, len(data), created=False)
            self._make_room(path)
            made = temporary(path)
            os.close(new_file(made, [data], self._calls))
            self._add(made, path)
        return PutBlob(digest, len(data), created=True)

    def _put_file(self, made: Path, digest: str) -> PutBlob:
        path = self.folder / digest
        with self._lock_of(digest), refusals_of(path):
            size = made.stat().st_size
            if self._is_whole(path):
                made.unlink()
                _renew(path)
                self._sync_names()
                return PutBlob(digest, size, created=False)
            self._make_room(path)
            self._add(made, path)
        return PutBlob(digest, size, created=True)

    def _make_room(self, path: Path) -> None:
        """Make the folder of a new blob, and take away a damaged one."""
        make_folder(self.folder, self._calls)
        if os.path.lexists(path):
            self._take_away(path, self._trash / f"blobs-damaged-{time.time_ns()}")

    def _add(self, made: Path, path: Path) -> None:
        """Give a new file, which is synced, the name of its blob."""
        try:
            _renew(made)
            move_to_free_name(made, path, self._calls)
            made = path
            sync_folder(self.folder, self._calls)
        except BaseException:
            made.unlink(missing_ok=True)
            raise

    def _touch(self, hashes: Collection[str]) -> set[str]:
        there: set[str] = set()
        with refusals_of(self.folder):
            for digest in filter(_HASH.fullmatch, hashes):
                with self._lock_of(digest), suppress(FileNotFoundError):
                    _renew(self.folder / digest)
                    there.add(digest)
            if there:
                self._sync_names()
        return there

    def _sync_names(self) -> None:
        """Sync the folder, because a daemon that crashed may not have synced the names of its blobs."""
        sync_folder(self.folder, self._calls)

    def _holds(self, path: Path, data: bytes) -> bool:
        try:
            return self.read(path.name) == data
        except (BlobAbsent, BlobDamaged):
            return False

    def _is_whole(self, path: Path) -> bool:
        """Return whether there is a file with the content that its name says. It is read in pieces."""
        try:
            fd, _ = self._open(path)
        except BlobAbsent:
            return False
        digest = sha256_for_many()(b"")
        with open(fd, "rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
        return digest.hexdigest() == path.name

    def _list(self) -> Sequence[StoredBlob]:
        found: list[StoredBlob] = []
        with refusals_of(self.folder), suppress(FileNotFoundError), os.scandir(self.folder) as entries:
            for entry in entries:
                if _HASH.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    with suppress(FileNotFoundError):  # it was moved after the listing
                        status = entry.stat(follow_symlinks=False)
                        found.append(StoredBlob(entry.name, status.st_size, status.st_mtime_ns))
        return found

    def _move(self, hashes: Sequence[str], older_than_ns: int, to: Path, reason: str) -> Sequence[str]:
        moved: list[str] = []
        with refusals_of(to):
            for digest in filter(_HASH.fullmatch, hashes):
                path = self.folder / digest
                with self._lock_of(digest), suppress(FileNotFoundError):
                    if path.stat(follow_symlinks=False).st_mtime_ns >= older_than_ns:
                        continue
                    if not moved:
                        make_trash_folder(to, origin=self.folder, reason=reason, calls=self._calls)
                    move_to_free_name(path, to / digest, self._calls)
                    moved.append(digest)
            if moved:
                sync_folder(to, self._calls)
                sync_folder(self.folder, self._calls)
        return moved

    def _take_away(self, path: Path, to: Path) -> None:
        """Move a file whose content does not match its name to the trash."""
        reason = "it was not what its name says"
        make_trash_folder(to, origin=self.folder, reason=reason, calls=self._calls)
        move_to_free_name(path, to / path.name, self._calls)
        sync_folder(to, self._calls)


def _renew(path: Path) -> None:
    """Set a file's time to now, by the clock that measures ages. File system timestamps are slightly late."""
    now = time.time_ns()
    os.utime(path, ns=(now, now), follow_symlinks=False)


def _read(fd: int, offset: int, count: int) -> bytes:
    parts: list[bytes] = []
    while count > 0 and (part := os.pread(fd, count, offset)):
        parts.append(part)
        offset += len(part)
        count -= len(part)
    return b"".join(parts)
