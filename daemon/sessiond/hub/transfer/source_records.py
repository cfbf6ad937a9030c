"""The records of imported source files: the state in which each was read, and the outcome of its import.

The database is a cache. If it is missing or damaged, files are read again, and nothing else differs. Its methods block
and may be called on any thread.
"""

import os
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from sessiond.hub.database_file import OptionalRecords
from sessiond.hub.transfer.source_state import FileStatus, SourceState
from sessiond.protocol import types as t

MAX_RECORDS: Final = 100_000
"""Limit of records. The oldest ones are deleted."""

_TABLES: Final = """
BEGIN;
CREATE TABLE IF NOT EXISTS sources(
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    path BLOB NOT NULL,            -- the bytes of the file's absolute path
    format TEXT NOT NULL,          -- the format that the import named; empty: it was detected
    record BLOB NOT NULL,          -- JSON: a `SourceRecord`
    UNIQUE(path, format)
);
PRAGMA user_version = 1;
COMMIT;
"""


class SourceRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One source file: the state in which it was read, and the outcome. Exactly one of the outcomes is not None.

    Attributes:
        importer: The version of the code that read it.
        state: The state of the file.
        log: The ref of the session's log, with its status in `log_status`.
        log_status: The status of the log after the import.
        session: The outcome for an unchanged file, if the file was imported.
        skipped: The outcome if the file is not a session that can be imported.
        blob_bytes: The size of the blobs that the log names, as of the last time that the file was read whole.
        version: The version of the program that wrote the file, if it names it.
        is_gone: Whether the file was deleted, and its session says so.
    """

    importer: str
    state: SourceState
    log: str | None = None
    log_status: FileStatus | None = None
    session: t.ImportedSession | None = None
    skipped: t.SkippedFile | None = None
    is_gone: bool = False
    blob_bytes: int = 0
    version: str | None = None


_decode = msgspec.json.Decoder(SourceRecord).decode


class SourceRecords:
    """The records in a database file; `path` None: in a temporary file."""

    def __init__(self, path: str | None) -> None:
        self._records = OptionalRecords(path, _TABLES, name="the records of imports", synchronous="NORMAL")

    def find(self, paths: Iterable[str], format: str | None) -> dict[str, SourceRecord]:
        """Return the records of those of the files that have one.

        Args:
            paths: The absolute paths of the files.
            format: The format that the import names; None if it is detected.
        """

        def work(connection: sqlite3.Connection) -> dict[str, SourceRecord]:
            found = {}
            for path in paths:
                row = connection.execute(
                    "SELECT record FROM sources WHERE path = ? AND format = ?",
                    [os.fsencode(path), format or ""],
                ).fetchone()
                record = None if row is None else _decoded(row[0])
                if record is not None:
                    found[path] = record
            return found

        return self._records.read(work, {})

    def below(self, folders: Iterable[str]) -> dict[str, SourceRecord]:
        """Return the records of all files below these folders for which the format was detected, by path."""
        return self._records.read(lambda it: records_below(it, folders), {})

    def delete_below(self, folders: Iterable[str]) -> None:
        """Delete the records of all files below these folders."""

        def work(connection: sqlite3.Connection) -> None:
            for folder in folders:
                connection.execute("DELETE FROM sources WHERE path > ? AND path < ?", _bounds(folder))

        self._records.change(work)

    def put(self, records: Mapping[str, SourceRecord], format: str | None) -> None:
        """Store the records of files by their absolute paths, in place of earlier ones. See `find` for `format`."""
        rows = [
            (os.fsencode(path), format or "", msgspec.json.encode(record)) for path, record in records.items()
        ]

        def work(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "INSERT OR REPLACE INTO sources(path, format, record) VALUES(?, ?, ?)", rows
            )
            newest = connection.execute("SELECT max(number) FROM sources").fetchone()[0]
            connection.execute("DELETE FROM sources WHERE number <= ?", [newest - MAX_RECORDS])

        if rows:
            self._records.change(work)

    def close(self) -> None:
        """Close the database file. Later calls raise `Draining`."""
        self._records.close()


def records_below(connection: sqlite3.Connection, folders: Iterable[str]) -> dict[str, SourceRecord]:
    """Return what `SourceRecords.below` returns, from a connection to the database."""
    found = {}
    for folder in folders:
        for path, data in connection.execute(
            "SELECT path, record FROM sources WHERE path > ? AND path < ? AND format = ''", _bounds(folder)
        ):
            record = _decoded(data)
            if record is not None:
                found[os.fsdecode(path)] = record
    return found


def _bounds(folder: str) -> tuple[bytes, bytes]:
    """Return two texts; the paths below a folder are between them."""
    name = os.fsencode(folder)
    return name + b"/", name + b"0"  # "0" is the character after "/"


def _decoded(data: bytes) -> SourceRecord | None:
    """Return a record; None if another version of sessiond wrote it."""
    try:
        return _decode(data)
    except msgspec.DecodeError:
        return None
