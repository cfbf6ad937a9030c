"""Reads one log and returns the problems that opening it would find, but without a session or a store."""

from collections.abc import Callable, Iterator
from typing import Final

from sessiond.session.tree.batches import first_of_incomplete_batch, incomplete_batch_reason
from sessiond.session.tree.problems import LineProblem
from sessiond.session.tree.tree import Tree

_SLICE: Final = 64 * 1024


def log_problems(size: int, read: Callable[[int, int], bytes]) -> list[LineProblem]:
    """Return the problems of a log, in log order.

    Args:
        size: The size of the log in bytes.
        read: Returns the bytes from one offset to another, or fewer if the log has become shorter.

    """
    return tree_of_log(size, read).problems


def tree_of_log(size: int, read: Callable[[int, int], bytes]) -> Tree:
    """Return the tree of a log without an incomplete last batch, as clients see it.

    Args:
        size: The size of the log in bytes.
        read: Returns the bytes from one offset to another, or fewer if the log has become shorter.

    """
    tree = _tree_of(_slices(size, read))
    first = first_of_incomplete_batch(tree, read)
    if first is None:
        return tree
    start, lines = tree.span(first)[0], tree.committed - first
    tree = _tree_of(_slices(start, read))
    tree.exclude_tail(read(start, size), incomplete_batch_reason(lines))
    return tree


def _tree_of(slices: Iterator[bytes]) -> Tree:
    tree = Tree()
    for data in slices:
        tree.read(data)
    tree.finish()
    return tree


def _slices(size: int, read: Callable[[int, int], bytes]) -> Iterator[bytes]:
    offset = 0
    while offset < size and (data := read(offset, min(offset + _SLICE, size))):
        yield data
        offset += len(data)
