"""Refusing a compaction that would tear a tool call from its result, before it is stored."""

from collections.abc import Callable, Sequence

from sessiond.hub.errors import WouldBreakTree
from sessiond.session.safety import last_settled, objection
from sessiond.session.tree import NewRow, Tree

__all__ = ["check_compaction", "last_settled"]


def check_compaction(tree: Tree, rows: Sequence[NewRow], new: NewRow, read: Callable[[int], bytes]) -> None:
    """Raise `WouldBreakTree` unless the compaction `new` may stand below its parent.

    The parent is in the tree or among `rows`, which are new in the same batch.
    """
    found = objection(tree, rows, new, read)
    if found is not None:
        raise WouldBreakTree(new.id, found.rule, found.reason)
