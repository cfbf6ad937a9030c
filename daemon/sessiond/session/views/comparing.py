"""Compares two branches: their common ancestor, and the entries that only one of them has."""

from dataclasses import dataclass
from typing import Final

from sessiond.session.compaction.branching import abandoned_rows, branch_messages, nearest_visible_row
from sessiond.session.content.agent_message import read_message
from sessiond.session.content.pi_touched_files import TouchedPaths
from sessiond.session.content.touched_files import touched
from sessiond.session.state import statistics
from sessiond.session.state.statistics import Tally
from sessiond.session.tree.steps import Read, Steps, clear_lists
from sessiond.session.tree.tree import LEAF, NONE, Tree

_MESSAGES_A_STEP: Final = 64


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
    ancestor, left = yield from abandoned_rows(tree, left_row, right_row)
    _, right = yield from abandoned_rows(tree, right_row, left_row)
    return Comparison(
        NONE if ancestor == NONE else nearest_visible_row(tree, ancestor),
        (yield from _side(tree, left, read)),
        (yield from _side(tree, right, read)),
    )


def _side(tree: Tree, rows: list[int], read: Read) -> Steps[Side]:
    visible = [row for row in rows if tree.kind(row) != LEAF]
    branch, summary_files = yield from branch_messages(tree, visible, read)
    file_lists: list[TouchedPaths] = [summary_files]
    for start in range(0, len(branch), _MESSAGES_A_STEP):
        file_lists.append(
            touched(read_message(message.body) for message in branch[start : start + _MESSAGES_A_STEP])
        )
        yield
    tally = Tally()
    yield from statistics.tally_rows(tally, tree, visible, read)
    token_count = sum(message.tokens for message in branch)
    yield from clear_lists(branch)
    return Side(visible, token_count, tally, _merge(file_lists))


def _merge(file_lists: list[TouchedPaths]) -> TouchedPaths:
    modified = {path for files in file_lists for path in files.modified}
    read = {path for files in file_lists for path in files.read} - modified
    return TouchedPaths(tuple(sorted(read)), tuple(sorted(modified)))
