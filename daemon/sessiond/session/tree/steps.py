"""Long computations in steps: generators that yield so that the event loop can run other tasks.

A function that may visit many rows is such a generator; its return value is the result. The hub drives it and runs
other tasks between two steps. `run` drives it without pauses.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from sessiond.session.tree.tree import ASSISTANT, NONE, USER, Tree

T = TypeVar("T")

Steps: TypeAlias = Generator[None, None, T]
"""A generator that works for about 2 ms between two yields, and then returns the result."""

Read: TypeAlias = Callable[[Sequence[int]], list[bytes]]
"""Returns the entries of rows as clients receive them (`Tree.entry`): version 3, valid UTF-8, no newline."""

ReadStored: TypeAlias = Callable[[int, int], bytes | None]
"""Returns the stored lines of the rows from the first to before the second, or None if `Read` must check each line."""

ROWS_A_STEP: Final = 2_000
"""Rows to visit in one step if only columns are read."""

_COUNTED_ROLES: Final = (USER, ASSISTANT)
_LINES_A_STEP: Final = 128
"""Limit of the lines that one step reads."""
_BYTES_A_STEP: Final = 512 * 1024
"""Limit of the bytes that one step reads, which the last of them may exceed."""


class MessageCounts(NamedTuple):
    """The number of user and assistant messages of a session, and of those that a path leaves out."""

    all: int
    off_path: int


def run(steps: Steps[T]) -> T:
    """Drive steps to their end without pauses, and return the result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


def clear_lists(*lists: list[Any]) -> Steps[None]:
    """Empty lists that are no longer used, in steps: freeing 100,000 objects in one step takes tens of milliseconds."""
    for each in lists:
        while each:
            del each[-ROWS_A_STEP:]
            yield


def path(tree: Tree, row: int, *, below: int = NONE) -> Steps[list[int]]:
    """Return the rows from the root to `row`, root first, as `Tree.path` does, in steps.

    Args:
        tree: The tree.
        row: The last row of the path.
        below: If this row is on the path, the result begins after it.

    """
    walk: list[int] = []
    seen: set[int] = set()
    irregular, parent = tree.irregular, tree.parent
    while row not in (NONE, below) and row not in seen:
        if irregular:
            seen.add(row)
        walk.append(row)
        row = parent(row)
        if len(walk) % ROWS_A_STEP == 0:
            yield
    walk.reverse()
    return walk


def count_messages(tree: Tree, row: int) -> Steps[MessageCounts]:
    """Return the number of messages on all branches, and of those that are not on the path to `row`, in steps."""
    committed, messages = tree.committed, tree.count_messages()
    rows = yield from path(tree, row)
    on_path = 0
    for start in range(0, len(rows), ROWS_A_STEP):
        step = rows[start : start + ROWS_A_STEP]
        on_path += sum(row < committed and tree.role(row) in _COUNTED_ROLES for row in step)
        yield
    return MessageCounts(messages, messages - on_path)


def batches(tree: Tree, rows: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield batches of rows whose entries can be read and decoded in one step."""
    for start in range(0, len(rows), _LINES_A_STEP):
        batch = rows[start : start + _LINES_A_STEP]
        extent = tree.span(batch[-1])[1] - tree.span(batch[0])[0]
        if 0 < extent <= _BYTES_A_STEP:
            yield batch  # rows ascend on nearly every path, so their span limits their bytes
        else:
            yield from _small_batches(tree, batch)


def _small_batches(tree: Tree, rows: Sequence[int]) -> Iterator[Sequence[int]]:
    start = size = 0
    for position, row in enumerate(rows, 1):
        first, end = tree.span(row)
        size += end - first
        if size >= _BYTES_A_STEP:
            yield rows[start:position]
            start, size = position, 0
    if start < len(rows):
        yield rows[start:]
