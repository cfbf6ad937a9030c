"""The seekable format of Zstandard: a log as frames of whole lines, of which each is read without the others.

The layout is that of the standard (`zstd_seekable_compression_format.md` of Zstandard):

    frame … frame | lines of the frames | seek table

- A frame has about 256 KiB of whole lines and ends with a checksum of its content. A longer line has a frame of its
  own. `zstd -dc FILE` gives the log byte for byte.
- The lines of the frames are a frame that every reader skips. It says how many lines each frame has, so that damage is
  named by its lines, and the lines after it keep their numbers. It also has a checksum of the seek table, which the
  standard lacks. A file without it is read as well.
- The seek table is a frame that every reader skips. For each frame before it, it has the size in the file, the size of
  the content, and the low 32 bits of the XXH64 of the content. These bits are those with which the frame itself ends.

The descriptor of the file is an argument, since a descriptor may be closed and opened again. All offsets are those of
the plain log. The program that wrote a file is not trusted: no size in it makes a reader use more memory.
"""

import bisect
import os
import re
import struct
import threading
import zlib
from array import array
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO, Final, NamedTuple, cast

import zstandard

from sessiond.error_text import TemplatedError
from sessiond.store.files.file_bytes import SLICE, read_range

FRAME: Final = 256 * 1024
"""The bytes of content after which a frame ends, at the end of a line."""
LONGEST_FRAME: Final = 1 << 30
"""The most bytes of content of a frame. A longer line goes on in the next frame."""
MAX_WINDOW: Final = 32 << 20
"""Bytes of memory that a frame may claim."""
_LEVEL: Final = 3
_READ_AT_ONCE: Final = 1 << 20
"""Frames with more bytes of content are decompressed in parts, and are not cached."""
_CACHED: Final = 4
_LONGEST_HEADER: Final = 18
_PART: Final = 256 * 1024
_NON_BLANK_LINE: Final = re.compile(rb"[^\n]*[^\s][^\n]*")

_TABLE_MAGIC: Final = 0x184D2A5E
_END_MAGIC: Final = 0x8F92EAB1
_LINES_MAGIC: Final = 0x184D2A50
_FRAME_MAGIC: Final = zstandard.FRAME_HEADER
_SKIPPED: Final = struct.Struct("<II")  # magic, bytes that follow
_ROW: Final = struct.Struct("<III")  # bytes in the file, bytes of content, checksum
_END: Final = struct.Struct("<IBI")  # number of frames, flags, magic
_HAS_CHECKSUMS: Final = 0x80
_RESERVED: Final = 0x7C
_LINES_NAME: Final = b"sessiond lines 1"
_NO_CONTENT: Final = 0x51D8E999  # the checksum of nothing


class NoSeekTable(TemplatedError):
    """Raised when a file is not, or not completely, in the seekable format; the reason is the whole message."""

    sentence = "{reason}"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)
        self.reason = reason


class Damage(NamedTuple):
    """A frame that cannot be read.

    Attributes:
        start: The offset of its content in the log.
        end: The end of its content.
        first_line: The seq of its first line; None if the file does not say how many lines its frames have.
        last_line: The seq of its last line, or None.
        reason: Why it cannot be read.
    """

    start: int
    end: int
    first_line: int | None
    last_line: int | None
    reason: str

    def __str__(self) -> str:
        """Return a sentence that names the lines."""
        lines = "some lines"
        if self.first_line is not None and self.last_line is not None:
            lines = f"line {self.first_line:,}"
            if self.last_line > self.first_line:
                lines = f"lines {self.first_line:,} to {self.last_line:,}"
        return f"{lines} (bytes {self.start:,} to {self.end:,}) cannot be read: {self.reason}"


def compressed(fd: int, size: int) -> Iterator[bytes]:
    """Yield the seekable file of the first `size` bytes of a plain log, in parts.

    Raises:
        NoSeekTable: The log is shorter, or too large for a seek table.
    """
    compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
    rows: list[bytes] = []
    counts = array("I")
    start = 0
    while start < size:
        end = _end_of_frame(fd, start, size)
        packed, last, lines = 0, b"", 0
        if end - start <= _READ_AT_ONCE:
            content = _exactly(fd, start, end)
            last = compressor.compress(content)
            packed, lines = len(last), count_lines(content)
            yield last
        else:
            lines = 1
            stream = compressor.compressobj(size=end - start)
            for place in range(start, end, _PART):
                part = stream.compress(_exactly(fd, place, min(end, place + _PART)))
                packed += len(part)
                yield part
            last = stream.flush()
            packed += len(last)
            yield last
        if packed >= 1 << 32:
            raise NoSeekTable(f"a line of {end - start:,} bytes is too long for a seek table")
        rows.append(_ROW.pack(packed, end - start, int.from_bytes(last[-4:], "little")))
        counts.append(lines)
        start = end
    lines_frame = _lines_frame(counts, b"".join(rows))
    rows.append(_ROW.pack(len(lines_frame), 0, _NO_CONTENT))
    yield lines_frame
    table = b"".join(rows)
    yield _SKIPPED.pack(_TABLE_MAGIC, len(table) + _END.size)
    yield table
    yield _END.pack(len(rows), _HAS_CHECKSUMS, _END_MAGIC)


def count_lines(content: bytes) -> int:
    """Return the number of lines that are not blank. Readers of logs skip blank lines and do not number them."""
    lines = content.count(b"\n") + (not content.endswith(b"\n"))
    if b"\n\n" not in content and not content.startswith(b"\n") and not _may_have_blanks(content):
        return lines
    return sum(1 for _ in _NON_BLANK_LINE.finditer(content))


class SeekTable:
    """The frames of a seekable file, and their contents. Its methods are safe on any thread.

    Args:
        fd: The descriptor of the file.

    Raises:
        NoSeekTable: The file has no seek table, or one that does not describe the file.
    """

    def __init__(self, fd: int) -> None:
        file_size = os.fstat(fd).st_size
        table, has_checksums = _read_table(fd, file_size)
        self._places = array("Q", [0])  # the offset of each frame in the file, and the end of the last one
        self._starts = array("Q", [0])  # the same of the content
        self._checksums = array("I")
        place = start = 0
        for packed, size, *checksum in struct.iter_unpack("<III" if has_checksums else "<II", table):
            place, start = place + packed, start + size
            self._places.append(place)
            self._starts.append(start)
            self._checksums.append(checksum[0] if checksum else 0)
        if place + _SKIPPED.size + len(table) + _END.size != file_size:
            raise NoSeekTable("its seek table does not describe it: frames are missing or were added")
        self._has_checksums = has_checksums
        self._lines = self._read_lines(fd, table)
        if self._lines is None:
            self._compare_headers(fd)
        self._lock = threading.Lock()
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW)
        self._contents: OrderedDict[int, bytes] = OrderedDict()
        self._damages: dict[int, Damage | None] = {}  # of the frames that were read
        self._is_damaged = False

    @property
    def size(self) -> int:
        """The number of bytes of the plain log."""
        return self._starts[-1]

    @property
    def damages(self) -> list[Damage]:
        """The frames that could not be read, as far as they were tried."""
        with self._lock:
            return [damage for _, damage in sorted(self._damages.items()) if damage is not None]

    @property
    def is_damaged(self) -> bool:
        """Whether a frame that was read is damaged."""
        return self._is_damaged

    def read(self, fd: int, start: int, end: int) -> bytes:
        """Return the bytes `[start, end)` of the plain log, or fewer if it ends before.

        A frame that cannot be read gives lines of question marks in place of its lines, which no reader takes for an
        entry, as many and as long as those of the frame (`damages`). Raises `OSError` if the system refuses to read.
        """
        parts = list(self.slices(fd, start, end))
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def slices(self, fd: int, start: int, end: int) -> Iterator[bytes]:
        """Yield the bytes `[start, end)` of the plain log in slices of at most 64 KiB; see `read`."""
        end = min(end, self.size)
        frame = bisect.bisect_right(self._starts, start) - 1
        while start < end:
            first, after = self._starts[frame], min(end, self._starts[frame + 1])
            if after <= start:
                pass  # a frame without content
            elif self._starts[frame + 1] - first <= _READ_AT_ONCE:
                content = self._content(fd, frame)
                for place in range(start - first, after - first, SLICE):
                    yield content[place : min(after - first, place + SLICE)]
            else:
                yield from self._parts(fd, frame, start - first, after - first)
            start, frame = max(start, after), frame + 1

    def check(self, fd: int) -> list[Damage]:
        """Read all frames, and return those that cannot be read."""
        for _ in self.slices(fd, 0, self.size):
            pass
        return self.damages

    # --- one frame ------------------------------------------------------------------------------------

    def _content(self, fd: int, frame: int) -> bytes:
        """Return the content of a frame, or what is read in its place."""
        with self._lock:
            content = self._contents.get(frame)
            if content is not None:
                self._contents.move_to_end(frame)
                return content
            packed = read_range(fd, self._places[frame], self._places[frame + 1])
            size = self._starts[frame + 1] - self._starts[frame]
            try:
                self._check_header(frame, packed, packed[-4:])
                content = self._decompressor.decompress(packed, max_output_size=size, allow_extra_data=False)
                if len(content) != size:
                    raise NoSeekTable(
                        f"its content has {len(content):,} bytes, and the seek table says {size:,}"
                    )
                self._damages[frame] = None
            except (zstandard.ZstdError, NoSeekTable) as error:
                content = self._note_damage(frame, error)
            self._contents[frame] = content
            if len(self._contents) > _CACHED:
                self._contents.popitem(last=False)
            return content

    def _parts(self, fd: int, frame: int, start: int, end: int) -> Iterator[bytes]:
        """Yield a part of the content of a large frame in slices. The checksum is at its end, so it is read first."""
        with self._lock:
            is_known = frame in self._damages
        if not is_known:
            damage: Exception | None = None
            try:
                for _ in self._decompressed(fd, frame):
                    pass
            except (zstandard.ZstdError, NoSeekTable) as error:
                damage = error
            with self._lock:
                self._damages[frame] = None
                if damage is not None:
                    self._note_damage(frame, damage)
        place = 0
        for part in self._filler_parts(frame) if self._damages[frame] else self._decompressed(fd, frame):
            if place + len(part) > start:
                yield part[max(0, start - place) : end - place]
            place += len(part)
            if place >= end:
                return

    def _decompressed(self, fd: int, frame: int) -> Iterator[bytes]:
        """Yield the content of a frame in slices. Raises `NoSeekTable`, or the error of zstandard."""
        place, after = self._places[frame], self._places[frame + 1]
        self._check_header(frame, os.pread(fd, _LONGEST_HEADER, place), os.pread(fd, 4, after - 4))
        size = 0
        for part in _stream(fd, place, after):
            size += len(part)
            if size > self._starts[frame + 1] - self._starts[frame]:
                break
            yield part
        if size != self._starts[frame + 1] - self._starts[frame]:
            raise NoSeekTable("its content has another size than the seek table says")

    def _check_header(self, frame: int, begin: bytes, checksum: bytes) -> None:
        """Raise `NoSeekTable` unless the header of a frame is as its row says, before memory is used for it."""
        size = self._starts[frame + 1] - self._starts[frame]
        if not begin.startswith(_FRAME_MAGIC):
            raise NoSeekTable("no frame begins where the seek table says")
        header = zstandard.get_frame_parameters(begin)
        if header.content_size not in (size, zstandard.CONTENTSIZE_UNKNOWN):
            raise NoSeekTable(f"its header says {header.content_size:,} bytes, and the seek table {size:,}")
        if header.window_size > MAX_WINDOW:
            raise NoSeekTable(f"it claims {header.window_size:,} bytes of memory")
        if self._has_checksums and (
            not header.has_checksum or int.from_bytes(checksum, "little") != self._checksums[frame]
        ):
            raise NoSeekTable("its checksum is not that of the seek table")

    def _note_damage(self, frame: int, error: Exception) -> bytes:
        """Record a damaged frame, and return what is read in its place. The lock is held."""
        first = last = None
        if self._lines is not None:
            first = sum(self._lines[:frame])
            last = first + max(1, self._lines[frame]) - 1
        start, end = self._starts[frame], self._starts[frame + 1]
        self._damages[frame] = Damage(start, end, first, last, str(error) or "it is damaged")
        self._is_damaged = True
        return b"".join(self._filler_parts(frame)) if end - start <= _READ_AT_ONCE else b""

    def _filler_parts(self, frame: int) -> Iterator[bytes]:
        """Yield lines in place of those of a frame, in parts."""
        size = self._starts[frame + 1] - self._starts[frame]
        lines = 1 if self._lines is None else self._lines[frame]
        short = max(0, min(lines - 1, (size - 1) // 2))
        yield b"?\n" * short
        rest = size - 2 * short - 1
        while rest > 0:
            yield b"?" * min(rest, SLICE)
            rest -= SLICE
        yield b"\n"

    def _compare_headers(self, fd: int) -> None:
        """Raise `NoSeekTable` if frames have other sizes of content than the seek table says."""
        for frame in range(len(self._checksums)):
            size = self._starts[frame + 1] - self._starts[frame]
            begin = os.pread(
                fd, min(_LONGEST_HEADER, self._places[frame + 1] - self._places[frame]), self._places[frame]
            )
            if begin.startswith(_FRAME_MAGIC):
                with suppress(zstandard.ZstdError):
                    said = zstandard.get_frame_parameters(begin).content_size
                    if said not in (size, zstandard.CONTENTSIZE_UNKNOWN):
                        raise NoSeekTable(
                            f"a frame has {said:,} bytes of content, and its seek table says {size:,}"
                        )
            elif size:
                raise NoSeekTable("its seek table is wrong: no frame begins where it says")

    # --- the lines of the frames ----------------------------------------------------------------------

    def _read_lines(self, fd: int, table: bytes) -> "array[int] | None":
        """Return the number of lines of each frame; None if the file does not say it, or the part is damaged.

        Raises:
            NoSeekTable: The seek table is not the one that was written.
        """
        last = len(self._checksums) - 1
        if last < 0 or self._starts[last] != self._starts[-1]:
            return None
        data = read_range(fd, self._places[last], self._places[last + 1])
        before = _SKIPPED.size + len(_LINES_NAME)
        if len(data) != before + 4 * last + 8 or data[:before] != _lines_begin(4 * last):
            return None
        if zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "little"):
            return None
        if zlib.crc32(table[: -_ROW.size]) != int.from_bytes(data[-8:-4], "little"):
            raise NoSeekTable("its seek table is damaged")
        return array("I", struct.unpack_from(f"<{last}I", data, before))


class _Region:
    """The bytes of one frame in a file, of which a decompressor takes some at a time."""

    def __init__(self, fd: int, place: int, end: int) -> None:
        self._fd = fd
        self._place = place
        self._end = end

    def read(self, size: int) -> bytes:
        """Return the next bytes; none at the end."""
        data = os.pread(self._fd, max(0, min(size, self._end - self._place)), self._place)
        self._place += len(data)
        return data


def _stream(fd: int, place: int, end: int) -> Iterator[bytes]:
    """Yield the content of a frame in slices. Raises the error of zstandard, at the end if it is damaged."""
    region = cast("BinaryIO", _Region(fd, place, end))  # a decompressor calls nothing but `read`
    stream = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW).stream_reader(region)
    while part := stream.read(SLICE):
        yield part


def salvaged(fd: int, unreadable: list[str]) -> Iterator[bytes]:
    """Yield the contents of all frames that are complete, in slices, without the seek table, which may be missing.

    Args:
        fd: The descriptor of the file.
        unreadable: Receives a sentence for each part of the file that cannot be read.
    """
    place, end = 0, os.fstat(fd).st_size
    while place < end:
        begin = os.pread(fd, _LONGEST_HEADER, place)
        if len(begin) >= _SKIPPED.size and begin[1:4] == _LINES_MAGIC.to_bytes(4, "little")[1:]:
            place += _SKIPPED.size + _SKIPPED.unpack_from(begin)[1]
            continue
        try:
            after = _end_of_packed_frame(fd, place, end)
            yield from _checked_parts(fd, place, after)
            place = after
        except NoSeekTable as damage:
            found = _next_frame(fd, place + 1, end)
            unreadable.append(f"bytes {place:,} to {found:,} of the file cannot be read: {damage}")
            place = found


def _next_frame(fd: int, place: int, end: int) -> int:
    """Return the next place at which a frame may begin; `end` if there is none."""
    while place < end:
        data = os.pread(fd, _PART + len(_FRAME_MAGIC) - 1, place)
        found = data.find(_FRAME_MAGIC)
        if found >= 0:
            return place + found
        place += _PART
    return end


def _checked_parts(fd: int, place: int, end: int) -> Iterator[bytes]:
    """Yield the content of the frame at a place, after all of it was verified. Raises `NoSeekTable`."""
    for is_verified in (False, True):
        try:
            for part in _stream(fd, place, end):
                if is_verified:
                    yield part
        except zstandard.ZstdError as error:
            raise NoSeekTable(f"the frame at byte {place:,} is damaged: {error}") from None


def _end_of_packed_frame(fd: int, place: int, end: int) -> int:
    """Return the end of the frame at a place by the headers of its blocks. Raises `NoSeekTable` if it is cut off."""
    begin = os.pread(fd, _LONGEST_HEADER, place)
    try:
        if not begin.startswith(_FRAME_MAGIC):
            raise NoSeekTable(f"no frame begins at byte {place:,}")
        has_checksum = zstandard.get_frame_parameters(begin).has_checksum
        at = place + zstandard.frame_header_size(begin)
    except zstandard.ZstdError as error:
        raise NoSeekTable(f"the frame at byte {place:,} is damaged: {error}") from None
    while True:
        header = int.from_bytes(os.pread(fd, 3, at), "little")
        is_last, kind, size = header & 1, header >> 1 & 3, header >> 3
        at += 3 + (1 if kind == 1 else size)  # a block of kind 1 is one byte, repeated
        if kind == 3 or at > end:
            raise NoSeekTable(f"the frame at byte {place:,} is cut off or damaged")
        if is_last:
            at += 4 if has_checksum else 0
            if at > end:
                raise NoSeekTable(f"the frame at byte {place:,} is cut off")
            return at


def _read_table(fd: int, file_size: int) -> tuple[bytes, bool]:
    """Return the rows of the seek table, and whether they have checksums. Raises `NoSeekTable`."""
    end = os.pread(fd, _END.size, max(0, file_size - _END.size))
    if len(end) != _END.size:
        raise NoSeekTable("it is too short for a seek table")
    count, flags, magic = _END.unpack(end)
    if magic != _END_MAGIC:
        raise NoSeekTable("it does not end with a seek table, so it was cut off or is another file")
    if flags & _RESERVED:
        raise NoSeekTable("its seek table is of an unknown version")
    has_checksums = bool(flags & _HAS_CHECKSUMS)
    size = count * (_ROW.size if has_checksums else _ROW.size - 4)
    begin = file_size - _END.size - size - _SKIPPED.size
    if begin < 0:
        raise NoSeekTable("its seek table is longer than the file")
    table = read_range(fd, begin, file_size - _END.size)
    if table[: _SKIPPED.size] != _SKIPPED.pack(_TABLE_MAGIC, size + _END.size):
        raise NoSeekTable("its seek table has no beginning, so its number of frames is wrong")
    return table[_SKIPPED.size :], has_checksums


def _lines_frame(counts: "array[int]", rows: bytes) -> bytes:
    """Return the frame with the number of lines of each frame, and a checksum of their rows in the seek table."""
    numbers = struct.pack(f"<{len(counts)}I", *counts)
    data = _lines_begin(len(numbers)) + numbers + zlib.crc32(rows).to_bytes(4, "little")
    return data + zlib.crc32(data).to_bytes(4, "little")


def _lines_begin(size: int) -> bytes:
    """Return the beginning of that frame, for `size` bytes of numbers."""
    return _SKIPPED.pack(_LINES_MAGIC, len(_LINES_NAME) + size + 8) + _LINES_NAME


def _end_of_frame(fd: int, start: int, size: int) -> int:
    """Return the end of the frame that begins at `start`: after the last line that ends within `FRAME` bytes.

    If none does, the frame has one line.
    """
    data = os.pread(fd, min(FRAME, size - start), start)
    if len(data) == size - start:
        return size
    end = data.rfind(b"\n") + 1
    place = start + len(data)
    while not end:
        data = os.pread(fd, min(_PART, size - place), place)
        found = data.find(b"\n") + 1
        if found or place + len(data) >= size or not data:
            end = place + (found or len(data)) - start
        place += len(data)
    return start + min(end, LONGEST_FRAME)


def _exactly(fd: int, start: int, end: int) -> bytes:
    data = read_range(fd, start, end)
    if len(data) != end - start:
        raise NoSeekTable("the log became shorter while it was read")
    return data


def _may_have_blanks(content: bytes) -> bool:
    """Return whether a line may be of spaces only."""
    return re.search(rb"(?:^|\n)[ \t\r\f\v]", content) is not None
