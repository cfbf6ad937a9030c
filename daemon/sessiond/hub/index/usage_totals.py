"""The totals of usage for each session, half-hour and model, and their sums for a report.

A total is the sum of the counted rows of `usage`. It is computed again whenever a row is added or removed, so it never
differs from them. A report adds totals. It reads rows only if a total does not have the answer: in a half-hour
that the report cuts, or whose prompts have several prices.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from sessiond.hub.index.projects import IN_PROJECT

HALF_HOUR_MS: Final = 1_800_000
DAY_MS: Final = 86_400_000
HALF_HOURS: Final = DAY_MS // HALF_HOUR_MS
"""The number of half-hours of a day."""

TABLES: Final = """
CREATE TABLE usage_totals(
    file INTEGER NOT NULL,
    half_hour INTEGER NOT NULL,      -- counted from 1970
    model INTEGER NOT NULL,
    has_cost INTEGER NOT NULL,       -- 1 for requests whose agent recorded a cost
    shortest INTEGER NOT NULL,       -- tokens of the shortest and of the longest prompt
    longest INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    input INTEGER NOT NULL,          -- sums of the columns of usage
    output INTEGER NOT NULL,
    cache_read INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    cache_write_1h INTEGER NOT NULL,
    reasoning INTEGER NOT NULL,
    cost REAL,
    PRIMARY KEY(file, half_hour, model, has_cost)
) WITHOUT ROWID;
"""

_SUMMED: Final = ("input", "output", "cache_read", "cache_write", "cache_write_1h", "reasoning", "cost")
_PROMPT: Final = "usage.input + usage.cache_read + usage.cache_write"
_SUMS: Final = (
    "sum(input), sum(output), sum(cache_read), sum(cache_write), sum(cache_write_1h), coalesce(sum(reasoning), 0),"
    " sum(cost)"
)
_END: Final = 1 << 60
"""A time after all times, in milliseconds."""
_MAKE: Final = f"""
INSERT INTO usage_totals
SELECT :file, :half_hour, model, cost IS NOT NULL, min({_PROMPT}), max({_PROMPT}), count(*), {_SUMS} FROM usage
WHERE file = :file AND at BETWEEN :half_hour * {HALF_HOUR_MS} AND :half_hour * {HALF_HOUR_MS} + {HALF_HOUR_MS - 1}
    AND counted = 1
GROUP BY model, cost IS NOT NULL
"""


class Place(NamedTuple):
    """A half-hour of a session, by the number of its file."""

    file: int
    half_hour: int


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
        """The condition that totals must meet: their session is wanted, and at least a part of the half-hour."""
        files: list[str] = []
        if self.agent is not None:
            files.append("agent = :agent")
        if self.cwd is not None:
            files.append("cwd = :cwd")
        if self.project is not None:
            files.append(IN_PROJECT.replace("?", ":project"))
        found = [f"half_hour BETWEEN :since / {HALF_HOUR_MS} AND :until / {HALF_HOUR_MS}"]
        if files:
            found.append(f"file IN (SELECT id FROM files WHERE {' AND '.join(files)})")
        return " AND ".join(found)

    @property
    def values(self) -> dict[str, object]:
        """The values of the parameters of `sql`."""
        return {
            "since": max(self.since or 0, 0), "until": _END if self.until is None else self.until,
            "agent": self.agent, "cwd": self.cwd, "project": self.project,
        }  # fmt: skip

    @property
    def cut(self) -> set[int]:
        """The half-hours that are only partly wanted."""
        found: set[int] = set()
        if self.since is not None and self.since % HALF_HOUR_MS:
            found.add(self.since // HALF_HOUR_MS)
        if self.until is not None and (self.until + 1) % HALF_HOUR_MS:
            found.add(self.until // HALF_HOUR_MS)
        return found


class PriceSteps(NamedTuple):
    """The conditions on which the price of a model depends.

    Attributes:
        starts: The days in UTC, counted from 1970, on which the price changes, in ascending order.
        limits: The tokens of a prompt above which the price is another one, in ascending order.
        is_hourly: Whether it depends on the time of day.
    """

    starts: tuple[int, ...] = ()
    limits: tuple[int, ...] = ()
    is_hourly: bool = False


class UsageSum(NamedTuple):
    """The sums of requests that have one price.

    Attributes:
        group: The value by which the report groups them.
        model: The number of the model.
        moment: The number of the `PriceSteps.starts` that have passed; for models whose price depends on the time of
            day, `HALF_HOURS` times that number, and the half-hour of the day in UTC.
        size: The number of the `PriceSteps.limits` that each of the prompts exceeds.
        requests: The number of requests.
        input: Tokens of prompts that were not cached.
        output: Tokens of answers.
        cache_read: Tokens of prompts that were read from a cache.
        cache_write: Tokens of prompts that were written to a cache.
        cache_write_1h: The part of `cache_write` that is kept for an hour.
        reasoning: Tokens of reasoning, if they are known.
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


def half_hour_of(at: int) -> int:
    """Return the half-hour of a time in milliseconds since 1970."""
    return at // HALF_HOUR_MS


def refresh(connection: sqlite3.Connection, places: Iterable[Place]) -> None:
    """Compute the totals of these half-hours again. Must be called within the transaction that changed their rows."""
    changed = [place._asdict() for place in places]
    connection.executemany("DELETE FROM usage_totals WHERE file = :file AND half_hour = :half_hour", changed)
    connection.executemany(_MAKE, changed)


def remove(connection: sqlite3.Connection, file: int) -> None:
    """Remove the totals of a file."""
    connection.execute("DELETE FROM usage_totals WHERE file = ?", (file,))


def days(connection: sqlite3.Connection, wanted: UsageFilter) -> list[int]:
    """Return the days in UTC with usages, counted from 1970, in ascending order."""
    found = connection.execute(
        f"SELECT DISTINCT half_hour / {HALF_HOURS} FROM usage_totals WHERE {wanted.sql} ORDER BY 1",
        wanted.values,
    )
    return [day for (day,) in found]


def sums(
    connection: sqlite3.Connection,
    wanted: UsageFilter,
    *,
    group: str,
    prices: dict[int, PriceSteps],
    cut: Iterable[int] = (),
) -> list[UsageSum]:
    """Return the sums of usages.

    Args:
        connection: The database.
        wanted: The usages to sum.
        group: The SQL expression by which they are grouped. It may use the columns `at` and `model`, and those of
            `files` and of `projects`.
        prices: The conditions of the prices, by the number of the model.
        cut: Half-hours whose requests are not all in the same group.
    """
    joins = ""
    if "files." in group or "projects." in group:
        joins += " JOIN files ON files.id = parts.file"
    if "projects." in group:
        joins += " LEFT JOIN projects ON projects.cwd = files.cwd"
    numbers = ",".join(map(str, sorted({*cut, *wanted.cut})))
    is_cut = f"(half_hour IN ({numbers}) OR {_size(prices, 'shortest')} <> {_size(prices, 'longest')})"
    of_usage = ", ".join(f"usage.{name}" for name in _SUMMED)
    found = connection.execute(
        "WITH parts AS ("
        f" SELECT file, model, half_hour * {HALF_HOUR_MS} AS at, shortest AS prompt, requests, {', '.join(_SUMMED)}"
        f" FROM usage_totals AS totals WHERE {wanted.sql} AND NOT {is_cut}"
        f" UNION ALL SELECT usage.file, usage.model, usage.at, {_PROMPT}, 1, {of_usage}"
        " FROM (SELECT file, half_hour, model, has_cost FROM usage_totals AS totals"
        f" WHERE {wanted.sql} AND {is_cut}) AS totals CROSS JOIN usage ON usage.file = totals.file"
        f" AND usage.at BETWEEN half_hour * {HALF_HOUR_MS} AND half_hour * {HALF_HOUR_MS} + {HALF_HOUR_MS - 1}"
        " WHERE usage.model = totals.model AND (usage.cost IS NOT NULL) = has_cost AND counted = 1"
        " AND usage.at BETWEEN :since AND :until"
        f") SELECT {group} AS grouped, model, {_moment(prices)} AS moment, {_size(prices, 'prompt')} AS size,"
        f" sum(requests), {_SUMS} FROM parts{joins} GROUP BY grouped, model, moment, size, cost IS NULL",
        wanted.values,
    )
    return [UsageSum(*row) for row in found]


def _size(prices: dict[int, PriceSteps], tokens: str) -> str:
    """Return the SQL expression of `UsageSum.size` for prompts of a number of tokens."""
    by_limits: dict[tuple[int, ...], list[int]] = {}
    for model, price in prices.items():
        by_limits.setdefault(price.limits, []).append(model)
    return _by_model([(models, _exceeded(tokens, limits)) for limits, models in by_limits.items() if limits])


def _moment(prices: dict[int, PriceSteps]) -> str:
    """Return the SQL expression of `UsageSum.moment` for a time in the column `at`."""
    by_steps: dict[tuple[tuple[int, ...], bool], list[int]] = {}
    for model, price in prices.items():
        by_steps.setdefault((price.starts, price.is_hourly), []).append(model)
    cases: list[tuple[list[int], str]] = []
    for (starts, is_hourly), models in by_steps.items():
        if is_hourly:
            cases.append((models, f"({_passed(starts)}) * {HALF_HOURS} + at / {HALF_HOUR_MS} % {HALF_HOURS}"))
        elif starts:
            cases.append((models, _passed(starts)))
    return _by_model(cases)


def _exceeded(value: str, limits: Sequence[int]) -> str:
    return " + ".join(f"({value} > {int(limit)})" for limit in limits)


def _passed(starts: Sequence[int]) -> str:
    return " + ".join(["0", *(f"(at >= {int(day) * DAY_MS})" for day in starts)])


def _by_model(cases: Sequence[tuple[Sequence[int], str]]) -> str:
    """Return the SQL expression that has one of these values for these models, and 0 for the others."""
    if not cases:
        return "0"
    whens = (f"WHEN model IN ({','.join(map(str, models))}) THEN {value}" for models, value in cases)
    return f"(CASE {' '.join(whens)} ELSE 0 END)"
