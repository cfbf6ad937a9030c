"""Reads only what was added to a large file that grows, together with some lines before it.

A reader converts a whole file. For a file of megabytes that would cost too much with each added line. A `Tail` holds
the last lines that were read, and those lines before them that set something for all lines that follow, such as the
title. The reader converts them twice, without and with the added lines; the difference is what was added. Lines that
are left out are replaced by empty ones, so that each line has its number. If the result may differ from that of the
whole file, there is none, and the whole file is read (decision 0036). All functions block.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

from sessiond.hub import clock
from sessiond.hub.transfer.foreign_files import Titles, companions
from sessiond.hub.transfer.source_state import FileStatus, SourceState
from sessiond.session.dialects import known
from sessiond.session.dialects.import_builder import Imported, ImportedEntry
from sessiond.session.dialects.source import Source

MIN_FILE_BYTES: Final = 256 * 1024
"""A smaller file is read whole: that takes as long as reading a tail."""
MAX_ADDED_BYTES: Final = 4 * 1024 * 1024
"""If more was added at once, the whole file is read."""
WINDOW_BYTES: Final = 96 * 1024
"""The bytes of the last lines that are read again with what was added: a turn with its tool calls."""
FIRST_LINES: Final = 3
"""Lines at the start of a file that name its session."""
MAX_STATE_LINE: Final = 64 * 1024
_BLOCK: Final = 1024 * 1024
_ENDING: Final = 4096
"""The bytes before the end of what was read that must be unchanged."""
_DOUBTFUL: Final = (b'"toolName":"unknown"', b'"model":"unknown"', b'"modelId":"unknown"')
"""Values that a reader writes if the line with the real one is before the window."""


def _claude_state(raw: bytes) -> str | None:
    for name in (b"custom-title", b"ai-title", b"summary", b"tag"):
        if b'"type":"' + name + b'"' in raw or b'"type": "' + name + b'"' in raw:
            return name.decode()
    return next((name for name in ("compact_boundary", "isCompactSummary") if name.encode() in raw), None)


def _codex_state(raw: bytes) -> str | None:
    return next(
        (name for name in ("session_meta", "turn_context", "token_count") if name.encode() in raw), None
    )


def _no_state(_raw: bytes) -> str | None:
    return None


STATES: Final[dict[str, Callable[[bytes], str | None]]] = {
    "claude-code": _claude_state,
    "codex": _codex_state,
    "pi": _no_state,
}
"""The dialects whose files can be read so. The function names what a line sets; the last line that sets it counts."""


@dataclass(frozen=True, slots=True)
class Added:
    """Lines that were added to a file.

    Attributes:
        imported: The result of reading a part of the file.
        entries: The entries that the added lines gave.
        status: The status of the file when it was read.
    """

    imported: Imported
    entries: list[ImportedEntry]
    status: FileStatus


@dataclass(slots=True)
class Tail:
    """The end of what was read of a file.

    Attributes:
        path: The file.
        dialect: Its format.
        beside: The data from files beside it.
        identity: Its device and inode.
        offset: The end of the last line that was read, in bytes.
        count: The number of lines before it.
        window: The last lines before it, with their numbers.
        state: Lines before the window that set something, by what they set.
        first: The first lines of the file.
        ending: The last bytes before `offset`.
    """

    path: str
    dialect: str
    beside: dict[str, Any]
    identity: tuple[int, int] = (0, 0)
    offset: int = 0
    count: int = 0
    window: deque[tuple[int, bytes]] = field(default_factory=deque)
    state: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    first: list[tuple[int, bytes]] = field(default_factory=list)
    ending: bytes = b""
    _window_bytes: int = 0

    def read_to(self, end: int) -> None:
        """Take the lines up to an offset without converting them. Raises `OSError`."""
        with _opened(self.path) as file:
            status = os.fstat(file.fileno())
            self.identity = status.st_dev, status.st_ino
            rest = b""
            while self.offset + len(rest) < end:
                block = file.read(min(_BLOCK, end - self.offset - len(rest)))
                if not block:
                    break
                whole, newline, rest = (rest + block).rpartition(b"\n")
                self._take(whole + newline)

    def read_added(self) -> Added | None:
        """Read and convert what was added, and go on behind it.

        Returns:
            None if the whole file must be read.

        Raises:
            OSError: The file cannot be read.
        """
        with _opened(self.path) as file:
            before = os.fstat(file.fileno())
            size = before.st_size - self.offset
            if (before.st_dev, before.st_ino) != self.identity or not 0 <= size <= MAX_ADDED_BYTES:
                return None
            if os.pread(file.fileno(), len(self.ending), self.offset - len(self.ending)) != self.ending:
                return None
            data = os.pread(file.fileno(), size, self.offset)
        data = data[: data.rfind(b"\n") + 1]
        status = FileStatus.of(before)
        modified = clock.iso(status.modified_ns)
        former = self._read(modified)
        self._take(data, trim=False)
        imported = self._read(modified)
        self._trim()
        there = {it.id for it in former.entries}
        entries = [it for it in imported.entries if it.id not in there]
        if imported.report.problem_count > former.report.problem_count or _is_doubtful(entries):
            return None
        return Added(imported, entries, status)

    def _take(self, data: bytes, *, trim: bool = True) -> None:
        """Take whole lines."""
        if not data:
            return
        self.offset += len(data)
        self.ending = (self.ending + data)[-_ENDING:]
        state = STATES[self.dialect]
        for raw in data[:-1].split(b"\n"):
            self.count += 1
            line = self.count, raw
            if self.count <= FIRST_LINES:
                self.first.append(line)
            elif (name := state(raw)) is not None and len(raw) <= MAX_STATE_LINE:
                self.state[name] = line
            self.window.append(line)
            self._window_bytes += len(raw)
            if trim:
                self._trim()

    def _trim(self) -> None:
        while len(self.window) > 1 and self._window_bytes > WINDOW_BYTES:
            self._window_bytes -= len(self.window.popleft()[1])

    def _read(self, modified: str) -> Imported:
        lines = {**dict(self.first), **dict(self.state.values()), **dict(self.window)}
        data = b"".join(_padded(sorted(lines.items())))
        name = self.path.rpartition("/")[2]
        return known.DIALECTS[self.dialect].read(
            Source(name=name, data=data, modified=modified, growing=True, beside=self.beside)
        )


def tail_of(path: str, dialect: str, state: SourceState) -> Tail | None:
    """Return the tail of a file that was read whole; None if the file was replaced meanwhile.

    Args:
        path: The file.
        dialect: Its format, one of `STATES`.
        state: Its state when it was read.

    Raises:
        OSError: The file cannot be read.
    """
    tail = Tail(path, dialect, companions(path, dialect, Titles()))
    tail.read_to(state.consumed_bytes)
    is_same = (
        tail.identity == (state.status.device, state.status.inode) and tail.offset == state.consumed_bytes
    )
    return tail if is_same else None


def fits(entries: Iterable[ImportedEntry], leaf: str | None, has: Callable[[str], bool]) -> bool:
    """Return whether new entries can be appended to a session: it has their parents, and the leaf.

    Args:
        entries: The new entries.
        leaf: The leaf of the source.
        has: Returns whether the session has an entry.
    """
    made: set[str] = set()
    for it in entries:
        if it.parent_id is not None and it.parent_id not in made and not has(it.parent_id):
            return False
        if it.parent_id is None:
            return False  # a second root may be an entry whose parent is before the window
        made.add(it.id)
    return leaf is None or leaf in made or has(leaf)


def _is_doubtful(entries: Iterable[ImportedEntry]) -> bool:
    return any(mark in it.line for it in entries for mark in _DOUBTFUL)


def _padded(lines: Iterable[tuple[int, bytes]]) -> Iterator[bytes]:
    """Yield lines with empty ones between them, so that each has its number."""
    written = 0
    for number, raw in lines:
        yield b"\n" * (number - written - 1)
        yield raw + b"\n"
        written = number


def _opened(path: str) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW), "rb")
