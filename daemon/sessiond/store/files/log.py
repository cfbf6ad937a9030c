"""The lines of one session in one file. `LogFile` does the writes, and `Commits` orders them.

For the methods see `base.Log`.
"""

import asyncio
import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from sessiond.store.base import Durability
from sessiond.store.batch_checks import refused_batch
from sessiond.store.errors import LogExists, LogReadOnly, LogReplaced, StorageFailed, TooManyOpenFiles
from sessiond.store.files import paths
from sessiond.store.files.commit import Commits
from sessiond.store.files.folders import make_folder, move_to_free_name
from sessiond.store.files.logfile import LogFile
from sessiond.store.files.open_indexes import OpenIndexes
from sessiond.store.files.remains import remains_of
from sessiond.store.files.space import NEEDED, free_bytes, is_read_only
from sessiond.store.files.syscalls import Syscalls, refusal, refusals_of
from sessiond.store.files.workers import Workers

_T = TypeVar("_T")


class FileLog:
    """One open log file, made by `FileStore`. `promoted` is the path that a draft gets as a session."""

    stale: Final = None
    """None, since the lines are read from the file."""

    def __init__(
        self,
        file: LogFile,
        *,
        session_id: str,
        promoted: Path | None,
        lacks_right: StorageFailed | None,
        unsynced: StorageFailed | None,
        workers: Workers,
        calls: Syscalls,
        open_indexes: OpenIndexes,
    ) -> None:
        self.session_id = session_id
        self.draft = promoted is not None
        self._file = file
        self._promoted = promoted
        self._lacks_right = lacks_right
        self._calls = calls
        self._open_indexes = open_indexes
        self._writing_index = asyncio.Lock()
        self._commits = Commits(file, workers, unsynced=unsynced)
        self._closed = False
        self.closed_error: Exception | None = None

    @property
    def ref(self) -> str:
        """The path of the file."""
        return self._file.ref

    @property
    def path(self) -> str | None:
        """The path of the file."""
        return self._file.ref

    @property
    def log_id(self) -> str:
        """The id in the record of the log (`log_ids`); empty if the file has no record."""
        return "" if self._file.log_id is None else self._file.log_id.value

    @property
    def unchanged_size(self) -> int:
        """The number of bytes that were compared with the record of the log, or that its status proved unchanged."""
        return 0 if self._file.log_id is None else self._file.log_id.unchanged_size

    @property
    def size(self) -> int:
        """The number of bytes of the file that are known and readable."""
        return self._file.size

    @property
    def read_only(self) -> str | None:
        """The reason why nothing can be appended: the log is closed, or the file may not be written. Otherwise None."""
        if self._closed:
            return "it is closed"
        return None if self._lacks_right is None else self._lacks_right.reason

    @property
    def write_error(self) -> StorageFailed | LogReplaced | None:
        """The refusal to open the file for writing, or else the error of the last write."""
        return self._lacks_right or self._commits.write_error

    async def retry(self) -> None:
        """Try to remove the cause of a write error. Does nothing if the log is closed or its file is being changed.

        A file that is open for reading only is opened for writing. A file whose sync failed is replaced by a synced
        one. Another error is cleared if its cause is known to be gone.
        """
        if self._closed or self._commits.moves_file:
            return
        if self._lacks_right is not None:
            with suppress(OSError, LogReplaced):
                await self._commits.alone(self._file.regain)
                self._lacks_right = None
        if self._commits.is_unsynced:
            await self._commits.fix()
            return
        write_error = self._commits.write_error
        if write_error is not None and await self._commits.alone(partial(self._is_over, write_error)):
            self._commits.write_error = None

    def _is_over(self, write_error: StorageFailed | LogReplaced) -> bool:
        """Return whether the cause of an error is known to be gone. Most causes show only at the next write."""
        folder = self._file.path.parent
        if isinstance(write_error, LogReplaced):
            with suppress(OSError, LogReplaced):
                self._file.present()
                return True
        elif isinstance(write_error, TooManyOpenFiles):
            return True  # a descriptor may be free by now; the next write shows it
        elif write_error.errno == errno.ENOSPC:
            return (free_bytes(folder) or 0) >= NEEDED
        elif write_error.errno == errno.EROFS:
            return not is_read_only(folder)
        return False

    def read(self, start: int, end: int) -> bytes:
        """Read from the file. If a replaced file is found, the error is also stored in `write_error`."""
        try:
            return self._file.read(start, end)
        except OSError as error:
            self._raise_if_closed()
            raise refusal(error, self._file.path) from error
        except LogReplaced as replaced:
            # Found while reopening the file for a read. Writes fail for the same reason.
            self._commits.write_error = replaced
            raise

    def scan(self, start: int = 0) -> Iterator[bytes]:
        """Yield the bytes of the file from `start` to `size`, even if the file is replaced meanwhile."""
        try:
            with refusals_of(self._file.path):
                yield from self._file.scan(start, self._file.size)
        except StorageFailed:
            self._raise_if_closed()
            raise

    def _raise_if_closed(self) -> None:
        if self._closed and self.closed_error is not None:
            raise self.closed_error from None

    async def read_open_index(self) -> memoryview | None:
        """Return the open index in the file of this `log_id`, mapped."""
        if not self.log_id:
            return None
        return await asyncio.to_thread(self._open_indexes.read, self.log_id)

    async def write_open_index(self, parts: Sequence[bytes]) -> None:
        """Replace the file of this `log_id`, unless another program has written to the log while it was open.

        The record of the log is completed first, in parts between which appends are written. Without a record the log
        would get another id after a kill, and the index would be lost.

        The bytes that were indexed may then not be those of which the next open compares the checksum.
        """
        async with self._writing_index:
            while not self._closed and await self._commits.alone(self._file.cover_more):
                pass
            if self.log_id and not self._closed and not self.is_touched:
                await asyncio.to_thread(self._open_indexes.write, self.log_id, self.ref, parts)

    @property
    def is_touched(self) -> bool:
        """Whether the file was modified by anything but this daemon.

        If the log is closed or its file is being changed, this is the result of the last check.
        """
        if self._closed or self._commits.moves_file:
            return self._file.was_touched
        try:
            return self._file.is_touched()
        except OSError as error:
            raise refusal(error, self._file.path) from error

    def distrust(self) -> LogReplaced:
        """Mark the file as replaced, which makes later writes fail. The error is also stored in `write_error`."""
        self._commits.write_error = self._file.distrust()
        return self._commits.write_error

    def foreign_bytes(self) -> int:
        """Return how much larger the file is than `size`; 0 while this daemon changes the file.

        A refusal is stored in `write_error`. If there is none, an earlier `LogReplaced` is cleared.
        """
        if self._commits.moves_file:
            return 0
        try:
            with refusals_of(self._file.path):
                foreign = self._file.present() - self._file.size
        except (StorageFailed, LogReplaced) as refused:
            self._commits.write_error = refused
            raise
        if isinstance(self._commits.write_error, LogReplaced):
            self._commits.write_error = None
        return foreign

    def accept(self, size: int) -> None:
        """Set `size`. While this daemon changes the file, this is postponed, and the size is not verified."""
        if not self._commits.moves_file:
            known, present = self._file.size, self._file.size + self.foreign_bytes()
            if not known <= size <= present:
                raise ValueError(f"the log has {present} bytes, {known} of them known, not {size}")
        self._commits.accept(size)

    def append(
        self, data: bytes, durability: Durability, ids: Sequence[str | None] = ()
    ) -> asyncio.Future[bool]:
        """Queue a batch for the group commit (`commit`)."""
        refused = refused_batch(data, self.read_only)
        return self._commits.append(data, durability) if refused is None else refused

    def extend(self, batch: asyncio.Future[bool], data: bytes, ids: Sequence[str | None] = ()) -> bool:
        """Add lines to the last queued batch."""
        return self._commits.extend(batch, data)

    def locked(self) -> AbstractAsyncContextManager[None]:
        """Do nothing: one daemon has the store for itself."""
        return nullcontext()

    async def flush(self) -> bool:
        """Wait until the group commit has written and synced all queued batches."""
        return await self._commits.flush()

    async def complete_tail(self) -> None:
        """Wait for the queued batches, then append a newline if the last line lacks one."""
        await self._commits.flush()
        if self._file.lacks_newline:
            await self.append(b"\n", "synced")

    async def quarantine_tail(self, start: int, seq: int) -> str:
        """Copy the tail to a synced file beside the log, then truncate the log and sync it."""
        return str(await self._change(partial(self._file.quarantine, start, self.size, seq)))

    async def rewrite(self, lines: bytes, version: int, *, same_log: bool = False) -> None:
        """Replace the file by a new one. The original stays beside it under another name."""
        rewrite = partial(self._file.rewrite, lines, self.size, version, same_log=same_log)
        unsynced = await self._change(rewrite)
        if unsynced is not None:
            self._commits.sync_has_failed(unsynced)

    async def overwrite(self, offset: int, former: bytes, new: bytes) -> None:
        """Overwrite the bytes in place and sync the file, after the queued batches are synced."""
        await self._change(partial(self._file.overwrite, offset, former, new))

    async def promote(self) -> None:
        """Move the file from `drafts/` to the folder of the same name in `sessions/`."""
        if self._promoted is not None:
            await self._change(partial(self._promote, self._promoted))
            self._promoted = None
            self.draft = False

    async def move(self, cwd: str) -> None:
        """Move the file and its remains. Remains whose names are taken in the new folder are not moved."""
        target = _in_folder_of(self._file.path, cwd)
        if target != self._file.path:
            await self._change(partial(self._move, target))
            self._promoted = self._promoted and _in_folder_of(self._promoted, cwd)

    async def move_with(self, move: Callable[[LogFile], _T]) -> _T:
        """Rename the file by `move` after everything appended is synced."""
        await self._commits.flush()
        return await self._commits.alone(partial(_with_refusals, self._file.path, partial(move, self._file)))

    async def unpack(self) -> None:
        """Replace a packed file by the plain one, after which `path` is that of the plain one."""
        if self._file.is_packed:
            await self._change(self._file.unpack)

    async def close(self) -> None:
        """Wait for the queued batches, then stop the timers and close the file, even if the wait fails."""
        if self._closed:
            return
        self._closed = True
        try:
            async with self._writing_index:
                await self._commits.flush()
        finally:
            self._commits.stop()
            await self._commits.alone(self._file.close)

    async def _change(self, call: Callable[[], _T]) -> _T:
        """Change the file by other means than appending, after everything appended is synced."""
        if self.read_only is not None:
            raise LogReadOnly(self.read_only)
        await self._commits.flush()
        await self._commits.fix()
        if self._commits.is_unsynced and self._commits.write_error is not None:
            raise self._commits.write_error  # that file must not be synced again
        result = await self._commits.alone(partial(_with_refusals, self._file.path, call))
        self._commits.write_error = None
        return result

    def _promote(self, target: Path) -> None:
        target = target.with_name(self._file.path.name)  # a packed file stays packed
        make_folder(target.parent.parent, self._calls)
        make_folder(target.parent, self._calls)
        try:
            self._file.move(target)
        except FileExistsError:
            raise LogExists(self.session_id) from None

    def _move(self, target: Path) -> None:
        source = self._file.path
        target = target.with_name(source.name)
        self._promote(target)
        for name in remains_of(source):
            with suppress(FileExistsError):
                move_to_free_name(Path(name), target.with_name(Path(name).name), self._calls)


def _in_folder_of(path: Path, cwd: str) -> Path:
    """Return the path of an own log for another working directory: root, folder of the directory, name."""
    return path.parent.parent / paths.encode_cwd(cwd) / path.name


def _with_refusals(path: Path, call: Callable[[], _T]) -> _T:
    with refusals_of(path):
        return call()
