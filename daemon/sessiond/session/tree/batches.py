"""Marks the lines that were appended together, and finds an incomplete batch at the end of a log."""

from collections.abc import Callable
from typing import Final

from sessiond.session.tree.tree import Tree

MORE_FOLLOWS: Final = b"\t}"
"""The end of the object of every line of a batch except the last.

If a log ends with such a line, its last batch is incomplete and was never acknowledged. A JSON reader ignores the tab.
No other program writes one there.
"""


def first_of_incomplete_batch(tree: Tree, read: Callable[[int, int], bytes]) -> int | None:
    """Return the first row of an incomplete batch at the end of the log, or None.

    Args:
        tree: The tree of the log.
        read: Returns the bytes of the log from one offset to another.

    """
    row = tree.committed
    while row > 1 and read(*tree.span(row - 1)).rstrip(b"\n").endswith(MORE_FOLLOWS):
        row -= 1
    return row if row < tree.committed else None


def incomplete_batch_reason(lines: int) -> str:
    """Return the reason that is reported for an incomplete batch with `lines` whole lines in the log."""
    return f"the last batch is incomplete after {lines} of its lines; it was never acknowledged"
