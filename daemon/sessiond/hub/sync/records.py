"""The records of a sync: the positions of logs as of their last change, and the positions of purged sessions.

Positions of logs are a cache. Those of purged sessions say that a session was deleted permanently, so that it does not
come back from another machine; without them it may. The methods block and may be called on any thread.
"""

import os
import sqlite3
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

import msgspec

from sessiond.hub.database_file import OptionalRecords
from sessiond.session.union.log_position import LogPosition

MAX_PURGED: Final = 100_000
"""Limit of purged sessions that are remembered. The oldest are forgotten first."""

_TABLES: Final = """
BEGIN;
CREATE TABLE IF NOT EXISTS positions(
    ref BLOB PRIMARY KEY,          -- the bytes of the log's ref
    stamp TEXT NOT NULL,           -- the stamp of the log when it was read
    position BLOB NOT NULL         -- JSON: a `LogPosition`
);
CREATE TABLE IF NOT EXISTS purged(
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL UNIQUE,
    position BLOB NOT NULL
);
PRAGMA user_version = 1;
COMMIT;
"""


class RecordedPosition(NamedTuple):
    """The position of a log, and the stamp of the log that it belongs to."""

    stamp: str
    position: LogPosition


_decode = msgspec.json.Decoder(LogPosition).decode


class SyncRecords:
    """The records in a database file; `path` is None for a temporary file."""

    def __init__(self, path: str | None) -> None:
        self._records = OptionalRecords(path, _TABLES, name="the records of syncs", synchronous="FULL")

    def positions(self) -> dict[str, RecordedPosition]:
        """Return the recorded positions by ref."""

        def work(connection: sqlite3.Connection) -> dict[str, RecordedPosition]:
            found = {}
            for ref, stamp, data in connection.execute("SELECT ref, stamp, position FROM positions"):
                if (position := _decoded(data)) is not None:
                    found[os.fsdecode(ref)] = RecordedPosition(stamp, position)
            return found

        return self._records.read(work, {})

    def has_positions(self) -> bool:
        """Return whether any position was ever recorded, so that other stores may know the sessions of this one."""

        def work(connection: sqlite3.Connection) -> bool:
            return connection.execute("SELECT 1 FROM positions LIMIT 1").fetchone() is not None

        return self._records.read(work, default=False)

    def put_positions(self, new: Mapping[str, RecordedPosition], gone: Collection[str]) -> None:
        """Store positions by ref in place of earlier ones, and delete those of `gone`."""
        rows = [
            (os.fsencode(ref), position.stamp, msgspec.json.encode(position.position))
            for ref, position in new.items()
        ]

        def work(connection: sqlite3.Connection) -> None:
            connection.executemany("INSERT OR REPLACE INTO positions VALUES(?, ?, ?)", rows)
            connection.executemany(
                "DELETE FROM positions WHERE ref = ?", [[os.fsencode(ref)] for ref in gone]
            )

        if new or gone:
            self._records.change(work)

    def purged(self) -> list[LogPosition]:
        """Return the positions of purged sessions."""

        def work(connection: sqlite3.Connection) -> list[LogPosition]:
            rows = connection.execute("SELECT position FROM purged")
            return [position for (data,) in rows if (position := _decoded(data)) is not None]

        return self._records.read(work, [])

    def put_purged(self, position: LogPosition) -> None:
        """Record that a session was purged."""

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT OR REPLACE INTO purged(session_id, position) VALUES(?, ?)",
                [position.session_id, msgspec.json.encode(position)],
            )
            newest = connection.execute("SELECT max(number) FROM purged").fetchone()[0]
            connection.execute("DELETE FROM purged WHERE number <= ?", [newest - MAX_PURGED])

        self._records.change(work)

    def close(self) -> None:
        """Close the database file. Later calls raise `Draining`."""
        self._records.close()


def _decoded(data: bytes) -> LogPosition | None:
    """Return a position; None if another version of sessiond wrote it."""
    try:
        return _decode(data)
    except msgspec.DecodeError:
        return None
