"""The forgotten sessions: deleted ones that no import, followed agent, sync or bundle brings back (decision 0075).

Nothing of their content is kept: only their ids, the path of the agent's file, and a digest by which copies and forks
are recognized. The methods block and may be called on any thread.
"""

import logging
import sqlite3
import threading
from collections.abc import Collection
from typing import Final

import msgspec

from sessiond.hub.database_file import DatabaseFile, in_transaction
from sessiond.store.errors import StorageFailed

log = logging.getLogger(__name__)

_TABLES: Final = """
BEGIN;
CREATE TABLE IF NOT EXISTS forgotten(
    session_id TEXT PRIMARY KEY,
    record BLOB NOT NULL           -- JSON: a `Tombstone`
);
PRAGMA user_version = 1;
COMMIT;
"""


class Tombstone(msgspec.Struct, frozen=True, omit_defaults=True):
    """One forgotten session.

    Attributes:
        session_id: Its id.
        forgotten_at: When it was forgotten: ISO 8601 in UTC.
        agent: The agent that it was read from; None if it began here.
        path: The path of the agent's file; None if it is not known.
        first_prompt: The key of its first prompt (`content.prompt_key`); empty if it is not known.
    """

    session_id: str
    forgotten_at: str
    agent: str | None = None
    path: str | None = None
    first_prompt: str = ""


_decode = msgspec.json.Decoder(Tombstone).decode


class ForgottenSessions:
    """The forgotten sessions in a database file; `path` is None for a temporary file."""

    def __init__(self, path: str | None) -> None:
        self._file = DatabaseFile(
            path or "", _TABLES, name="the list of forgotten sessions", synchronous="FULL"
        )
        self._lock = threading.Lock()
        self._known: dict[str, Tombstone] | None = None

    def put(self, session: Tombstone) -> None:
        """Record a forgotten session, durable on return. Raises `StorageFailed`."""

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT OR REPLACE INTO forgotten VALUES(?, ?)",
                [session.session_id, msgspec.json.encode(session)],
            )

        with self._lock:
            known = self._all()
            self._file.use(lambda connection: in_transaction(connection, lambda: work(connection)))
            known[session.session_id] = session

    def revoke(self, session_ids: Collection[str]) -> list[Tombstone]:
        """Remove sessions from the list, and return those that were in it. Raises `StorageFailed`."""
        with self._lock:
            known = self._all()
            found = [known[name] for name in dict.fromkeys(session_ids) if name in known]

            def work(connection: sqlite3.Connection) -> None:
                connection.executemany(
                    "DELETE FROM forgotten WHERE session_id = ?", [[session.session_id] for session in found]
                )

            if found:
                self._file.use(lambda connection: in_transaction(connection, lambda: work(connection)))
            for session in found:
                del known[session.session_id]
            return found

    def all(self) -> list[Tombstone]:
        """Return all forgotten sessions, the last forgotten first. Raises `StorageFailed`."""
        with self._lock:
            return sorted(self._all().values(), key=lambda session: session.forgotten_at, reverse=True)

    def is_forgotten(
        self, session_ids: Collection[str], path: str | None = None, first_prompt: str = ""
    ) -> bool:
        """Return whether a session is forgotten: by one of its ids, its path, or its first prompt.

        A list that cannot be read forgets nothing, and a warning is logged.
        """
        try:
            with self._lock:
                known = self._all()
        except StorageFailed as error:
            log.warning("Cannot read the list of forgotten sessions: %s", error)
            return False
        if not known:
            return False
        return any(name in known for name in session_ids) or any(
            (path is not None and session.path == path)
            or (first_prompt and session.first_prompt == first_prompt)
            for session in known.values()
        )

    def close(self) -> None:
        """Close the database file. Later calls raise `Draining`."""
        with self._lock:
            self._file.close()

    def _all(self) -> dict[str, Tombstone]:
        if self._known is None:
            rows = self._file.use(
                lambda connection: connection.execute("SELECT record FROM forgotten").fetchall()
            )
            self._known = {session.session_id: session for (data,) in rows for session in [_decode(data)]}
        return self._known
