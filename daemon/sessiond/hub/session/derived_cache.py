"""Caches results derived from a session's tree, so that the next request continues from the last result.

All of them can be derived from the log again. Nothing is cached for a tree whose parents may still change.
"""

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar

from sessiond.session.context.context import Context, build_context, extend_context, total_bytes
from sessiond.session.state import statistics, updates
from sessiond.session.state.statistics import Tally
from sessiond.session.state.updates import Point
from sessiond.session.tree import steps
from sessiond.session.tree.tree import NONE, Tree

_T = TypeVar("_T")

MAX_CONTEXT_BYTES: Final = 32 * 1024 * 1024
"""A context with more bytes than this is not cached."""
MAX_CONTEXT_SECONDS: Final = 60.0
"""A cached context is dropped after this time without a request."""


class DerivableSession(Protocol):
    """A session from which results are derived."""

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


@dataclass(frozen=True, slots=True)
class _CachedContext:
    """A context, its row, and the time of the last request for it."""

    tree: Tree
    row: int
    context: Context
    at: float


class ContextCache:
    """Builds the contexts of one session, and caches the last one."""

    def __init__(self, source: DerivableSession) -> None:
        self._source = source
        self._cached: _CachedContext | None = None

    async def at(self, leaf_row: int) -> Context:
        """Return the context of a model at a row."""
        source, tree, cached, context = self._source, self._source.tree, self._cached, None
        if cached is not None and cached.tree is tree:
            context = await source.drive(
                extend_context(tree, cached.context, cached.row, leaf_row, source.read_rows)
            )
        if context is None:
            context = await source.drive(build_context(tree, leaf_row, source.read_rows))
        if await source.drive(total_bytes(context.messages)) < MAX_CONTEXT_BYTES:
            self._cached = _CachedContext(tree, leaf_row, context, time.monotonic())
        return context

    def drop_unused(self) -> None:
        """Drop the context if it was not requested for `MAX_CONTEXT_SECONDS`."""
        if self._cached is not None and time.monotonic() - self._cached.at > MAX_CONTEXT_SECONDS:
            self._cached = None
