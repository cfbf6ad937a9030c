"""Prices of models: how much the tokens of a request cost, as values that a report looks up."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sessiond.hub.index.usage_table import Model
from sessiond.hub.index.usage_totals import HALF_HOURS, PriceSteps, UsageSum


@dataclass(frozen=True, slots=True)
class Rates:
    """The prices of one token in US dollars, by how it is billed."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    cache_write_1h: float

    def cost_of(self, usage: UsageSum) -> float:
        """Return the cost of some requests."""
        return (
            usage.input * self.input
            + usage.output * self.output
            + usage.cache_read * self.cache_read
            + (usage.cache_write - usage.cache_write_1h) * self.cache_write
            + usage.cache_write_1h * self.cache_write_1h
        )


@dataclass(frozen=True, slots=True)
class PriceCard:
    """The prices of one model.

    Attributes:
        starts: The days in UTC, counted from 1970, from which on a price may be another one. The first is the earliest.
        limits: The tokens of a prompt above which a price may be another one, in ascending order.
        is_hourly: Whether the price depends on the time of day.
        rates: The prices by the index in `starts`, the half-hour of the day in UTC (0 if the price does not depend on
            it), and the number of `limits` that the prompt exceeds.
    """

    starts: tuple[int, ...]
    limits: tuple[int, ...]
    is_hourly: bool
    rates: Mapping[tuple[int, int, int], Rates]

    @property
    def steps(self) -> PriceSteps:
        """The conditions on which the price depends."""
        return PriceSteps(self.starts[1:], self.limits, self.is_hourly)

    def rates_for(self, moment: int, size: int) -> Rates:
        """Return the prices at a time for prompts of a size; see `UsageSum`."""
        period, half_hour = divmod(moment, HALF_HOURS) if self.is_hourly else (moment, 0)
        return self.rates[period, half_hour, size]


@dataclass(frozen=True, slots=True)
class PriceList:
    """The prices that were looked up. `cards` has None for a model without a known price.

    `newest_change` is the day of the newest price in the list that is in force, as ISO 8601.
    """

    name: str
    version: str
    newest_change: str
    cards: Mapping[Model, PriceCard | None]


@dataclass
class PriceBook:
    """The prices that were looked up so far. `source` is the last list that they come from."""

    source: PriceList | None = None
    _cards: dict[Model, PriceCard | None] = field(default_factory=dict)

    def add(self, found: PriceList) -> None:
        """Add prices."""
        self.source = found
        self._cards.update(found.cards)

    def has(self, model: Model) -> bool:
        """Return whether the model was looked up, with or without success."""
        return model in self._cards

    def card(self, model: Model) -> PriceCard | None:
        """Return the prices of a model, or None."""
        return self._cards.get(model)
