"""Compares two branches: their common ancestor, and the entries that only one of them has."""

from dataclasses import dataclass
from typing import Final

from sessiond.session.compaction.branching import above_leaf_lines, left_behind, said_by
from sessiond.session.content.agent_message import read_message
from sessiond.session.content.pi_touched_files import TouchedPaths
from sessiond.session.content.touched_files import touched
from sessiond.session.state import statistics
from sessiond.session.state.statistics import Tally
from sessiond.session.tree.steps import Read, Steps, clear_lists
from sessiond.session.tree.tree import LEAF, NONE, Tree

_AT_ONCE: Final = 64


@dataclass(frozen=True, slots=True)
class Side:
    """One branch, from below the common ancestor to its end.

    Attributes:
        rows: Its rows, without `leaf` lines.
        tokens: Estimated tokens that they add to a context.
        tally: Their counts.
        files: The files that they read or modified.

    """

    rows: list[int]
    tokens: int
    tally: Tally
    files: TouchedPaths


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of two branches; `ancestor` is `NONE` if they have no common entry."""

    ancestor: int
    left: Side
    right: Side


def compare(tree: Tree, left_row: int, right_row: int, read: Read) -> Steps[Comparison]:
    """Compare the paths to two rows. If one path is part of the other, its side has no rows."""
    ancestor, left = yield from left_behind(tree, left_row, right_row)
    _, right = yield from left_behind(tree, right_row, left_row)
    return Comparison(
        NONE if ancestor == NONE else above_leaf_lines(tree, ancestor),
        (yield from _side(tree, left, read)),
        (yield from _side(tree, right, read)),
    )


def _side(tree: Tree, rows: list[int], read: Read) -> Steps[Side]:
    shown = [row for row in rows if tree.kind(row) != LEAF]
    said, known = yield from said_by(tree, shown, read)
    named: list[TouchedPaths] = [known]
    for start in range(0, len(said), _AT_ONCE):
        named.append(touched(read_message(one.body) for one in said[start : start + _AT_ONCE]))
        yield
    tally = Tally()
    yield from statistics.tally_rows(tally, tree, shown, read)
    counted = sum(one.tokens for one in said)
    yield from clear_lists(said)
    return Side(shown, counted, tally, _together(named))


def _together(named: list[TouchedPaths]) -> TouchedPaths:
    modified = {path for files in named for path in files.modified}
    read = {path for files in named for path in files.read} - modified
    return TouchedPaths(tuple(sorted(read)), tuple(sorted(modified)))
