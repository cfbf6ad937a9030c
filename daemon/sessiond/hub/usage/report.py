"""The report of usage as a value: made of sums from the index and of prices."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from sessiond.hub.index import usage_table
from sessiond.hub.index.usage_table import Model, UsageFilter, UsageSum
from sessiond.hub.usage import days
from sessiond.hub.usage.prices import PriceBook
from sessiond.protocol import types as t

OWN: Final = "sessiond"
"""The name under which sessions count that were read from no agent."""
_GROUPS: Final = {
    "model": "usage.model",
    "agent": "files.agent",
    "project": "coalesce(projects.project, files.cwd)",
}


@dataclass(frozen=True, slots=True)
class Sums:
    """What was read from the index.

    Attributes:
        rows: The sums.
        models: All models by their numbers.
        limits: The limits to which `UsageSum.size` refers.
        zone: The time zone of days.
    """

    rows: list[UsageSum]
    models: dict[int, Model]
    limits: list[int]
    zone: days.Zone

    def unpriced(self, book: PriceBook) -> list[Model]:
        """Return the models whose requests must be priced and that the book does not have yet."""
        needed = {self.models[it.model]: None for it in self.rows if it.cost is None}
        return [model for model in needed if not book.has(model)]


def read(
    connection: sqlite3.Connection,
    params: t.UsageReportParams,
    since: int | None,
    until: int | None,
    book: PriceBook,
) -> Sums:
    """Read the sums for a report.

    Args:
        connection: The database of the index.
        params: The request, with the folder of its project.
        since: The earliest time in milliseconds since 1970.
        until: The latest time.
        book: The prices that are known so far. They decide which requests are summed together.

    Raises:
        IncompatibleParams: There is no such time zone.
    """
    wanted = UsageFilter(since, until, params.agent, params.cwd, params.project)
    zone = days.zone(params.time_zone)
    models = usage_table.models(connection)
    limits = book.limits(list(models.values()))
    hourly = [
        number for number, it in models.items() if (card := book.card(it)) is not None and card.is_hourly
    ]
    if params.by == "day":
        group = days.sql_of_day(zone.changes(usage_table.days(connection, wanted)), "at")
    else:
        group = _GROUPS[params.by]
    rows = usage_table.sums(connection, wanted, group=group, limits=limits, hourly=hourly)
    return Sums(rows, models, limits, zone)


def made(
    sums: Sums, params: t.UsageReportParams, book: PriceBook, uncounted: t.UnsearchedTexts
) -> t.UsageReportResult:
    """Return the report."""
    key_of = _key_of(sums, params.by)
    groups: dict[str, _Group] = {}
    total = _Group()
    unpriced: dict[str, _Unpriced] = {}
    is_estimated = False
    for it in sums.rows:
        model = sums.models[it.model]
        estimate: float | None = 0.0
        if it.cost is None:
            card = book.card(model)
            exceeded = sums.limits[it.size - 1] if it.size else 0
            estimate = None if card is None else card.rates_for(it.moment, exceeded).cost_of(it)
            is_estimated = True
        if estimate is None:
            unpriced.setdefault(_name_of(model), _Unpriced()).add(it)
        for group in (groups.setdefault(key_of(it), _Group()), total):
            group.add(it, estimate)
    rows = [group.row(key) for key, group in groups.items()]
    if params.by == "day":
        rows.sort(key=lambda row: row.key)
    else:
        rows.sort(key=lambda row: (-row.cost.total, -row.tokens.total, row.key))
    named = [
        t.UnpricedModel(model=name, request_count=it.requests, tokens=it.tokens)
        for name, it in unpriced.items()
    ]
    source = book.source if is_estimated else None
    return t.UsageReportResult(
        rows=rows,
        total=total.row(""),
        unpriced_models=sorted(named, key=lambda it: (-it.tokens, it.model)),
        prices=None if source is None else t.PriceSource(
            name=source.name, version=source.version, newest_change=source.newest_change
        ),
        time_zone=sums.zone.name,
        uncounted=uncounted,
    )  # fmt: skip


def _key_of(sums: Sums, by: str) -> Callable[[UsageSum], str]:
    if by == "day":
        return lambda it: days.name_of_day(int(it.group))
    if by == "model":
        return lambda it: _name_of(sums.models[it.model])
    if by == "agent":
        return lambda it: str(it.group) or OWN
    return lambda it: str(it.group)


def _name_of(model: Model) -> str:
    return f"{model.provider}/{model.model}"


@dataclass(slots=True)
class _Unpriced:
    requests: int = 0
    tokens: int = 0

    def add(self, it: UsageSum) -> None:
        self.requests += it.requests
        self.tokens += _tokens_of(it)


@dataclass(slots=True)
class _Group:
    requests: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    recorded: float = 0.0
    estimated: float = 0.0
    unpriced: _Unpriced = field(default_factory=_Unpriced)

    def add(self, it: UsageSum, estimate: float | None) -> None:
        self.requests += it.requests
        self.input += it.input
        self.output += it.output
        self.cache_read += it.cache_read
        self.cache_write += it.cache_write
        self.reasoning += it.reasoning
        self.recorded += it.cost or 0.0
        self.estimated += estimate or 0.0
        if estimate is None:
            self.unpriced.add(it)

    def row(self, key: str) -> t.UsageRow:
        tokens = t.UsageTokens(
            input=self.input, output=self.output, cache_read=self.cache_read, cache_write=self.cache_write,
            reasoning=self.reasoning, total=self.input + self.output + self.cache_read + self.cache_write,
        )  # fmt: skip
        cost = t.UsageCost(
            total=self.recorded + self.estimated, recorded=self.recorded, estimated=self.estimated,
            unpriced_tokens=self.unpriced.tokens,
        )  # fmt: skip
        return t.UsageRow(key=key, request_count=self.requests, tokens=tokens, cost=cost)


def _tokens_of(it: UsageSum) -> int:
    return it.input + it.output + it.cache_read + it.cache_write
