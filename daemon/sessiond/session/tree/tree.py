"""A session's lines as a tree: read from the bytes of a log, then grown by appends.

Rows that are attached stay pending until they are committed: they may be parents, but nobody is shown them.
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
from sessiond.session.tree.marks import SAYING, Label
from sessiond.session.tree.reading import ReadRows

__all__ = [
    "ASSISTANT", "BAD", "HEADER", "KIND", "KINDS", "LEAF", "MESSAGE", "NONE", "OTHER", "ROLE", "ROLES",
    "USER", "Label", "NewRow", "Tree",
]  # fmt: skip


class NewRow(msgspec.Struct, frozen=True, gc=False):
    """A line that is about to be added: the bytes (with newline) and what the tree needs of it."""

    line: bytes
    type: str
    id: str
    parent_id: str | None
    role: str | None = None
    is_silent: bool = False
    """Whether it is known to say nothing of the session as a whole: see `marks`."""


class Tree(ReadRows):
    """The tree of one session: what was read, and rows on their way to the disk."""

    def __init__(self) -> None:
        super().__init__()
        self._pending_leaf = NONE
        self._pending: list[NewRow] = []

    def finish(self) -> None:
        super().finish()
        self._pending_leaf = self.leaf

    @property
    def pending_leaf_id(self) -> str | None:
        """Where the next entry attaches once everything queued is committed."""
        return None if self._pending_leaf == NONE else self._names[self._pending_leaf]

    def attach(self, rows: Sequence[NewRow], *, leaf: str | None) -> None:
        """Add pending rows with checked ids and parents; `leaf` is the session's leaf with them."""
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

    def commit(self, count: int, *, leaf: str | None) -> None:
        """Make the oldest `count` pending rows visible, with `leaf` as the leaf after them."""
        for new in self._pending[:count]:
            if not new.is_silent and self._kinds[self.committed] in SAYING:
                self._marks.take(self.committed, new.line)
            self.committed += 1
        del self._pending[:count]
        last = self.committed - 1
        self.leaf = last if leaf == self._names[last] else self._row_of(leaf)

    def _row_of(self, entry_id: str | None) -> int:
        """The row of an id that is known to be there; `NONE` for null."""
        if entry_id is None:
            return NONE
        row = self._ids.get(entry_id)
        if row is None:
            raise KeyError(entry_id)
        return row

    def roll_back(self) -> None:
        """Take all pending rows away again."""
        self._cut(self.committed)
        self._pending.clear()
        self._pending_leaf = self.leaf

    def pending_line(self, row: int) -> bytes:
        """The entry of a pending row."""
        return self._pending[row - self.committed].line[:-1]
