"""Full-text search in the index.

Matches are ranked within windows: first the newest 400 matching entries of the index, then, for the following pages,
the 400 before them, and so on. So a common word costs as much as a rare one. A window of a query with phrases has 100
matches, since each of them is checked in its text: such a query costs more the more entries have all of its words.
"""

import base64
import hashlib
import sqlite3
import time
from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta

from sessiond.hub import clock, session_info
from sessiond.hub.errors import CursorExpired, IncompatibleParams
from sessiond.hub.index.columns import as_key, as_ref
from sessiond.hub.index.period import time_of
from sessiond.hub.index.phrase_checks import PhraseChecks
from sessiond.hub.index.projects import IN_PROJECT
from sessiond.protocol import types as t
from sessiond.session.content import search_words
from sessiond.session.tree.steps import Steps

if TYPE_CHECKING:
    from sessiond.hub.index.database import Database
    from sessiond.hub.index.worker import Worker

WINDOW: Final = 400
"""The number of matching entries that are ranked together."""
PHRASE_WINDOW: Final = 100
"""The same number if the query has phrases that must be checked in the texts."""
_SLICE_SECONDS: Final = 0.02
"""The time after which other questions get their turn."""
_HALF_LIFE_MS: Final = 30 * 86_400_000.0
"""A new entry has twice the score of an old one. The bonus halves in this time, in milliseconds."""
_SATURATION: Final = 1.2
_AVERAGE_LENGTH: Final = 800
_MAX_COUNTED_PHRASES: Final = 4
_MAX_RANGES: Final = 100
"""The maximum number of ranges of a snippet."""
_MAX_COUNTED_CHARACTERS: Final = 20_000
_ROLE_WEIGHTS: Final = {"user": 1.3, "assistant": 1.0, "toolResult": 0.6}
_TITLE_TYPES: Final = ("label", "session_info", "title_change", "session")


_Number: TypeAlias = Annotated[int, Meta(ge=0, le=1 << 62)]


class _Cursor(msgspec.Struct, array_like=True):
    query_hash: str
    now: _Number
    below: _Number
    """The window holds entries with numbers below this."""
    score: float
    entry: _Number
    """The last returned hit of the window; 0 for none."""


class _ScoredEntry(NamedTuple):
    score: float
    entry: int


@dataclass(frozen=True, slots=True)
class Hits:
    """A page, without the facts that only the tree of an open session has. `refs` holds the ref of each hit."""

    hits: Sequence[t.Hit]
    refs: Sequence[str]
    next_cursor: str | None


class SlicedSearch:
    """A search, which is run in slices, because phrases are looked for in the texts of all entries with their words.

    Args:
        worker: The index.
        params: The request.
        file: The ref of the session that `sessionId` names.
        clean: Returns a text without what the client must not see. It gets whole texts, never parts of them.
    """

    def __init__(
        self, worker: "Worker", params: t.SearchParams, file: str | None, clean: Callable[[str], str]
    ) -> None:
        self._build_number = worker.build_number
        self._steps = _search(worker, params, file, clean)
        self.hits: Hits | None = None
        """The page; None until it is found."""

    def run_slice(self, worker: "Worker") -> bool:
        """Search for some milliseconds. Returns False if the index is another one now, and the search must begin again.

        Raises `IncompatibleParams`, `CursorExpired`.
        """
        if worker.build_number != self._build_number:
            return False
        until = time.monotonic() + _SLICE_SECONDS
        try:
            while time.monotonic() < until:
                next(self._steps)
        except StopIteration as end:
            self.hits = end.value
        return True


def _search(
    worker: "Worker", params: t.SearchParams, file: str | None, clean: Callable[[str], str]
) -> Steps[Hits]:
    database, params = worker.database, worker.resolved(params)
    phrases = search_words.phrases(params.query)
    if not phrases:
        raise IncompatibleParams("the query holds no letter and no digit, and nothing else is searched")
    checks = PhraseChecks(phrases)
    query_hash = _query_hash(params)
    at = _first(query_hash) if params.cursor is None else _decode(params.cursor, query_hash)
    next_page: _Cursor | None = at
    selected: list[_ScoredEntry] = []
    while next_page is not None and len(selected) < params.limit:
        at = next_page
        window = yield from _window(database, params, phrases, checks, file, at)
        ranked = sorted(_ranked(window, at.now), reverse=True)
        left = [entry for entry in ranked if not at.entry or entry < (at.score, at.entry)]
        space = params.limit - len(selected)
        selected += left[:space]
        if len(left) > space:
            next_page = _Cursor(query_hash, at.now, at.below, *left[space - 1])
        elif len(window) == _size(checks):
            next_page = _Cursor(query_hash, at.now, window[-1].entry, 0.0, 0)
        else:
            next_page = None
    encoded_cursor = (
        None if next_page is None else base64.urlsafe_b64encode(msgspec.json.encode(next_page)).decode()
    )
    hits, refs = _hits(database, [entry.entry for entry in selected], phrases, clean)
    return Hits(hits, refs, encoded_cursor)


class _Match(NamedTuple):
    """A matching entry; `occurrences` counts the occurrences of each of the first phrases."""

    entry: int
    at: int | None
    role: str | None
    type: str
    length: int
    occurrences: tuple[int, ...]


def _window(
    database: "Database", params: t.SearchParams, phrases: Sequence[search_words.Phrase], checks: PhraseChecks,
    file: str | None, cursor: _Cursor,
) -> Steps[list[_Match]]:  # fmt: skip
    # FTS5's own bm25 reads the whole index to weigh a phrase. This reads only the texts of the window, and only the
    # beginning of long ones. A word whose accents differ from the text counts once.
    counted_phrases = [" ".join(phrase.words).lower() for phrase in phrases[:_MAX_COUNTED_PHRASES]]
    sql, values = _filters(database.connection, params, file)
    found: list[_Match] = []
    below: int | None = cursor.below
    size = limit = _size(checks)
    while below is not None and len(found) < size:
        rows = database.connection.execute(
            "SELECT words.rowid, entries.at, entries.role, entries.type FROM words"
            " JOIN entries ON entries.id = words.rowid"
            f" WHERE words MATCH ? AND words.rowid < ?{sql} ORDER BY words.rowid DESC LIMIT ?",
            [checks.match, below, *values, limit],
        ).fetchall()
        below = rows[-1][0] if len(rows) == limit else None
        limit = min(2 * limit, WINDOW)
        texts = database.texts
        matching = (
            checks.matching((row[0], texts.text(row[0])) for row in rows) if checks.are_needed else None
        )
        found += [
            _Match(entry, at, role, kind, *_counted(texts.text(entry), counted_phrases))
            for entry, at, role, kind in rows
            if matching is None or entry in matching
        ]
        yield
    return found[:size]


def _size(checks: PhraseChecks) -> int:
    """Return the number of matching entries in a window."""
    return PHRASE_WINDOW if checks.are_needed else WINDOW


def _counted(text: str, phrases: Sequence[str]) -> tuple[int, tuple[int, ...]]:
    """Return the length of a text, and the number of occurrences of each of these phrases at its beginning."""
    beginning = text[:_MAX_COUNTED_CHARACTERS].lower()
    return len(text), tuple(beginning.count(phrase) for phrase in phrases)


def _filters(
    connection: sqlite3.Connection, params: t.SearchParams, file: str | None
) -> tuple[str, list[Any]]:
    sql = ""
    values: list[Any] = []
    if params.roles:
        sql += f" AND entries.role IN ({_placeholders(params.roles)})"
        values += params.roles
    for sign, time_bound in ((">=", params.since), ("<=", params.until)):
        if time_bound is not None:
            sql += f" AND entries.at {sign} ?"
            values.append(time_of(time_bound))
    if file is not None:
        number = connection.execute("SELECT id FROM files WHERE ref = ?", (as_key(file),)).fetchone()
        first, last = connection.execute(
            "SELECT coalesce(min(id), 0), coalesce(max(id), 0) FROM entries WHERE file = ?", number or (0,)
        ).fetchone()
        # The entries of a file are mostly adjacent, so most other entries are skipped.
        sql += " AND words.rowid BETWEEN ? AND ? AND entries.file = ?"
        values += [first, last, *(number or (0,))]
    if params.tags or any(value is not None for value in (params.cwd, params.project, params.agent)):
        sql += f" AND entries.file IN ({_ids(_files_of(connection, params))})"
    if params.labels:
        labeled = f"SELECT file, entry_id FROM labels WHERE label IN ({_placeholders(params.labels)})"
        sql += f" AND (entries.file, entries.entry_id) IN ({labeled})"
        values += params.labels
    return sql, values


def _files_of(connection: sqlite3.Connection, params: t.SearchParams) -> Collection[int]:
    return files_of(connection, cwd=params.cwd, project=params.project, agent=params.agent, tags=params.tags)


def files_of(
    connection: sqlite3.Connection, *, cwd: str | None, project: str | None, agent: str | None,
    tags: Collection[str] | None = None,
) -> Collection[int]:  # fmt: skip
    """Return the numbers of the files whose session has the folder, the project, the agent and all of the tags."""
    sql = "draft IS NOT NULL"
    values: list[str] = []
    for column, value in (("cwd", cwd), ("agent", agent)):
        if value is not None:
            sql, values = f"{sql} AND {column} = ?", [*values, value]
    if project is not None:
        sql, values = f"{sql} AND {IN_PROJECT}", [*values, project]
    for tag in tags or ():
        sql, values = sql + " AND ? IN (SELECT value FROM json_each(files.tags))", [*values, tag]
    return [number for (number,) in connection.execute(f"SELECT id FROM files WHERE {sql}", values)]


def _placeholders(values: Collection[str]) -> str:
    """Return the placeholders of these values in a query."""
    return ",".join("?" * len(values))


def _ids(numbers: Collection[int]) -> str:
    return ",".join(map(str, sorted(numbers)))


def _ranked(window: Sequence[_Match], now: int) -> list[_ScoredEntry]:
    """Score the matches: BM25 within an entry, times a weight of the role, times a weight of the age."""
    found = []
    for match in window:
        rest = _SATURATION * (0.25 + 0.75 * match.length / _AVERAGE_LENGTH)
        relevance = sum(
            max(1, occurrences) / (max(1, occurrences) + rest) for occurrences in match.occurrences
        )
        weight = 1.5 if match.type in _TITLE_TYPES else _ROLE_WEIGHTS.get(match.role or "", 1.0)
        age = max(0, now - match.at) if match.at is not None else 10 * _HALF_LIFE_MS
        found.append(_ScoredEntry(relevance * weight * (1.0 + 2.0 ** (-age / _HALF_LIFE_MS)), match.entry))
    return found


def _hits(
    database: "Database",
    entries: Sequence[int],
    phrases: Sequence[search_words.Phrase],
    clean: Callable[[str], str],
) -> tuple[list[t.Hit], list[str]]:
    sessions: dict[int, tuple[str, t.ListedSession, list[tuple[int, int]]]] = {}
    hits, refs = [], []
    connection = database.connection
    for entry in entries:
        file, seq, entry_id, kind, role, at, target = _row_of(
            connection,
            "SELECT file, seq, entry_id, type, role, at, target_id FROM entries WHERE id = ?",
            entry,
        )
        text = database.texts.text(entry)
        if file not in sessions:
            sessions[file] = session_of(connection, file)
        ref, session, off_path = sessions[file]
        snippet = search_words.snippet(search_words.readable(clean(text)), phrases)
        hits.append(
            t.Hit(
                session_id=session.session_id, path=session.path, cwd=session.cwd,
                title=None if session.title is None else clean(session.title),
                entry_id=entry_id or None, seq=seq, type=kind, role=role,
                timestamp=None if at is None else clock.iso(at * 1_000_000), snippet=snippet.text,
                ranges=[t.CharacterRange(start=at, end=end) for at, end in snippet.ranges[:_MAX_RANGES]],
                on_path=not is_in(seq, off_path), labeled_entry_id=target, origin=session.origin,
                first_prompt=(
                    clean(session.first_prompt) if session.title is None and session.first_prompt else None
                ),
            )
        )  # fmt: skip
        refs.append(ref)
    return hits, refs


def session_of(
    connection: sqlite3.Connection, file: int
) -> tuple[str, t.ListedSession, list[tuple[int, int]]]:
    """Return the ref of a file, the list row of its session, and the ranges of rows off the path to its leaf."""
    ref, info, off_path = _row_of(connection, "SELECT ref, info, off_path FROM files WHERE id = ?", file)
    return (
        as_ref(ref),
        session_info.from_json(info),
        msgspec.json.decode(off_path, type=list[tuple[int, int]]),
    )


def _row_of(connection: sqlite3.Connection, sql: str, number: int) -> tuple[Any, ...]:
    """Return the row of this number. If it is missing, the index is damaged."""
    row: tuple[Any, ...] | None = connection.execute(sql, (number,)).fetchone()
    if row is None:
        raise sqlite3.DatabaseError(f"row {number} is missing")
    return row


def is_in(row: int, ranges: Sequence[tuple[int, int]]) -> bool:
    """Return whether a row is in one of the ranges `[first, last]`, which are in order."""
    index = bisect_right(ranges, (row, 1 << 62)) - 1
    return index >= 0 and ranges[index][0] <= row <= ranges[index][1]


def _first(query_hash: str) -> _Cursor:
    return _Cursor(query_hash, time.time_ns() // 1_000_000, 1 << 62, 0.0, 0)


def _query_hash(params: t.SearchParams) -> str:
    """Return a hash of the query, by which a cursor is matched to it."""
    phrases = msgspec.json.encode(msgspec.structs.replace(params, cursor=None, limit=1))
    return hashlib.blake2b(phrases, digest_size=6).hexdigest()


def _decode(text: str, query_hash: str) -> _Cursor:
    try:
        cursor = msgspec.json.decode(base64.urlsafe_b64decode(text.encode()), type=_Cursor)
    except (ValueError, msgspec.DecodeError):
        raise CursorExpired from None
    if cursor.query_hash != query_hash:
        raise CursorExpired
    return cursor
