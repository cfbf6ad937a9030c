"""Statistics: messages, tools, tokens and cost, of the path and of the whole tree."""

from msgspec import UNSET, UnsetType

from sessiond.protocol.types.shared import EntryId, Params, SessionId, Wire


class StatsParams(Params, frozen=True):
    """Return statistics of the path to `leafId` (default: the session's leaf), and of the whole tree."""

    session_id: SessionId  # the full id of the session
    leaf_id: EntryId | UnsetType | None = UNSET  # the end of the path; default: the session's leaf


class TokenTotals(Wire, frozen=True):
    """Tokens as counted by the providers."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    total: int


class CostTotals(Wire, frozen=True):
    """Cost in the currency of the agent that recorded it. pi and oh-my-pi record US dollars."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    total: float


class ModelStats(Wire, frozen=True):
    """The share of one model: its answers, and its other uses."""

    model: str | None  # "provider/model"; null for tools and summaries that name no model
    messages: int  # answers of this model
    tokens: TokenTotals
    cost: CostTotals


class Stats(Wire, frozen=True):
    """Statistics of a set of entries."""

    entries: int
    messages: dict[str, int]  # role -> number of messages
    tool_calls: int
    tool_errors: int  # tool results that are marked as errors
    tools: dict[str, int]  # tool -> number of calls
    compactions: int
    branch_summaries: int
    tokens: TokenTotals
    cost: CostTotals
    models: list[ModelStats]  # ordered by cost, highest first
    first_at: str | None  # timestamp of the first entry
    last_at: str | None  # timestamp of the last entry


class ContextUse(Wire, frozen=True):
    """The size of the context."""

    tokens: int  # tokens of the context
    estimated: bool  # true if no provider count is valid, as right after a compaction
    context_window: int  # tokens


class StatsResult(Wire, frozen=True):
    """Statistics of the path and of the whole tree, and the context at the end of the path."""

    path: Stats
    tree: Stats
    context: ContextUse
    leaf_id: str | None


class CompareParams(Params, frozen=True):
    """Compare the paths to two entries from their common ancestor on: entries, files, tokens, cost.

    `rightId` defaults to the session's leaf. If one entry lies on the path of the other, its side is empty.
    """

    session_id: SessionId  # the full id of the session
    left_id: EntryId  # the entry that ends the first path
    right_id: EntryId | UnsetType | None = UNSET  # the end of the second path; default: the leaf


class Branch(Wire, frozen=True):
    """One side of a comparison, from below the common ancestor on."""

    leaf_id: str | None
    entry_ids: list[str]  # in path order
    tokens: int  # estimated tokens that it adds to a context
    read_files: list[str]
    modified_files: list[str]
    stats: Stats


class CompareResult(Wire, frozen=True):
    """Both sides, and their common ancestor. `ancestorId` is null if the paths have different roots."""

    ancestor_id: str | None
    left: Branch
    right: Branch
