"""The report of usage: what requests to models used and cost, over all sessions of all agents."""

from typing import Annotated

from msgspec import Meta

from sessiond.protocol.enums import UsageGrouping
from sessiond.protocol.types.search import UnsearchedTexts
from sessiond.protocol.types.shared import AgentName, Params, Path, Wire

TimeZone = Annotated[str, Meta(min_length=1, max_length=100)]


class UsageReportParams(Params, frozen=True):
    """Return the tokens and the cost of requests to models, over all sessions of all agents.

    Each request counts once, however many entries and sessions have a copy of it: lines into which an agent splits an
    answer, forks, resumed sessions. Abandoned branches and compacted entries count, because they cost as well.
    Sub-agents count in their own sessions. Sessions in the trash do not count.

    A cost that an agent recorded is used. Other costs are estimates from list prices, which do not know about
    subscriptions and discounts. No price is invented: requests of a model without a known price count as tokens only,
    and `unpricedModels` names the model.

    The server does not wait for the index: sessions that were stored within the last seconds may be missing, and
    `uncounted` in the result says so. With `waitMs`, the server first reads everything that is stored, for at most that
    time.
    """

    by: UsageGrouping = "day"  # the subject of each row
    since: str | None = None  # only requests of this time or later, ISO 8601
    until: str | None = None  # only requests of this time or earlier, ISO 8601
    cwd: str | None = None  # only sessions of this folder
    project: Path | None = None  # only those of the project of this absolute folder
    agent: AgentName | None = None  # only sessions read from this agent
    time_zone: TimeZone | None = None  # the IANA name of the time zone of days; default: that of the server
    wait_ms: Annotated[int, Meta(ge=0, le=60_000)] = 0  # maximum time to wait until everything is read


class UsageTokens(Wire, frozen=True):
    """Tokens by how they are billed."""

    input: int  # tokens of prompts that were not cached
    output: int  # tokens of answers, including those of reasoning
    cache_read: int  # tokens of prompts that were read from a cache
    cache_write: int  # tokens of prompts that were written to a cache
    reasoning: int  # the part of `output` that is reasoning, if agents record it
    total: int  # `input`, `output`, `cacheRead` and `cacheWrite`


class UsageCost(Wire, frozen=True):
    """Cost in US dollars. `unpricedTokens` are in none of the numbers."""

    total: float  # the sum of the other two
    recorded: float  # the part that agents recorded
    estimated: float  # estimates from list prices, for requests whose agent recorded no cost
    unpriced_tokens: int  # the tokens of requests without a recorded cost and without a known price


class UsageRow(Wire, frozen=True):
    """The requests of one day, model, agent or project.

    Sessions that were read from no agent have the agent `sessiond`. Those without a folder have an empty `key` as their
    project.
    """

    key: str  # a day as `2026-11-25`, `provider/model`, the name of an agent, or the folder of a project
    request_count: int  # the number of requests to models
    tokens: UsageTokens  # the tokens of these requests
    cost: UsageCost  # the cost of these requests


class UnpricedModel(Wire, frozen=True):
    """A model without a known price."""

    model: str  # `provider/model`
    request_count: int  # the number of its requests without a recorded cost
    tokens: int  # the tokens of these requests


class PriceSource(Wire, frozen=True):
    """The prices of the estimates."""

    name: str  # the name of the collection of prices
    version: str  # its version
    newest_change: str  # the day of the newest price in it that is in force, as `2026-11-25`


class UsageReportResult(Wire, frozen=True):
    """The report. If `uncounted.sessionCount` is 0, it is complete."""

    rows: list[UsageRow]  # by time for days, else the highest cost first, then the most tokens
    total: UsageRow  # all requests; its `key` is empty
    unpriced_models: list[UnpricedModel]  # the most tokens first
    prices: PriceSource | None  # null if nothing had to be estimated
    time_zone: str  # the time zone of days: an IANA name, or a name such as `UTC+02:00`
    uncounted: UnsearchedTexts  # texts that are not in the index yet
