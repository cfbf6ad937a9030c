"""The rows of a view in preorder, stored by columns: 100,000 rows are a few lists, without an object for each.

A row stores the gutter of its own line (`gutters`) and of its children (`belows`), one character for each column: a
bar `|`, a blank, a fork `+`, the last branch of a fork `'`. So a chain needs no columns, and a subtree can be replaced
alone. The parents of rows follow from the depths.
"""

from array import array
from collections.abc import Callable, Sequence
from sys import intern
from typing import Any

from sessiond.protocol import types as t

NOWHERE = -1

_DEEPEST = 120
"""Maximum stored columns of a gutter; more is never shown."""


class Rows:
    """The rows of one view. Places count from 0; `before` rows of the view come before the first of them."""

    def __init__(self, before: int = 0, bars: Sequence[bool] = ()) -> None:
        self.before = before
        self.shown = 0
        """Number of rows of the whole view, loaded or not."""
        self.total = 0
        """Number of entries of the session, shown or not."""
        self.ids: list[str] = []
        self.places: dict[str, int] = {}
        self.roles: list[str] = []
        self.previews: list[str] = []
        self.times: list[str] = []
        self.labels: dict[str, str] = {}
        self.depths = array("i")
        self.children = array("i")
        self.seqs = array("q")
        self.gutters: list[str] = []
        self.belows: list[str] = []
        self.on_path = bytearray()
        self.is_whole = False
        self._bars = "".join("| "[not bar] for bar in bars)
        self._roots_fork: bool | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, page: t.TreeResult) -> None:
        """Add a page after the existing rows."""
        self.shown, self.total = page.visible_count, page.entry_count
        self._extend(page.nodes, 0)
        self.is_whole = page.next_cursor is None and not self.before

    def parent(self, place: int) -> int:
        """Return the place of a row's parent; `NOWHERE` for a root, and if the parent is not loaded."""
        depth = self.depths[place]
        if not depth:
            return NOWHERE
        at = place - 1
        while at >= 0 and self.depths[at] >= depth:
            at -= 1
        return at

    def last_below(self, place: int) -> int:
        """Return the last place of the subtree of a row."""
        depth, depths = self.depths[place], self.depths
        last = place + 1
        while last < len(depths) and depths[last] > depth:
            last += 1
        return last - 1

    def is_branch(self, place: int) -> bool:
        """Return whether a branch begins here: the row is one of several children, or of several roots."""
        return self.gutters[place][-1:] in ("+", "'")

    def branch(self, place: int) -> int:
        """Return the place where the branch of a row begins; `NOWHERE` on the trunk."""
        while place != NOWHERE and not self.is_branch(place):
            place = self.parent(place)
        return place

    def find(self, place: int, step: int, holds: Callable[[int], bool]) -> int:
        """Return the next place for which `holds`, in the direction `step` (-1 or 1); `NOWHERE` when there is none."""
        at = place + step
        while 0 <= at < len(self.ids):
            if holds(at):
                return at
            at += step
        return NOWHERE

    def replace(self, place: int, nodes: Sequence[t.TreeNode]) -> int:
        """Replace the subtree of a row by nodes from the daemon. Returns by how many rows it has grown."""
        last = self.last_below(place)
        rest = slice(last + 1, len(self.ids))
        columns: tuple[Any, ...] = (
            self.ids, self.roles, self.previews, self.times, self.depths, self.children, self.seqs, self.gutters,
            self.belows, self.on_path,
        )  # fmt: skip
        after = [column[rest] for column in columns]
        root = self.depths[place], self.gutters[place], self.belows[place]
        for name in self.ids[place : last + 1]:
            del self.places[name]
            self.labels.pop(name, None)
        for column in columns:
            del column[place:]
        self._extend(nodes, root[0], root)
        more = len(self.ids) - last - 1
        for column, values in zip(columns, after, strict=True):
            column.extend(values)
        for at in range(last + 1 + more, len(self.ids)):
            self.places[self.ids[at]] = at
        self.shown += more
        return more

    def mark_path(self, tip: int) -> None:
        """Mark the path that ends at a place; none for `NOWHERE`."""
        self.on_path = bytearray(len(self.ids))
        if tip == NOWHERE:
            return
        depths, marks = self.depths, self.on_path
        depth = depths[tip]
        for at in range(tip, -1, -1):
            if depths[at] == depth:
                marks[at] = 1
                depth -= 1
                if depth < 0:
                    return

    @property
    def tip(self) -> int:
        """The place where the path to the leaf ends, as far as it is shown."""
        return self.on_path.rfind(1)

    def _extend(
        self, nodes: Sequence[t.TreeNode], depth: int, root: tuple[int, str, str] | None = None
    ) -> None:
        for node in nodes:
            place = len(self.ids)
            known = self.places.setdefault(node.id, place)
            if known != place:
                continue  # an id may occur twice in a foreign session: only its first row is shown
            self.ids.append(node.id)
            self.roles.append(intern(node.role or node.type))
            self.previews.append(node.preview)
            self.times.append(node.timestamp or "")
            self.depths.append(node.depth + depth)
            self.children.append(node.child_count)
            self.seqs.append(node.seq)
            self.on_path.append(node.on_path)
            if node.label:
                self.labels[node.id] = node.label
            before, below = root[1:] if root else self._columns(node)
            root = None
            self.gutters.append(before)
            self.belows.append(below)

    def _columns(self, node: t.TreeNode) -> tuple[str, str]:
        """Return the gutter of a row that is about to be added, and that of its children."""
        above = self.places.get(node.parent_id, NOWHERE) if node.parent_id is not None else NOWHERE
        if above != NOWHERE:
            before, forks = self.belows[above], self.children[above] > 1
        elif node.parent_id is None:
            if self._roots_fork is None:
                self._roots_fork = bool(self.before) or not node.last_sibling
            before, forks = "", self._roots_fork
        else:
            return self._columns_without_parent(node)
        return _forked(before, node) if forks else (before, before)

    def _columns_without_parent(self, node: t.TreeNode) -> tuple[str, str]:
        """Return the gutters of a row whose parent is before this page: the first row, or the first of a branch."""
        if self._roots_fork is None:
            self._roots_fork = len(self._bars) > node.indent
        column = node.indent + self._roots_fork - 1
        if self.gutters:
            return _forked(self._bars[: max(column, 0)], node)
        # It is unknown whether the first row begins a branch; it is shown as part of a chain until all are loaded.
        return self._bars[-_DEEPEST:], self._bars[-_DEEPEST:]


def _forked(before: str, node: t.TreeNode) -> tuple[str, str]:
    sign, below = ("'", " ") if node.last_sibling else ("+", "|")
    return before + sign, (before + below)[-_DEEPEST:]
