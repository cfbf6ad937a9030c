"""The table of the tokens that requests to models used.

A row is one entry that records a usage. Copies of an entry have the same key, in one session or in several. One of them
is counted: the one with the most tokens, because the lines of an answer that was split have growing numbers; of equal
ones, the one in the session that was created first.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from sessiond.hub.index import usage_totals
from sessiond.hub.index.usage_totals import Place, half_hour_of
from sessiond.session.state.recorded_usage import RecordedUsage

TABLES: Final = """
CREATE TABLE models(
    id INTEGER PRIMARY KEY,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    speed TEXT NOT NULL,             -- '' for the usual one
    UNIQUE(provider, model, speed)
);
CREATE TABLE usage(
    file INTEGER NOT NULL,
    key BLOB NOT NULL,               -- the request; copies of an entry have the same one
    at INTEGER NOT NULL,             -- milliseconds since 1970, at least 0
    model INTEGER NOT NULL,
    input INTEGER NOT NULL,          -- tokens; cache_write includes cache_write_1h, output includes reasoning
    output INTEGER NOT NULL,
    cache_read INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    cache_write_1h INTEGER NOT NULL,
    reasoning INTEGER,               -- null if the agent does not record it
    cost REAL,                       -- in US dollars; null if the agent records none
    counted INTEGER NOT NULL         -- 1 for one row of each key
);
CREATE INDEX usage_file ON usage(file, at);
CREATE INDEX usage_key ON usage(key);
"""

_TOKENS: Final = "usage.input + usage.output + usage.cache_read + usage.cache_write"


class Model(NamedTuple):
    """A model as agents name it, and its speed; see `RecordedUsage`."""

    provider: str
    model: str
    speed: str


def add(
    connection: sqlite3.Connection, file: int, found: Sequence[RecordedUsage], fallback_at: int | None
) -> None:
    """Add the usages of a file. `fallback_at` is the time of usages without one. Must be called in a transaction."""
    if not found:
        return
    models: dict[Model, int] = {}
    changed: set[Place] = set()
    created, ref = connection.execute("SELECT created, ref FROM files WHERE id = ?", (file,)).fetchone()
    for usage in found:
        model = Model(usage.provider, usage.model, usage.speed)
        if model not in models:
            models[model] = _number_of(connection, model)
        at = max(usage.at if usage.at is not None else fallback_at or 0, 0)
        tokens = usage.input + usage.output + usage.cache_read + usage.cache_write
        is_counted = _takes_over(connection, usage.key, (-tokens, created, ref), changed)
        if is_counted:
            changed.add(Place(file, half_hour_of(at)))
        connection.execute(
            "INSERT INTO usage VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (file, usage.key, at, models[model], usage.input, usage.output, usage.cache_read, usage.cache_write,
             usage.cache_write_1h, usage.reasoning, usage.cost, is_counted),
        )  # fmt: skip
    usage_totals.refresh(connection, changed)


def remove(connection: sqlite3.Connection, file: int) -> None:
    """Remove the usages of a file. Copies in other files are counted instead. Must be called in a transaction."""
    counted = connection.execute("SELECT key FROM usage WHERE file = ? AND counted = 1", (file,)).fetchall()
    connection.execute("DELETE FROM usage WHERE file = ?", (file,))
    usage_totals.remove(connection, file)
    usage_totals.refresh(connection, _count_one_of_each(connection, counted))


def rank_again(connection: sqlite3.Connection, file: int) -> None:
    """Decide again which copies are counted, after the ref of a file has changed. Must be called in a transaction."""
    copied = connection.execute(
        "SELECT DISTINCT key FROM usage WHERE file = ? AND EXISTS"
        " (SELECT 1 FROM usage AS other WHERE other.key = usage.key AND other.file <> usage.file)",
        (file,),
    ).fetchall()
    changed = {
        Place(other, half_hour_of(at))
        for key in copied
        for other, at in connection.execute("SELECT file, at FROM usage WHERE key = ? AND counted = 1", key)
    }
    connection.executemany("UPDATE usage SET counted = 0 WHERE key = ?", copied)
    usage_totals.refresh(connection, changed | _count_one_of_each(connection, copied))


def models(connection: sqlite3.Connection) -> dict[int, Model]:
    """Return all models by their numbers."""
    found = connection.execute("SELECT id, provider, model, speed FROM models")
    return {number: Model(*names) for number, *names in found}


def _number_of(connection: sqlite3.Connection, model: Model) -> int:
    connection.execute("INSERT OR IGNORE INTO models(provider, model, speed) VALUES(?, ?, ?)", model)
    row = connection.execute("SELECT id FROM models WHERE provider = ? AND model = ? AND speed = ?", model)
    return int(row.fetchone()[0])


def _takes_over(
    connection: sqlite3.Connection, key: bytes, rank: tuple[int, str, bytes], changed: set[Place]
) -> bool:
    """Return whether a new row is counted instead of the present one, which then stops counting."""
    before = connection.execute(
        f"SELECT usage.rowid, file, at, -({_TOKENS}), files.created, files.ref"
        " FROM usage JOIN files ON files.id = usage.file WHERE key = ? AND counted = 1",
        (key,),
    ).fetchone()
    if before is None:
        return True
    number, file, at, *rank_before = before
    if rank >= tuple(rank_before):
        return False
    connection.execute("UPDATE usage SET counted = 0 WHERE rowid = ?", (number,))
    changed.add(Place(file, half_hour_of(at)))
    return True


def _count_one_of_each(connection: sqlite3.Connection, keys: Iterable[tuple[bytes]]) -> set[Place]:
    """Count one row of each of these keys, which have no counted row. Returns the places of these rows."""
    changed: set[Place] = set()
    for key in keys:
        best = connection.execute(
            "SELECT usage.rowid, file, at FROM usage JOIN files ON files.id = usage.file WHERE key = ?"
            f" ORDER BY {_TOKENS} DESC, files.created, files.ref, usage.rowid LIMIT 1",
            key,
        ).fetchone()
        if best is not None:
            number, file, at = best
            connection.execute("UPDATE usage SET counted = 1 WHERE rowid = ?", (number,))
            changed.add(Place(file, half_hour_of(at)))
    return changed
