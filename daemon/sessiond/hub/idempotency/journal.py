"""The journal of commands: the intents and results of requests with a `commandId`.

It records only requests that write no line which could record them. It is used on one thread. A record is durable
when the method returns.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from sessiond.hub.database_file import DatabaseFile, in_transaction
from sessiond.session.tree.command_ids import CommandRecord

KEPT_SECONDS: Final = 30 * 86_400
"""Seconds for which a record is kept."""
MAX_KEPT: Final = 10_000
"""Limit of records. The oldest ones are deleted."""

_TABLES: Final = """
BEGIN;
CREATE TABLE IF NOT EXISTS commands(
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    method TEXT NOT NULL,
    digest TEXT NOT NULL,
    begun_at INTEGER NOT NULL,     -- seconds since 1970
    intent TEXT NOT NULL,          -- JSON: what shows after a crash whether it was carried out
    answer TEXT                    -- JSON: the result; NULL until it was carried out
);
PRAGMA user_version = 1;
COMMIT;
"""


class Entry(NamedTuple):
    """A recorded command.

    `intent` shows after a crash whether it was carried out. `answer` is its result as JSON; None until there is one.
    """

    id: str
    method: str
    digest: str
    intent: dict[str, Any]
    answer: bytes | None


class Journal:
    """The journal in a file; `path` is None for a temporary file. Its methods raise `StorageFailed`."""

    def __init__(self, path: str | None) -> None:
        self._file = DatabaseFile(path or "", _TABLES, name="the journal of commands", synchronous="FULL")

    def all(self, now: int) -> Sequence[Entry]:
        """Delete expired records and return the others, oldest first. `now` is in seconds since 1970.

        Only records without a result have their intent. Of the others, `answer` is empty.
        """

        def work(connection: sqlite3.Connection) -> Sequence[Entry]:
            connection.execute("DELETE FROM commands WHERE begun_at < ?", [now - KEPT_SECONDS])
            rows = connection.execute(
                "SELECT id, method, digest, intent, answer IS NULL FROM commands ORDER BY number"
            )
            return [
                Entry(
                    name,
                    method,
                    digest,
                    msgspec.json.decode(intent) if is_open else {},
                    None if is_open else b"",
                )
                for name, method, digest, intent, is_open in rows.fetchall()
            ]

        return self._file.use(work)

    def get(self, command_id: str) -> Entry | None:
        """Return a record with its intent and its result; None if there is none."""
        row = self._file.use(
            lambda connection: connection.execute(
                "SELECT id, method, digest, intent, answer FROM commands WHERE id = ?", [command_id]
            ).fetchone()
        )
        if row is None:
            return None
        name, method, digest, intent, answer = row
        return Entry(
            name, method, digest, msgspec.json.decode(intent), None if answer is None else answer.encode()
        )

    def begin(self, command: CommandRecord, intent: dict[str, Any], now: int) -> None:
        """Record the intent of a command before it is carried out. `now` is in seconds since 1970."""
        values = [command.id, command.method, command.digest, now, msgspec.json.encode(intent).decode()]

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT OR REPLACE INTO commands(id, method, digest, begun_at, intent) VALUES(?, ?, ?, ?, ?)",
                values,
            )
            newest = connection.execute("SELECT max(number) FROM commands").fetchone()[0]
            connection.execute(
                "DELETE FROM commands WHERE number <= ? OR begun_at < ?",
                [newest - MAX_KEPT, now - KEPT_SECONDS],
            )

        self._file.use(lambda connection: in_transaction(connection, lambda: work(connection)))

    def finish(self, command_id: str, answer: bytes) -> bool:
        """Record the result of a command.

        Returns False if the command has no record, for example because a new journal was started in the meantime.
        """
        changed = self._file.use(
            lambda connection: connection.execute(
                "UPDATE commands SET answer = ? WHERE id = ?", [answer.decode(), command_id]
            )
        )
        return changed.rowcount > 0

    def drop(self, command_id: str) -> None:
        """Delete the record of a command that was not carried out."""
        self._file.use(
            lambda connection: connection.execute("DELETE FROM commands WHERE id = ?", [command_id])
        )

    def quarantine(self) -> str:
        """Rename a damaged journal and return its new path. The next use creates a new one."""
        return self._file.quarantine()

    def close(self) -> None:
        """Close the journal's database file."""
        self._file.close()
