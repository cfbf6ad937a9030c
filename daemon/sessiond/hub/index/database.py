"""The database file of the index: opened, verified, and rebuilt if it cannot be trusted.

Rebuilding loses nothing, because the index is derived from the logs. Used on one thread.
"""

import logging
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from sessiond.hub.index import blob_uses, packed_texts, text_tables, usage_table, usage_totals
from sessiond.hub.index.packed_texts import PackedTexts
from sessiond.hub.index.seal import Verification, remove_seal, write_seal

log = logging.getLogger(__name__)

VERSION: Final = 19
"""Incremented with every change of the tables or of their content. A file with another version is rebuilt."""
_APPLICATION_ID: Final = 0x5E551D
_FILE_SUFFIXES: Final = ("", "-wal", "-shm", "-journal", "-seal")
_CHECKPOINT_PAGES: Final = 1_000
_TEMPORARY: Final = ""
"""SQLite's name for a nameless temporary file, used if the state folder cannot hold a file."""

_TABLES: Final = """
CREATE TABLE files(
    id INTEGER PRIMARY KEY,
    ref BLOB NOT NULL UNIQUE,        -- as the store has it; bytes, since a file name need not be text
    identity TEXT NOT NULL,          -- device and inode
    stamp TEXT NOT NULL,             -- identity, size and times for which all else in this row holds; '' for none
    head BLOB NOT NULL,              -- hash of the first 4 KiB
    draft INTEGER,                   -- 0, or 1 for a draft; null: the file holds no session
    provisional INTEGER NOT NULL,    -- 1 if only the beginning and the end of the file were read
    session_id TEXT NOT NULL,
    cwd TEXT NOT NULL,
    updated TEXT NOT NULL,
    created TEXT NOT NULL,
    title TEXT NOT NULL,             -- case-folded, the key of the order by title
    filter_text TEXT NOT NULL,       -- case-folded, the text that the query of a list searches
    tags TEXT NOT NULL,              -- a JSON array
    agent TEXT NOT NULL,             -- the agent that the session was read from; '' for none
    automated INTEGER NOT NULL,      -- 1 if a program gave the prompts
    origin_id TEXT NOT NULL,         -- the id of that session in the agent; '' for none, and for a sub-agent's
    lineage_root TEXT NOT NULL,      -- the session that was handed over first; its own id for one that never was
    size INTEGER NOT NULL,           -- bytes of the log's file
    info BLOB NOT NULL,              -- the list row, as JSON
    off_path BLOB NOT NULL,          -- rows that are not on the path to the leaf: [first, last] in JSON
    indexed_bytes INTEGER NOT NULL,  -- bytes whose texts are in the tables below
    indexed_rows INTEGER NOT NULL,   -- rows (seqs) in these bytes
    tail BLOB NOT NULL,              -- hash of the last of these bytes
    is_indexed INTEGER NOT NULL,     -- 1 if all texts are indexed, as of the stamp
    checksum INTEGER NOT NULL        -- of the columns above, without the last four
);
CREATE INDEX files_updated ON files(draft, updated, ref);
CREATE INDEX files_created ON files(draft, created, ref);
CREATE INDEX files_title ON files(draft, title, ref);
CREATE INDEX files_session ON files(session_id);
CREATE INDEX files_origin ON files(origin_id) WHERE origin_id != '';
CREATE INDEX files_lineage ON files(lineage_root, updated);
CREATE INDEX files_waiting ON files(updated) WHERE is_indexed = 0 AND draft IS NOT NULL;
CREATE INDEX files_cwd ON files(cwd);
CREATE TABLE projects(
    cwd TEXT PRIMARY KEY,            -- a folder of sessions
    project TEXT NOT NULL,           -- the folder of its project
    identity TEXT NOT NULL           -- what the repository of the project keeps when it is moved; '' for none
) WITHOUT ROWID;
CREATE TABLE labels(file INTEGER NOT NULL, entry_id TEXT NOT NULL, label TEXT NOT NULL);
CREATE INDEX labels_file ON labels(file);
CREATE INDEX labels_label ON labels(label);
CREATE TABLE entries(
    id INTEGER PRIMARY KEY,
    file INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    entry_id TEXT NOT NULL,
    type TEXT NOT NULL,
    role TEXT,
    at INTEGER,                      -- milliseconds since 1970
    target_id TEXT
);
CREATE INDEX entries_file ON entries(file);
CREATE TABLE erasures(id INTEGER PRIMARY KEY);  -- a row for each request to erase what was removed (`erasure`)
"""


class Database:
    """The connection to the index, and its recovery. With `path` None, the file is temporary."""

    def __init__(self, path: str | None) -> None:
        self._path = path or _TEMPORARY
        self._connection: sqlite3.Connection | None = None
        self._texts: PackedTexts | None = None
        self._inode: int | None = None
        self._verification: Verification | None = None

    @property
    def is_open(self) -> bool:
        """Whether the connection is open."""
        return self._connection is not None

    @property
    def connection(self) -> sqlite3.Connection:
        """The open connection, in autocommit mode."""
        if self._connection is None:
            raise RuntimeError("the index is not open")
        return self._connection

    @property
    def texts(self) -> PackedTexts:
        """The texts of entries, by their numbers."""
        if self._texts is None:
            self._texts = PackedTexts(self.connection)
        return self._texts

    def open(self) -> None:
        """Open the file if it can be trusted, otherwise create a new one; if that fails, a temporary one."""
        if self._path:
            for attempt in (self._open_existing, self._create):
                try:
                    attempt()
                    return
                except (sqlite3.Error, OSError, ValueError) as error:  # ValueError: an undecodable error text
                    self.close()
                    log.warning("the index %s cannot be used: %s", self._path, error)
            log.warning("the index is kept in a temporary file until the daemon ends")
        self._connect(_TEMPORARY)
        self._create_tables()

    def is_in_place(self) -> bool:
        """Whether the file is open, and is still the file at its path."""
        if self._inode is None:
            return self.is_open
        try:
            return os.stat(self._path).st_ino == self._inode  # noqa: PTH116 - called before every question
        except OSError:
            return False

    def verify(self) -> None:
        """Wait until the file is verified against its seal. Raises `sqlite3.DatabaseError` if it has changed."""
        verification, self._verification = self._verification, None
        if verification is not None:
            verification.join()
            if verification.has_changed:
                raise sqlite3.DatabaseError("it changed since it was closed")
            self.connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")

    def verify_if_known(self) -> None:
        """Verify as `verify` does, but only if the result is available without waiting."""
        if self._verification is not None and not self._verification.is_alive():
            self.verify()

    def delete(self) -> None:
        """Close and delete the file, because it is damaged or was changed by another program."""
        self.close()
        if self._path:
            for suffix in _FILE_SUFFIXES:
                with suppress(OSError):
                    os.unlink(self._path + suffix)  # noqa: PTH108 - a name with a suffix

    def close(self) -> None:
        """Close the connection without a seal."""
        connection, self._connection, self._texts, self._inode = self._connection, None, None, None
        verification, self._verification = self._verification, None
        if verification is not None:
            verification.join()
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    def close_and_seal(self) -> None:
        """Close the file and seal it, so that the next open can detect changes."""
        verified = True
        try:
            self.verify()
        except sqlite3.Error:
            verified = False
        is_sealable = verified and bool(self._path) and self.is_open and self.is_in_place()
        self.close()
        if is_sealable and not os.path.exists(self._path + "-wal"):  # noqa: PTH110
            write_seal(self._path)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run the block in a transaction. If it raises, all its changes are rolled back."""
        connection = self.connection
        connection.execute("BEGIN")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise

    def write_anew(self) -> None:
        """Write the whole file anew, so that neither it nor its WAL has bytes of deleted rows.

        Raises `sqlite3.OperationalError` if the disk has no space for a copy of the file, or another program reads it.
        """
        self.verify()
        self.connection.execute("VACUUM")
        if self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            raise sqlite3.OperationalError("another program reads it")

    def _open_existing(self) -> None:
        if not os.path.lexists(self._path):
            self._create()
            return
        if os.path.islink(self._path):  # noqa: PTH114
            raise ValueError("it is a symbolic link")  # SQLite would write to its target
        seal = remove_seal(self._path)
        connection = self._connect(self._path)
        mark, version = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        if (mark, version) != (_APPLICATION_ID, VERSION):
            self.close()
            self._create()
            return
        check_result = connection.execute("PRAGMA integrity_check(files)").fetchone()[0]
        if check_result != "ok":
            raise sqlite3.DatabaseError(f"it is damaged: {check_result}")
        if seal is not None:
            connection.execute("PRAGMA wal_autocheckpoint = 0")  # writes go to the WAL only, not to the file
            self._verification = Verification(self._path, seal)
        self._record_inode()

    def _create(self) -> None:
        self.delete()
        self._connect(self._path)
        self._create_tables()
        self._record_inode()

    def _connect(self, path: str) -> sqlite3.Connection:
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection = connection
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA cell_size_check = ON")
        return connection

    def _create_tables(self) -> None:
        self.connection.executescript(
            f"BEGIN; {_TABLES} {packed_texts.TABLES} {text_tables.TABLES} {usage_table.TABLES} {usage_totals.TABLES}"
            f" {blob_uses.TABLES}"
            f" PRAGMA application_id = {_APPLICATION_ID}; PRAGMA user_version = {VERSION}; COMMIT;"
        )

    def _record_inode(self) -> None:
        self._inode = os.stat(self._path).st_ino  # noqa: PTH116


def row_checksum(values: Iterable[object]) -> int:
    """Return the checksum of a row. SQLite itself does not detect damage inside of values."""
    total = 0
    for value in values:
        data = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
        total = zlib.crc32(data, zlib.crc32(b"\x1f", total))
    return total
