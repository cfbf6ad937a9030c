"""The progress of reading a file part by part, stored from time to time, so that another process continues there.

The record is a file of the spool beside the files with the entries. It is written after these are synced, so what it
describes is there even after a power failure. All functions block.
"""

import os
from collections import Counter
from pathlib import Path
from typing import Final

import msgspec

from sessiond.hub.transfer.spool import Spool
from sessiond.session.dialects.import_builder import BuilderOutline, ImportReport, SourceProblem
from sessiond.store.files.folders import temporary

MIN_BYTES: Final = 64 * 1024 * 1024
"""Minimum bytes between two records."""
STATES: Final = 4
"""Minimum of the bytes between two records, as a multiple of the state of the reader, which each record has."""


class SpooledText(msgspec.Struct, frozen=True, array_like=True):
    """A blob of the spool: its hash, the name of its file, and its size in bytes."""

    digest: str
    name: str
    size: int


class WrittenEntries(msgspec.Struct, frozen=True):
    """The entries in the files of the spool.

    Attributes:
        tree_bytes: The size of the file with the tree.
        beside_bytes: The size of the file with the entries beside it.
        tree: The number of entries of the tree.
        is_answered: Whether one is a message of an assistant.
        last: The id of the last entry of the tree.
        named: The hashes of the blobs that the entries name.
    """

    tree_bytes: int
    beside_bytes: int
    tree: int
    is_answered: bool
    last: str | None
    named: set[str]


class SeenNames(msgspec.Struct, frozen=True):
    """The names of files beside a source that its entries have, see `AttachmentReader`.

    Attributes:
        marks: The marks.
        files: The folder and the names of each file, the entry that names it, and its time.
    """

    marks: set[str]
    files: list[tuple[str, tuple[str, ...], str, str]]


class PlainReport(msgspec.Struct, frozen=True):
    """An `ImportReport` as plain data."""

    converted: dict[str, int]
    preserved: dict[str, int]
    problems: list[tuple[int, str]]
    problem_count: int

    @classmethod
    def of(cls, report: ImportReport) -> "PlainReport":
        """Return a report as plain data."""
        problems = [(problem.line, problem.message) for problem in report.problems]
        return cls(dict(report.converted), dict(report.preserved), problems, report.problem_count)

    def report(self) -> ImportReport:
        """Return the report."""
        problems = [SourceProblem(line, message) for line, message in self.problems]
        return ImportReport(Counter(self.converted), Counter(self.preserved), problems, self.problem_count)


class ReadingProgress(msgspec.Struct, frozen=True):
    """A part of a file that was read.

    Attributes:
        importer: The version of the importer.
        dialect: The format of the file.
        companions: The digest of the data from files beside it, and of the inherited lines.
        offset: The offset of the first byte that was not read.
        newlines: The number of newlines before it.
        digest: The digest of the bytes before it.
        reader: The state of the reader.
        outline: The state of its builder beside that.
        report: The report of the reader.
        problems: The problems of texts.
        entries: The entries.
        texts: The texts.
        seen: The names of files beside the source.
    """

    importer: str
    dialect: str
    companions: str
    offset: int
    newlines: int
    digest: str
    reader: bytes
    outline: BuilderOutline
    report: PlainReport
    problems: PlainReport
    entries: WrittenEntries
    texts: list[SpooledText]
    seen: SeenNames


def load(spool: Spool) -> ReadingProgress | None:
    """Return the record of a spool; None if there is none, or none that this version can read."""
    try:
        return msgspec.msgpack.decode(_path(spool).read_bytes(), type=ReadingProgress)
    except (OSError, msgspec.DecodeError):
        return None


def store(spool: Spool, progress: ReadingProgress) -> None:
    """Store a record in place of the former one. Raises `OSError`."""
    path = _path(spool)
    made = temporary(path)
    with open(made, "xb") as file:
        file.write(msgspec.msgpack.encode(progress))
        file.flush()
        os.fsync(file.fileno())
    made.replace(path)


def is_stored(spool: Spool) -> bool:
    """Return whether a spool has a record."""
    return _path(spool).exists()


def _path(spool: Spool) -> Path:
    return spool.named("progress")
