"""The tree of a session's lines: read from the bytes of a log, and extended by appends.

Attached rows stay pending until they are committed. They may be parents, but are not visible.
"""

from collections.abc import Sequence

import msgspec

from sessiond.session.tree.codes import (
    ASSISTANT,
    BAD,
    HEADER,
    KIND,
    KIND_OF,
    KINDS,
    LEAF,
    MESSAGE,
    NONE,
    OTHER,
    ROLE,
    ROLE_OF,
    ROLES,
    USER,
)
from sessiond.session.tree.marks import PROPERTY_KINDS, Label
from sessiond.session.tree.reading import ReadRows

__all__ = [
    "ASSISTANT", "BAD", "HEADER", "KIND", "KINDS", "LEAF", "MESSAGE", "NONE", "OTHER", "ROLE", "ROLES",
    "USER", "Label", "NewRow", "Tree",
]  # fmt: skip


class NewRow(msgspec.Struct, frozen=True, gc=False):
    """A line to append: its bytes, with the newline, and the values that the tree needs."""

    line: bytes
    type: str
    id: str
    parent_id: str | None
    role: str | None = None
    sets_no_property: bool = False
    """Whether the line is known to set no property of the session: see `marks`."""


class Tree(ReadRows):
    """The tree of one session: the rows that were read, and the pending rows."""

    def __init__(self) -> None:
        super().__init__()
        self._pending_leaf = NONE
        self._pending: list[NewRow] = []

    def finish(self, *, settled: bool = True) -> None:
        """Finish at the end of the log; the pending leaf becomes the leaf."""
        super().finish(settled=settled)
        self._pending_leaf = self.leaf

    @property
    def pending_leaf_id(self) -> str | None:
        """The leaf after all pending rows are committed."""
        return None if self._pending_leaf == NONE else self._names[self._pending_leaf]

    def attach(self, rows: Sequence[NewRow], *, leaf: str | None) -> None:
        """Add pending rows with checked ids and parents.

        Args:
            rows: The new rows.
            leaf: The id of the session's leaf after them.

        """
        tip, row = self.pending_leaf_id, self._pending_leaf
        for new in rows:
            role = 0 if new.role is None else ROLE_OF[new.role]
            parent = row if new.parent_id == tip else self._row_of(new.parent_id)
            tip, row = new.id, len(self._kinds)
            self._add(self.end, KIND_OF[new.type], role, parent, tip)
            self._ids.set(tip, row)
            self.end += len(new.line)
        self._pending += rows
        self._pending_leaf = row if leaf == tip else self._row_of(leaf)

    def attach_at_leaf(self, rows: Sequence[NewRow]) -> None:
        """Add pending rows with new ids: the first below the pending leaf, each further one below the one before."""
        row, parent, end = len(self._kinds), self._pending_leaf, self.end
        names = [new.id for new in rows]
        self._ids.add_new(names, row)
        self._names += names
        for new in rows:
            self._offsets.append(end)
            self._kinds.append(KIND_OF[new.type])
            self._roles.append(0 if new.role is None else ROLE_OF[new.role])
            self._parents.append(parent)
            end += len(new.line)
            parent = row
            row += 1
        self.end = end
        self._pending += rows
        self._pending_leaf = parent

    def commit(self, count: int, *, leaf: str | None) -> None:
        """Make the oldest pending rows visible.

        Args:
            count: The number of rows.
            leaf: The id of the session's leaf after them.

        """
        for row, new in enumerate(self._pending[:count], self.committed):
            if self._kinds[row] in PROPERTY_KINDS and not new.sets_no_property:
                self._properties.apply(row, new.line)
        self.committed += count
        del self._pending[:count]
        last = self.committed - 1
        self.leaf = last if leaf == self._names[last] else self._row_of(leaf)

    def _row_of(self, entry_id: str | None) -> int:
        """Return the row of an existing id; `NONE` for None."""
        if entry_id is None:
            return NONE
        row = self._ids.get(entry_id)
        if row is None:
            raise KeyError(entry_id)
        return row

    def roll_back(self) -> None:
        """Remove all pending rows."""
        self._cut(self.committed)
        self._pending.clear()
        self._pending_leaf = self.leaf

    def pending_line(self, row: int) -> bytes:
        """Return the line of a pending row, without its newline."""
        return self._pending[row - self.committed].line[:-1]
