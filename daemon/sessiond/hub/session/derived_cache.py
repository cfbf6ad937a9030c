"""Caches results derived from a session's tree, so that the next request continues from the last result.

All of them can be derived from the log again. Nothing is cached for a tree whose parents may still change.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from sessiond.session.state import statistics, updates
from sessiond.session.state.statistics import Tally
from sessiond.session.state.updates import Point
from sessiond.session.tree import steps
from sessiond.session.tree.tree import NONE, Tree

_T = TypeVar("_T")


class DerivableSession(Protocol):
    """A session as results are derived from it."""

    tree: Tree

    def read_rows(self, rows: Sequence[int]) -> list[bytes]:
        """Return the entries of rows."""

    async def drive(self, work: Generator[None, None, _T]) -> _T:
        """Run long work in steps, interleaved with that of other requests."""


@dataclass(slots=True)
class _Results:
    """The cached results of one tree. `path` is the tally of the path to `path_row` and is never modified."""

    tree: Tree
    point: Point | None = None
    whole: Tally = field(default_factory=Tally)
    path: Tally = field(default_factory=Tally)
    path_row: int = NONE


class DerivedCache:
    """Derives the working state and the statistics of one session, and caches them."""

    def __init__(self, source: DerivableSession) -> None:
        self._source = source
        self._results: _Results | None = None

    async def state_at(self, row: int) -> Point:
        """Return the working state at a row; with `NONE`, the state before the first row."""
        source, cached = self._source, self._current()
        cached.point = await source.drive(updates.state_at(cached.tree, row, source.read_rows, cached.point))
        return cached.point

    async def tally(self) -> Tally:
        """Return the tally of the whole tree. The caller reads it before its next await and does not modify it."""
        cached = self._current()
        await self._source.drive(statistics.tally_tree(cached.whole, cached.tree, self._source.read_rows))
        return cached.whole

    async def tallies(self, row: int) -> tuple[Tally, Tally]:
        """Return the tallies of the path to a row and of the whole tree. The caller must not modify them."""
        source, cached = self._source, self._current()
        tree = cached.tree
        await source.drive(statistics.tally_tree(cached.whole, tree, source.read_rows))
        whole = cached.whole.copy()  # another caller may extend `cached.whole` while this one awaits
        path, path_row = cached.path, cached.path_row
        rows = await source.drive(steps.path(tree, row, below=path_row))
        is_extended = tree.parent(rows[0]) == path_row if rows else row == path_row
        if not is_extended:
            path = Tally()
        if path.entries + len(rows) == whole.entries:
            path = whole
        elif rows:
            path = path.copy()
            await source.drive(statistics.tally_rows(path, tree, rows, source.read_rows))
        cached.path, cached.path_row = path, row
        return path, whole

    def _current(self) -> _Results:
        """Return the results of the current tree."""
        cached, tree = self._results, self._source.tree
        if cached is None or cached.tree is not tree or tree.irregular:
            cached = self._results = _Results(tree)
        return cached
