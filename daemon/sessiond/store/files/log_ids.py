"""Ids of log files. An id is unchanged while the file only grows, over restarts and renames of the file.

A position in a log, `{logId, seq}`, must never refer to another log that has the same session id later. So each open
log has a record in one file of the state folder: the id, the size of the log when a reader could last have received
it, and a checksum of these bytes. Opening the log compares them. If the beginning of the file differs from the record,
or cannot be verified, the file is another log and gets a new id. Readers then read it from its start. A record covers
no torn last line and no incomplete batch: no reader receives them, and they may be cut away.

The checksum is continued as the log grows, so an append costs one more small read and write of cached pages. A file
that was not touched since it was closed is recognized by its status and is not read. A large log without a record gets
one in the background, or when it is closed. There is no sync per append: records survive the death of the process, and
after a power failure (another boot, not marked as ended) they are ignored. If records cannot be read or written, logs
get new ids and stay usable.
"""

import logging
import os
import struct
import threading
import time
import uuid
import zlib
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from sessiond.session.tree import batches

if TYPE_CHECKING:
    from sessiond.store.files.seekable import SeekTable

log = logging.getLogger(__name__)

NAME: Final = "log-ids"
MAX_RECORDS: Final = 16_384
"""Maximum number of records. Above it, the least recently used record is dropped."""
COVER_AT_ONCE: Final = 1024 * 1024
"""Bytes that are added to a checksum on the event loop's thread. More bytes are added when the log is closed."""
COVER_IN_A_STEP: Final = 32 * 1024 * 1024
"""Bytes that are added to a checksum while appends wait: for about 20 ms."""
BOOT_ID: Final = "/proc/sys/kernel/random/boot_id"
"""The file in which the system identifies the current boot."""
RACY_NS: Final = 50_000_000
"""Nanoseconds. A file that was changed more recently may be changed again without a difference in its times."""
_SLICE: Final = 256 * 1024
_LONGEST_HEADER: Final = 16 * 1024

_HEAD: Final = struct.Struct("<16s16s?95x")  # magic, boot, ended
_RECORD: Final = struct.Struct("<16s16sQIIQQQQQ32xQ")
_MAGIC: Final = b"sessiond log ids"
_MORE_FOLLOWS: Final = batches.MORE_FOLLOWS + b"\n"
_Status = tuple[int, int, int, int]
_NO_STATUS: Final[_Status] = (0, 0, 0, 0)


class Covered(NamedTuple):
    """The first `size` bytes of a log, and their checksums."""

    size: int = 0
    crc: int = 0
    adler: int = 1

    def and_then(self, data: bytes) -> "Covered":
        """Return the size and the checksums with `data` appended."""
        return Covered(self.size + len(data), zlib.crc32(data, self.crc), zlib.adler32(data, self.adler))


class _Record(NamedTuple):
    slot: int
    log_id: bytes
    covered: Covered
    status: _Status
    used_ns: int


class LogIds:
    """The records of all logs. They are read from disk at the first `identify`. Thread-safe."""

    def __init__(self, state: Path) -> None:
        self._path = state / NAME
        self._lock = threading.Lock()
        self._fd: int | None = None
        self._records: dict[bytes, _Record] | None = None
        self._free: list[int] = []  # slots of records that were dropped
        self._slots = 0

    def identify(self, name: str, fd: int, table: "SeekTable | None" = None) -> "LogId":
        """Return the id of the log called `name` that is open as `fd`. May read the whole file.

        `table` is the seek table of a packed log. It has the modification time of the plain file that it replaced, and
        by that it is recognized (`packing`).

        A large log without a record has nothing to be compared with. Its bytes are covered later, by `cover_more`, or
        when it is closed.
        """
        content = _Content(fd, table)
        key = _key(name, content)
        known = self._known(key)
        size = _readable_size(content, content.size)
        if known is not None and known.covered.size <= size:
            status = _status(fd)
            unchanged = known.status != _NO_STATUS and (
                known.status == status or (table is not None and known.status[2] == status[2])
            )
            if unchanged or _covered(content, Covered(), known.covered.size) == known.covered:
                covered = _covered(content, known.covered, size)
                return LogId(
                    self, name, key, known.log_id, covered, unchanged_size=known.covered.size, table=table
                )
        covered = Covered() if size > COVER_AT_ONCE else _covered(content, Covered(), size)
        return LogId(self, name, key, uuid.uuid4().bytes, covered, is_behind=covered.size < size, table=table)

    def used_ns(self, name: str, fd: int) -> int:
        """Return the time at which the record of a plain log was written last, in nanoseconds; 0 without a record."""
        known = self._known(_key(name, _Content(fd, None)))
        return 0 if known is None else known.used_ns

    def known(self) -> set[str] | None:
        """Return the ids of all logs that have a record; None if the records were not needed."""
        with self._lock:
            if self._records is None:
                return None
            return {record.log_id.hex() for record in self._records.values()}

    def write(self, key: bytes, log_id: bytes, covered: Covered, status: _Status = _NO_STATUS) -> None:
        """Record the covered bytes of a log. If the disk refuses, the record is lost."""
        with self._lock:
            if self._records is None or self._fd is None:
                return
            before = self._records.get(key)
            record = _Record(
                self._free_slot() if before is None else before.slot, log_id, covered, status, time.time_ns()
            )
            self._records[key] = record
            self._write(record.slot, _packed(key, record))

    def forget(self, key: bytes) -> None:
        """Drop a record that is no longer valid."""
        with self._lock:
            if self._records is not None and (record := self._records.get(key)) is not None:
                del self._records[key]
                self._free.append(record.slot)
                self._write(record.slot, bytes(_RECORD.size))

    def close(self) -> None:
        """Mark the records as complete, so that they are valid after a reboot."""
        with self._lock:
            fd, self._fd = self._fd, None
            if fd is None:
                return
            try:
                with suppress(OSError):
                    os.fsync(fd)
                    os.pwrite(fd, _HEAD.pack(_MAGIC, _boot(), True), 0)
                    os.fsync(fd)
            finally:
                os.close(fd)

    def _known(self, key: bytes) -> _Record | None:
        with self._lock:
            if self._records is None:
                self._records = self._load()
            return self._records.get(key)

    def _load(self) -> dict[bytes, _Record]:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            log.warning("the ids of logs cannot be recorded: %s", error)
            return {}
        records: dict[bytes, _Record] = {}
        try:
            head = os.pread(fd, _HEAD.size, 0)
            if _counts(head):
                whole = os.pread(fd, _RECORD.size * MAX_RECORDS, _HEAD.size)
                records = _unpacked(whole)
                self._slots = len(whole) // _RECORD.size
                self._free = sorted(
                    {*range(self._slots)} - {record.slot for record in records.values()}, reverse=True
                )
            else:
                os.ftruncate(fd, 0)
            os.pwrite(fd, _HEAD.pack(_MAGIC, _boot(), False), 0)
            os.fsync(fd)  # before any record: after a power failure the records must not count as complete
        except OSError as error:
            log.warning("the ids of logs cannot be recorded: %s", error)
            os.close(fd)
            return {}
        self._fd = fd
        return records

    def _free_slot(self) -> int:
        assert self._records is not None
        if self._free:
            return self._free.pop()
        if self._slots < MAX_RECORDS:
            self._slots += 1
            return self._slots - 1
        oldest = min(self._records, key=lambda key: self._records[key].used_ns)  # type: ignore[index]
        return self._records.pop(oldest).slot

    def _write(self, slot: int, record: bytes) -> None:
        if self._fd is None:
            return
        try:
            os.pwrite(self._fd, record, _HEAD.size + slot * _RECORD.size)
        except OSError as error:
            # The records on disk are now outdated, so all are invalidated.
            log.warning("the ids of logs cannot be recorded: %s", error)
            fd, self._fd = self._fd, None
            with suppress(OSError):
                os.ftruncate(fd, 0)
            os.close(fd)


class LogId:
    """The id of one open log, and the bytes that its record covers. Used by one caller at a time."""

    def __init__(
        self, ids: LogIds, name: str, key: bytes, log_id: bytes, covered: Covered,
        *, unchanged_size: int = 0, is_behind: bool = False, table: "SeekTable | None" = None,
    ) -> None:  # fmt: skip
        self.table = table
        """The seek table of the log while it is packed."""
        self._ids = ids
        self._name = name
        self._key = key
        self._id = log_id
        self._covered = covered
        self.unchanged_size = unchanged_size
        """The number of first bytes that are known to be unchanged since the log got this id."""
        self._is_behind = is_behind  # some bytes are not covered yet
        self._is_unrecorded = is_behind  # the log never had a record
        self._is_cut = False  # bytes were cut away that had been covered
        self._is_forgotten = is_behind
        if is_behind:
            ids.forget(key)
        else:
            ids.write(key, log_id, covered)

    @property
    def value(self) -> str:
        """The id, as 32 hexadecimal digits."""
        return self._id.hex()

    def cover(self, fd: int, size: int) -> None:
        """Record that the log has `size` bytes, before the new bytes are sent to any reader."""
        if size - self._covered.size > COVER_AT_ONCE:
            self._lose()
        elif not self._is_behind:
            self.cover_all(fd, size)

    def cover_all(self, fd: int, size: int) -> None:
        """Record the size after any number of new bytes. Must not be called on the event loop's thread."""
        if size < self._covered.size:
            # The remaining bytes were not read since, so they may differ from the bytes that readers received.
            self._is_cut = True
            self._lose()
        elif not self._is_cut:
            self._is_behind = False
            self._record(fd, size)

    def cover_more(self, fd: int, size: int) -> bool:
        """Cover some of the first `size` bytes of a log that has no record yet. Return whether there are more.

        Must not be called on the event loop's thread.
        """
        if not self._is_behind or self._is_cut:
            return False
        if size - self._covered.size <= COVER_IN_A_STEP:
            self.cover_all(fd, size)
            return False
        try:
            self._covered = _covered(self._content(fd), self._covered, self._covered.size + COVER_IN_A_STEP)
        except OSError:
            return False
        return True

    def is_true(self, fd: int) -> bool:
        """Return whether all bytes are covered and the covered bytes of the file are unchanged."""
        return not (self._is_behind or self._is_cut) and (
            _covered(self._content(fd), Covered(), self._covered.size) == self._covered
        )

    def begin_again(self, fd: int, size: int, *, same_log: bool) -> None:
        """Cover the first `size` bytes, which were rewritten. The log gets a new id unless it is the `same_log`."""
        if not same_log:
            self._id = uuid.uuid4().bytes
        self._covered, self._is_behind, self._is_cut = Covered(), False, False
        self._ids.forget(self._key)
        self._key = _key(self._name, self._content(fd))
        self._record(fd, size)

    def close(self, fd: int, size: int, *, touched: bool) -> None:
        """Record the state at close. `touched`: another program may have written, so the status proves nothing."""
        if touched and self._is_unrecorded:
            return  # readers received bytes before these were covered, so they may have been others
        self.cover_all(fd, size)
        self.record_status(fd, touched=touched)

    def record_status(self, fd: int, *, touched: bool) -> None:
        """Record the log before the descriptor of its file is closed, with the status if that proves it unchanged.

        Closing a log is a use of its record. It is written in any case, because the records of other logs may have
        displaced it meanwhile.
        """
        if self._is_cut or self._is_behind:
            return
        status = _status(fd)
        proves = not touched and max(status[2:]) <= time.time_ns() - RACY_NS
        self._ids.write(self._key, self._id, self._covered, status if proves else _NO_STATUS)

    def _record(self, fd: int, size: int) -> None:
        if size == self._covered.size and not self._is_forgotten:
            return
        try:
            content = self._content(fd)
            size = _readable_size(content, size)
            self._covered = _covered(content, self._covered, size)
        except OSError:
            self._lose()
        else:
            self._ids.write(self._key, self._id, self._covered)
            self._is_forgotten = self._is_unrecorded = False

    def _content(self, fd: int) -> "_Content":
        return _Content(fd, self.table)

    def _lose(self) -> None:
        self._is_behind = True
        self._is_forgotten = True
        self._ids.forget(self._key)


class _Content(NamedTuple):
    """The bytes of a log, packed or not."""

    fd: int
    table: "SeekTable | None"

    @property
    def size(self) -> int:
        return os.fstat(self.fd).st_size if self.table is None else self.table.size

    def read(self, size: int, start: int) -> bytes:
        if self.table is None:
            return os.pread(self.fd, size, start)
        return self.table.read(self.fd, start, start + size)


def _key(name: str, content: _Content) -> bytes:
    """Return the key of a record: the log's name and its first line, because a name may be reused by another log."""
    header = content.read(_LONGEST_HEADER, 0).partition(b"\n")[0]
    return blake2b(name.encode("utf-8", "surrogateescape") + b"\0" + header, digest_size=16).digest()


def _covered(content: _Content, covered: Covered, size: int) -> Covered:
    """Return `covered`, continued to the first `size` bytes of a log, or to its end."""
    while covered.size < size:
        data = content.read(min(_SLICE, size - covered.size), covered.size)
        if not data:
            break
        covered = covered.and_then(data)
    return covered


def _readable_size(content: _Content, size: int) -> int:
    """Return the size of the first `size` bytes of a log without a torn last line or an incomplete batch."""
    end = size
    while end:
        start = max(0, end - (_SLICE if end < size else len(_MORE_FOLLOWS)))
        data = content.read(end - start, start)
        last = len(data)
        while (last := data.rfind(b"\n", 0, last) + 1) and data.endswith(_MORE_FOLLOWS, 0, last):
            last -= 1
        if last >= len(_MORE_FOLLOWS) or not start:
            return last + start
        end = start + last  # the line before this newline is in the next slice
    return 0


def _status(fd: int) -> _Status:
    found = os.fstat(fd)
    return (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns)


def _boot() -> bytes:
    """Return the boot id of the machine; zeros if the system has none."""
    try:
        return uuid.UUID(Path(BOOT_ID).read_text("ascii").strip()).bytes
    except (OSError, ValueError):
        return bytes(16)


def _counts(head: bytes) -> bool:
    """Return whether the records after a head are valid: written since the boot, or marked as ended."""
    if len(head) != _HEAD.size:
        return False
    magic, boot, ended = _HEAD.unpack(head)
    return bool(magic == _MAGIC and (ended or (boot == _boot() != bytes(16))))


def _packed(key: bytes, record: _Record) -> bytes:
    body = _RECORD.pack(key, record.log_id, *record.covered, *record.status, record.used_ns, 0)
    return body[:-8] + zlib.crc32(body[:-8]).to_bytes(8, "little")


def _unpacked(whole: bytes) -> dict[bytes, _Record]:
    """Return the records by their keys, without damaged and dropped ones."""
    found: dict[bytes, _Record] = {}
    for slot in range(len(whole) // _RECORD.size):
        body = whole[slot * _RECORD.size : (slot + 1) * _RECORD.size]
        key, log_id, size, crc, adler, *status, used_ns, check = _RECORD.unpack(body)
        if check != zlib.crc32(body[:-8]):
            continue
        device, inode, modified, changed = status
        found[key] = _Record(
            slot, log_id, Covered(size, crc, adler), (device, inode, modified, changed), used_ns
        )
    return found
