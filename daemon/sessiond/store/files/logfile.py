"""The blocking changes to one open log file: append, take back, sync, move, replace.

This module knows no batches, levels or futures (`commit` does) and does not parse lines. It only ensures that written
lines are on lines of their own. One caller at a time, except for `read` and `scan`.

No lock prevents other programs from appending between the check of the file's end and the write. So a write is
verified afterwards (`appending`). Lines that are behind half a line of another program, or separated from each other,
are overwritten with blanks and appended again before anything is acknowledged.
"""

import errno
import logging
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sessiond.store.errors import LogReplaced, StorageFailed
from sessiond.store.files import paths
from sessiond.store.files.appending import (
    ForeignHalfLine,
    WriteOutcome,
    WrittenPiece,
    append_pieces,
    blank_out,
    is_one_piece,
)
from sessiond.store.files.descriptors import Descriptors
from sessiond.store.files.folders import move_to_free_name, sync_folder
from sessiond.store.files.known_file import KNOWN_TAIL_BYTES, WRITE_FLAGS, KnownFile
from sessiond.store.files.log_ids import COVER_AT_ONCE, LogId
from sessiond.store.files.packing import remove_packed, unpacked_copy
from sessiond.store.files.replacing import (
    keep_beside,
    link_beside,
    move_to_other_disk,
    patched,
    replace_file,
)
from sessiond.store.files.syscalls import Syscalls

if TYPE_CHECKING:
    from sessiond.store.files.seekable import SeekTable

log = logging.getLogger(__name__)

_ATTEMPTS: Final = 8
"""Number of attempts to append lines that a write of another program separates or joins to its own line."""


class LogFile(KnownFile):
    """A log file that is written to. For the arguments see `KnownFile`."""

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
        super().__init__(
            path,
            fd,
            calls,
            log_id,
            writable=writable,
            sync_has_failed=sync_has_failed,
            descriptors=descriptors,
            table=table,
        )
        self._blanked: list[WrittenPiece] = []
        self.waits_for_half_lines = True
        """Whether `put` raises `ForeignHalfLine` instead of writing after a line that may still be completed."""

    def put(self, data: bytes) -> WriteOutcome:
        """Write whole lines at the end, contiguously and on lines of their own.

        After half a line of another program, a newline is written first. If the other program ends its line at the
        same time, the newline makes a blank line, which every reader skips (decision 0007).

        On an error, the written bytes are cut away if the end of the file is provably this daemon's. If another
        program has written after them, they are overwritten with blanks. If neither is possible, the next `put` starts
        a new line.

        Raises:
            ForeignHalfLine: Another program is in the middle of a line, and `waits_for_half_lines` is set.
            StorageFailed: Other programs wrote between or before the lines at each of several attempts.
        """
        with self._held:
            return self._put(data)

    def _put(self, data: bytes) -> WriteOutcome:
        self._prepare()
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
        """Make the written bytes durable. After an `OSError` only `renew` may retry."""
        with self._held as fd:
            writes = self._writes
            try:
                self._calls.fdatasync(fd)
            except OSError:
                self.sync_has_failed = True
                raise
            self._synced_writes = writes

    def renew(self, unsynced: Iterable[tuple[int, bytes]]) -> None:
        """Replace this file by a new, synced one with the same content, after a sync failed.

        The system may have dropped the bytes that it could not sync, and would report success for the next sync. So
        the bytes in `unsynced` (offset and data, ascending) come from memory, and all others from the file (decision
        0005).
        """
        with self._held:
            if self._table is not None:
                self._unpack(self._table)
                self._all_synced()
                return
            end = self._size_under_our_name()
            self._replace(patched(self._fd, self.path, unsynced, end), end)
            sync_folder(self.path.parent, self._calls)
            self._all_synced()

    def cut(self, size: int) -> None:
        """Truncate the bytes from `size` on, which this daemon wrote. If this fails, they become foreign bytes."""
        with suppress(OSError, LogReplaced), self._held:
            if self.present() == self.size:
                self._truncate(size)

    def move(self, target: Path) -> None:
        """Rename the file to a free name in an existing folder. May be retried.

        If the folder is on another disk, the file is copied there and the original is then removed.

        Raises:
            FileExistsError: The target exists.
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
        """Copy the bytes from `start` to `size`, the end, to a file beside this one, then cut them away; synced."""
        if not 0 <= start < size:
            raise ValueError(f"there is no tail at {start} in a log of {size} bytes")
        with self._held:
            return self._quarantine(start, size, seq)

    def _quarantine(self, start: int, size: int, seq: int) -> Path:
        self._prepare()
        self._refuse_growth(size)
        where = self._keep_beside(f"torn-{seq}", start)
        try:
            self._refuse_growth(size)  # copying takes milliseconds, in which another program may write more
        except BaseException:
            where.unlink()
            raise
        self._truncate(start)
        self._calls.fsync(self._fd)
        self.set_size(start)
        return where

    def rewrite(self, lines: bytes, size: int, version: int, *, same_log: bool = False) -> OSError | None:
        """Replace this file of `size` bytes by `lines`. The original stays as `<name>.v<version>.bak`.

        The log gets a new id unless it is the `same_log` with another header.

        Returns:
            The error that leaves the new name not durable, although the new lines are in place, or None.
        """
        with self._held:
            self._prepare()
            self._refuse_growth(size)
            self._link_beside(f"v{version}.bak")
            same_log = same_log and self._is_recorded_log()
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
        """Overwrite `former` at `offset` with `new`, which has the same length; synced."""
        with self._held:
            self._prepare()
            self.present()
            if len(former) != len(new) or self.read(offset, offset + len(former)) != former:
                raise self.distrust()
            same_log = self._is_recorded_log()
            written = 0
            while written < len(new):
                written += self._calls.overwrite(self._fd, new[written:], offset + written)
            self._note_change()
            if self.log_id is not None:
                self.log_id.begin_again(self._fd, self.size, same_log=same_log)
            self._calls.fdatasync(self._fd)

    def unpack(self) -> None:
        """Replace a packed file by the plain one. Does nothing for a plain file."""
        with self._held:
            self._prepare()

    def _prepare(self) -> None:
        """Open the file for writing if it was opened for reading, and replace a packed file by the plain one."""
        if self._lost_right:
            self.regain()
        if self._table is not None:
            self.present()
            self._unpack(self._table)

    def _unpack(self, table: "SeekTable") -> None:
        packed, plain = self.path, self.path.with_name(paths.plain_name(self.path.name))
        made = self._descriptors.open(lambda: unpacked_copy(packed, self._fd, table, plain, self._calls))
        try:
            with self._unpacking:
                os.dup2(made, self._fd, inheritable=False)
                self._table = None
                self.path, self.ref = plain, str(plain)
        finally:
            os.close(made)
        if self.log_id is not None:
            self.log_id.table = None
        self._note_change()
        self._flags = WRITE_FLAGS
        try:
            remove_packed(packed, table, self._calls)
        except OSError as error:
            log.warning(
                "%s remains beside the plain file, until the session is opened again: %s", packed, error
            )

    def _is_recorded_log(self) -> bool:
        """Return whether the file still has the bytes that its log id covers, after all bytes have been covered."""
        if self.log_id is None:
            return False
        if not self.was_touched:
            self.log_id.cover_all(self._fd, self.size)
        return self.log_id.is_true(self._fd)

    def _all_synced(self) -> None:
        self._synced_writes, self.sync_has_failed = self._writes, False

    # --- one write ------------------------------------------------------------------------------------

    def _known_end(self) -> tuple[int, bytes]:
        """Return the size of the file in bytes, and its last bytes."""
        present = self.present()
        tail = self._tail if present == self.size and not self.was_touched else self._read_tail(present)
        if present == self.size:
            if tail != self._tail:
                raise self.distrust()
        elif self.waits_for_half_lines and not tail.endswith(b"\n"):
            raise ForeignHalfLine(present)
        return present, tail

    def _append(self, start: int, data: bytes) -> list[WrittenPiece]:
        """Write `data` at the end, which was at `start`. Return the written pieces."""
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
        """Remove a partial write. If that is refused, the bytes stay, and `put` starts a new line."""
        if pieces and is_one_piece(pieces) and os.fstat(self._fd).st_size == pieces[-1].end:
            self._truncate(pieces[0].offset)
        else:
            self._blank(pieces)

    def _starts_line(self, piece: WrittenPiece, start: int) -> bool:
        """Return whether a piece that was written at the end, which was at `start`, is on a line of its own."""
        return (
            piece.offset == start
            or piece.data.startswith(b"\n")
            or self.read(piece.offset - 1, piece.offset) == b"\n"
        )

    def _placed(self, written: WrittenPiece, start: int, tail: bytes, expected: int) -> WriteOutcome:
        status = os.fstat(self._fd)
        self.size, self._modified_ns = status.st_size, status.st_mtime_ns
        if self.size == written.end == start + len(written.data):
            self._tail = (tail + written.data)[-KNOWN_TAIL_BYTES:]
        else:
            self.was_touched = True
            self._tail = self._read_tail(self.size)
        if self.log_id is not None:
            # A larger write never runs on the event loop's thread.
            cover = self.log_id.cover_all if len(written.data) > COVER_AT_ONCE else self.log_id.cover
            cover(self._fd, self.size)
        blanked, self._blanked = tuple(self._blanked), []
        return WriteOutcome(written.offset, written.data, drifted=self.size != expected, blanked=blanked)

    def _blank(self, pieces: list[WrittenPiece]) -> None:
        """Overwrite unacknowledged bytes of this daemon after which another program may have written."""
        self.was_touched = True
        for piece in pieces:
            if self.read(piece.offset, piece.end) != piece.data:
                raise self.distrust()
            self._blanked.append(blank_out(self._fd, piece, self._calls.overwrite))
        self._note_change()

    def _truncate(self, size: int) -> None:
        self._calls.ftruncate(self._fd, size)
        self._note_change()

    # --- another file in the place of this one ----------------------------------------------------------

    def _replace(self, parts: Iterable[bytes], end: int) -> None:
        replace_file(self.path, self._fd, parts, end, self._calls)
        self._note_change()

    def _move_to_other_disk(self, target: Path, present: int) -> None:
        size = present if self._table is None else os.fstat(self._fd).st_size
        move_to_other_disk(
            self.path, self._fd, target, size, self._calls, check=lambda: self._refuse_growth(present)
        )
        self._note_change()

    def _link_beside(self, suffix: str) -> None:
        link_beside(self.path, suffix, lambda: self._keep_beside(suffix, 0), self._calls)

    def _keep_beside(self, suffix: str, start: int) -> Path:
        return keep_beside(self.path, self._fd, suffix, start, self.size, self._calls)
