"""Reads sessions out of the database of OpenCode, as the documents that its export writes.

The database is opened read-only, and no lock of it blocks OpenCode. Its `-shm` file, in which SQLite counts readers, is
not written either. Without a `-wal` file no program has the database open. It is then read as an immutable file,
because SQLite would otherwise create files beside it. No connection is kept, since OpenCode removes its `-wal` file
when the last connection closes. All functions block.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import quote

import msgspec

from sessiond.error_text import TemplatedError

T = TypeVar("T")

_BUSY_SECONDS: Final = 0.2
_COLUMNS: Final = {
    "session": {"id", "parent_id", "slug", "directory", "title", "version", "revert", "time_created", "time_updated"},
    "message": {"id", "session_id", "time_updated", "data"},
    "part": {"id", "message_id", "session_id", "time_updated", "data"},
}  # fmt: skip
_WITHOUT_EVENTS: Final = "0"
_EVENTS: Final = "coalesce((SELECT seq FROM event_sequence WHERE aggregate_id = session.id), 0)"
_UPDATED: Final = """
max(session.time_updated,
    coalesce((SELECT max(time_updated) FROM message WHERE session_id = session.id), 0),
    coalesce((SELECT max(time_updated) FROM part WHERE session_id = session.id), 0))
"""
_NEWEST: Final = (
    "(SELECT id FROM message WHERE session_id = session.id ORDER BY time_created DESC, id DESC LIMIT 1)"
)
_NEWEST_UPDATED: Final = f"""
max(coalesce((SELECT time_updated FROM message WHERE id = {_NEWEST}), 0),
    coalesce((SELECT max(time_updated) FROM part WHERE message_id = {_NEWEST}), 0))
"""
"""When the newest message of a session was changed: a few steps in indexes, whatever the session's length."""


class LastChange(NamedTuple):
    """The last change of a session.

    Attributes:
        at: When it was: milliseconds since 1970.
        event: The number of the session's last event, which tells apart changes of one millisecond; 0 without events.
    """

    at: int
    event: int


class UnreadableDatabase(TemplatedError):
    """Raised when a database cannot be read now, or is not one of a known version; the reason is the whole message."""

    sentence = "{reason}"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)
        self.reason = reason
        self.is_passing = False
        """Whether it may be readable in a moment."""


def sessions(path: str) -> dict[str, LastChange]:
    """Return the last change of each session by its id, the oldest session first. Reads the row of every part.

    Raises:
        UnreadableDatabase: The database cannot be read now, or its version is not known.
    """

    def read(it: sqlite3.Connection) -> dict[str, LastChange]:
        query = f"SELECT id, {_UPDATED}, {_events(it)} FROM session ORDER BY time_created, id"
        return {str(name): LastChange(int(at), int(event)) for name, at, event in it.execute(query)}

    return _use(path, read)


def marks(path: str) -> dict[str, tuple[int, ...]]:
    """Return values by the id of each session, the oldest first, which differ after each turn. Reads no part.

    OpenCode numbers the events of a session. A session that has none, because an import or an older version of OpenCode
    wrote it, has the time of the last change of its newest message instead.

    Raises:
        UnreadableDatabase: The database cannot be read now, or its version is not known.
    """

    def read(it: sqlite3.Connection) -> dict[str, tuple[int, ...]]:
        events = _events(it)
        query = f"""
            SELECT id, time_updated, {events}, CASE WHEN {events} = 0 THEN {_NEWEST_UPDATED} ELSE 0 END
            FROM session ORDER BY time_created, id
        """
        return {
            str(name): (int(at), int(event), int(newest)) for name, at, event, newest in it.execute(query)
        }

    return _use(path, read)


def last_change(path: str, session_id: str) -> LastChange | None:
    """Return the last change of a session, or None if there is none of this id.

    Raises:
        UnreadableDatabase: The database cannot be read now, or its version is not known.
    """

    def read(it: sqlite3.Connection) -> LastChange | None:
        query = f"SELECT {_UPDATED}, {_events(it)} FROM session WHERE id = ?"
        row = it.execute(query, [session_id]).fetchone()
        return None if row is None else LastChange(int(row[0]), int(row[1]))

    return _use(path, read)


def message_ids(path: str, session_id: str) -> list[str]:
    """Return the ids of the messages of a session in order; none if there is no such session.

    Raises:
        UnreadableDatabase: The database cannot be read now, or its version is not known.
    """
    query = "SELECT id FROM message WHERE session_id = ? ORDER BY id"
    return _use(path, lambda it: [str(name) for (name,) in it.execute(query, [session_id])])


def size_of(path: str, session_id: str) -> int:
    """Return the characters of the parts of a session, which are nearly its size in bytes; 0 without the session.

    Raises:
        UnreadableDatabase: The database cannot be read now, or its version is not known.
    """
    query = "SELECT coalesce(sum(length(data)), 0) FROM part WHERE session_id = ?"
    return int(_use(path, lambda it: it.execute(query, [session_id]).fetchone()[0]))


def document(path: str, session_id: str, first_message: str = "") -> bytes | None:
    """Return a session as one JSON document `{info, messages: [{info, parts}]}`, or None if there is none of this id.

    Args:
        path: The database.
        session_id: The session.
        first_message: The id of the first message that is read. Messages sort by their ids.

    Raises:
        UnreadableDatabase: The database cannot be read now, or its version is not known.
    """
    found = _use(path, lambda it: _document(it, session_id, first_message))
    return None if found is None else msgspec.json.encode(found) + b"\n"


def _document(connection: sqlite3.Connection, session_id: str, first: str) -> dict[str, Any] | None:
    names = ", ".join(sorted(_COLUMNS["session"]))
    row = connection.execute(f"SELECT {names} FROM session WHERE id = ?", [session_id]).fetchone()
    if row is None:
        return None
    session: dict[str, Any] = dict(zip(sorted(_COLUMNS["session"]), row, strict=True))
    info: dict[str, Any] = {name: session[name] for name in ("id", "slug", "directory", "title", "version")}
    info["parentID"] = session["parent_id"]
    info["time"] = {"created": session["time_created"], "updated": session["time_updated"]}
    if session["revert"] is not None:
        info["revert"] = _decoded(session["revert"])
    parts: dict[str, list[dict[str, Any]]] = {}
    if first:  # by the index of the messages, which are few
        query = """
            SELECT part.id, message_id, part.data FROM message JOIN part ON message_id = message.id
            WHERE message.session_id = ? AND message.id >= ? ORDER BY part.id
        """
        rows = connection.execute(query, [session_id, first])
    else:
        query = "SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id"
        rows = connection.execute(query, [session_id])
    for name, message, data in rows:
        parts.setdefault(message, []).append({**_decoded(data), "id": name})
    query = "SELECT id, data FROM message WHERE session_id = ? AND id >= ? ORDER BY id"
    messages: list[dict[str, Any]] = [
        {"info": {**_decoded(data), "id": name}, "parts": parts.get(name, [])}
        for name, data in connection.execute(query, [session_id, first])
    ]
    if not messages and not first:
        _refuse_newer_messages(connection, session_id)
    return {"info": info, "messages": messages}


def _decoded(data: Any) -> dict[str, Any]:
    """Return the object in a column; text that is none becomes a part of its own kind, so that it is kept."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, TypeError, UnicodeError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"type": "unreadable", "raw": str(data)}


def _use(path: str, read: Callable[[sqlite3.Connection], T]) -> T:
    """Call `read` with a database of a known version, in one read transaction."""
    with reading(path) as connection:
        _refuse_unless_known(connection)
        return read(connection)


@contextmanager
def reading(path: str) -> Iterator[sqlite3.Connection]:
    """Open a database in one read transaction. Its version is not checked.

    Raises:
        UnreadableDatabase: The database cannot be read now, or it changed during the block.
    """
    before = _status(path)
    is_immutable = not before[1]
    how = "immutable=1" if is_immutable else "readonly_shm=1"
    try:
        connection = sqlite3.connect(
            f"file:{quote(path)}?mode=ro&{how}", uri=True, timeout=_BUSY_SECONDS, isolation_level=None
        )
        try:
            connection.execute("BEGIN")
            yield connection
        finally:
            connection.close()
    except sqlite3.OperationalError as error:
        refusal = UnreadableDatabase(f"the database of OpenCode cannot be read now: {error}")
        refusal.is_passing = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
        raise refusal from None
    except sqlite3.DatabaseError as error:
        raise UnreadableDatabase(f"it is not a database of OpenCode: {error}") from None
    if is_immutable and _status(path) != before:
        refusal = UnreadableDatabase("the database of OpenCode changed while it was read")
        refusal.is_passing = True
        raise refusal


def _status(path: str) -> tuple[tuple[int, int, int], int | None]:
    """Return what changes when the database is written, and the size of its `-wal` file; None without one."""
    try:
        found = Path(path).stat()
    except OSError as error:
        raise UnreadableDatabase(
            f"the database of OpenCode cannot be read: {os.strerror(error.errno or 0)}"
        ) from None
    try:
        wal: int | None = Path(path + "-wal").stat().st_size
    except OSError:
        wal = None
    return (found.st_ino, found.st_size, found.st_mtime_ns), wal


def _events(connection: sqlite3.Connection) -> str:
    """Return the expression for the number of a session's last event."""
    found = {row[1] for row in connection.execute("PRAGMA table_info(event_sequence)")}
    return _EVENTS if {"aggregate_id", "seq"} <= found else _WITHOUT_EVENTS


def _refuse_newer_messages(connection: sqlite3.Connection, session_id: str) -> None:
    """Refuse a session whose messages are only in the table that OpenCode prepares for a later version."""
    if connection.execute("PRAGMA table_info(session_message)").fetchone() is None:
        return
    query = "SELECT 1 FROM session_message WHERE session_id = ? LIMIT 1"
    if connection.execute(query, [session_id]).fetchone() is not None:
        raise UnreadableDatabase(
            "its messages are in a form of a later version of OpenCode that is not known"
        )


def _refuse_unless_known(connection: sqlite3.Connection) -> None:
    for table, expected in _COLUMNS.items():
        found = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        if missing := sorted(expected - found):
            raise UnreadableDatabase(
                f"it is not a database of OpenCode, or one of a version that is not known: its table {table} has no"
                f" column {missing[0]}"
            )
