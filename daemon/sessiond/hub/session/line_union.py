"""Selects the lines of another store that a session lacks. Only the ids of lines are checked."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from sessiond.hub.session.batches import makes_session
from sessiond.session.tree import lines as tree_lines
from sessiond.session.tree.codes import BAD
from sessiond.session.tree.steps import Steps
from sessiond.session.tree.tree import NewRow, Tree
from sessiond.session.union.comparable import comparable

_LINES_A_STEP = 50


@dataclass(slots=True)
class ChosenLines:
    """The lines that a session lacks, in their order, and the results for the others.

    Attributes:
        new: The lines, as `comparable` returns them.
        duplicate_count: The number of lines that the session has.
        refused: The ids of lines whose id the session has with other content.
        has_answer: Whether one of the new lines makes a draft session a session.
        is_outdated: Whether nothing was chosen, because the session has another last line than expected.
    """

    new: list[bytes] = field(default_factory=list)
    duplicate_count: int = 0
    refused: list[str] = field(default_factory=list)
    has_answer: bool = False
    is_outdated: bool = False


def choose(
    tree: Tree,
    read: Callable[[int, int], bytes],
    offered: Sequence[bytes],
    superseding: Collection[str],
    expected_last_seq: int | None,
) -> Steps[ChosenLines]:
    """Choose the lines that a log lacks, in steps. No row may be added to the tree between steps.

    Args:
        tree: The tree of the log, without pending rows.
        read: Returns the bytes of the log from one offset to another.
        offered: The lines, as `comparable` returns them.
        superseding: The ids with several lines at the sender, so that a second one is no contradiction.
        expected_last_seq: The seq of the last line; None for any.
    """
    if expected_last_seq is not None and tree.seq != expected_last_seq:
        return ChosenLines(is_outdated=True)
    chosen = ChosenLines()
    taken: set[bytes] = set()
    unreadable: set[bytes] | None = None
    for place, line in enumerate(offered):
        if place % _LINES_A_STEP == _LINES_A_STEP - 1 or len(line) > 256 * 1024:
            yield
        if line in taken:
            chosen.duplicate_count += 1
            continue
        row = _row(line)
        if row is None:
            if unreadable is None:
                unreadable = _unreadable(tree, read)
            is_known, is_refused = line in unreadable, False
        else:
            known = tree.row(row.id)
            is_known = known is not None and comparable(read(*tree.span(known))) == line
            is_refused = known is not None and not is_known and row.id not in superseding
        if is_known:
            chosen.duplicate_count += 1
        elif is_refused and row is not None:
            chosen.refused.append(row.id)
        else:
            taken.add(line)
            chosen.new.append(line)
            chosen.has_answer = chosen.has_answer or (row is not None and makes_session(row))
    return chosen


def _row(line: bytes) -> NewRow | None:
    """Return a line as the row that the tree will have; None if it has no entry."""
    try:
        skim = tree_lines.skim(line)
    except tree_lines.NotAnEntry:
        return None
    if not isinstance(skim.type, str) or not isinstance(skim.id, str) or not skim.id:
        return None
    role = None if skim.message is None else skim.message.role
    return NewRow(line, skim.type, skim.id, None, role)


def _unreadable(tree: Tree, read: Callable[[int, int], bytes]) -> set[bytes]:
    """Return the lines of a log that have no entry."""
    rows = [row for row in range(1, tree.committed) if tree.kind(row) == BAD]
    return {comparable(read(*tree.span(row))) for row in rows}
