"""Keeps the entries of a source that is being read in two temporary files, and writes the log of a session from them.

The tree of the conversation is written as it is read. The entries beside it get their parents when all are known, so
each of them is in a frame with its place. The log is the header, the origin, the tree, and the entries beside it: the
same bytes that `imported_log.new_log` makes of all entries at once. All functions block.
"""

import fcntl
import os
import shutil
import struct
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

import msgspec

from sessiond.error_text import TemplatedError
from sessiond.hub.transfer.attachments import AttachmentReader
from sessiond.hub.transfer.reading_progress import WrittenEntries
from sessiond.hub.transfer.spool import NEW_FILE
from sessiond.hub.transfer.taken_texts import TakenTexts
from sessiond.session.content import extract_blobs
from sessiond.session.content.blobs import referenced_hashes
from sessiond.session.content.restore_blobs import may_refer_to_blobs, restore_images
from sessiond.session.dialects import imported_log
from sessiond.session.dialects.import_builder import BesideEntry, Imported, ImportedEntry, ImportReport
from sessiond.session.dialects.source import Place
from sessiond.session.tree import lines

_FRAME: Final = struct.Struct("<qqq")
"""Before each entry beside the tree: the number of its line, that of the part of the line, and its size in bytes."""
_NO_PARENT: Final = b'"parentId":null'
_PARENT: Final = b'"parentId":%b'
_WAIT_SECONDS: Final = 5.0
_RETRY_SECONDS: Final = 0.05
"""A process whose daemon was killed ends soon, and until then no other one reads its source."""
_COPIED_BYTES: Final = 1024 * 1024


class NamesOtherBlobs(TemplatedError):
    """Raised for an image that is a blob of another program: only the daemon can find it."""

    sentence = "An image is a blob that the source does not have."


class FiledEntry(ImportedEntry, frozen=True, gc=False):
    """An entry whose line is in a file, and is read when it is asked for."""

    path: str = ""
    offset: int = 0
    length: int = 0

    @property  # type: ignore[misc]  # the field of the base class is empty
    def line(self) -> bytes:
        """The line. Reading it raises `OSError` if the file is gone."""
        with open(self.path, "rb") as file:
            return os.pread(file.fileno(), self.length, self.offset)


def entries_in(path: str, count: int, *, header: bool = False) -> list[ImportedEntry]:
    """Return entries in a file of lines, without their lines in memory: about 250 bytes for each.

    Args:
        path: The file.
        count: The number of entries.
        header: Whether the header of a log comes before them.
    """
    found: list[ImportedEntry] = []
    above: str | None = None
    with open(path, "rb") as file:
        offset = len(file.readline()) if header else 0
        for line in islice(file, count):
            skim = lines.skim(line)
            role = skim.message.role if skim.type == "message" and skim.message is not None else None
            parent = (
                above if skim.parent_id == above else skim.parent_id
            )  # most entries are below the one before
            above = skim.id
            kind, by = sys.intern(skim.type), None if role is None else sys.intern(role)
            found.append(FiledEntry(skim.id, parent, kind, b"", by, path, offset, len(line) - 1))
            offset += len(line)
    return found


class _Framed(NamedTuple):
    """An entry beside the tree: the place of its line, its offset in the file, and its size in bytes."""

    place: Place
    offset: int
    size: int


@dataclass(slots=True)
class EntryCounts:
    """The entries that were added.

    Attributes:
        tree: The number of those of the tree.
        beside: The number of the others.
        is_answered: Whether one is a message of an assistant.
    """

    tree: int = 0
    beside: int = 0
    is_answered: bool = False


class EntryFiles:
    """The entries of one source.

    Args:
        texts: The texts that were taken out of the lines of the source. It receives further ones.
        attachments: The files beside the source.
        dialect: The format of the source.
    """

    def __init__(self, texts: TakenTexts, attachments: AttachmentReader, dialect: str) -> None:
        self.counts = EntryCounts()
        self.named: set[str] = set()
        """The hashes of the blobs that the entries name."""
        self._texts = texts
        self._attachments = attachments
        self._dialect = dialect
        self._tree = _opened(texts.spool.named("tree"))
        self._beside = _opened(texts.spool.named("beside"))
        self._framed: list[_Framed] = []
        self._last: str | None = None

    def written(self) -> WrittenEntries:
        """Sync the files, and return what is in them. Raises `OSError`."""
        for file in (self._tree, self._beside):
            file.flush()
            os.fsync(file.fileno())
        return WrittenEntries(
            self._tree.tell(), self._beside.tell(), self.counts.tree, self.counts.is_answered, self._last, self.named
        )  # fmt: skip

    def restore(self, written: WrittenEntries) -> bool:
        """Continue after the entries that another process has written. Returns whether the files have them."""
        size = written.beside_bytes
        if self._tree.seek(0, os.SEEK_END) < written.tree_bytes or self._beside.seek(0, os.SEEK_END) < size:
            return False
        self._tree.seek(written.tree_bytes)
        self._tree.truncate()
        offset = 0
        while offset < size:
            line, part, length = _FRAME.unpack(os.pread(self._beside.fileno(), _FRAME.size, offset))
            offset += _FRAME.size
            self._framed.append(_Framed((line, part), offset, length))
            offset += length
        self._beside.seek(size)
        self._beside.truncate()
        self.counts = EntryCounts(written.tree, len(self._framed), written.is_answered)
        self._last, self.named = written.last, written.named
        return True

    def begin(self) -> None:
        """Begin without entries, whatever another process has written."""
        for file in (self._tree, self._beside):
            file.seek(0)
            file.truncate()
        self._framed, self.counts = [], EntryCounts()
        self._last, self.named = None, set()

    def __enter__(self) -> "EntryFiles":
        """Return the entries, whose files are closed at the end of the block."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the files."""
        self._tree.close()
        self._beside.close()

    def add(self, tree: Iterable[ImportedEntry], beside: Iterable[BesideEntry], report: ImportReport) -> None:
        """Add entries: those of the tree, parents before children, and those beside it.

        The report receives the problems of texts.

        Raises:
            NamesOtherBlobs: An image is a blob that the source does not have.
        """
        for entry in tree:
            complete = self._texts.complete(entry, self._dialect, report)
            self._attachments.see(complete)
            self._tree.write(self._stored(complete) + b"\n")
            self._last = entry.id
            self.counts.tree += 1
            self.counts.is_answered |= complete.role == "assistant"
        for found in beside:
            line = self._stored(self._texts.complete(found.entry(None), self._dialect, report))
            offset = self._beside.tell() + _FRAME.size
            self._framed.append(_Framed(found.place, offset, len(line)))
            self._beside.write(_FRAME.pack(*found.place, len(line)) + line)
            self.counts.beside += 1

    def write_log(
        self, imported: Imported, session_id: str, cwd: str, report: ImportReport, *, title_space: bool
    ) -> str:
        """Write the log of a new session into a new file of the spool, and return its path.

        Args:
            imported: The session, with its origin as the only entry.
            session_id: The id of the new session.
            cwd: Its folder.
            report: Receives the problems of texts.
            title_space: Whether its header has space for a later title.
        """
        [origin] = imported.entries
        first = self._stored(self._texts.complete(origin, self._dialect, report))
        path = self._texts.spool.path()
        with open(os.open(path, NEW_FILE, 0o600), "wb") as file:
            file.write(imported_log.header(imported, session_id, cwd, title_space=title_space) + b"\n")
            file.write(first + b"\n")
            self._tree.seek(0)
            shutil.copyfileobj(self._tree, file, _COPIED_BYTES)  # after which it is at its end again
            last = self._last or origin.id
            above = origin.id
            for line in self._in_order():
                name = lines.skim(line).id
                file.write(line.replace(_NO_PARENT, _PARENT % msgspec.json.encode(above), 1) + b"\n")
                last = above = str(name)
            for entry in self._attachments.entries(imported):
                file.write(self._stored(entry) + b"\n")
                last = entry.id
                self.counts.beside += 1
            if last != imported.leaf:
                count = 1 + self.counts.tree + self.counts.beside
                file.write(imported_log.leaf_line(imported, count) + b"\n")
        return str(path)

    def _in_order(self) -> Iterator[bytes]:
        """Yield the entries beside the tree in the order of their lines."""
        self._beside.flush()
        for framed in sorted(self._framed, key=lambda framed: framed.place):
            yield os.pread(self._beside.fileno(), framed.size, framed.offset)

    def _stored(self, entry: ImportedEntry) -> bytes:
        """Return the line of an entry as a log has it, and note the blobs that it names."""
        line = imported_log.with_usage(entry, self._dialect)
        if may_refer_to_blobs(line):  # a text may name any blob
            line = restore_images(line, self._own_image)
        if extract_blobs.may_need_extraction(line, images=False):
            found = extract_blobs.extract(line, images=False)
            line = found.draft
            self._texts.keep(found.blobs.values())
        self.named.update(referenced_hashes(line))
        return line

    def _own_image(self, digest: str) -> None:
        """Find no image: those of the source stay in their blobs. Raises `NamesOtherBlobs` for another one."""
        attachments = self._attachments
        if not any(digest in own for own in (self._texts.files, attachments.files, attachments.stored)):
            raise NamesOtherBlobs


def _opened(path: Path) -> BinaryIO:
    """Open a file of entries for this process alone, new or as a process that was ended has left it.

    Raises:
        BlockingIOError: Another process reads the same source.
    """
    path.parent.mkdir(0o700, parents=True, exist_ok=True)
    file = os.fdopen(os.open(path, NEW_FILE & ~os.O_EXCL, 0o600), "r+b")
    until = time.monotonic() + _WAIT_SECONDS
    try:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > until:
                    raise
                time.sleep(_RETRY_SECONDS)
            else:
                return file
    except BaseException:
        file.close()
        raise
