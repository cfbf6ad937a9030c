"""The position of a log: its lines as a number and a digest, and the facts by which it is chosen for a sync."""

from collections.abc import Callable
from typing import Final

import msgspec

from sessiond.session.tree import entries
from sessiond.session.tree.batches import first_of_incomplete_batch
from sessiond.session.tree.steps import Steps
from sessiond.session.tree.tree import Tree
from sessiond.session.union.comparable import LineSum, lines_in

_STEP_BYTES: Final = 128 * 1024
NOTHING: Final = f"{0:064x}"
"""The digest of no lines."""


class LogPosition(msgspec.Struct, frozen=True, omit_defaults=True):
    """The position of one log.

    Attributes:
        session_id: The id in the header; "" without one.
        line_count: The number of distinct lines after the header.
        digest: Their digest.
        cwd: The working directory in the header.
        has_assistant: Whether it has an answer, so that it is no draft session.
        tags: Its tags.
        agent: The agent whose session it was read from.
        problem: Why it cannot be synchronized.
    """

    session_id: str
    line_count: int = 0
    digest: str = NOTHING
    cwd: str = ""
    has_assistant: bool = False
    tags: tuple[str, ...] = ()
    agent: str | None = None
    problem: str | None = None


def read_position(data: bytes) -> Steps[LogPosition]:
    """Compute the position of a log from its bytes, in steps. A torn line and an incomplete batch do not count."""
    tree = Tree()
    for start in range(0, len(data), _STEP_BYTES):
        tree.read(data[start : start + _STEP_BYTES])
        yield
    tree.finish(settled=False)
    first = first_of_incomplete_batch(tree, lambda begin, end: data[begin:end])
    end = tree.end if first is None else tree.span(first)[0]
    return (yield from position_of(tree, end, lambda begin, stop: data[begin:stop]))


def position_of(tree: Tree, end: int, read: Callable[[int, int], bytes]) -> Steps[LogPosition]:
    """Compute the position of a log whose tree is known, in steps.

    Args:
        tree: The tree of the log.
        end: The end of the last line that counts, in bytes.
        read: Returns the bytes of the log from one offset to another.
    """
    header = tree.header
    if header is None:
        return LogPosition("", problem="its header cannot be read")
    if tree.version < entries.CURRENT_VERSION:
        return LogPosition(
            header.id, problem=f"it has format version {tree.version}, which its first new entry converts"
        )
    lines = LineSum()
    row, rows = 1, tree.committed
    while row < rows and tree.span(row)[0] < end:
        start = stop = tree.span(row)[0]
        while row < rows and stop < end and stop - start < _STEP_BYTES:
            stop = tree.span(row)[1]
            row += 1
        lines.add(lines_in(read(start, stop)))
        yield
    return position_with(header, tree, lines)


def position_with(header: entries.Header, tree: Tree, lines: LineSum) -> LogPosition:
    """Return the position of a log whose lines are summed already."""
    origin = tree.origin
    return LogPosition(
        header.id, lines.count, lines.digest, header.cwd, tree.has_assistant(), tuple(tree.tags),
        None if origin is None else origin.agent,
    )  # fmt: skip
