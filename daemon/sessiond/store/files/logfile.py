"""One open log file: what is known of it, and all that is done to it, blocking.

It knows nothing of batches, levels or futures (`commit` does) and never finds out about lines; it only sees
to it that what we write starts on a line of its own. Everything raises `OSError` as the system told it, and
`LogReplaced` when the file is no longer the one that was opened. One caller at a time, except for `read`
and `scan`.

No lock keeps other programs from appending between our look at the end of the file and our write. So a write is
checked afterwards (`appending`): lines that landed behind half a line of another program, or apart from each other,
are overwritten with blanks and appended again, before anything is acknowledged.

While nobody uses the file its descriptor may be closed to make room for others (`descriptors`), but only when all that
we wrote is synced: the system tells of a failed write-back only descriptors that were open then. Whoever uses the file
next opens it again. It is the same file if it has the same device and inode; where anything about it has changed, its
beginning and our last bytes must be where they were, and from then on it counts as touched.
"""

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from sessiond.store.errors import LogGone, LogReplaced, StorageFailed
from sessiond.store.files import paths
from sessiond.store.files.appending import (
    ForeignHalfLine,
    WriteOutcome,
    WrittenPiece,
    append_pieces,
    blank_out,
    is_one_piece,
)
from sessiond.store.files.descriptors import Descriptor, Descriptors
from sessiond.store.files.folders import move_to_free_name, new_file, sync_folder, temporary, write_all
from sessiond.store.files.log_ids import COVER_AT_ONCE, LogId
from sessiond.store.files.recognition import LastSeen
from sessiond.store.files.syscalls import Syscalls

SLICE = 64 * 1024  # larger blocks cost a page fault for every 4 KiB: opening took a third longer
OPEN_FLAGS: Final = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # a FIFO must not make us wait for a writer
WRITE_FLAGS: Final = os.O_RDWR | os.O_APPEND | OPEN_FLAGS
_KNOWN_TAIL = 64  # bytes by which we recognise our own end when another program wrote behind it
MAY_NOT_WRITE: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ETXTBSY})
_NO_FILE_THERE: Final = frozenset({errno.ENOENT, errno.ENOTDIR})
_OTHER_FILE_THERE: Final = frozenset({errno.ELOOP, errno.EISDIR, errno.ENXIO})
_ATTEMPTS: Final = 8
"""How often lines are appended again that another program's write separated or joined to its own line."""


class LogFile:
    """A file whose first `size` bytes are ours to read.

    Args:
        path: Where it lies.
        fd: Its descriptor, which is closed with this object.
        calls: What reaches the disk.
        log_id: The record of the log, which is kept up to date; None: nothing is recorded.
        writable: Whether the descriptor may write.
        sync_has_failed: Whether what the file holds may not be durable, and only `renew` may try again.
        descriptors: Where the descriptor is counted; None: it is not counted, and stays open.

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
    ) -> None:
        self.path, self.ref = path, str(path)
        self.log_id = log_id
        self.size = os.fstat(fd).st_size
        self._descriptors = Descriptors() if descriptors is None else descriptors
        self._calls = calls
        self._tail = _read(fd, max(0, self.size - _KNOWN_TAIL), self.size)
        self._cut_short = False
        self._modified_ns = os.fstat(fd).st_mtime_ns  # as of our own last change
        self._blanked: list[WrittenPiece] = []
        self.was_touched = False
        self.waits_for_half_lines = True
        """Whether `put` raises `ForeignHalfLine` instead of writing behind a line that may still be completed."""
        self.sync_has_failed = sync_has_failed
        self._flags = WRITE_FLAGS if writable else os.O_RDONLY | OPEN_FLAGS
        self._lost_right = False  # it was to be opened again to write, and could only be to read
        self._writes = self._synced_writes = 0
        self._last_seen: LastSeen | None = None
        self._held = Descriptor(fd, self._descriptors, self._open_again, self._may_close)

    @property
    def _fd(self) -> int:
        """The descriptor, within `with self._held`."""
        return self._held.fd

    def read(self, start: int, end: int) -> bytes:
        """The bytes `[start, end)` as far as there are any."""
        with self._held as fd:
            return _read(fd, start, end)

    def scan(self, start: int, end: int) -> Iterator[bytes]:
        """The bytes `[start, end)` in slices, of the file as it is now, even if it is rewritten meanwhile."""
        with self._held as held:
            fd = self._descriptors.open(lambda: os.dup(held))
        try:
            yield from slices(fd, start, end)
        finally:
            os.close(fd)

    def is_touched(self) -> bool:
        """Whether anybody but us has written to the file since it was opened. Not while we are writing."""
        if not self.was_touched:
            with self._held as fd:
                if os.fstat(fd).st_mtime_ns != self._modified_ns:
                    self.was_touched = True
        return self.was_touched

    def distrust(self) -> LogReplaced:
        """Take it that the file is not ours any more."""
        self._cut_short = True
        return LogReplaced(str(self.path))

    @property
    def lacks_newline(self) -> bool:
        """Whether the last line is not ended."""
        return self.size > 0 and not self._tail.endswith(b"\n")

    def present(self) -> int:
        """How many bytes the file has now, at least `size`; `LogReplaced` when it is not ours any more.

        A file that was once shorter stays replaced, whatever is written to it later. One that grew must still
        have our last bytes in their place: a rewrite in place looks like growth otherwise.
        """
        if (unchanged := self._size_while_set_down()) is not None:
            return unchanged
        with self._held:
            present = self._size_under_our_name()
            if present > self.size and self._read_tail(self.size) != self._tail:
                self._cut_short = True
                raise LogReplaced(str(self.path))
            return present

    def set_size(self, size: int) -> None:
        """Call the first `size` bytes ours: more when another program added them, fewer after a failure."""
        self.size = size
        try:
            self._tail = self._read_tail(size)
            if self.log_id is not None:
                with self._held as fd:
                    self.log_id.cover(fd, size)
        except (OSError, LogReplaced):
            self._cut_short = True  # it cannot be recognized by its end any more

    def put(self, data: bytes) -> WriteOutcome:
        """Write whole lines at the end, together, on lines of their own.

        Behind half a line of another program a newline is written first. If the other program ends its line in that
        moment, the newline makes a blank line, which every reader skips (decision 0007).

        On an error what was written is cut away again, when the tail is provably ours; where another program has
        written behind it, it is overwritten with blanks. Where neither is possible, the next `put` starts a new line.

        Raises:
            ForeignHalfLine: Another program is in the middle of a line, and `waits_for_half_lines` is set.
            StorageFailed: Other programs wrote between or before our lines at each of several attempts.

        """
        with self._held:
            return self._put(data)

    def _put(self, data: bytes) -> WriteOutcome:
        if self._lost_right:
            self.regain()
        expected = self.size + len(data)
        for _ in range(_ATTEMPTS):
            start, tail = self._known_end()
            lines = data if tail.endswith(b"\n") or not start or data.startswith(b"\n") else b"\n" + data
            pieces = self._append(start, lines)
            if is_one_piece(pieces) and self._starts_line(pieces[0], start):
                return self._placed(WrittenPiece(pieces[0].offset, lines), start, tail, expected)
            self._blank(pieces)
        raise StorageFailed(
            f"{self.path}: another program keeps writing into the middle of our lines", path=str(self.path)
        )

    def sync(self) -> None:
        """Make what is written durable. After an `OSError` only `renew` may try again, never this."""
        with self._held as fd:
            writes = self._writes
            try:
                self._calls.fdatasync(fd)
            except OSError:
                self.sync_has_failed = True
                raise
            self._synced_writes = writes

    def renew(self, unsynced: Iterable[tuple[int, bytes]]) -> None:
        """Put a new file in the place of this one, of the same content but synced, after a sync failed.

        The system may have dropped what it could not sync and would call the next sync a success, so the
        bytes come from `unsynced` (offset and data, ascending), all others from the file (decision 0005).
        """
        with self._held:
            end = self._size_under_our_name()
            self._replace(self._patched(unsynced, end), end)
            sync_folder(self.path.parent, self._calls)
            self._all_synced()

    def cut(self, size: int) -> None:
        """Cut away the bytes from `size`, which are all ours; where that is refused they count as foreign."""
        with suppress(OSError, LogReplaced), self._held:
            if self.present() == self.size:
                self._truncate(size)

    def move(self, target: Path) -> None:
        """Give the file another name, which must be free, in a folder that is there. May be tried again.

        Raises `FileExistsError`. A folder on another disk gets a copy before the original goes.
        """
        with self._held:
            self._move(target)

    def _move(self, target: Path) -> None:
        source = self.path
        if source != target:
            present = self.present()
            try:
                move_to_free_name(source, target, self._calls)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                self._move_to_other_disk(target, present)
            self.path, self.ref = target, str(target)
        sync_folder(target.parent, self._calls)
        sync_folder(source.parent, self._calls)

    def quarantine(self, start: int, size: int, seq: int) -> Path:
        """Copy the bytes from `start` to `size`, the end, beside the file, then cut them away; synced."""
        if not 0 <= start < size:
            raise ValueError(f"there is no tail at {start} in a log of {size} bytes")
        with self._held:
            return self._quarantine(start, size, seq)

    def _quarantine(self, start: int, size: int, seq: int) -> Path:
        if self._lost_right:
            self.regain()
        self._refuse_growth(size)
        where = self._keep_beside(f"torn-{seq}", start)
        try:
            self._refuse_growth(
                size
            )  # copying takes milliseconds, in which another program may go on writing
        except BaseException:
            where.unlink()
            raise
        self._truncate(start)
        self._calls.fsync(self._fd)
        self.set_size(start)
        return where

    def rewrite(self, lines: bytes, size: int, version: int, *, same_log: bool = False) -> OSError | None:
        """Put `lines` in the place of this file of `size` bytes, which stays as `<name>.v<version>.bak`.

        The log gets a new id unless it is the `same_log` under another header.
        Answers why the new name is not durable, though the new lines are there; None when it is.
        """
        with self._held:
            self._refuse_growth(size)
            self._link_beside(f"v{version}.bak")
            same_log = same_log and self.log_id is not None and self.log_id.is_true(self._fd)
            self._replace([lines], self.size)
            if self.log_id is not None:
                self.log_id.begin_again(self._fd, len(lines), same_log=same_log)
            self.set_size(len(lines))
            try:
                sync_folder(self.path.parent, self._calls)
            except OSError as error:
                self.sync_has_failed = True
                return error
            self._all_synced()
        return None

    def overwrite(self, offset: int, former: bytes, new: bytes) -> None:
        """Overwrite `former` at `offset` with `new`, which is as long; synced."""
        with self._held:
            self.present()
            if len(former) != len(new) or self.read(offset, offset + len(former)) != former:
                raise self.distrust()
            same_log = self.log_id is not None and self.log_id.is_true(self._fd)
            written = 0
            while written < len(new):
                written += self._calls.overwrite(self._fd, new[written:], offset + written)
            self._note_change()
            if self.log_id is not None:
                self.log_id.begin_again(self._fd, self.size, same_log=same_log)
            self._calls.fdatasync(self._fd)

    def regain(self) -> None:
        """Open the file anew, to write, in the place of a descriptor that may only read."""
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
        """Close the descriptor; reading fails from now on."""
        if self.log_id is not None and not self._held.is_set_down:
            with suppress(OSError), self._held as fd:
                touched = self.was_touched or os.fstat(fd).st_mtime_ns != self._modified_ns
                self.log_id.close(fd, self.size, touched=touched)
        self._held.close()

    # --- without a descriptor --------------------------------------------------------------------------

    def _may_close(self, fd: int) -> bool:
        """Note how the file is while it has a descriptor; False while something in it is not synced."""
        if self.sync_has_failed or self._synced_writes != self._writes:
            return False
        try:
            seen = LastSeen.of(fd, self.size)
        except OSError:
            return False
        self.was_touched = self.was_touched or seen.modified_ns != self._modified_ns
        self._last_seen = seen
        if self.log_id is not None:
            self.log_id.set_down(fd, touched=self.was_touched)
        return True

    def _size_while_set_down(self) -> int | None:
        """The size of a file that has no descriptor and was not changed since it had one; None of any other."""
        seen = self._last_seen
        if seen is None or self._cut_short or not self._held.is_set_down or seen.size < self.size:
            return None
        try:
            return seen.size if seen.is_unchanged(self.path.stat(follow_symlinks=False)) else None
        except OSError:
            return None

    def _open_again(self) -> int:
        """A descriptor of the file that we had. Raises `LogGone`, `LogReplaced`."""
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
        """Raise `LogReplaced` unless this is the file that we had."""
        seen, status = self._last_seen, os.fstat(fd)
        if seen is None or not seen.is_identity_of(status):
            raise LogReplaced(str(self.path))
        if seen.is_unchanged(status):
            return
        tail = _read(fd, max(0, self.size - _KNOWN_TAIL), self.size)
        if status.st_size < self.size or tail != self._tail or os.pread(fd, len(seen.head), 0) != seen.head:
            raise self.distrust()
        self.was_touched = True

    def _all_synced(self) -> None:
        self._synced_writes, self.sync_has_failed = self._writes, False

    # --- the descriptor in use -------------------------------------------------------------------------

    def _size_under_our_name(self) -> int:
        try:
            named = self.path.stat(follow_symlinks=False)
        except FileNotFoundError:
            raise LogGone(str(self.path)) from None
        held = os.fstat(self._fd)
        if held.st_size < self.size:
            self._cut_short = True
        if self._cut_short or (named.st_dev, named.st_ino) != (held.st_dev, held.st_ino):
            raise LogReplaced(str(self.path))
        self.was_touched = self.was_touched or held.st_mtime_ns != self._modified_ns
        return held.st_size

    def _known_end(self) -> tuple[int, bytes]:
        """How many bytes the file has, and the last of them."""
        present = self.present()
        tail = self._tail if present == self.size and not self.was_touched else self._read_tail(present)
        if present == self.size:
            if tail != self._tail:
                raise self.distrust()
        elif self.waits_for_half_lines and not tail.endswith(b"\n"):
            raise ForeignHalfLine(present)
        return present, tail

    def _append(self, start: int, data: bytes) -> list[WrittenPiece]:
        """Write `data` at the end, which was at `start`; where it lies."""
        pieces: list[WrittenPiece] = []
        self._writes += 1
        try:
            append_pieces(self._fd, data, self._calls.write, pieces)
        except OSError:
            if not pieces:
                self._writes -= 1
            with suppress(OSError, LogReplaced):
                self._take_back(pieces)
            raise
        return pieces

    def _take_back(self, pieces: list[WrittenPiece]) -> None:
        """Remove a part of what was to be written. Where that is refused it stays, and `put` starts a new line."""
        if pieces and is_one_piece(pieces) and os.fstat(self._fd).st_size == pieces[-1].end:
            self._truncate(pieces[0].offset)
        else:
            self._blank(pieces)

    def _starts_line(self, piece: WrittenPiece, start: int) -> bool:
        """Whether what was written at the end, which was at `start`, is on a line of its own."""
        return (
            piece.offset == start
            or piece.data.startswith(b"\n")
            or self.read(piece.offset - 1, piece.offset) == b"\n"
        )

    def _placed(self, written: WrittenPiece, start: int, tail: bytes, expected: int) -> WriteOutcome:
        status = os.fstat(self._fd)
        self.size, self._modified_ns = status.st_size, status.st_mtime_ns
        if self.size == written.end == start + len(written.data):
            self._tail = (tail + written.data)[-_KNOWN_TAIL:]
        else:
            self.was_touched = True
            self._tail = self._read_tail(self.size)
        if self.log_id is not None:
            # More than a little is never written by the thread of the event loop.
            cover = self.log_id.cover_all if len(written.data) > COVER_AT_ONCE else self.log_id.cover
            cover(self._fd, self.size)
        blanked, self._blanked = tuple(self._blanked), []
        return WriteOutcome(written.offset, written.data, drifted=self.size != expected, blanked=blanked)

    def _blank(self, pieces: list[WrittenPiece]) -> None:
        """Overwrite bytes of ours that nobody was told of and behind which another program may have written."""
        self.was_touched = True
        for piece in pieces:
            if self.read(piece.offset, piece.end) != piece.data:
                raise self.distrust()
            self._blanked.append(blank_out(self._fd, piece, self._calls.overwrite))
        self._note_change()

    def _truncate(self, size: int) -> None:
        self._calls.ftruncate(self._fd, size)
        self._note_change()

    def _note_change(self) -> None:
        """The file was changed just now, by us."""
        self._modified_ns = os.fstat(self._fd).st_mtime_ns

    def _read_tail(self, end: int) -> bytes:
        return self.read(max(0, end - _KNOWN_TAIL), end)

    def _refuse_growth(self, size: int) -> None:
        """Whoever takes bytes away must have seen all of them."""
        if self.present() > size:
            raise StorageFailed(f"{self.path}: something was added to it meanwhile", path=str(self.path))

    def _patched(self, unsynced: Iterable[tuple[int, bytes]], end: int) -> Iterator[bytes]:
        at = 0
        for offset, data in unsynced:
            if offset > at and not data.startswith(b"\n"):
                # `put` saw a newline there, but it may be among what the system dropped.
                offset, data = offset - 1, b"\n" + data
            yield from self._exactly(at, offset)
            yield data
            at = offset + len(data)
        yield from self._exactly(at, end)

    def _exactly(self, start: int, end: int) -> Iterator[bytes]:
        for data in slices(self._fd, start, end):
            yield data
            start += len(data)
        if start != end:
            raise LogReplaced(str(self.path))

    def _replace(self, parts: Iterable[bytes], end: int) -> None:
        """Put a new file under our name, its mode and owner those of the old one, which had `end` bytes.

        The folder is not synced yet, so after a power cut either file may be there.

        The descriptor keeps its number (dup2), so that a reader on another thread sees the old file or the
        new one, never a stranger's.
        """
        old = os.fstat(self._fd)
        temp = temporary(self.path)
        fd = new_file(temp, parts, self._calls, stat.S_IMODE(old.st_mode))
        try:
            new = os.fstat(fd)
            if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
                os.fchown(fd, old.st_uid, old.st_gid)
            self._calls.rename(temp, self.path)
            # What another program wrote until the rename must not go with the old file.
            write_all(fd, _read(self._fd, end, os.fstat(self._fd).st_size), self._calls)
            os.dup2(fd, self._fd, inheritable=False)
            self._note_change()
        except BaseException:
            temp.unlink(missing_ok=True)
            raise
        finally:
            os.close(fd)

    def _move_to_other_disk(self, target: Path, present: int) -> None:
        temp = temporary(target)
        fd = new_file(temp, self._exactly(0, present), self._calls)
        try:
            self._refuse_growth(present)
            move_to_free_name(temp, target, self._calls)
            sync_folder(target.parent, self._calls)
            self.path.unlink()
            os.dup2(fd, self._fd, inheritable=False)
            self._note_change()
        except BaseException:
            temp.unlink(missing_ok=True)
            raise
        finally:
            os.close(fd)

    def _link_beside(self, suffix: str) -> None:
        """Keep this very file under a second name too, or a copy where the file system has no links."""
        names = paths.names_beside(self.path.name, suffix)
        while True:
            beside = self.path.with_name(next(names))
            try:
                os.link(self.path, beside, follow_symlinks=False)
            except FileExistsError:
                if not beside.samefile(self.path):
                    continue
            except OSError:
                self._keep_beside(suffix, 0)
            sync_folder(self.path.parent, self._calls)
            return

    def _keep_beside(self, suffix: str, start: int) -> Path:
        """Copy the bytes from `start` to the first free name beside the file, name and content durable."""
        names = paths.names_beside(self.path.name, suffix)
        while True:
            beside = self.path.with_name(next(names))
            try:
                os.close(new_file(beside, self._exactly(start, self.size), self._calls))
            except FileExistsError:
                continue
            sync_folder(self.path.parent, self._calls)
            return beside


def slices(fd: int, start: int, end: int) -> Iterator[bytes]:
    """The bytes `[start, end)` of a descriptor, in slices, as far as there are any."""
    while start < end and (data := os.pread(fd, min(SLICE, end - start), start)):
        yield data
        start += len(data)


def _read(fd: int, start: int, end: int) -> bytes:
    """All bytes `[start, end)`: one call takes at most 2 GiB, and may take less."""
    data = os.pread(fd, max(0, end - start), start)
    if start + len(data) == end:
        return data
    return data + b"".join(slices(fd, start + len(data), end))
