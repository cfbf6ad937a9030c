"""The lines of one session in a local file: what the daemon reads, and its copy when the server is out of reach.

A file belongs to one session of one database. Its content is compared with that of the server by position: epoch, seq
and the digest of the last line. The position is stored beside the file when the log is closed; without one, or after a
crash, the file is filled again.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from sessiond.store.files.syscalls import refusals_of

_SLICE: Final = 64 * 1024
_LINES: Final = ".lines"
_POSITION: Final = ".position"
_MAX_AGE_SECONDS: Final = 14 * 86_400.0


class MirrorPosition(msgspec.Struct, frozen=True):
    """The content of a mirror."""

    session_id: str
    key: int
    log_id: str
    draft: bool
    epoch: int
    seq: int
    size: int
    digest: bytes


class Mirror:
    """One file. `size` is the number of its bytes, `seq` that of its lines."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.size = 0
        self.seq = 0
        self._last_start = 0
        self._digest: bytes | None = None
        with refusals_of(path):
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def keep(self, position: MirrorPosition) -> bool:
        """Begin with the lines that the file has at a position. Return whether it has them."""
        with refusals_of(self._path):
            if os.fstat(self._fd).st_size < position.size:
                return False
            os.ftruncate(self._fd, position.size)
        self._last_start = self.line_start(position.size - 1)
        self.size, self.seq, self._digest = position.size, position.seq, None
        return self.digest == position.digest

    def clear(self) -> None:
        """Remove all lines."""
        with refusals_of(self._path):
            os.ftruncate(self._fd, 0)
        self.size = self.seq = self._last_start = 0
        self._digest = None

    def add(self, lines: Sequence[bytes]) -> None:
        """Add lines. A refusal of the disk leaves the mirror as it was."""
        data = b"".join(lines)
        with refusals_of(self._path):
            written = 0
            while written < len(data):
                written += os.pwrite(self._fd, data[written:], self.size + written)
        if lines:
            self.size += len(data)
            self.seq += len(lines)
            self._last_start = self.size - len(lines[-1])
            self._digest = None

    def overwrite(self, offset: int, data: bytes) -> None:
        """Overwrite bytes of the lines."""
        with refusals_of(self._path):
            os.pwrite(self._fd, data, offset)
        self._digest = None

    def cut(self, size: int, seq: int) -> None:
        """Remove the bytes from `size`, where the line `seq` begins."""
        with refusals_of(self._path):
            os.ftruncate(self._fd, size)
        self.size, self.seq, self._digest = size, seq, None
        self._last_start = self.line_start(size - 1)

    def add_newline(self) -> None:
        """Add a newline to the last line."""
        with refusals_of(self._path):
            os.pwrite(self._fd, b"\n", self.size)
        self.size += 1
        self._digest = None

    def line_start(self, offset: int) -> int:
        """Return where the line begins that has the byte at an offset."""
        end = max(0, offset)
        while end > 0:
            start = max(0, end - _SLICE)
            found = self._pread(start, end).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
        return 0

    @property
    def digest(self) -> bytes:
        """The SHA-256 of the last line; of nothing, if there is none."""
        if self._digest is None:
            self._digest = hashlib.sha256(self._pread(self._last_start, self.size)).digest()
        return self._digest

    def ends_with(self, line: bytes) -> bool:
        """Return whether this is the last line."""
        return hashlib.sha256(line).digest() == self.digest

    @property
    def lacks_newline(self) -> bool:
        """Whether the last line has no newline."""
        return self.size > 0 and self._pread(self.size - 1, self.size) != b"\n"

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes `[start, end)`, or fewer if the file ends before. Safe on any thread."""
        return self._pread(start, min(end, self.size))

    def slices(self, start: int, end: int) -> Iterator[bytes]:
        """Yield the bytes `[start, end)` in slices of at most 64 KiB. Safe on any thread."""
        for at in range(start, end, _SLICE):
            yield self._pread(at, min(at + _SLICE, end))

    def lines_in(self, start: int, end: int) -> int:
        """Return how many lines begin in `[start, end)`, which begins with a line."""
        count, last = 0, b"\n"
        for data in self.slices(start, end):
            count, last = count + data.count(b"\n"), data[-1:]
        return count + (last != b"\n")

    def sync(self) -> None:
        """Make the lines durable, so that a position may be stored."""
        with refusals_of(self._path):
            os.fdatasync(self._fd)

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _pread(self, start: int, end: int) -> bytes:
        with refusals_of(self._path):
            return os.pread(self._fd, end - start, start) if end > start else b""


class MirrorFolder:
    """The mirrors of one store.

    Args:
        folder: Their folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def belongs_to(self, system: str) -> None:
        """Delete all mirrors unless they are of this database."""
        note = self._folder / "database"
        with refusals_of(note):
            if note.exists() and note.read_text("utf-8") == system:
                return
            for path in self._folder.iterdir():
                path.unlink()
            note.write_text(system, "utf-8")

    def open(self, session_id: str, key: int) -> tuple[Mirror, MirrorPosition | None]:
        """Open the file of a session at its position, which is deleted: the file is going to change.

        Without a position it is a new file, so that another one that is still open stays as it is.
        """
        position, path = self.position(session_id, key), self._path(session_id, key, _LINES)
        if position is None:
            path.unlink(missing_ok=True)
        self._path(session_id, key, _POSITION).unlink(missing_ok=True)
        mirror = Mirror(path)
        if position is not None and not mirror.keep(position):
            mirror.clear()
            position = None
        return mirror, position

    def position(self, session_id: str, key: int | None = None) -> MirrorPosition | None:
        """Return the stored position of a session with this key, or with any key by default; None if there is none."""
        found = self._folder.glob(f"{_name(session_id)}-{'*' if key is None else key}{_POSITION}")
        for path in found:
            with suppress(OSError, msgspec.DecodeError, msgspec.ValidationError):
                position = msgspec.msgpack.decode(path.read_bytes(), type=MirrorPosition)
                if position.session_id == session_id:
                    return position
        return None

    def store(self, position: MirrorPosition) -> None:
        """Store the position of a mirror whose lines are durable."""
        path = self._path(position.session_id, position.key, _POSITION)
        made = path.with_suffix(".new")
        with refusals_of(path):
            made.write_bytes(msgspec.msgpack.encode(position))
            made.replace(path)

    def remove(self, session_id: str, key: int) -> None:
        """Delete the mirror of a session."""
        self._path(session_id, key, _POSITION).unlink(missing_ok=True)
        self._path(session_id, key, _LINES).unlink(missing_ok=True)

    def sweep(self, now: float) -> None:
        """Delete mirrors that were not written for two weeks, and those without a position. None may be open."""
        for path in self._folder.glob(f"*{_LINES}"):
            position = path.with_suffix(_POSITION)
            with suppress(OSError):
                if not position.exists() or now - position.stat().st_mtime > _MAX_AGE_SECONDS:
                    position.unlink(missing_ok=True)
                    path.unlink()

    def _path(self, session_id: str, key: int, suffix: str) -> Path:
        return self._folder / f"{_name(session_id)}-{key}{suffix}"


def _name(session_id: str) -> str:
    return hashlib.sha256(session_id.encode()).hexdigest()[:32]
