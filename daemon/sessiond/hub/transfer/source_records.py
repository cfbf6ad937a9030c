"""The records of imported source files: the state in which each was read, and the outcome of its import.

The database is a cache. If it is missing or damaged, files are read again, and nothing else differs. Its methods block
and may be called on any thread.
"""

import os
import sqlite3
import zlib
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
CREATE TABLE IF NOT EXISTS readers(
    path BLOB PRIMARY KEY,         -- the bytes of the file's absolute path
    digest TEXT NOT NULL,          -- the digest of the bytes of the file that were read
    state BLOB NOT NULL            -- the state of its reader behind them, compressed
);
PRAGMA user_version = 1;
COMMIT;
"""


MAX_READERS: Final = 64
"""Limit of the states of readers. The oldest ones are deleted; these files are read whole when they are written."""
MAX_READER_BYTES: Final = 32 * 1024 * 1024
"""Limit of the compressed state of one reader, in bytes."""


class SourceRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One source file: the state in which it was read, and the outcome.

    Exactly one of the outcomes is not None; both are set if the file was refused after an import.

    Attributes:
        importer: The version of the code that read it.
        state: The state of the file.
        log: The ref of the session's log, with its status in `log_status`.
        log_status: The status of the log after the import.
        session: The outcome for an unchanged file, if the file was imported.
        skipped: Why the file was refused when it was read last; None if it was not.
        blob_bytes: The size of the blobs that the log names, as of the last time that the file was read whole.
        version: The version of the program that wrote the file, if it names it.
        is_gone: Whether the file does not exist any more, and its session records that.
        cwd: The folder that the file names for its session; empty if it names none.
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
    cwd: str = ""


_NONE: Final[Mapping[str, bytes]] = {}
_decode = msgspec.json.Decoder(SourceRecord).decode


class SourceRecords:
    """The records in a database file; `path` is None for a temporary file."""

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
        return self._records.read(lambda connection: records_below(connection, folders), {})

    def paths_of(self, session_id: str) -> list[str]:
        """Return the paths of all files that have a session, as far as the format was detected."""

        def work(connection: sqlite3.Connection) -> list[str]:
            mark = b'"sessionId":' + msgspec.json.encode(session_id)
            query = "SELECT path, record FROM sources WHERE format = '' AND instr(record, ?)"
            found = [
                (os.fsdecode(path), _decoded(record)) for path, record in connection.execute(query, [mark])
            ]
            return [
                path
                for path, record in found
                if record is not None
                and record.session is not None
                and record.session.session_id == session_id
            ]

        return self._records.read(work, [])

    def delete_below(self, folders: Iterable[str]) -> None:
        """Delete the records of all files below these folders."""

        def work(connection: sqlite3.Connection) -> None:
            for folder in folders:
                for table in ("sources", "readers"):
                    connection.execute(f"DELETE FROM {table} WHERE path > ? AND path < ?", _bounds(folder))

        self._records.change(work)

    def delete(self, paths: Iterable[str]) -> None:
        """Delete the records of files."""
        names = [[os.fsencode(path)] for path in paths]

        def work(connection: sqlite3.Connection) -> None:
            for table in ("sources", "readers"):
                connection.executemany(f"DELETE FROM {table} WHERE path = ?", names)

        self._records.change(work)

    def reader(self, path: str, record: SourceRecord) -> bytes | None:
        """Return the state of the reader of a file after the lines of a record; None if it is not known."""

        def work(connection: sqlite3.Connection) -> bytes | None:
            row = connection.execute(
                "SELECT state FROM readers WHERE path = ? AND digest = ?",
                [os.fsencode(path), record.state.digest],
            ).fetchone()
            return None if row is None else zlib.decompress(row[0])

        return self._records.read(work, None)

    def put(
        self, records: Mapping[str, SourceRecord], format: str | None, readers: Mapping[str, bytes] = _NONE
    ) -> None:
        """Store the records of files by their absolute paths, in place of earlier ones.

        Args:
            records: The records.
            format: The format that the import names; None if it is detected.
            readers: The states of the readers of some of the files.
        """
        states = [
            (os.fsencode(path), records[path].state.digest, zlib.compress(state, 1))
            for path, state in readers.items()
            if path in records
        ]
        rows = [
            (os.fsencode(path), format or "", msgspec.json.encode(record)) for path, record in records.items()
        ]

        def work(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "INSERT OR REPLACE INTO sources(path, format, record) VALUES(?, ?, ?)", rows
            )
            newest = connection.execute("SELECT max(number) FROM sources").fetchone()[0]
            connection.execute("DELETE FROM sources WHERE number <= ?", [newest - MAX_RECORDS])
            connection.executemany(
                "INSERT OR REPLACE INTO readers(path, digest, state) VALUES(?, ?, ?)",
                [state for state in states if len(state[2]) <= MAX_READER_BYTES],
            )
            connection.execute(
                "DELETE FROM readers WHERE rowid NOT IN (SELECT rowid FROM readers ORDER BY rowid DESC LIMIT ?)",
                [MAX_READERS],
            )

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
