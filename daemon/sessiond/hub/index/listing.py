"""Pages of the list of sessions from the index.

A cursor holds the sort key of the session at the edge of a page, so that new sessions do not shift the page.
"""

import base64
import difflib
import sqlite3
from typing import Any, Final, NamedTuple, cast

import msgspec
from msgspec import Raw

from sessiond.hub import session_info
from sessiond.hub.errors import CursorExpired
from sessiond.hub.index.files import as_ref
from sessiond.protocol import types as t

_COLUMN: Final = {"updated": "updated", "created": "created", "title": "title"}


class _Cursor(msgspec.Struct, array_like=True):
    sort: str
    forth: bool
    key: str
    ref: str


class _Place(NamedTuple):
    """The position of a session in the order of a list."""

    key: str
    ref: bytes


class _Row(NamedTuple):
    place: _Place
    session: t.ListedSession


def page(connection: sqlite3.Connection, params: t.ListParams) -> t.ListResult:
    """Return the requested page with empty `problems`."""
    cursor = None if params.cursor is None else _decode(params.cursor, params.sort)
    conditions = _conditions(params)
    total = _count(connection, conditions)
    descending = params.sort != "title"
    forth = cursor is None or cursor.forth
    edge = None if cursor is None else _Place(cursor.key, base64.b64decode(cursor.ref))
    rows = _some(connection, conditions, params.sort, edge, params.limit + 1, descending is forth)
    more = len(rows) > params.limit
    rows = rows[: params.limit] if forth else rows[: params.limit][::-1]
    # With a cursor, there is always a page in the direction that it came from.
    before, after = (cursor is not None, more) if forth else (more, True)
    return t.ListResult(
        sessions=[row.session for row in rows],
        total=total,
        next_cursor=_encode(params.sort, rows[-1].place, forth=True) if rows and after else None,
        previous_cursor=_encode(params.sort, rows[0].place, forth=False) if rows and before else None,
        problems=[],
    )  # fmt: skip


class Near(NamedTuple):
    """The matches of an id: `refs` by the ids that begin with it, else `alike`, the similar ids."""

    refs: dict[str, str]
    alike: list[str]


def near(connection: sqlite3.Connection, beginning: str, *, shortest: int) -> Near:
    """Return the sessions whose id begins with `beginning`, or similar ids.

    If `beginning` has fewer than `shortest` characters, it must be the whole id.
    """
    if len(beginning) < shortest:
        found = connection.execute("SELECT session_id, ref FROM files WHERE session_id = ?", (beginning,))
    else:
        found = connection.execute(
            "SELECT session_id, ref FROM files WHERE session_id >= ? AND session_id < ? LIMIT 6",
            (beginning, beginning + "\U0010ffff"),
        )
    refs = {name: as_ref(ref) for name, ref in found}
    if refs:
        return Near(refs, [])
    names = [name for (name,) in connection.execute("SELECT session_id FROM files")]
    return Near({}, difflib.get_close_matches(beginning, names, 3, 0.7))


def beginning(
    connection: sqlite3.Connection, *, query: str, shortest: int, most: int
) -> list[t.ListedSession]:
    """Return the first `most` sessions whose id begins with `query`, in the order of their ids.

    If `query` has fewer than `shortest` characters, it must be the whole id.
    """
    end = query + ("\U0010ffff" if len(query) >= shortest else "\0")
    found = connection.execute(
        "SELECT info FROM files WHERE session_id >= ? AND session_id < ? ORDER BY session_id LIMIT ?",
        (query, end, most),
    )
    return [session_info.from_json(info) for (info,) in found]


def everything(connection: sqlite3.Connection, *, cwd: str | None = None) -> list[t.ListedSession]:
    """Return all sessions including drafts, or those of one folder, in no particular order."""
    conditions = _conditions(t.ListParams(cwd=cwd, all=cwd is None, drafts=True))
    found = connection.execute(f"SELECT info FROM files WHERE {conditions.sql}", conditions.values)
    return [session_info.from_json(info) for (info,) in found]


class _Conditions(NamedTuple):
    sql: str
    values: list[Any]


def _conditions(params: t.ListParams) -> _Conditions:
    sql = ["draft IN (0, 1)" if params.drafts else "draft = 0"]
    values: list[Any] = []
    if params.cwd is not None and not params.all:
        sql.append("cwd = ?")
        values.append(params.cwd)
    if params.tags:
        sql.append("NOT EXISTS (SELECT 1 FROM json_each(?) AS asked"
                   " WHERE asked.value NOT IN (SELECT value FROM json_each(files.tags)))")  # fmt: skip
        values.append(msgspec.json.encode(params.tags).decode())
    for word in (params.query or "").casefold().split():
        sql.append("instr(matter, ?)")
        values.append(word)
    return _Conditions(" AND ".join(sql), values)


def _count(connection: sqlite3.Connection, conditions: _Conditions) -> int:
    row = connection.execute(f"SELECT count(*) FROM files WHERE {conditions.sql}", conditions.values)
    return int(row.fetchone()[0])


def _some(
    connection: sqlite3.Connection, conditions: _Conditions, sort: str, edge: _Place | None, count: int,
    descending: bool,
) -> list[_Row]:  # fmt: skip
    """Return the first rows after an edge, in one direction."""
    column, order, sign = _COLUMN[sort], "DESC" if descending else "ASC", "<" if descending else ">"
    sql, values = conditions.sql, list(conditions.values)
    if edge is not None:
        sql += f" AND ({column}, ref) {sign} (?, ?)"
        values += edge
    found = connection.execute(
        f"SELECT {column}, ref, info FROM files WHERE {sql} ORDER BY {column} {order}, ref {order} LIMIT ?",
        [*values, count],
    )
    # The stored JSON is sent as it is, to avoid decoding and encoding a thousand rows.
    return [_Row(_Place(key, ref), cast("t.ListedSession", Raw(info))) for key, ref, info in found]


def _encode(sort: str, place: _Place, *, forth: bool) -> str:
    cursor = _Cursor(sort, forth, place.key, base64.b64encode(place.ref).decode())
    return base64.urlsafe_b64encode(msgspec.json.encode(cursor)).decode()


def _decode(text: str, sort: str) -> _Cursor:
    try:
        cursor = msgspec.json.decode(base64.urlsafe_b64decode(text.encode()), type=_Cursor)
        base64.b64decode(cursor.ref, validate=True)
    except (ValueError, msgspec.DecodeError):
        raise CursorExpired from None
    if cursor.sort != sort:
        raise CursorExpired
    return cursor
