"""Statistics: messages, tools, tokens and cost, of the path and of the whole tree."""

from msgspec import UNSET, UnsetType

from sessiond.protocol.types.shared import EntryId, Params, SessionId, Wire


class StatsParams(Params, frozen=True):
    """What the path to `leafId` (default: the session's leaf), and the whole tree, are made of."""

    session_id: SessionId  # the whole id of the session
    leaf_id: EntryId | UnsetType | None = UNSET  # the end of the path; default: the session's leaf


class TokenTotals(Wire, frozen=True):
    """Tokens as the providers counted them."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    total: int


class CostTotals(Wire, frozen=True):
    """Cost in the currency of the agent that wrote it down, for pi and oh-my-pi US dollars."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    total: float


class ModelStats(Wire, frozen=True):
    """The share of one model, of its answers and of what it was used for beside them."""

    model: str | None  # "provider/model"; null for what tools and summaries spent without saying with which
    messages: int  # its answers
    tokens: TokenTotals
    cost: CostTotals


class Stats(Wire, frozen=True):
    """What some entries are made of."""

    entries: int
    messages: dict[str, int]  # role -> how many
    tool_calls: int
    tool_errors: int  # results that say so
    tools: dict[str, int]  # tool -> calls
    compactions: int
    branch_summaries: int
    tokens: TokenTotals
    cost: CostTotals
    models: list[ModelStats]  # the costliest first
    first_at: str | None  # timestamp of the first entry
    last_at: str | None


class ContextUse(Wire, frozen=True):
    """How full the context is."""

    tokens: int
    estimated: bool  # no usage could be trusted, as right after a compaction
    context_window: int


class StatsResult(Wire, frozen=True):
    """The path, the whole tree, and the context at the end of the path."""

    path: Stats
    tree: Stats
    context: ContextUse
    leaf_id: str | None


class CompareParams(Params, frozen=True):
    """Where the paths to two entries part, and what each has from there on: entries, files, tokens, cost.

    `rightId` is the session's leaf when it is left out. An entry on the path of the other has nothing of its own.
    """

    session_id: SessionId  # the whole id of the session
    left_id: EntryId  # the entry that ends the first path
    right_id: EntryId | UnsetType | None = UNSET  # the end of the second path; default: the leaf


class Branch(Wire, frozen=True):
    """One side of a comparison, from below the common ancestor on."""

    leaf_id: str | None
    entry_ids: list[str]  # in order
    tokens: int  # what it adds to a context, estimated
    read_files: list[str]
    modified_files: list[str]
    stats: Stats


class CompareResult(Wire, frozen=True):
    """Both branches, and the entry at which they part (null: they begin apart)."""

    ancestor_id: str | None
    left: Branch
    right: Branch
