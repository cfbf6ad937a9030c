"""The journal of commands: what requests with a `commandId` intend, and what they were answered.

Only for requests that leave no line which could record them. Used on one thread; what is written is durable.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from sessiond.hub.database_file import DatabaseFile, in_transaction
from sessiond.session.tree.command_ids import CommandRecord

KEPT_SECONDS: Final = 30 * 86_400
"""How long a command is recorded."""
MAX_KEPT: Final = 10_000
"""Commands that are recorded at most: the newest ones."""

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
    """One command. `intent` shows after a crash whether it was carried out; `answer` is its result as JSON."""

    id: str
    method: str
    digest: str
    intent: dict[str, Any]
    answer: bytes | None


class Journal:
    """The journal in a file; `path` None: in a temporary one. Every method may raise `StorageFailed`."""

    def __init__(self, path: str | None) -> None:
        self._file = DatabaseFile(path or "", _TABLES, name="the journal of commands", synchronous="FULL")

    def all(self, now: int) -> Sequence[Entry]:
        """Every command, without its answer; those that are too old are removed. `now` is in seconds since 1970."""

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
        """One command, with its intent and its answer."""
        row = self._file.use(
            lambda it: it.execute(
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
        """Record what a command intends, before it is carried out."""
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

        self._file.use(lambda it: in_transaction(it, lambda: work(it)))

    def finish(self, command_id: str, answer: bytes) -> bool:
        """Record what a command was answered; False when there is no record of it, as in a journal begun since."""
        changed = self._file.use(
            lambda it: it.execute(
                "UPDATE commands SET answer = ? WHERE id = ?", [answer.decode(), command_id]
            )
        )
        return changed.rowcount > 0

    def drop(self, command_id: str) -> None:
        """Forget a command that was not carried out."""
        self._file.use(lambda it: it.execute("DELETE FROM commands WHERE id = ?", [command_id]))

    def put_aside(self) -> str:
        """Keep a damaged journal under another name, which is returned; the next command begins a new one."""
        return self._file.put_aside()

    def close(self) -> None:
        self._file.close()
