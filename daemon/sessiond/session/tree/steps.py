"""Long work in steps: generators that yield whenever the event loop may breathe, and walks that need it.

A function that may touch many rows is such a generator; its return value is its answer. The hub drives it and
lets other work go on between two steps; `run` drives it at once.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, Final, TypeAlias, TypeVar

from sessiond.session.tree.tree import NONE, Tree

T = TypeVar("T")

Steps: TypeAlias = Generator[None, None, T]
"""Work of about 2 ms between two yields, then the answer."""

Read: TypeAlias = Callable[[Sequence[int]], list[bytes]]
"""The entries of rows as everybody sees them (`Tree.entry`): v3, valid UTF-8, no newline."""

ROWS_A_STEP: Final = 2_000
"""Rows to look at in one step when only columns are read."""

_LINES_A_STEP: Final = 128
_BYTES_A_STEP: Final = 512 * 1024


def run(steps: Steps[T]) -> T:
    """Drive steps to their end without a pause."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            answer: T = end.value
            return answer


def let_go(*lists: list[Any]) -> Steps[None]:
    """Empty lists that nobody needs any more: to free a hundred thousand objects at once takes tens of milliseconds."""
    for each in lists:
        while each:
            del each[-ROWS_A_STEP:]
            yield


def path(tree: Tree, row: int, *, below: int = NONE) -> Steps[list[int]]:
    """The rows from the root to `row`, root first, as `Tree.path`, in steps; or those below a row on the way."""
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


def batches(tree: Tree, rows: Sequence[int]) -> Iterator[Sequence[int]]:
    """Rows cut into batches whose entries may be read and decoded in one step."""
    for start in range(0, len(rows), _LINES_A_STEP):
        batch = rows[start : start + _LINES_A_STEP]
        extent = tree.span(batch[-1])[1] - tree.span(batch[0])[0]
        if 0 < extent <= _BYTES_A_STEP:
            yield batch  # rows ascend along nearly every path, so what they span bounds their bytes
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
