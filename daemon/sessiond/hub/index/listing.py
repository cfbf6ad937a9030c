"""The questions of lists to the index: pages, changes, and the sessions that an id names.

A cursor holds the sort key of the session at the edge of a page, so that new sessions do not shift the page.
"""

import base64
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

import msgspec
from msgspec import UNSET, Raw

from sessiond.hub import clock, session_info
from sessiond.hub.errors import CursorExpired, IncompatibleParams
from sessiond.hub.index.columns import as_ref, lineage_root_of
from sessiond.hub.index.list_changes import MAX_CHANGED, ListChanges, ListRow, SessionChange
from sessiond.hub.index.period import time_of
from sessiond.hub.index.projects import IN_PROJECT
from sessiond.protocol import types as t
from sessiond.session.tree.origin import HERE
from sessiond.unicode import valid_unicode

if TYPE_CHECKING:
    from sessiond.hub.index.worker import Worker

_COLUMN: Final = {"updated": "updated", "created": "created", "title": "title"}
_Row: TypeAlias = tuple[str, bytes, str]
"""A row of a list: the sort key, the ref, and the stored JSON of the session."""
_MAX_PROBLEMS: Final = 100
"""Limit of the files that a page names because they are not in the index."""
_MAX_LINEAGE: Final = 100
"""Limit of the sessions of a lineage that a row names."""
_IS_LAST_OF_LINEAGE: Final = (
    "NOT EXISTS (SELECT 1 FROM files AS later WHERE later.lineage_root = files.lineage_root"
    " AND later.cwd = files.cwd AND later.draft = 0 AND (later.updated, later.ref) > (files.updated, files.ref))"
)
_REMOVED_ROW: Final = f"SELECT {', '.join(f'? AS {name}' for name in ListRow._fields[:-1])}"


class _Cursor(msgspec.Struct, array_like=True):
    sort: str
    forward: bool
    key: str
    ref: str


class _SortKey(NamedTuple):
    """The position of a session in the order of a list."""

    key: str
    ref: bytes


def page(worker: "Worker", params: t.ListParams) -> t.ListResult:
    """Return the requested page with an empty `epoch`. The filter and the order of its rows are final.

    Raises `CursorExpired`, `IncompatibleParams`.
    """
    connection, files, params = worker.database.connection, worker.files, worker.resolved(params)
    if params.tags or params.query or params.sort == "title":
        files.complete(_folders(connection, params.cwd, params.project))
    cursor = None if params.cursor is None else _decode(params.cursor, params.sort)
    conditions = _conditions(params)
    conditions.all.extend(_period(params))
    if params.fold_lineages:
        conditions.all.append(_Condition("session_id", _IS_LAST_OF_LINEAGE))
    removed: list[str] = []
    if params.changed_after is not None:
        after = params.changed_after.position
        if not files.changes.oldest <= after <= files.changes.position:
            raise CursorExpired
        changed = dict(files.changes.since(after, files.changes.position, MAX_CHANGED))
        if cursor is None:
            _, removed = _split(connection, changed, conditions, 0)
        conditions.all.append(
            _Condition("session_id", "session_id IN (SELECT value FROM json_each(?))", _as_json(changed))
        )
    total = _count(connection, conditions) if params.with_total else None
    descending = params.sort != "title"
    forward = cursor is None or cursor.forward
    edge = None if cursor is None else _SortKey(cursor.key, base64.b64decode(cursor.ref))
    rows = _select_rows(connection, conditions, params.sort, edge, params.limit + 1, descending is forward)
    more = len(rows) > params.limit
    rows = rows[: params.limit] if forward else rows[: params.limit][::-1]
    # With a cursor, the page from which the cursor was returned always exists.
    before, after = (cursor is not None, more) if forward else (more, True)
    failures = sorted(files.reader.failures.items())[:_MAX_PROBLEMS]
    return t.ListResult(
        # The stored JSON is sent unchanged, to avoid decoding and encoding a thousand rows.
        sessions=cast("list[t.ListedSession]", [Raw(info) for _, _, info in rows]),
        total_count=total,
        next_cursor=_encode(params.sort, rows[-1], forward=True) if rows and after else None,
        previous_cursor=_encode(params.sort, rows[0], forward=False) if rows and before else None,
        problems=[t.ListProblem(path=valid_unicode(ref), message=reason) for ref, reason in failures],
        epoch="",
        position=files.changes.position,
        removed=removed,
        lineages=_lineages(connection, [info for _, _, info in rows]) if params.fold_lineages else UNSET,
    )  # fmt: skip


def _lineages(connection: sqlite3.Connection, infos: Iterable[str]) -> dict[str, list[t.LineageStep]]:
    """Return the sessions that each of these rows replaces in the list, by its id, in the order of their creation."""
    found: dict[str, list[t.LineageStep]] = {}
    for info in map(session_info.from_json, infos):
        others = connection.execute(
            "SELECT agent, session_id FROM files WHERE lineage_root = ? AND cwd = ? AND session_id != ?"
            " AND draft = 0 ORDER BY created, session_id LIMIT ?",
            (lineage_root_of(info), info.cwd, info.session_id, _MAX_LINEAGE),
        ).fetchall()
        if others:
            found[info.session_id] = [t.LineageStep(agent or HERE, name) for agent, name in others]
    return found


class IndexedIds(NamedTuple):
    """The matches of an id: `refs` by the ids that begin with it, else ids `of_agents`, else `similar_ids`.

    `of_agents` are the ids here of sessions that an agent knows by the id.
    """

    refs: dict[str, str]
    similar_ids: list[str]
    of_agents: Sequence[str] = ()


def find_by_id(worker: "Worker", session_id: str, *, min_prefix: int) -> IndexedIds:
    """Return the sessions whose id begins with `session_id`, or similar ids.

    If `session_id` has fewer than `min_prefix` characters, it must be the whole id.
    """
    connection = worker.database.connection
    if len(session_id) < min_prefix:
        found = connection.execute("SELECT session_id, ref FROM files WHERE session_id = ?", (session_id,))
    else:
        found = connection.execute(
            "SELECT session_id, ref FROM files WHERE session_id >= ? AND session_id < ? LIMIT 6",
            (session_id, session_id + "\U0010ffff"),
        )
    refs = {name: as_ref(ref) for name, ref in found}
    if refs:
        return IndexedIds(refs, [])
    of_agents = connection.execute(
        "SELECT session_id FROM files WHERE origin_id != '' AND origin_id = ? LIMIT 3", (session_id,)
    ).fetchall()
    if of_agents:
        return IndexedIds({}, [], [name for (name,) in of_agents])
    names = [name for (name,) in connection.execute("SELECT session_id FROM files")]
    import difflib  # only errors need it

    return IndexedIds({}, difflib.get_close_matches(session_id, names, 3, 0.7))


def find_by_prefix(worker: "Worker", prefix: str, *, min_prefix: int, limit: int) -> list[t.ListedSession]:
    """Return the first `limit` sessions whose id begins with `prefix`, in the order of their ids. None is provisional.

    If there is none, return those whose id in their agent begins with it. If `prefix` has fewer than `min_prefix`
    characters, it must be the whole id.
    """
    end = prefix + ("\U0010ffff" if len(prefix) >= min_prefix else "\0")
    connection = worker.database.connection
    found = _in_range(connection, prefix, end, limit)
    provisional = [session.session_id for session in found if session.provisional]
    if provisional:
        worker.files.complete(session_ids=provisional)
        found = _in_range(connection, prefix, end, limit)
    return found


def _in_range(connection: sqlite3.Connection, start: str, end: str, limit: int) -> list[t.ListedSession]:
    """Return the first `limit` sessions with an id from `start` to `end`, or else with such an id in their agent."""
    for column in ("session_id", "origin_id"):
        found = connection.execute(
            f"SELECT info FROM files WHERE {column} >= ? AND {column} < ? AND {column} != ''"
            " AND draft IS NOT NULL ORDER BY session_id LIMIT ?",
            (start, end, limit),
        ).fetchall()
        if found:
            return [session_info.from_json(info) for (info,) in found]
    return []


def all_sessions(worker: "Worker", list_filter: t.ListFilter) -> list[t.ListedSession]:
    """Return all sessions that match a filter, in no particular order. None is provisional."""
    connection, list_filter = worker.database.connection, worker.resolved(list_filter)
    worker.files.complete(_folders(connection, list_filter.cwd, list_filter.project))
    conditions = _conditions(list_filter)
    found = connection.execute(f"SELECT info FROM files WHERE {conditions.sql}", conditions.values)
    return [session_info.from_json(info) for (info,) in found]


def _folders(connection: sqlite3.Connection, cwd: str | None, project: str | None) -> Collection[str] | None:
    """Return the folders to which a list is limited: one, or those of a project; None for all."""
    if cwd is not None:
        return [cwd]
    if project is None:
        return None
    return {cwd for (cwd,) in connection.execute("SELECT cwd FROM projects WHERE project = ?", (project,))}


class _Condition(NamedTuple):
    """A condition that a list's filter places on one column."""

    column: str
    sql: str
    value: object | None = None


class _Conditions(NamedTuple):
    """Conditions, all of which a row must meet."""

    all: list[_Condition]

    @property
    def sql(self) -> str:
        """All conditions, joined with AND."""
        return " AND ".join(condition.sql for condition in self.all)

    @property
    def columns(self) -> str:
        """The conditions as result columns, which show the conditions that a row meets."""
        return ", ".join(condition.sql for condition in self.all)

    @property
    def values(self) -> list[object]:
        """The values of the parameters of all conditions."""
        return [condition.value for condition in self.all if condition.value is not None]


def _conditions(list_filter: t.ListFilter | t.ListParams) -> _Conditions:
    found = [_Condition("draft", "draft IN (0, 1)" if list_filter.include_drafts else "draft = 0")]
    if list_filter.cwd is not None:
        found.append(_Condition("cwd", "cwd = ?", list_filter.cwd))
    if list_filter.project is not None:
        found.append(_Condition("cwd", IN_PROJECT, list_filter.project))
    if list_filter.tags:
        sql = ("NOT EXISTS (SELECT 1 FROM json_each(?) AS wanted"
               " WHERE wanted.value NOT IN (SELECT value FROM json_each(files.tags)))")  # fmt: skip
        found.append(_Condition("tags", sql, msgspec.json.encode(list_filter.tags).decode()))
    if list_filter.agent is not None:
        found.append(_Condition("agent", "agent = ?", list_filter.agent))
    if list_filter.automated is not None:
        found.append(_Condition("automated", "automated = ?", int(list_filter.automated)))
    found += [
        _Condition("filter_text", "instr(filter_text, ?)", word)
        for word in (list_filter.query or "").casefold().split()
    ]
    return _Conditions(found)


def _period(params: t.ListParams) -> Iterator[_Condition]:
    """Yield the conditions for the time of the last update. Raises `IncompatibleParams`."""
    for sign, text in ((">=", params.since), ("<=", params.until)):
        if text is None:
            continue
        if params.changed_after is not None:
            raise IncompatibleParams("changedAfter cannot be combined with since or until")
        yield _Condition("updated", f"updated {sign} ?", clock.iso(time_of(text) * 1_000_000))


class ListDelta(NamedTuple):
    """The changes of a filtered list after one position and up to another, `position`.

    `rows` are all current rows of the sessions that changed and match. `removed` are the sessions that changed, do not
    match, and may have matched before. `is_last` is True if no further changes are known. `is_complete` is True if a
    client that has received this knows the list: no session that changed before `position` has changed again.
    """

    rows: list[t.ListedSession]
    removed: list[str]
    position: int
    is_last: bool
    is_complete: bool


class ListRange(NamedTuple):
    """The changes that a client requests: those of at most `limit` sessions after `after`, up to `up_to`.

    `complete_at` is the last position at which the client knew the list. It may be earlier than `after`: a session
    whose tags changed before `after`, and that changed again later, is reported only as a change after `after`.
    """

    after: int
    complete_at: int
    up_to: int
    limit: int


def delta(
    connection: sqlite3.Connection, changes: ListChanges, list_filter: t.ListFilter, range_: ListRange
) -> ListDelta | None:
    """Return the changes of a filtered list in a range; None if not all of them are known."""
    if range_.after < changes.oldest:
        return None
    changed = changes.since(range_.after, range_.up_to, range_.limit)
    position = changed[-1][1].position if len(changed) == range_.limit else range_.up_to
    rows, removed = _split(connection, dict(changed), _conditions(list_filter), range_.complete_at)
    is_last = position == range_.up_to
    return ListDelta(rows, removed, position, is_last, is_last and position == changes.position)


def _split(
    connection: sqlite3.Connection,
    changed: dict[str, SessionChange],
    conditions: _Conditions,
    complete_at: int,
) -> tuple[list[t.ListedSession], list[str]]:
    """Return the rows of changed sessions that match, and the ids of those that do not and may have matched."""
    found: list[tuple[Any, ...]] = connection.execute(
        f"SELECT session_id, info, {conditions.columns} FROM files"
        " WHERE session_id IN (SELECT value FROM json_each(?)) AND draft IS NOT NULL",
        [*conditions.values, _as_json(changed)],
    ).fetchall()
    for change in changed.values():
        if change.removed_row is not None:
            found += connection.execute(
                f"SELECT session_id, NULL, {conditions.columns} FROM ({_REMOVED_ROW}) AS files",
                [*conditions.values, *change.removed_row[:-1]],
            )
    rows: list[t.ListedSession] = []
    matching: set[str] = set()
    left: dict[str, None] = {}
    for session_id, info, *meets in found:
        failed = [condition.column for condition, met in zip(conditions.all, meets, strict=True) if not met]
        if info is not None and not failed:
            rows.append(cast("t.ListedSession", Raw(info)))
            matching.add(session_id)
        elif all(getattr(changed[session_id], column) > complete_at for column in failed):
            left[session_id] = None  # a column without a later change did not match earlier, either
    return rows, [session_id for session_id in left if session_id not in matching]


def _as_json(session_ids: Iterable[str]) -> str:
    return msgspec.json.encode(list(session_ids)).decode()


def _count(connection: sqlite3.Connection, conditions: _Conditions) -> int:
    row = connection.execute(f"SELECT count(*) FROM files WHERE {conditions.sql}", conditions.values)
    return int(row.fetchone()[0])


def _select_rows(
    connection: sqlite3.Connection, conditions: _Conditions, sort: str, edge: _SortKey | None, count: int,
    descending: bool,
) -> list[_Row]:  # fmt: skip
    """Return the first rows after an edge, in one direction."""
    column, order, sign = _COLUMN[sort], "DESC" if descending else "ASC", "<" if descending else ">"
    sql, values = conditions.sql, conditions.values
    if edge is not None:
        sql += f" AND ({column}, ref) {sign} (?, ?)"
        values += edge
    return connection.execute(
        f"SELECT {column}, ref, info FROM files WHERE {sql} ORDER BY {column} {order}, ref {order} LIMIT ?",
        [*values, count],
    ).fetchall()


def _encode(sort: str, edge: _Row, *, forward: bool) -> str:
    key, ref, _ = edge
    cursor = _Cursor(sort, forward, key, base64.b64encode(ref).decode())
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
