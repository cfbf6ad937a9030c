"""Reads sessions out of the database of OpenCode, as the documents that its export writes.

The database is opened read-only, and no lock of it blocks OpenCode. Its `-shm` file, in which SQLite counts readers, is
not written either. Without a `-wal` file no program has the database open. It is then read as an immutable file,
because SQLite would otherwise create files beside it. No connection is kept, since OpenCode removes its `-wal` file
when the last connection closes. All functions block.
"""

import os
import sqlite3
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote

import msgspec

from sessiond.agents.opencode.order import MessagePlace, in_order, place_of, settled_count
from sessiond.agents.session_database import LastChange, UnreadableDatabase

T = TypeVar("T")

_BUSY_SECONDS: Final = 0.2
_COLUMNS: Final = {
    "session": {"id", "parent_id", "slug", "directory", "title", "version", "revert", "time_created", "time_updated"},
    "message": {"id", "session_id", "time_created", "time_updated", "data"},
    "part": {"id", "message_id", "session_id", "time_created", "time_updated", "data"},
}  # fmt: skip
_PART_TIME: Final = "coalesce(CAST(time_created AS INTEGER), 0)"
_WITHOUT_EVENTS: Final = "0"
_EVENTS: Final = "coalesce((SELECT seq FROM event_sequence WHERE aggregate_id = session.id), 0)"
_UPDATED: Final = """
max(session.time_updated,
    coalesce((SELECT max(time_updated) FROM message WHERE session_id = session.id), 0),
    coalesce((SELECT max(time_updated) FROM part WHERE session_id = session.id), 0))
"""
_NEWEST: Final = (
    "(SELECT id FROM message WHERE session_id = session.id ORDER BY time_created DESC, rowid DESC LIMIT 1)"
)
_NEWEST_UPDATED: Final = f"""
max(coalesce((SELECT time_updated FROM message WHERE id = {_NEWEST}), 0),
    coalesce((SELECT max(time_updated) FROM part WHERE message_id = {_NEWEST}), 0))
"""
"""The expression for the time of the last change of a session's newest message: a few index steps at any length."""


def sessions(path: str) -> dict[str, LastChange]:
    """Return the last change of each session by its id, the oldest session first. Reads the row of every part.

    Raises:
        UnreadableDatabase: The database cannot be read now, or its version is not known.
    """

    def read(connection: sqlite3.Connection) -> dict[str, LastChange]:
        query = f"SELECT id, {_UPDATED}, {_events(connection)} FROM session ORDER BY time_created, rowid"
        return {str(name): LastChange(int(at), int(event)) for name, at, event in connection.execute(query)}

    return _use(path, read)


def marks(path: str) -> dict[str, tuple[int, ...]]:
    """Return values by the id of each session, the oldest first, which differ after each turn. Reads no part.

    OpenCode numbers the events of a session. A session that has none, because an import or an older version of OpenCode
    wrote it, has the time of the last change of its newest message instead.

    Raises:
        UnreadableDatabase: The database cannot be read now, or its version is not known.
    """

    def read(connection: sqlite3.Connection) -> dict[str, tuple[int, ...]]:
        events = _events(connection)
        query = f"""
            SELECT id, time_updated, {events}, CASE WHEN {events} = 0 THEN {_NEWEST_UPDATED} ELSE 0 END
            FROM session ORDER BY time_created, rowid
        """
        return {
            str(name): (int(at), int(event), int(newest))
            for name, at, event, newest in connection.execute(query)
        }

    return _use(path, read)


def last_change(path: str, session_id: str) -> LastChange | None:
    """Return the last change of a session, or None if there is none of this id.

    Raises:
        UnreadableDatabase: The database cannot be read now, or its version is not known.
    """

    def read(connection: sqlite3.Connection) -> LastChange | None:
        query = f"SELECT {_UPDATED}, {_events(connection)} FROM session WHERE id = ?"
        row = connection.execute(query, [session_id]).fetchone()
        return None if row is None else LastChange(int(row[0]), int(row[1]))

    return _use(path, read)


def message_ids(path: str, session_id: str) -> list[str]:
    """Return the ids of the messages of a session in order; none if there is no such session.

    Raises:
        UnreadableDatabase: The database cannot be read now, or its version is not known.
    """
    return _use(path, lambda connection: _message_ids(connection, session_id))


def size_of(path: str, session_id: str) -> int:
    """Return the characters of the parts of a session, which are nearly its size in bytes; 0 without the session.

    Raises:
        UnreadableDatabase: The database cannot be read now, or its version is not known.
    """
    query = "SELECT coalesce(sum(length(data)), 0) FROM part WHERE session_id = ?"
    return int(_use(path, lambda connection: connection.execute(query, [session_id]).fetchone()[0]))


def document(path: str, session_id: str) -> bytes | None:
    """Return a session as one JSON document `{info, messages: [{info, parts}]}`, or None if there is none of this id.

    Raises:
        UnreadableDatabase: The database cannot be read now, or its version is not known.
    """
    with messages(path, session_id) as found:
        return None if found is None else b"".join(found.pieces())


@contextmanager
def messages(path: str, session_id: str) -> Iterator["StoredMessages | None"]:
    """Open a session to read its messages one by one, in one read transaction; None if there is none of this id.

    Raises:
        UnreadableDatabase: The database cannot be read now, changed during the block, or its version is not known.
    """
    with reading(path) as connection:
        _refuse_unless_known(connection)
        info = _info(connection, session_id)
        yield None if info is None else StoredMessages(connection, session_id, info)


class StoredMessages:
    """The messages of a session. See `session_database.SessionMessages`.

    Args:
        connection: The database, in a read transaction.
        session_id: The session.
        info: Its description.
    """

    def __init__(self, connection: sqlite3.Connection, session_id: str, info: dict[str, Any]) -> None:
        self.info = info
        self._connection = connection
        self._session_id = session_id
        self._names = _message_ids(connection, session_id)
        if not self._names:
            _refuse_newer_messages(connection, session_id)
        infos = [_place_in(self._message_info(name)) for name in self._names]
        order = in_order([place_of(found) for found in infos])
        self.count = len(infos)
        self.settled_count = settled_count(infos)
        self.is_in_order = order == list(range(len(infos)))

    def pieces(self) -> Iterator[bytes]:
        """Yield the document in pieces."""
        yield b'{"info":%b,"messages":[' % msgspec.json.encode(self.info)
        shared = self._shared_times()
        for number, name in enumerate(self._names):
            info = msgspec.json.encode(self._message_info(name))
            parts = b",".join(self._parts(name, shared))
            yield b'%b{"info":%b,"parts":[%b]}' % (b"," if number else b"", info, parts)
        yield b"]}\n"

    def _message_info(self, name: str) -> dict[str, Any]:
        [data] = self._connection.execute("SELECT data FROM message WHERE id = ?", [name]).fetchone()
        return {**_decoded(data), "id": name}

    def _shared_times(self) -> set[int]:
        """Return the times at which parts of several messages were written."""
        query = f"""
            SELECT {_PART_TIME} FROM part WHERE session_id = ?
            GROUP BY 1 HAVING min(message_id) <> max(message_id)
        """
        return {int(at) for [at] in self._connection.execute(query, [self._session_id])}

    def _parts(self, message: str, shared: Container[int]) -> Iterator[bytes]:
        """Yield the parts of a message in order. Only one of them is in memory."""
        query = f"SELECT {_PART_TIME}, id, rowid FROM part WHERE message_id = ? AND session_id = ? ORDER BY 1, rowid"
        rows = self._connection.execute(query, [message, self._session_id]).fetchall()
        query = "SELECT coalesce(CAST(time_updated AS INTEGER), 0) FROM message WHERE id = ?"
        [updated] = self._connection.execute(query, [message]).fetchone()
        if all(at in shared and at > updated for at, _, _ in rows):
            rows.sort(key=lambda row: row[:2])
        for _, name, row in rows:
            [data] = self._connection.execute("SELECT data FROM part WHERE rowid = ?", [row]).fetchone()
            yield msgspec.json.encode({**_decoded(data), "id": name})


def _place_in(info: dict[str, Any]) -> dict[str, Any]:
    """Return those fields of a message that say its place, and whether it may change."""
    time = info.get("time")
    times = {name: time.get(name) for name in ("created", "completed")} if isinstance(time, dict) else None
    error = None if info.get("error") is None else True
    return {name: info.get(name) for name in ("id", "role", "parentID")} | {"time": times, "error": error}


def end_of_document(
    path: str, session_id: str, first: Callable[[list[str]], int | None]
) -> tuple[bytes, list[str]] | None:
    """Return the document of a session without its earlier messages, and the ids of all messages in order.

    Args:
        path: The database.
        session_id: The session.
        first: Returns the number of messages that are left out, for the ids of all of them; None to read nothing.

    Returns:
        None if there is no such session, or `first` returns None, or the session has a revert: it concerns earlier
        messages.

    Raises:
        UnreadableDatabase: The database cannot be read now, or its version is not known.
    """

    def read(connection: sqlite3.Connection) -> tuple[dict[str, Any], list[str]] | None:
        names = _message_ids(connection, session_id)
        start = first(names)
        found = None if start is None else _end(connection, session_id, names, start)
        return None if found is None or "revert" in found["info"] else (found, names)

    result = _use(path, read)
    return None if result is None else (msgspec.json.encode(result[0]) + b"\n", result[1])


def _message_ids(connection: sqlite3.Connection, session_id: str) -> list[str]:
    query = """
        SELECT id, CASE WHEN json_valid(data) THEN json_extract(data, '$.parentID') END,
            CAST(time_created AS INTEGER)
        FROM message WHERE session_id = ? ORDER BY rowid
    """
    places = [MessagePlace(*row) for row in connection.execute(query, [session_id])]
    return [str(places[index].id) for index in in_order(places)]


def _info(connection: sqlite3.Connection, session_id: str) -> dict[str, Any] | None:
    """Return the description of a session, or None if there is none of this id."""
    columns = ", ".join(sorted(_COLUMNS["session"]))
    row = connection.execute(f"SELECT {columns} FROM session WHERE id = ?", [session_id]).fetchone()
    if row is None:
        return None
    session: dict[str, Any] = dict(zip(sorted(_COLUMNS["session"]), row, strict=True))
    info: dict[str, Any] = {name: session[name] for name in ("id", "slug", "directory", "title", "version")}
    info["parentID"] = session["parent_id"]
    info["time"] = {"created": session["time_created"], "updated": session["time_updated"]}
    if session["revert"] is not None:
        info["revert"] = _decoded(session["revert"])
    return info


def _end(
    connection: sqlite3.Connection, session_id: str, names: list[str], start: int
) -> dict[str, Any] | None:
    """Return the document of a session with its messages from one on. `names` are all in order."""
    info = _info(connection, session_id)
    if info is None:
        return None
    if not names:
        _refuse_newer_messages(connection, session_id)
    wanted = msgspec.json.encode(names[start:]).decode()
    query = """
        SELECT id, coalesce(CAST(time_updated AS INTEGER), 0), data
        FROM message WHERE id IN (SELECT value FROM json_each(?))
    """
    infos = {str(name): (at, data) for name, at, data in connection.execute(query, [wanted])}
    query = f"""
        SELECT message_id, {_PART_TIME}, id, data
        FROM part WHERE message_id IN (SELECT value FROM json_each(?)) ORDER BY 2, rowid
    """
    parts = _parts(connection.execute(query, [wanted]), {name: at for name, (at, _) in infos.items()})
    messages: list[dict[str, Any]] = [
        {"info": {**_decoded(infos[name][1]), "id": name}, "parts": parts.get(name, [])}
        for name in names[start:]
    ]
    return {"info": info, "messages": messages}


def _parts(
    rows: Iterable[tuple[str, int, str, Any]], updated: dict[str, int]
) -> dict[str, list[dict[str, Any]]]:
    """Return the parts of each message in order, by its id.

    When OpenCode moved its sessions from files into the database, it wrote all parts with the time of that move, in the
    order in which a directory lists files. Only their ids show their order.

    Args:
        rows: The rows of parts, in the order in which they were written.
        updated: When each message was changed.
    """
    found: dict[str, list[tuple[int, str, Any]]] = {}
    messages_of: dict[int, str | None] = {}  # by the time of their parts; None for several messages
    for message, at, name, data in rows:
        found.setdefault(message, []).append((at, name, data))
        if messages_of.setdefault(at, message) != message:
            messages_of[at] = None
    for message, parts in found.items():
        if all(messages_of[at] is None and at > updated.get(message, at) for at, _, _ in parts):
            parts.sort(key=lambda part: part[:2])
    return {
        message: [{**_decoded(data), "id": name} for _, name, data in parts]
        for message, parts in found.items()
    }


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
            f"file:{quote(os.fsencode(path))}?mode=ro&{how}",
            uri=True,
            timeout=_BUSY_SECONDS,
            isolation_level=None,
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
