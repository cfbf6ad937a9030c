"""The report of usage as a value: made of sums from the index and of prices."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from sessiond.hub.index import usage_table, usage_totals
from sessiond.hub.index.usage_table import Model
from sessiond.hub.index.usage_totals import UsageFilter, UsageSum
from sessiond.hub.usage import days
from sessiond.hub.usage.prices import PriceBook, PriceCard
from sessiond.protocol import types as t

OWN: Final = "sessiond"
"""The agent's name in a report for sessions that were read from no agent."""
_GROUPS: Final = {
    "model": "model",
    "agent": "files.agent",
    "project": "coalesce(projects.project, files.cwd)",
}


@dataclass(frozen=True, slots=True)
class Sums:
    """The sums that were read from the index.

    Attributes:
        rows: The sums.
        models: All models by their numbers.
        cards: The prices that were known when the sums were read, by the numbers of the models; None for no known
            price.
        zone: The time zone of days.
    """

    rows: list[UsageSum]
    models: dict[int, Model]
    cards: dict[int, PriceCard | None]
    zone: days.Zone

    def unpriced(self) -> list[Model]:
        """Return the models whose requests must be priced and whose prices were not looked up yet."""
        needed = {usage.model for usage in self.rows if usage.cost is None} - self.cards.keys()
        return [self.models[number] for number in sorted(needed)]


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
    cards = {number: book.card(model) for number, model in models.items() if book.has(model)}
    prices = {number: card.steps for number, card in cards.items() if card is not None}
    cut: set[int] = set()
    if params.by == "day":
        utc_days = usage_totals.days(connection, wanted)
        changes = zone.changes(utc_days)
        group, cut = days.sql_of_day(changes, "at"), days.cut_half_hours(changes, utc_days)
    else:
        group = _GROUPS[params.by]
    rows = usage_totals.sums(connection, wanted, group=group, prices=prices, cut=cut)
    return Sums(rows, models, cards, zone)


def made(
    sums: Sums, params: t.UsageReportParams, book: PriceBook, uncounted: t.UnsearchedTexts
) -> t.UsageReportResult:
    """Return the report."""
    key_of = _key_of(sums, params.by)
    groups: dict[str, _Group] = {}
    total = _Group()
    unpriced: dict[str, _Unpriced] = {}
    is_estimated = False
    for usage in sums.rows:
        model = sums.models[usage.model]
        estimate: float | None = 0.0
        if usage.cost is None:
            card = sums.cards[usage.model]
            estimate = None if card is None else card.rates_for(usage.moment, usage.size).cost_of(usage)
            is_estimated = True
        if estimate is None:
            unpriced.setdefault(_name_of(model), _Unpriced()).add(usage)
        for group in (groups.setdefault(key_of(usage), _Group()), total):
            group.add(usage, estimate)
    rows = [group.row(key) for key, group in groups.items()]
    if params.by == "day":
        rows.sort(key=lambda row: row.key)
    else:
        rows.sort(key=lambda row: (-row.cost.total, -row.tokens.total, row.key))
    named = [
        t.UnpricedModel(model=name, request_count=unpriced_model.requests, tokens=unpriced_model.tokens)
        for name, unpriced_model in unpriced.items()
    ]
    source = book.source if is_estimated else None
    return t.UsageReportResult(
        rows=rows,
        total=total.row(""),
        unpriced_models=sorted(named, key=lambda row: (-row.tokens, row.model)),
        prices=None if source is None else t.PriceSource(
            name=source.name, version=source.version, newest_change=source.newest_change
        ),
        time_zone=sums.zone.name,
        uncounted=uncounted,
    )  # fmt: skip


def _key_of(sums: Sums, by: str) -> Callable[[UsageSum], str]:
    if by == "day":
        return lambda usage: days.name_of_day(int(usage.group))
    if by == "model":
        return lambda usage: _name_of(sums.models[usage.model])
    if by == "agent":
        return lambda usage: str(usage.group) or OWN
    return lambda usage: str(usage.group)


def _name_of(model: Model) -> str:
    return f"{model.provider}/{model.model}"


@dataclass(slots=True)
class _Unpriced:
    requests: int = 0
    tokens: int = 0

    def add(self, usage: UsageSum) -> None:
        self.requests += usage.requests
        self.tokens += _tokens_of(usage)


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

    def add(self, usage: UsageSum, estimate: float | None) -> None:
        self.requests += usage.requests
        self.input += usage.input
        self.output += usage.output
        self.cache_read += usage.cache_read
        self.cache_write += usage.cache_write
        self.reasoning += usage.reasoning
        self.recorded += usage.cost or 0.0
        self.estimated += estimate or 0.0
        if estimate is None:
            self.unpriced.add(usage)

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


def _tokens_of(usage: UsageSum) -> int:
    return usage.input + usage.output + usage.cache_read + usage.cache_write
