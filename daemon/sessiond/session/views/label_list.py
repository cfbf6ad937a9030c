"""The labels of a session as a list, page by page."""

import heapq
from collections.abc import Callable, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any, Final

import msgspec

from sessiond.session.content import preview
from sessiond.session.content.row_text import row_text
from sessiond.session.tree import steps
from sessiond.session.tree.marks import Label
from sessiond.session.tree.steps import Steps
from sessiond.session.tree.tree import Tree

_PREVIEW_CHARACTERS: Final = 120


class LabelRow(msgspec.Struct, frozen=True):
    """A labeled entry, and the line that labeled it."""

    entry_id: str
    label: str
    labeled_at: str | None
    seq: int
    type: str
    role: str | None
    preview: str


def label_rows(
    tree: Tree, read: Callable[[Sequence[int]], list[bytes]], after_row: int, limit: int
) -> Steps[tuple[list[LabelRow], bool]]:
    """Return the labeled entries after a row in log order, and whether more follow.

    Args:
        tree: The tree of the session.
        read: Reads the entries of rows.
        after_row: The row after which the page begins.
        limit: The maximum number of entries.
    """
    labels = list(tree.labels.items())
    found: list[tuple[int, str, Label]] = []
    for start in range(0, len(labels), steps.ROWS_A_STEP):
        part = islice(labels, start, start + steps.ROWS_A_STEP)
        new = [
            (row, entry_id, label)
            for entry_id, label in part
            if (row := tree.row(entry_id)) is not None
            and after_row < row < tree.committed
            and label.row < tree.committed
        ]
        found = heapq.nsmallest(limit + 1, [*found, *new], key=itemgetter(0))
        yield
    more = len(found) > limit
    by_row = {row: (entry_id, label) for row, entry_id, label in found[:limit]}
    rows: list[LabelRow] = []
    for batch in steps.batches(tree, list(by_row)):
        lines = read([by_row[row][1].row for row in batch])
        for row, entry, line in zip(batch, read(batch), lines, strict=True):
            entry_id, label = by_row[row]
            rows.append(
                _labeled(tree, row, entry_id, label.text, preview.decoded(entry), preview.decoded(line))
            )
        yield
    return rows, more


def _labeled(
    tree: Tree, row: int, entry_id: str, label: str, said: dict[str, Any], line: dict[str, Any]
) -> LabelRow:
    message, type_, labeled_at = said.get("message"), said.get("type"), line.get("timestamp")
    role = message.get("role") if isinstance(message, dict) else None
    return LabelRow(
        entry_id=entry_id,
        label=label,
        labeled_at=labeled_at if isinstance(labeled_at, str) else None,
        seq=row,
        type=type_ if isinstance(type_, str) else tree.type(row),
        role=role if isinstance(role, str) else None,
        preview=row_text(said, _PREVIEW_CHARACTERS),
    )
