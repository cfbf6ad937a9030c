"""Reads only what was added to a large file that grows.

A reader converts a whole file. For a file of megabytes that would cost too much with each added line. A `Tail` holds
the reader after the lines that were read, and gives it the added lines. The result is that of reading the whole file.
If a line that was added changes the place of an earlier one, there is no result, and the whole file is read (decision
0036). All functions block.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import BinaryIO, Final

from sessiond.agents import known
from sessiond.agents.companions import Companions
from sessiond.hub import clock
from sessiond.hub.transfer.foreign_files import MIN_READER_BYTES
from sessiond.hub.transfer.source_state import FileStatus, SourceState, digest_of_file
from sessiond.session.dialects.import_builder import Imported, ImportedEntry
from sessiond.session.dialects.source import Source, line_of
from sessiond.session.dialects.source_reader import SourceReader

MIN_FILE_BYTES: Final = MIN_READER_BYTES
"""A smaller file is read whole: that takes as long as reading a tail."""
MAX_ADDED_BYTES: Final = 4 * 1024 * 1024
"""If more was added, the whole file is read."""
DIALECTS: Final = frozenset(dialect.name for dialect in known.DIALECTS.values() if dialect.reader is not None)
"""The formats whose files can be read so."""
_ENDING: Final = 4096
"""The number of bytes before the end of the read part that must be unchanged."""


@dataclass(frozen=True, slots=True)
class Added:
    """Lines that were added to a file.

    Attributes:
        imported: The session, with the entries of the added lines only.
        entries: These entries.
        status: The status of the file when it was read.
    """

    imported: Imported
    entries: list[ImportedEntry]
    status: FileStatus


@dataclass(slots=True)
class Tail:
    """The end of the part of a file that was read.

    Attributes:
        path: The file.
        reader: The reader after the lines that were read.
        identity: The device and inode of the file.
        offset: The end of the last line that was read, in bytes.
        count: The number of lines before it.
        ending: The last bytes before `offset`.
    """

    path: str
    reader: SourceReader
    identity: tuple[int, int]
    offset: int
    count: int
    ending: bytes = field(repr=False)

    def read_added(self) -> Added | None:
        """Read and convert the added lines, and continue after them.

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
        lines = [
            line_of(number, raw)
            for number, raw in enumerate(data.split(b"\n")[:-1], self.count + 1)
            if raw.strip()
        ]
        if any(line.value is None for line in lines):
            return None
        self.offset += len(data)
        self.count += data.count(b"\n")
        self.ending = (self.ending + data)[-_ENDING:]
        self.reader.take(lines)
        if self.reader.is_behind:
            return None
        imported = self.reader.result()
        return Added(imported, imported.entries, FileStatus.of(before))


def tail_of(path: str, dialect: str, state: SourceState, reader: bytes) -> Tail | None:
    """Return the tail of a file that was read whole; None if it has other bytes now, or cannot be read on.

    Args:
        path: The file.
        dialect: Its format.
        state: Its state when it was read.
        reader: The state of its reader after the lines that were read.

    Raises:
        OSError: The file cannot be read.
    """
    make = known.DIALECTS[dialect].reader
    if make is None:
        return None
    with _opened(path) as file:
        status, size = os.fstat(file.fileno()), state.consumed_bytes
        digest, count = digest_of_file(file, size)
        if digest != state.digest:
            return None
        ending = os.pread(file.fileno(), min(_ENDING, size), max(0, size - _ENDING))
    if not ending.endswith(b"\n"):
        return None
    source = Source(
        name=path.rpartition("/")[2], data=b"", modified=clock.iso(state.status.modified_ns), growing=True,
        beside=Companions().of(path, dialect),
    )  # fmt: skip
    return Tail(path, make(source, reader), (status.st_dev, status.st_ino), size, count, ending)


def fits(entries: Iterable[ImportedEntry], leaf: str | None, has: Callable[[str], bool]) -> bool:
    """Return whether new entries can be appended to a session: it has their parents, and the leaf.

    Args:
        entries: The new entries.
        leaf: The leaf of the source.
        has: Returns whether the session has an entry.
    """
    made: set[str] = set()
    for entry in entries:
        if entry.parent_id is not None and entry.parent_id not in made and not has(entry.parent_id):
            return False
        made.add(entry.id)
    return leaf is None or leaf in made or has(leaf)


def _opened(path: str) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW), "rb")
