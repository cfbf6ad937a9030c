"""Reads sessions out of the database of OpenCode, as the documents that its export writes.

The database is opened read-only, and no lock of it blocks OpenCode. Without a `-wal` file no program has it open; it is
then read as an immutable file, because SQLite would otherwise create files beside it. All functions block.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar
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
_UPDATED: Final = """
max(session.time_updated,
    coalesce((SELECT max(time_updated) FROM message WHERE session_id = session.id), 0),
    coalesce((SELECT max(time_updated) FROM part WHERE session_id = session.id), 0))
"""


class UnreadableDatabase(TemplatedError):
    """Raised when a database cannot be read now, or is not one of a known version; the reason is the whole message."""

    sentence = "{reason}"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)
        self.reason = reason


def sessions(path: str) -> list[tuple[str, int]]:
    """Return the id of each session and when it was last changed (milliseconds since 1970), the oldest first.

    Raises:
        UnreadableDatabase: The database cannot be read now, or its version is not known.
    """
    query = f"SELECT id, {_UPDATED} FROM session ORDER BY time_created, id"
    return _use(path, lambda it: [(str(name), int(at)) for name, at in it.execute(query)])


def updated(path: str, session_id: str) -> int | None:
    """Return when a session was last changed (milliseconds since 1970), or None if there is none of this id.

    Raises:
        UnreadableDatabase: The database cannot be read now, or its version is not known.
    """
    query = f"SELECT {_UPDATED} FROM session WHERE id = ?"
    row = _use(path, lambda it: it.execute(query, [session_id]).fetchone())
    return None if row is None else int(row[0])


def document(path: str, session_id: str) -> bytes | None:
    """Return a session as one JSON document `{info, messages: [{info, parts}]}`, or None if there is none of this id.

    Raises:
        UnreadableDatabase: The database cannot be read now, or its version is not known.
    """
    found = _use(path, lambda it: _document(it, session_id))
    return None if found is None else msgspec.json.encode(found) + b"\n"


def _document(connection: sqlite3.Connection, session_id: str) -> dict[str, Any] | None:
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
    query = "SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id"
    for name, message, data in connection.execute(query, [session_id]):
        parts.setdefault(message, []).append({**_decoded(data), "id": name})
    query = "SELECT id, data FROM message WHERE session_id = ? ORDER BY id"
    messages: list[dict[str, Any]] = [
        {"info": {**_decoded(data), "id": name}, "parts": parts.get(name, [])}
        for name, data in connection.execute(query, [session_id])
    ]
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
    immutable = "&immutable=1" if before[1] is None else ""
    try:
        connection = sqlite3.connect(
            f"file:{quote(path)}?mode=ro{immutable}", uri=True, timeout=_BUSY_SECONDS, isolation_level=None
        )
        try:
            connection.execute("BEGIN")
            yield connection
        finally:
            connection.close()
    except sqlite3.OperationalError as error:
        raise UnreadableDatabase(f"the database of OpenCode cannot be read now: {error}") from None
    except sqlite3.DatabaseError as error:
        raise UnreadableDatabase(f"it is not a database of OpenCode: {error}") from None
    if immutable and _status(path) != before:
        raise UnreadableDatabase("the database of OpenCode changed while it was read")


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


def _refuse_unless_known(connection: sqlite3.Connection) -> None:
    for table, expected in _COLUMNS.items():
        found = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        if missing := sorted(expected - found):
            raise UnreadableDatabase(
                f"it is not a database of OpenCode, or one of a version that is not known: its table {table} has no"
                f" column {missing[0]}"
            )
