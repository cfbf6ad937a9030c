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


@dataclass(slots=True)
class Kept:
    """The cached results of one tree. `path` is the tally of the path to `path_row` and is never modified."""

    tree: Tree
    point: Point | None = None
    whole: Tally = field(default_factory=Tally)
    path: Tally = field(default_factory=Tally)
    path_row: int = NONE


class Derivable(Protocol):
    """A session with a cache, as far as the functions below use it."""

    tree: Tree
    kept: Kept | None

    def read_rows(self, rows: Sequence[int]) -> list[bytes]:
        """Return the entries of rows."""

    async def drive(self, work: Generator[None, None, _T]) -> _T:
        """Run long work in steps, interleaved with that of other requests."""


async def state_at(live: Derivable, row: int) -> Point:
    """Return the working state at a row; with `NONE`, the state before the first row."""
    kept = _kept(live)
    kept.point = await live.drive(updates.state_at(kept.tree, row, live.read_rows, kept.point))
    return kept.point


async def tally(live: Derivable) -> Tally:
    """Return the tally of the whole tree. The caller must read it before its next await and must not modify it."""
    kept = _kept(live)
    await live.drive(statistics.tally_tree(kept.whole, kept.tree, live.read_rows))
    return kept.whole


async def tallies(live: Derivable, row: int) -> tuple[Tally, Tally]:
    """Return the tallies of the path to a row and of the whole tree. The caller must not modify them."""
    kept = _kept(live)
    tree = kept.tree
    await live.drive(statistics.tally_tree(kept.whole, tree, live.read_rows))
    whole = kept.whole.copy()  # another caller may extend `kept.whole` while this one awaits
    path, path_row = kept.path, kept.path_row
    rows = await live.drive(steps.path(tree, row, below=path_row))
    goes_on = tree.parent(rows[0]) == path_row if rows else row == path_row
    if not goes_on:
        path = Tally()
    if path.entries + len(rows) == whole.entries:
        path = whole
    elif rows:
        path = path.copy()
        await live.drive(statistics.tally_rows(path, tree, rows, live.read_rows))
    kept.path, kept.path_row = path, row
    return path, whole


def _kept(live: Derivable) -> Kept:
    kept = live.kept
    if kept is None or kept.tree is not live.tree or live.tree.irregular:
        kept = live.kept = Kept(live.tree)
    return kept
