"""The table of what requests to models used, and its sums for a report.

A row is one entry that records a usage. Copies of an entry have the same key, in one session or in several. One of them
is counted: the one with the most tokens, because the lines of an answer that was split have growing numbers; of equal
ones, the one in the session that was created first.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from sessiond.hub.index.listing import IN_PROJECT
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
    at INTEGER NOT NULL,             -- milliseconds since 1970
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
CREATE INDEX usage_file ON usage(file);
CREATE INDEX usage_key ON usage(key);
CREATE UNIQUE INDEX usage_counted ON usage(key) WHERE counted = 1;
CREATE INDEX usage_at ON usage(at);
"""

DAY_MS: Final = 86_400_000
HALF_HOUR_MS: Final = 1_800_000
_TOKENS: Final = "usage.input + usage.output + usage.cache_read + usage.cache_write"


class Model(NamedTuple):
    """A model as agents name it, and its speed; see `RecordedUsage`."""

    provider: str
    model: str
    speed: str


@dataclass(frozen=True, slots=True)
class UsageFilter:
    """The usages to sum.

    Attributes:
        since: Only those of this time or later, in milliseconds since 1970.
        until: Only those of this time or earlier.
        agent: Only those in sessions of this agent.
        cwd: Only those in sessions of this folder.
        project: Only those in sessions of the project in this folder.
    """

    since: int | None = None
    until: int | None = None
    agent: str | None = None
    cwd: str | None = None
    project: str | None = None

    @property
    def sql(self) -> str:
        """The condition that rows must meet."""
        found = ["counted = 1"]
        if self.since is not None:
            found.append("at >= ?")
        if self.until is not None:
            found.append("at <= ?")
        files: list[str] = []
        if self.agent is not None:
            files.append("agent = ?")
        if self.cwd is not None:
            files.append("cwd = ?")
        if self.project is not None:
            files.append(IN_PROJECT)
        if files:
            found.append(f"file IN (SELECT id FROM files WHERE {' AND '.join(files)})")
        return " AND ".join(found)

    @property
    def values(self) -> list[object]:
        """The values of the parameters of `sql`."""
        given = (self.since, self.until, self.agent, self.cwd, self.project)
        return [it for it in given if it is not None]


class UsageSum(NamedTuple):
    """The sums of requests that have one price.

    Attributes:
        group: The value by which the report groups them.
        model: The number of the model.
        moment: The day in UTC, counted from 1970; the half-hour for models whose price depends on the time of day.
        size: The number of the limits that each of the prompts exceeds; see `sums`.
        requests: The number of requests.
        input: Tokens of prompts that were not cached.
        output: Tokens of answers.
        cache_read: Tokens of prompts that were read from a cache.
        cache_write: Tokens of prompts that were written to a cache.
        cache_write_1h: Those of `cache_write` that are kept for an hour.
        reasoning: Tokens of reasoning, where they are known.
        cost: The recorded cost; None if none of the requests has one.
    """

    group: str | int
    model: int
    moment: int
    size: int
    requests: int
    input: int
    output: int
    cache_read: int
    cache_write: int
    cache_write_1h: int
    reasoning: int
    cost: float | None


def add(
    connection: sqlite3.Connection, file: int, found: Sequence[RecordedUsage], fallback_at: int | None
) -> None:
    """Add the usages of a file. `fallback_at` is the time of those that have none."""
    if not found:
        return
    models: dict[Model, int] = {}
    created, ref = connection.execute("SELECT created, ref FROM files WHERE id = ?", (file,)).fetchone()
    for it in found:
        model = Model(it.provider, it.model, it.speed)
        if model not in models:
            models[model] = _number_of(connection, model)
        at = it.at if it.at is not None else fallback_at or 0
        tokens = it.input + it.output + it.cache_read + it.cache_write
        is_counted = _takes_over(connection, it.key, (-tokens, created, ref))
        connection.execute(
            "INSERT INTO usage VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (file, it.key, at, models[model], it.input, it.output, it.cache_read, it.cache_write,
             it.cache_write_1h, it.reasoning, it.cost, is_counted),
        )  # fmt: skip


def remove(connection: sqlite3.Connection, file: int) -> None:
    """Remove the usages of a file. Copies in other files are counted instead."""
    counted = connection.execute("SELECT key FROM usage WHERE file = ? AND counted = 1", (file,)).fetchall()
    connection.execute("DELETE FROM usage WHERE file = ?", (file,))
    connection.executemany(
        "UPDATE usage SET counted = 1 WHERE rowid = (SELECT usage.rowid FROM usage JOIN files ON files.id = usage.file"
        f" WHERE key = ? ORDER BY {_TOKENS} DESC, files.created, files.ref, usage.rowid LIMIT 1)",
        counted,
    )


def models(connection: sqlite3.Connection) -> dict[int, Model]:
    """Return all models by their numbers."""
    found = connection.execute("SELECT id, provider, model, speed FROM models")
    return {number: Model(*names) for number, *names in found}


def days(connection: sqlite3.Connection, wanted: UsageFilter) -> list[int]:
    """Return the days in UTC on which there are usages, counted from 1970, in their order."""
    found = connection.execute(
        f"SELECT DISTINCT at / {DAY_MS} FROM usage WHERE {wanted.sql} ORDER BY 1", wanted.values
    )
    return [day for (day,) in found]


def sums(
    connection: sqlite3.Connection,
    wanted: UsageFilter,
    *,
    group: str,
    limits: Sequence[int],
    hourly: Iterable[int],
) -> list[UsageSum]:
    """Return the sums of usages.

    Args:
        connection: The database.
        wanted: The usages to sum.
        group: The SQL expression by which they are grouped. It may use the columns of `usage`, of `files` and of
            `projects`.
        limits: Numbers of tokens in a prompt above which a model may have another price, in ascending order.
        hourly: The numbers of the models whose price depends on the time of day.
    """
    prompt = "(input + cache_read + cache_write)"
    size = " + ".join(["0", *(f"({prompt} > {int(limit)})" for limit in limits)])
    numbers = ",".join(str(int(number)) for number in hourly)
    moment = f"at / CASE WHEN model IN ({numbers}) THEN {HALF_HOUR_MS} ELSE {DAY_MS} END"
    joins = ""
    if "files." in group or "projects." in group:
        joins += " JOIN files ON files.id = usage.file"
    if "projects." in group:
        joins += " LEFT JOIN projects ON projects.cwd = files.cwd"
    found = connection.execute(
        f"SELECT {group} AS grouped, model, {moment} AS moment, {size} AS size, count(*), sum(input), sum(output),"
        " sum(cache_read), sum(cache_write), sum(cache_write_1h), coalesce(sum(reasoning), 0), sum(cost)"
        f" FROM usage{joins} WHERE {wanted.sql} GROUP BY grouped, model, moment, size, cost IS NULL",
        wanted.values,
    )
    return [UsageSum(*row) for row in found]


def _number_of(connection: sqlite3.Connection, model: Model) -> int:
    connection.execute("INSERT OR IGNORE INTO models(provider, model, speed) VALUES(?, ?, ?)", model)
    row = connection.execute("SELECT id FROM models WHERE provider = ? AND model = ? AND speed = ?", model)
    return int(row.fetchone()[0])


def _takes_over(connection: sqlite3.Connection, key: bytes, rank: tuple[int, str, bytes]) -> bool:
    """Return whether a new row is counted instead of the row that is counted so far, which then is not any more."""
    before = connection.execute(
        f"SELECT usage.rowid, -({_TOKENS}), files.created, files.ref FROM usage JOIN files ON files.id = usage.file"
        " WHERE key = ? AND counted = 1",
        (key,),
    ).fetchone()
    if before is None:
        return True
    number, *rank_before = before
    if rank >= tuple(rank_before):
        return False
    connection.execute("UPDATE usage SET counted = 0 WHERE rowid = ?", (number,))
    return True
