"""Lines that were appended together: how the log marks them, and where a batch begins that a crash cut off."""

from collections.abc import Callable
from typing import Final

from sessiond.session.tree.tree import Tree

MORE_FOLLOWS: Final = b"\t}"
"""How the object of every line of a batch but the last ends. A log that ends so holds a batch that was cut
off and that nobody was told of. A tab there means nothing to a JSON reader; no other program writes one."""


def first_cut_off(tree: Tree, read: Callable[[int, int], bytes]) -> int | None:
    """The row where a batch begins that the log does not hold to its end, or None.

    `read` gives the bytes of the log from one offset to another.
    """
    row = tree.committed
    while row > 1 and read(*tree.span(row - 1)).rstrip(b"\n").endswith(MORE_FOLLOWS):
        row -= 1
    return row if row < tree.committed else None


def told_of_cut_off(lines: int) -> str:
    """The reason to give for such a batch, of which so many whole lines are there."""
    return f"the last batch was cut off after {lines} of its lines; nobody was told that it is stored"
