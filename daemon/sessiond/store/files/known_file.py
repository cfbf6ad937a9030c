"""One open log file: its bytes, its end, and its recognition when it is opened again.

Nothing here changes the file. Every method raises `OSError` as the system reports it, and `LogReplaced` if the file is
no longer the one that was opened.

The descriptor of an unused file may be closed to make room for others (`descriptors`), but only if everything that
this daemon wrote is synced: the system reports a failed write-back only to descriptors that were open at that time.
The next use opens the file again. It is the same file if it has the same device and inode. If anything about it has
changed, its beginning and the last bytes known here must be unchanged, and the file then counts as touched.
"""

import errno
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sessiond.store.errors import LogGone, LogReplaced, StorageFailed
from sessiond.store.files.descriptors import Descriptor, Descriptors
from sessiond.store.files.file_bytes import read_range, slices
from sessiond.store.files.log_ids import LogId
from sessiond.store.files.recognition import LastSeen
from sessiond.store.files.syscalls import Syscalls

if TYPE_CHECKING:
    from sessiond.store.files.seekable import SeekTable

log = logging.getLogger(__name__)

OPEN_FLAGS: Final = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # opening a FIFO must not wait for a writer
WRITE_FLAGS: Final = os.O_RDWR | os.O_APPEND | OPEN_FLAGS
KNOWN_TAIL_BYTES: Final = 64
"""Bytes by which the known end is recognized when another program has written after it."""
MAY_NOT_WRITE: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ETXTBSY})
_NO_FILE_THERE: Final = frozenset({errno.ENOENT, errno.ENOTDIR})
_OTHER_FILE_THERE: Final = frozenset({errno.ELOOP, errno.EISDIR, errno.ENXIO})


class KnownFile:
    """A file whose first `size` bytes are known and readable.

    Args:
        path: The path of the file.
        fd: Its descriptor, which is closed with this object.
        calls: The system calls that access the disk.
        log_id: The record of the log, which is updated; if None, nothing is recorded.
        writable: Whether the descriptor may write.
        sync_has_failed: Whether the content may not be durable, so that only `renew` may retry the sync.
        descriptors: The collection that counts the descriptor; if None, it is not counted, and stays open.
        table: The seek table of a packed log. All sizes and offsets are those of the plain log.
    """

    def __init__(
        self,
        path: Path,
        fd: int,
        calls: Syscalls,
        log_id: LogId | None = None,
        *,
        writable: bool = True,
        sync_has_failed: bool = False,
        descriptors: Descriptors | None = None,
        table: "SeekTable | None" = None,
    ) -> None:
        self.path, self.ref = path, str(path)
        self.log_id = log_id
        self._table = table
        self.was_touched = False
        self._unpacking = threading.Lock()  # held while a packed file is read, or becomes a plain one
        self.size = os.fstat(fd).st_size if table is None else table.size
        self._descriptors = Descriptors() if descriptors is None else descriptors
        self._calls = calls
        self._tail = self._bytes(fd, max(0, self.size - KNOWN_TAIL_BYTES), self.size)
        self._cut_short = False
        self._modified_ns = os.fstat(fd).st_mtime_ns  # as of this daemon's last change
        self.sync_has_failed = sync_has_failed
        self._flags = WRITE_FLAGS if writable else os.O_RDONLY | OPEN_FLAGS
        self._lost_right = False  # reopening for writing was refused; it is open for reading
        self._writes = self._synced_writes = 0
        self._last_seen: LastSeen | None = None
        self._held = Descriptor(fd, self._descriptors, self._open_again, self._may_close)

    @property
    def _fd(self) -> int:
        """The descriptor. Valid only within `with self._held`."""
        return self._held.fd

    @property
    def is_packed(self) -> bool:
        """Whether the file is packed, so that it must be unpacked before the first change (`packing`)."""
        return self._table is not None

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._held.is_closed

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes `[start, end)`, or fewer if the file ends before."""
        with self._held as fd:
            return self._bytes(fd, start, end)

    def _bytes(self, fd: int, start: int, end: int) -> bytes:
        if self._table is not None:
            with self._unpacking:
                if self._table is not None:
                    data = self._table.read(fd, start, end)
                    self._distrust_if_damaged(self._table)
                    return data
        return read_range(fd, start, end)

    def _distrust_if_damaged(self, table: "SeekTable") -> None:
        """Count a packed file of which a part was damaged as touched, so that readers verify each line."""
        if table.is_damaged and not self.was_touched:
            self.was_touched = True
            log.warning(
                "the packed session file %s is damaged: %s", self.path, "; ".join(map(str, table.damages))
            )

    def scan(self, start: int, end: int) -> Iterator[bytes]:
        """Yield the bytes `[start, end)` of the present file in slices, even if it is replaced meanwhile."""
        with self._held as held, self._unpacking:
            fd, table = self._descriptors.open(lambda: os.dup(held)), self._table
        try:
            if table is None:
                yield from slices(fd, start, end)
            else:
                for data in table.slices(fd, start, end):
                    self._distrust_if_damaged(table)
                    yield data
        finally:
            os.close(fd)

    def is_touched(self) -> bool:
        """Return whether another program has written to the file since it was opened.

        Must not be called during a write of this daemon.
        """
        if not self.was_touched:
            with self._held as fd:
                if os.fstat(fd).st_mtime_ns != self._modified_ns:
                    self.was_touched = True
        return self.was_touched

    def distrust(self) -> LogReplaced:
        """Mark the file as replaced. Return the error to raise."""
        self._cut_short = True
        return LogReplaced(str(self.path))

    @property
    def lacks_newline(self) -> bool:
        """Whether the last line lacks its newline."""
        return self.size > 0 and not self._tail.endswith(b"\n")

    def present(self) -> int:
        """Return the present size of the file in bytes, at least `size`.

        A file that was once shorter counts as replaced, even after it grows again. A file that grew must still have
        its known last bytes at their offset: otherwise a rewrite in place could not be distinguished from growth.

        Raises:
            LogReplaced: The file is no longer the one that was opened.
        """
        if (unchanged := self._size_while_released()) is not None:
            return unchanged
        with self._held:
            present = self._size_under_our_name()
            if present > self.size and self._read_tail(self.size) != self._tail:
                self._cut_short = True
                raise LogReplaced(str(self.path))
            return present

    def set_size(self, size: int) -> None:
        """Set the number of known bytes: more after another program added some, fewer after a failure."""
        self.size = size
        try:
            self._tail = self._read_tail(size)
            if self.log_id is not None:
                with self._held as fd:
                    self.log_id.cover(fd, size)
        except (OSError, LogReplaced):
            self._cut_short = True  # it cannot be recognized by its end

    def cover_more(self) -> bool:
        """Add some bytes to the record of the log, if it has none yet. Return whether there are more."""
        if self.log_id is not None:
            with suppress(OSError, LogReplaced), self._held as fd:
                return not self.is_touched() and self.log_id.cover_more(fd, self.size)
        return False

    @property
    def must_sync_soon(self) -> bool:
        """Whether too many files have descriptors, so that this one must be synced and its descriptor closed."""
        return self._descriptors.is_exceeded

    def regain(self) -> None:
        """Open the file for writing, in place of a descriptor that may only read."""
        with self._held as known:
            fd = self._descriptors.open(lambda: os.open(self.path, WRITE_FLAGS))
            try:
                held, other = os.fstat(known), os.fstat(fd)
                if (held.st_dev, held.st_ino) != (other.st_dev, other.st_ino):
                    raise LogReplaced(str(self.path))
                os.dup2(fd, known, inheritable=False)
            finally:
                os.close(fd)
        self._flags, self._lost_right = WRITE_FLAGS, False

    def close(self) -> None:
        """Close the descriptor. Later reads fail."""
        if self.log_id is not None and not self._held.is_released:
            with suppress(OSError), self._held as fd:
                touched = self.was_touched or os.fstat(fd).st_mtime_ns != self._modified_ns
                self.log_id.close(fd, self.size, touched=touched)
        self._held.close()

    # --- without a descriptor --------------------------------------------------------------------------

    def _may_close(self, fd: int) -> bool:
        """Record the state of the file before its descriptor is closed. Return False if a write is not synced."""
        if self.sync_has_failed or self._synced_writes != self._writes:
            return False
        try:
            seen = LastSeen.of(fd, self.size)
        except OSError:
            return False
        self.was_touched = self.was_touched or seen.modified_ns != self._modified_ns
        self._last_seen = seen
        if self.log_id is not None:
            self.log_id.record_status(fd, touched=self.was_touched)
        return True

    def _size_while_released(self) -> int | None:
        """Return the size of a file without a descriptor that has not changed since it had one, or else None."""
        seen = self._last_seen
        if seen is None or self._cut_short or not self._held.is_released:
            return None
        present = seen.size if self._table is None else self.size
        if present < self.size:
            return None
        try:
            return present if seen.is_unchanged(self.path.stat(follow_symlinks=False)) else None
        except OSError:
            return None

    def _open_again(self) -> int:
        """Open the known file and return its descriptor. Raises `LogGone`, `LogReplaced`."""
        try:
            fd = self._open_as_before()
        except OSError as error:
            if error.errno in _NO_FILE_THERE:
                raise LogGone(str(self.path)) from None
            if error.errno in _OTHER_FILE_THERE:
                raise LogReplaced(str(self.path)) from None
            raise
        try:
            self._recognize(fd)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _open_as_before(self) -> int:
        try:
            fd = os.open(self.path, self._flags)
        except OSError as error:
            if self._flags != WRITE_FLAGS or error.errno not in MAY_NOT_WRITE:
                raise
            fd = os.open(self.path, os.O_RDONLY | OPEN_FLAGS)
            self._lost_right = True
        else:
            self._lost_right = False
        return fd

    def _recognize(self, fd: int) -> None:
        """Raise `LogReplaced` unless this is the known file."""
        seen, status = self._last_seen, os.fstat(fd)
        if seen is None or not seen.is_identity_of(status):
            raise LogReplaced(str(self.path))
        if seen.is_unchanged(status):
            return
        if self._table is not None:
            raise self.distrust()  # no program changes a packed file; it was replaced
        tail = read_range(fd, max(0, self.size - KNOWN_TAIL_BYTES), self.size)
        if status.st_size < self.size or tail != self._tail or os.pread(fd, len(seen.head), 0) != seen.head:
            raise self.distrust()
        self.was_touched = True

    # --- the descriptor in use -------------------------------------------------------------------------

    def _size_under_our_name(self) -> int:
        try:
            named = self.path.stat(follow_symlinks=False)
        except FileNotFoundError:
            raise LogGone(str(self.path)) from None
        held = os.fstat(self._fd)
        present = held.st_size
        if self._table is not None:  # its time proves its content
            present = self.size if held.st_mtime_ns == self._modified_ns else 0
        if present < self.size:
            self._cut_short = True
        if self._cut_short or (named.st_dev, named.st_ino) != (held.st_dev, held.st_ino):
            raise LogReplaced(str(self.path))
        self.was_touched = self.was_touched or held.st_mtime_ns != self._modified_ns
        return present

    def _note_change(self) -> None:
        """Record that this daemon changed the file just now."""
        self._modified_ns = os.fstat(self._fd).st_mtime_ns

    def _read_tail(self, end: int) -> bytes:
        return self.read(max(0, end - KNOWN_TAIL_BYTES), end)

    def _refuse_growth(self, size: int) -> None:
        """Raise `StorageFailed` if the file has grown, so that no unread bytes are cut away."""
        if self.present() > size:
            raise StorageFailed(f"{self.path} has grown: another program writes to it", path=str(self.path))
