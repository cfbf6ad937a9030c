"""Statistics: messages, tools, tokens and cost, of the path and of the whole tree."""

from msgspec import UNSET, UnsetType

from sessiond.protocol.types.shared import EntryId, Params, SessionId, Wire


class StatsParams(Params, frozen=True):
    """Return statistics of the path to `leafId` (default: the session's leaf), and of the whole tree."""

    session_id: SessionId  # the session's full id
    leaf_id: EntryId | UnsetType | None = UNSET  # the end of the path; default: the session's leaf


class TokenTotals(Wire, frozen=True):
    """Tokens as counted by the providers."""

    input: int  # tokens of prompts that were not cached
    output: int  # tokens of answers
    cache_read: int  # tokens of prompts that were read from a cache
    cache_write: int  # tokens of prompts that were written to a cache
    total: int  # the total that the provider counted, or else the sum of the others


class CostTotals(Wire, frozen=True):
    """Cost in the currency of the agent that recorded it. pi and oh-my-pi record US dollars."""

    input: float  # cost of prompts that were not cached
    output: float  # cost of answers
    cache_read: float  # cost of reading from a cache
    cache_write: float  # cost of writing to a cache
    total: float  # the total that was recorded, or else the sum of the others


class ModelStats(Wire, frozen=True):
    """The share of one model: its answers, and its other uses."""

    model: str | None  # "provider/model"; null for tools and summaries that name no model
    message_count: int  # the number of answers of this model
    tokens: TokenTotals  # the tokens of this model
    cost: CostTotals  # the cost of this model


class Stats(Wire, frozen=True):
    """Statistics of a set of entries."""

    entry_count: int  # the number of entries
    message_count: int  # the number of messages
    message_counts: dict[str, int]  # the number of messages by role: the 1,000 most frequent roles
    tool_call_count: int  # the number of tool calls
    tool_error_count: int  # the number of tool results that are marked as errors
    tool_call_counts: dict[str, int]  # the number of calls by tool: the 1,000 most frequent tools
    compaction_count: int  # the number of compactions
    branch_summary_count: int  # the number of branch summaries
    tokens: TokenTotals  # the tokens of all models
    cost: CostTotals  # the cost of all models
    models: list[ModelStats]  # the share of each model, highest cost first: at most 1,000
    first_entry_at: str | None  # the timestamp of the first entry
    last_entry_at: str | None  # the timestamp of the last entry


class ContextUse(Wire, frozen=True):
    """The size of the context."""

    tokens: int  # the tokens of the context
    estimated: bool  # true if no provider count is valid, as right after a compaction
    context_window: int  # the configured size of the model's context window, in tokens


class StatsResult(Wire, frozen=True):
    """Statistics of the path and of the whole tree, and the context at the end of the path."""

    path_stats: Stats  # statistics of the path
    tree_stats: Stats  # statistics of the whole tree
    context: ContextUse  # the size of the context at the end of the path
    leaf_id: str | None  # the end of the path; null before the first entry


class CompareParams(Params, frozen=True):
    """Compare the paths to two entries from their common ancestor on: entries, files, tokens, cost.

    `rightId` defaults to the session's leaf. If one entry lies on the path of the other, its side is empty.
    """

    session_id: SessionId  # the session's full id
    left_id: EntryId  # the entry that ends the first path
    right_id: EntryId | UnsetType | None = UNSET  # the end of the second path; default: the leaf


class ComparedSide(Wire, frozen=True):
    """One side of a comparison: the entries from below the common ancestor on."""

    leaf_id: str | None  # the end of the path; null before the first entry
    entry_ids: list[str]  # the first 10,000 entries, in path order; `stats.entryCount` is the number of all
    tokens: int  # the estimated tokens that the side adds to a context
    read_files: list[str]  # the first 1,000 files that its tool calls read and did not modify
    read_file_count: int  # the number of all these files
    modified_files: list[str]  # the first 1,000 files that its tool calls modified
    modified_file_count: int  # the number of all these files
    stats: Stats  # statistics of the entries


class CompareResult(Wire, frozen=True):
    """Both sides, and their common ancestor."""

    ancestor_id: str | None  # the last entry that both paths have; null if they have different roots
    left: ComparedSide  # the path to `leftId`
    right: ComparedSide  # the path to `rightId`
