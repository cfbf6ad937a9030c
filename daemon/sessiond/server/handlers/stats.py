"""Handlers of statistics: of a session, and of two branches side by side."""

from collections.abc import Coroutine, Iterable
from heapq import nlargest
from typing import Any, Final

from msgspec import UNSET

from sessiond.hub.session.live import LiveSession
from sessiond.hub.summaries import limits
from sessiond.protocol import types as t
from sessiond.server.connection.client import Client
from sessiond.session.context import tokens
from sessiond.session.state import statistics
from sessiond.session.state.statistics import Share, Tally
from sessiond.session.state.token_counts import Cost, Tokens
from sessiond.session.tree.tree import NONE, Tree
from sessiond.session.views import comparing

MAX_ENTRY_IDS: Final = 10_000
"""Limit of the entry ids of one side of a comparison, as of the ids in a `session/entries` request."""
MAX_LISTED: Final = 1_000
"""Limit of the files of one side, and of the roles, tools and models in statistics."""
_DIGITS: Final = 9
"""Decimal places of a cost. Sums of binary fractions have meaningless last digits."""


async def stats(client: Client, live: LiveSession, params: t.StatsParams) -> t.StatsResult:
    """Return the statistics of a path and of the whole tree from `live.derived.tallies`, and the context's tokens.

    Raises `EntryNotFound`.
    """
    tree = live.tree
    row = live.row_at(params.leaf_id)
    leaf_id = tree.leaf_id if params.leaf_id is UNSET else params.leaf_id
    path, whole = await live.derived.tallies(row)
    context = await live.context(row)
    counted = await live.drive(tokens.count(tree, row, context))
    settings = limits.in_force(client.server.config.compaction, tree)
    return t.StatsResult(
        path_stats=_stats(live, path), tree_stats=_stats(live, whole), leaf_id=leaf_id,
        context=t.ContextUse(
            tokens=counted.tokens, estimated=counted.estimated, context_window=settings.context_window
        ),
    )  # fmt: skip


def compare(
    _client: Client, live: LiveSession, params: t.CompareParams
) -> Coroutine[Any, Any, t.CompareResult]:
    """Return the common ancestor of two entries and the entries of each branch after it, with `comparing.compare`.

    Raises `EntryNotFound`.
    """
    left = live.row(params.left_id)
    return _compared(live, left, live.row_at(params.right_id))


async def _compared(live: LiveSession, left: int, right: int) -> t.CompareResult:
    tree = live.tree
    found = await live.drive(comparing.compare(tree, left, right, live.read_rows))
    return t.CompareResult(
        ancestor_id=_id(tree, found.ancestor), left=_compared_side(live, left, found.left),
        right=_compared_side(live, right, found.right),
    )  # fmt: skip


def _compared_side(live: LiveSession, leaf: int, side: comparing.Side) -> t.ComparedSide:
    return t.ComparedSide(
        leaf_id=_id(live.tree, leaf), tokens=side.tokens,
        entry_ids=[live.tree.id(row) or "" for row in side.rows[:MAX_ENTRY_IDS]],
        read_files=list(side.files.read[:MAX_LISTED]), read_file_count=len(side.files.read),
        modified_files=list(side.files.modified[:MAX_LISTED]), modified_file_count=len(side.files.modified),
        stats=_stats(live, side.tally),
    )  # fmt: skip


def _id(tree: Tree, row: int) -> str | None:
    return None if row == NONE else tree.id(row)


def _stats(live: LiveSession, tally: Tally) -> t.Stats:
    first_at, last_at = statistics.times(tally, live.read_rows)
    return t.Stats(
        entry_count=tally.entries, message_count=sum(tally.messages.values()),
        message_counts=_most_frequent(tally.messages), tool_call_count=tally.tool_calls,
        tool_error_count=tally.tool_errors, tool_call_counts=_most_frequent(tally.tools),
        compaction_count=tally.compactions, branch_summary_count=tally.branch_summaries,
        tokens=_tokens(tally.tokens), cost=_cost(tally.cost), models=_models(tally.models.items()),
        first_entry_at=first_at, last_entry_at=last_at,
    )  # fmt: skip


def _models(shares: Iterable[tuple[str | None, Share]]) -> list[t.ModelStats]:
    """Return the most expensive model first. Of models with equal cost, the one with more tokens comes first."""
    ordered = sorted(
        shares,
        key=lambda share: (-share[1].cost.total, -share[1].tokens.total, -share[1].messages, share[0] or ""),
    )
    return [
        t.ModelStats(
            model=model, message_count=share.messages, tokens=_tokens(share.tokens), cost=_cost(share.cost)
        )
        for model, share in ordered[:MAX_LISTED]
    ]


def _most_frequent(counts: dict[str, int]) -> dict[str, int]:
    """Return the greatest counts, in the order in which they were found."""
    if len(counts) <= MAX_LISTED:
        return counts
    listed = set(nlargest(MAX_LISTED, counts, key=counts.__getitem__))
    return {name: count for name, count in counts.items() if name in listed}


def _tokens(counted: Tokens) -> t.TokenTotals:
    return t.TokenTotals(
        input=counted.input, output=counted.output, cache_read=counted.cache_read,
        cache_write=counted.cache_write, total=counted.total,
    )  # fmt: skip


def _cost(spent: Cost) -> t.CostTotals:
    return t.CostTotals(
        input=round(spent.input, _DIGITS), output=round(spent.output, _DIGITS),
        cache_read=round(spent.cache_read, _DIGITS), cache_write=round(spent.cache_write, _DIGITS),
        total=round(spent.total, _DIGITS),
    )  # fmt: skip
