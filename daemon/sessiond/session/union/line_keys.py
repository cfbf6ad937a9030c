"""The lines of a log as keys, by which two copies of a session are compared."""

from collections.abc import Callable
from typing import Final, NamedTuple

from sessiond.session.tree.codes import KIND, NONE
from sessiond.session.tree.entries import TAGS_TYPE
from sessiond.session.tree.steps import Steps
from sessiond.session.tree.tree import Tree
from sessiond.session.union.comparable import comparable, short_hash
from sessiond.session.union.difference import LineKey

_STEP_BYTES: Final = 128 * 1024
_CUSTOM: Final = KIND["custom"]


class KeyPage(NamedTuple):
    """The keys of some lines, and the row after which the next page begins; None on the last one."""

    keys: list[LineKey]
    next_after: int | None


def key_page(tree: Tree, read: Callable[[int, int], bytes], after: int, limit: int) -> Steps[KeyPage]:
    """Return the keys of lines in log order, without the header, in steps.

    Args:
        tree: The tree of the log.
        read: Returns the bytes of the log from one offset to another.
        after: The row after which the page begins.
        limit: The largest number of keys.
    """
    keys: list[LineKey] = []
    row, last, since = after + 1, tree.committed, 0
    while row < last and len(keys) < limit:
        line = read(*tree.span(row))
        since += len(line)
        if line.strip():
            parent = tree.parent(row)
            keys.append(
                LineKey(row, tree.id(row), short_hash(comparable(line)), -1 if parent == NONE else parent)
            )
        row += 1
        if since > _STEP_BYTES:
            since = 0
            yield
    return KeyPage(keys, row - 1 if row < last else None)


def tag_rows(tree: Tree, read: Callable[[int, int], bytes]) -> list[int]:
    """Return the rows that set the tags. Few rows have a property at all."""
    rows = sorted(row for row in tree.state_rows if tree.kind(row) == _CUSTOM)
    return [row for row in rows if TAGS_TYPE.encode() in read(*tree.span(row))]
