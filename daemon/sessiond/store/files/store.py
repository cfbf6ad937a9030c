"""Sessions as files: `base.Store` over two folders, one for data and one for state.

Logs are found by their names only. The hub reads their content. Everything that may wait for the disk runs on a small
pool of threads that all logs share.
"""

import asyncio
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeVar
from weakref import WeakSet

from sessiond.store.base import Log
from sessiond.store.blobs import BlobSource
from sessiond.store.errors import LogExists, LogNotFound, StorageFailed, SyncFailed
from sessiond.store.files import paths
from sessiond.store.files.blobs import BlobFolder, FileBlobs
from sessiond.store.files.census import FULL_SECONDS, WATCHED_SECONDS, FileCensus, Root, stamp_of
from sessiond.store.files.descriptors import Descriptors
from sessiond.store.files.file_bytes import slices
from sessiond.store.files.finding import logs_in, open_regular, read_ends, resolved
from sessiond.store.files.folders import make_folder, move_to_free_name, new_file, sync_folder, temporary
from sessiond.store.files.known_file import MAY_NOT_WRITE, WRITE_FLAGS
from sessiond.store.files.log import FileLog
from sessiond.store.files.log_ids import LogIds
from sessiond.store.files.log_names import LogNames
from sessiond.store.files.logfile import LogFile
from sessiond.store.files.open_indexes import OpenIndexes
from sessiond.store.files.packing import Replaced, content_of, ends_of, pack, settle, size_of, table_of
from sessiond.store.files.remains import remains
from sessiond.store.files.space import free_bytes
from sessiond.store.files.syscalls import Syscalls, refusal, refusals_of
from sessiond.store.files.terminals import TerminalFiles
from sessiond.store.files.trash import (
    add_to_trash,
    in_trash,
    list_trash,
    move_back,
    move_to_trash,
    new_trash_id,
    origin_of,
    unlink_for_good,
)
from sessiond.store.files.watch import FolderWatch
from sessiond.store.files.workers import Workers
from sessiond.store.records import UNKNOWN, AddedLog, Packed, Stored, Trashed, TrashNote, TrashPlace
from sessiond.store.sole_daemon import SoleDaemon

LATE_SECONDS: Final = 1.0
_THREADS = 8  # for all calls but those of the group commit, which has threads of its own

_LISTINGS: Final = 3
"""How often the folders are listed for an id. A file that is packed or moved meanwhile may be in no listing."""

_T = TypeVar("_T")


class FileStore(TerminalFiles, SoleDaemon):
    """The store of log files.

    `data` has the folders `sessions/`, `drafts/`, `blobs/` and `trash/`. A draft is in a folder of `drafts/` with the
    same name as its later folder in `sessions/`, so promoting it is one rename and requires no knowledge of its
    content.

    Args:
        data: The folder of the data.
        state: The folder of the state (`terminal-sessions/`, `terminal-holds/`, log ids).
        roots: Folders of other programs. Their logs are listed and opened in place, and nothing is created there.
        calls: The system calls that access the disk.
        late_seconds: How long after a log was packed the plain file is watched, to which another program may append.
        descriptors: Limits how many session files have a descriptor at a time.
    """

    def __init__(
        self,
        data: Path,
        state: Path,
        *,
        roots: Iterable[str] = (),
        calls: Syscalls | None = None,
        late_seconds: float = LATE_SECONDS,
        descriptors: Descriptors | None = None,
    ) -> None:
        data = Path(os.path.realpath(data))  # so that a path named by a user can be compared with it
        self._late_seconds = late_seconds
        self._folders = (data, Path(os.path.realpath(state)))
        self._exports = data / paths.EXPORTS
        self._sessions = data / "sessions"
        self._drafts = data / "drafts"
        self._trash = data / "trash"
        self._roots = (
            Root(str(self._drafts), draft=True),
            Root(str(self._sessions)),
            *(Root(os.path.realpath(root), own=False) for root in roots),
        )
        self._log_ids = LogIds(state)
        self._open_indexes = OpenIndexes(state)
        self._watch: FolderWatch | None = None
        self._names = LogNames(self._roots)
        self._descriptors = Descriptors() if descriptors is None else descriptors
        pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="sessiond-store")
        super().__init__(state, pool, calls or Syscalls())
        self._workers = Workers()
        self._being_created: set[str] = set()
        self._open_files: WeakSet[LogFile] = WeakSet()
        self._opening: Counter[Path] = Counter()  # the plain names of the logs that are being opened
        self._packing: set[Path] = set()  # the plain files that are being packed and were not opened since
        self._replacing = threading.Lock()  # of these three, which several threads change
        self._packings: set[asyncio.Future[Packed | None]] = set()
        self._closing = asyncio.Event()
        self.blobs = FileBlobs(data / "blobs", self._trash, pool=self._pool, calls=self._calls)

    def __reduce__(self) -> tuple[type["FileStore"], tuple[Path, Path]]:
        """Pickle as a store of the same folders, with which a child process reads logs."""
        return FileStore, self._folders

    def keeps(self, ref: str) -> bool:
        """Return whether a path is in `sessions/` or `drafts/`. The path need not exist."""
        path = Path(ref)
        return path.is_relative_to(self._sessions) or path.is_relative_to(self._drafts)

    def holds(self, ref: str) -> bool:
        """Return whether a path is in the data or state folder, or is listed (`lists`), and is not below `exports/`."""
        path = Path(ref)
        if self._exports in path.parents:
            return False
        return self.lists(ref) or any(path.is_relative_to(folder) for folder in self._folders)

    def blobs_beside(self, ref: str) -> BlobSource | None:
        """Return the folder `blobs` beside the nearest folder `sessions` above the log, unless it is this store's."""
        # The layout of oh-my-pi: .../agent/sessions/<folder>/<name>.jsonl and .../agent/blobs/<sha256>.
        above = next((parent for parent in Path(ref).parents if parent.name == "sessions"), None)
        folder = None if above is None else above.with_name("blobs")
        return None if folder is None or folder == self.blobs.folder else BlobFolder(folder)

    async def create(self, session_id: str, *, cwd: str, timestamp: str, lines: bytes, draft: bool) -> Log:
        """Create the file with its folder, synced, and open it. See `base.Store.create`."""
        path = self._begin_creation(session_id, cwd, timestamp, draft=draft)
        return await self._log(partial(self._create_and_open, path, session_id, lines))

    async def add(
        self,
        session_id: str,
        *,
        cwd: str,
        timestamp: str,
        lines: bytes,
        draft: bool,
        modified_ns: int | None = None,
    ) -> AddedLog:
        """Create the file with its folder, synced. It gets its log id when it is opened. See `base.Store.add`."""
        path = self._begin_creation(session_id, cwd, timestamp, draft=draft)
        make = partial(self._new_log, path, [lines])
        return await self._added(path, partial(self._create_and_close, path, session_id, make, modified_ns))

    async def add_file(
        self, session_id: str, *, cwd: str, timestamp: str, path: str, draft: bool
    ) -> AddedLog:
        """Sync a file of the data folder, and rename it. See `base.Store.add_file`."""
        target = self._begin_creation(session_id, cwd, timestamp, draft=draft)
        make = partial(self._moved_log, target, Path(path))
        return await self._added(target, partial(self._create_and_close, target, session_id, make, None))

    async def _added(self, path: Path, create: Callable[[], tuple[int, ...]]) -> AddedLog:
        adding = asyncio.ensure_future(self._in_pool(create))
        try:
            stamp = await asyncio.shield(adding)
        except asyncio.CancelledError:
            await asyncio.wait([adding])  # so that the next program that adds the session finds the whole log
            raise
        return AddedLog(str(path), str(path), stamp)

    def _begin_creation(self, session_id: str, cwd: str, timestamp: str, *, draft: bool) -> Path:
        """Reserve the id of a new log until `_create` ends, and return the path of its file."""
        if session_id in self._being_created:
            raise LogExists(session_id)
        name = paths.log_name(timestamp, session_id)
        path = (self._drafts if draft else self._sessions) / paths.encode_cwd(cwd) / name
        self._being_created.add(session_id)
        return path

    async def open(self, session_id: str) -> Log:
        """Open the most recently modified file with this id in its name. A file of another user is refused."""
        return await self._log(partial(self._open_id, session_id))

    async def open_ref(self, ref: str) -> Log:
        """Open the file at an absolute path. Symbolic links are followed."""
        return await self._log(partial(self._open_ref, ref))

    async def list(self) -> list[Stored]:
        """Return the log files in all roots. Each call reads all their folders."""
        return await self._in_pool(lambda: self.census().poll().found)

    def census(self) -> FileCensus:
        """Return a new census of all roots. Its full checks are less frequent while `watch` reports changes."""
        return FileCensus(self._roots, due=self._census_is_due)

    def watch(self, changed: Callable[[set[str]], None]) -> FolderWatch:
        """Watch all roots on a new thread. The newest watch determines the interval of the full checks of a census."""
        self._watch = FolderWatch([root.path for root in self._roots], changed)
        return self._watch

    def _census_is_due(self, polled_at: float) -> bool:
        watched = self._watch is not None and self._watch.has_watched_since(polled_at)
        return time.monotonic() - polled_at >= (WATCHED_SECONDS if watched else FULL_SECONDS)

    def lists(self, ref: str) -> bool:
        """Return whether a path is directly in a root or in a folder of a root. Neither file nor name is checked."""
        folder = Path(ref).parent
        return any(root.path in (str(folder), str(folder.parent)) for root in self._roots)

    async def remains(self) -> Sequence[str]:
        """Return the files in the trash, and the files in own folders whose names extend the name of a log."""
        return await self._in_pool(partial(remains, self._trash, self._drafts, self._sessions))

    def scan(self, ref: str, start: int = 0) -> Iterator[bytes]:
        """Yield the bytes of a file from `start` to the size that it has when it is opened."""
        with self._opened_for_reading(ref) as (path, fd):
            yield from content_of(path, fd, start)

    def read_ends(self, ref: str, first: int, last: int) -> tuple[bytes, bytes]:
        """Return the first and the last bytes of a file."""
        try:
            return read_ends(ref, first, last)
        except OSError:  # rare: a relative path, a link, no descriptor left
            with self._opened_for_reading(ref) as (path, fd):
                return ends_of(path, fd, first, last)

    def measured(self, stored: Stored) -> Stored:
        """Return the record of a log with the size of the log, if that is not the size of its file."""
        if not paths.is_packed(stored.ref):
            return stored
        with self._opened_for_reading(stored.ref) as (path, fd):
            return stored._replace(size=size_of(path, fd))

    @contextmanager
    def _opened_for_reading(self, ref: str) -> Iterator[tuple[Path, int]]:
        # A ref from a census is not a link. Resolving thousands of paths takes long.
        path = Path(ref) if ref.startswith("/") and not os.path.islink(ref) else resolved(ref)  # noqa: PTH114
        with refusals_of(path):
            try:
                fd = self._descriptors.open(lambda: open_regular(path, ref, os.O_RDONLY))
            except LogNotFound:
                path = resolved(ref)  # it may have been packed or unpacked since it was listed
                fd = self._descriptors.open(lambda: open_regular(path, ref, os.O_RDONLY))
            try:
                yield path, fd
            finally:
                os.close(fd)

    def may_pack(self, ref: str) -> bool:
        """Return whether a path is that of a plain file in a folder of `sessions/`."""
        path = Path(ref)
        return path.parent.parent == self._sessions and paths.is_plain(path.name)

    async def pack(self, ref: str, *, unused_since_ns: int | None = None) -> Packed | None:
        """Pack the file of a log that is not open. See `base.Store.pack`."""
        path = Path(ref)
        if not self.may_pack(ref):
            return None
        packing = asyncio.ensure_future(self._pack_and_watch(path, unused_since_ns))
        self._packings.add(packing)
        packing.add_done_callback(self._packings.discard)
        return await asyncio.shield(packing)

    async def _pack_and_watch(self, path: Path, unused_since_ns: int | None) -> Packed | None:
        """Pack a file, and put it back if a program that had it open appends to it shortly afterwards."""
        replaced = await self._in_pool(partial(self._pack, path, unused_since_ns))
        if replaced is None:
            return None
        with suppress(TimeoutError):
            async with asyncio.timeout(self._late_seconds):
                await self._closing.wait()
        is_packed = await self._in_pool(partial(self._finish_packing, replaced))
        return Packed(str(replaced.packed), replaced.size, replaced.packed_size) if is_packed else None

    def _pack(self, path: Path, unused_since_ns: int | None) -> Replaced | None:
        if unused_since_ns is not None and self._used_ns(path) > unused_since_ns:
            return None
        with self._replacing:
            if path in self._packing or self._is_in_use(path):
                return None
            self._packing.add(path)
        try:
            with refusals_of(path):
                return pack(path, self._calls, partial(self._remove_unless_used, path))
        finally:
            with self._replacing:
                self._packing.discard(path)

    def _used_ns(self, path: Path) -> int:
        """Return the time at which a log was opened or closed last, as far as it is recorded."""
        with refusals_of(path):
            fd = self._descriptors.open(lambda: open_regular(path, str(path), os.O_RDONLY))
            try:
                return self._log_ids.used_ns(paths.session_id_of(path.name) or str(path), fd)
            finally:
                os.close(fd)

    def _finish_packing(self, replaced: Replaced) -> bool:
        with refusals_of(replaced.path):
            return replaced.finish(self._calls)

    def _remove_unless_used(self, path: Path) -> bool:
        """Remove the plain file of a log that was packed. Return False if the log was opened since that began."""
        with self._replacing:
            if path not in self._packing or self._is_in_use(path):
                return False
            path.unlink()
            return True

    def _is_in_use(self, path: Path) -> bool:
        return path in self._opening or any(
            file.path == path and not file.is_closed for file in list(self._open_files)
        )

    async def trash(self, log: Log, reason: str, about: TrashNote = UNKNOWN) -> TrashPlace:
        """Move the file of a log to the trash, with a note beside it, and close the log."""
        if not isinstance(log, FileLog):
            raise TypeError("only a log of this store can go to its trash")
        trash_id = new_trash_id()
        move = partial(
            move_to_trash,
            trash=self._trash,
            trash_id=trash_id,
            reason=reason,
            session_id=log.session_id,
            draft=log.draft,
            about=about,
            calls=self._calls,
        )
        where = await log.move_with(move)
        await log.close()
        await self._in_pool(partial(self._open_indexes.remove, log.log_id))
        return TrashPlace(trash_id, str(where))

    async def add_trashed(self, trashed: Trashed, *, cwd: str, timestamp: str, lines: bytes) -> None:
        """Write a file and its note into the trash, the note first. See `base.Store.add_trashed`."""
        root = self._drafts if trashed.draft else self._sessions
        origin = root / paths.encode_cwd(cwd) / paths.log_name(timestamp, trashed.session_id)
        await self._in_pool(partial(add_to_trash, trashed, self._trash, origin, lines, self._calls))

    async def trashed(self) -> Sequence[Trashed]:
        """Return the logs in the trash by their files and notes, the most recently trashed first."""
        return await self._in_pool(partial(list_trash, self._trash))

    async def restore(self, ref: str) -> str:
        """Move a file in the trash back to its origin. The move is completed even if the caller is canceled."""
        found = await self._in_pool(partial(in_trash, self._trash, ref))
        target = origin_of(found)
        name = paths.session_id_of(target.name) or target.name
        if name in self._being_created:
            raise LogExists(found.session_id)
        self._being_created.add(name)
        await asyncio.shield(self._in_pool(partial(self._restore, found, target, name)))
        return str(target)

    async def purge(self, ref: str) -> None:
        """Delete a file in the trash, its remains and its note, even if the caller is canceled meanwhile."""
        found = await self._in_pool(partial(in_trash, self._trash, ref))
        await asyncio.shield(self._in_pool(partial(self._purge, found)))

    async def durability(self) -> str:
        """Return what a sync of a file means."""
        return "sessions are files; a synced append survives a power failure if the disk obeys a sync"

    async def free_bytes(self) -> int | None:
        """Return the bytes that this user may still write in `sessions/`; None if unknown."""
        return await self._in_pool(partial(free_bytes, self._sessions))

    async def close(self) -> None:
        """Wait until the threads have ended, then mark the records of log ids as complete."""
        self._closing.set()
        await asyncio.gather(*self._packings, return_exceptions=True)
        await self._workers.close()
        await asyncio.to_thread(self._pool.shutdown)
        await asyncio.to_thread(self._close_records)

    def _close_records(self) -> None:
        known = self._log_ids.known()
        if known is not None:
            self._open_indexes.sweep(known)
        self._log_ids.close()

    async def _log(self, call: "Callable[[], _Opened]") -> FileLog:
        opening = asyncio.get_running_loop().run_in_executor(self._pool, call)
        try:
            opened = await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(_close_unwanted)
            raise
        path = opened.file.path
        draft = path.is_relative_to(self._drafts)
        return FileLog(
            opened.file,
            session_id=paths.session_id_of(path.name) or path.name,
            promoted=self._sessions / path.relative_to(self._drafts) if draft else None,
            lacks_right=opened.lacks_right,
            unsynced=opened.unsynced,
            workers=self._workers,
            calls=self._calls,
            open_indexes=self._open_indexes,
        )

    def _create_and_open(self, path: Path, session_id: str, lines: bytes) -> "_Opened":
        fd = self._create(path, session_id, partial(self._new_log, path, [lines]))
        with refusals_of(path):
            return _Opened(self._log_file(path, fd))

    def _create_and_close(
        self, path: Path, session_id: str, make: Callable[[], int], modified_ns: int | None
    ) -> tuple[int, ...]:
        """Create the file of a log, durable, and return its stamp."""
        fd = self._create(path, session_id, make)
        try:
            if modified_ns is not None:
                os.utime(fd, ns=(modified_ns, modified_ns))
            return stamp_of(os.fstat(fd))
        finally:
            os.close(fd)

    def _create(self, path: Path, session_id: str, make: Callable[[], int]) -> int:
        """Create the file of a log with `make`, durable, and return its descriptor."""
        try:
            with refusals_of(path):
                if self._names.has(session_id):
                    raise LogExists(session_id)
                make_folder(path.parent.parent, self._calls)
                make_folder(path.parent, self._calls)
                fd = self._descriptors.open(make)
                self._names.add(session_id)
                return fd
        finally:
            self._being_created.discard(session_id)

    def _restore(self, found: Trashed, target: Path, name: str) -> None:
        try:
            with refusals_of(target):
                if next(self._named(name), None) is not None:
                    raise LogExists(found.session_id)
                # The retention would trash an own log again by its age. A file of another program is unchanged.
                move_back(found, target, renew=self.keeps(str(target)), calls=self._calls)
                self._names.add(name)
        finally:
            self._being_created.discard(name)

    def _purge(self, found: Trashed) -> None:
        with refusals_of(Path(found.ref)):
            unlink_for_good(found, self._calls)

    def _new_log(self, path: Path, parts: Iterable[bytes]) -> int:
        made = temporary(path)
        fd = new_file(made, parts, self._calls)
        try:
            move_to_free_name(made, path, self._calls)
            made = path
            sync_folder(path.parent, self._calls)
        except BaseException:
            os.close(fd)
            made.unlink(missing_ok=True)
            raise
        return fd

    def _moved_log(self, path: Path, made: Path) -> int:
        """Make a complete file the file of a log, and return its descriptor. It is copied to another file system."""
        fd = os.open(made, WRITE_FLAGS)
        try:
            if os.fstat(fd).st_dev != path.parent.stat().st_dev:
                copied = self._new_log(path, slices(fd, 0, os.fstat(fd).st_size))
                os.close(fd)
                return copied
            self._calls.fsync(fd)
            move_to_free_name(made, path, self._calls)
            made = path
            sync_folder(path.parent, self._calls)
        except BaseException:
            os.close(fd)
            made.unlink(missing_ok=True)
            raise
        return fd

    def _open_id(self, session_id: str) -> "_Opened":
        path, owner = self._newest(session_id)
        if owner != os.geteuid():
            raise StorageFailed(f"{path} belongs to another user", path=str(path))
        return self._open_path(path, session_id)

    def _newest(self, session_id: str) -> tuple[Path, int]:
        """Return the newest file of a session id, and its owner. Raises `LogNotFound`."""
        for _ in range(_LISTINGS if paths.is_known_id(session_id) else 0):
            found = list(self._named(session_id))
            with suppress(FileNotFoundError):
                if found:
                    newest = max(found, key=lambda entry: entry.stat(follow_symlinks=False).st_mtime_ns)
                    return Path(newest.path), newest.stat(follow_symlinks=False).st_uid
        raise LogNotFound(session_id)

    def _open_ref(self, ref: str) -> "_Opened":
        return self._open_path(resolved(ref), ref)

    def _open_path(self, path: Path, ref: str) -> "_Opened":
        if not self.keeps(str(path)):
            if paths.is_packed(path.name):
                raise LogNotFound(ref)
            return self._open_file(path, ref)
        plain = Path(paths.plain_name(str(path)))
        with self._being_opened(plain) as is_being_packed, refusals_of(plain):
            packed = Path(paths.other_name(str(plain)))
            if not os.path.lexists(packed):
                return self._open_file(plain, ref)
            if not os.path.lexists(plain):
                return self._open_file(packed, ref)
            if not is_being_packed:
                settle(plain, self._calls)
            return self._open_file(plain, ref)

    @contextmanager
    def _being_opened(self, plain: Path) -> Iterator[bool]:
        """Keep the plain file of a log from being removed during the block. Yields whether the log is being packed."""
        with self._replacing:
            self._opening[plain] += 1
            is_being_packed = plain in self._packing
            self._packing.discard(plain)  # what is packed now is not used
        try:
            yield is_being_packed
        finally:
            with self._replacing:
                self._opening[plain] -= 1
                if not self._opening[plain]:
                    del self._opening[plain]

    def _open_file(self, path: Path, ref: str) -> "_Opened":
        with refusals_of(path):
            try:
                fd = self._descriptors.open(lambda: open_regular(path, ref, WRITE_FLAGS))
            except OSError as error:
                if error.errno not in MAY_NOT_WRITE:
                    raise
                fd = self._descriptors.open(lambda: open_regular(path, ref, os.O_RDONLY))
                return _Opened(self._log_file(path, fd, writable=False), lacks_right=refusal(error, path))
            unsynced = self._make_durable(path, fd)
            return _Opened(self._log_file(path, fd, synced=unsynced is None), unsynced=unsynced)

    def _log_file(self, path: Path, fd: int, *, writable: bool = True, synced: bool = True) -> LogFile:
        """Return the log of a descriptor, and start counting the descriptor."""
        try:
            table = table_of(path, fd)
            opened = LogFile(
                path,
                fd,
                self._calls,
                self._log_ids.identify(paths.session_id_of(path.name) or str(path), fd, table),
                writable=writable,
                sync_has_failed=not synced,
                descriptors=self._descriptors,
                table=table,
            )
            with self._replacing:
                self._open_files.add(opened)
            return opened
        except BaseException:
            os.close(fd)
            raise

    def _make_durable(self, path: Path, fd: int) -> StorageFailed | None:
        """Sync bytes that another process has not synced, before a client can see them (decision 0004)."""
        try:
            self._calls.fdatasync(fd)
            sync_folder(path.parent, self._calls)
        except OSError as error:
            return SyncFailed(f"{path}: {error.strerror}", path=str(path), errno=error.errno)
        return None

    def _named(self, session_id: str) -> "Iterator[os.DirEntry[str]]":
        for root in self._roots:
            for entry, named in logs_in(root):
                if named == session_id:
                    yield entry


@dataclass(frozen=True, slots=True)
class _Opened:
    file: LogFile
    lacks_right: StorageFailed | None = None  # why the file cannot be written
    unsynced: StorageFailed | None = None  # why its content may not survive a power failure


def _close_unwanted(opening: asyncio.Future[_Opened]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().file.close()
