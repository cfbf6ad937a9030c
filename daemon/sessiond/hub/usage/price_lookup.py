"""Looks up the prices of models in genai-prices. It runs in a child process.

The import of the library takes a second and 34 MB, because it can also update its prices over the network. It is not
asked to: the prices are those that are installed.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Final

from sessiond.hub.index.usage_table import Model
from sessiond.hub.index.usage_totals import HALF_HOUR_MS, HALF_HOURS
from sessiond.hub.usage.prices import PriceCard, PriceList, Rates

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo, ModelPrice, Provider

LIBRARY: Final = "genai-prices"
_FIRST_DAY: Final = date(1970, 1, 1)
_LOCAL_PROVIDERS: Final = frozenset(
    ("ollama", "lmstudio", "lm-studio", "llama.cpp", "llama-cpp", "llamacpp", "llamafile", "vllm", "mlx", "localai",
     "local", "jan", "koboldcpp")
)  # fmt: skip
"""Providers that run a model on a machine of the user. No list has prices for these."""


def look_up(models: Sequence[Model]) -> PriceList:
    """Return the prices of models.

    A provider that the list does not know is taken for one that sells the models of others at their list price, so the
    name of the model decides.
    """
    import genai_prices
    from genai_prices.data_snapshot import get_snapshot

    snapshot = get_snapshot()
    cards = {model: _card(snapshot, model) for model in models}
    return PriceList(LIBRARY, genai_prices.__version__, _newest_change(snapshot).isoformat(), cards)


def _card(snapshot: "DataSnapshot", model: Model) -> PriceCard | None:
    from genai_prices.types import TimeOfDateConstraint

    found = _find(snapshot, model)
    if found is None:
        return None
    provider, info = found
    context = {"speed": model.speed} if model.speed else None
    conditions = info.prices if isinstance(info.prices, list) else []
    starts = sorted({_FIRST_DAY, *_start_dates(info)})
    is_hourly = any(isinstance(condition.constraint, TimeOfDateConstraint) for condition in conditions)
    moments = [
        (period, half_hour, datetime.combine(start, time(), UTC) + timedelta(milliseconds=half_hour * HALF_HOUR_MS))
        for period, start in enumerate(starts)
        for half_hour in range(HALF_HOURS if is_hourly else 1)
    ]  # fmt: skip
    prices = {(period, half_hour): info.get_prices(at, context) for period, half_hour, at in moments}
    if not all(map(_has_prices, prices.values())):
        return None
    limits = sorted({limit for price in prices.values() for limit in _limits(price)})
    rates = {
        (period, half_hour, size): _rates(info, provider, at, context, 1 + (limits[size - 1] if size else 0))
        for period, half_hour, at in moments
        for size in range(len(limits) + 1)
    }
    return PriceCard(tuple((start - _FIRST_DAY).days for start in starts), tuple(limits), is_hourly, rates)


def _find(snapshot: "DataSnapshot", model: Model) -> "tuple[Provider, ModelInfo] | None":
    if model.provider.lower() in _LOCAL_PROVIDERS:
        return None
    for provider in (model.provider, None):
        try:
            return snapshot.find_provider_model(model.model, None, provider, None)
        except LookupError:
            continue
    return None


def _rates(
    info: "ModelInfo", provider: "Provider", at: datetime, context: dict[str, str] | None, prompt: int
) -> Rates:
    """Return the prices of a token in requests with a prompt of this size."""
    from genai_prices import Usage

    def price(**tokens: int) -> tuple[float, float]:
        usage = Usage(input_tokens=prompt, **tokens)
        found = info.calc_price(usage, provider, genai_request_timestamp=at, price_context=context)
        return float(found.input_price / prompt), float(found.output_price)

    return Rates(
        input=price()[0],
        output=price(output_tokens=1)[1],
        cache_read=price(cache_read_tokens=prompt)[0],
        cache_write=price(cache_write_tokens=prompt)[0],
        cache_write_1h=price(cache_write_tokens=prompt, cache_write_1h_tokens=prompt)[0],
    )


def _has_prices(price: "ModelPrice") -> bool:
    """Return whether there are prices of tokens. A subscription has none."""
    return price.input_mtok is not None and price.output_mtok is not None


def _limits(model_price: "ModelPrice") -> Iterable[int]:
    from genai_prices.types import TieredPrices

    for price in vars(model_price).values():
        if isinstance(price, TieredPrices):
            yield from (tier.start for tier in price.tiers)


def _start_dates(info: "ModelInfo") -> Iterable[date]:
    """Yield the days from which on a price of a model is in force."""
    from genai_prices.types import StartDateConstraint

    conditions = info.prices if isinstance(info.prices, list) else []
    for variant in (*conditions, *(info.price_variants or ())):
        if isinstance(variant.constraint, StartDateConstraint):
            yield variant.constraint.start_date


def _newest_change(snapshot: "DataSnapshot") -> date:
    today = datetime.now(UTC).date()
    days = (day for provider in snapshot.providers for info in provider.models for day in _start_dates(info))
    return max((day for day in days if day <= today), default=_FIRST_DAY)
