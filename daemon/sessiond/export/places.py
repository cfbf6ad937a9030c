"""The position of an entry in its tree, and the filters that show it."""

from dataclasses import dataclass
from typing import Final

from sessiond.session.content import preview
from sessiond.session.tree.tree import NONE, Tree
from sessiond.session.views.filters import filter_mask
from sessiond.session.views.outline import Outline

PREVIEW_CHARACTERS: Final = 120
"""Characters of a one-line preview."""

MAX_ATTACHMENTS: Final = 10
"""Files beside an entry that are shown with it."""


@dataclass(frozen=True, slots=True)
class RowPlace:
    """The tree's data about a row. `filter_mask` has one bit for each filter.

    `attachments` has the rows of the first files that the agent wrote beside the entry.
    """

    id: str
    parent_id: str | None
    type: str
    label: str | None
    filter_mask: int
    attachments: tuple[int, ...] = ()


def place_of(tree: Tree, outline: Outline, row: int) -> RowPlace:
    """Return the place of a row. The caller updates the outline first (`Outline.extend`)."""
    parent = tree.parent(row)
    label = tree.labels.get(tree.id(row) or "")
    return RowPlace(
        id=tree.id(row) or "",
        parent_id=None if parent == NONE else tree.id(parent),
        type=tree.type(row),
        label=None if label is None else preview.one_line(label.text, PREVIEW_CHARACTERS),
        filter_mask=filter_mask(tree, outline.silent, row),
        attachments=tuple(tree.attachments.get(tree.id(row) or " ", ())[:MAX_ATTACHMENTS]),
    )
