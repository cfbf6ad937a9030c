"""The rows of a view, stored by columns: 100,000 rows are a few lists, without an object for each.

They are in the order of the layout `path` of `session/tree`, with all branches open. The gutter of a row is as the
daemon sent it. The parents of rows follow from the depths, so a subtree can be replaced alone.
"""

from array import array
from collections.abc import Callable, Sequence
from sys import intern
from typing import Any

from sessiond.protocol import types as t

NOWHERE = -1

_MAX_COLUMNS = 120
"""Maximum stored columns of a gutter; more is never shown."""


class Rows:
    """The rows of one view. Places count from 0; `before` rows of the view come before the first of them."""

    def __init__(self, before: int = 0) -> None:
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
        self.branches: set[str] = set()
        """The rows that begin a branch beside the path and have children."""
        self.on_path = bytearray()
        self.is_whole = False

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, page: t.TreeResult) -> None:
        """Add a page after the existing rows."""
        self.shown, self.total = page.visible_count, page.entry_count
        self._extend(page.nodes)
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
        """Return whether a branch begins here that hangs off the line of its parent."""
        return self.gutters[place][-1:] in ("+", "'")

    def branch(self, place: int) -> int:
        """Return the place where the branch of a row begins; `NOWHERE` on the line of the path."""
        while place != NOWHERE and not self.is_branch(place):
            place = self.parent(place)
        return place

    def has_siblings(self, place: int) -> bool:
        """Return whether a row is a branch, or the row after the branches of a fork with which its line goes on."""
        return self.is_branch(place) or (
            place > 0 and len(self.gutters[place - 1]) > len(self.gutters[place])
        )

    def child_of_fork(self, place: int) -> int:
        """Return the nearest row, at or above a row, that has siblings; `NOWHERE` without one."""
        while place != NOWHERE and not self.has_siblings(place):
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
            self.on_path,
        )  # fmt: skip
        after = [column[rest] for column in columns]
        depth, gutter = self.depths[place], self.gutters[place]
        for name in self.ids[place : last + 1]:
            del self.places[name]
            self.labels.pop(name, None)
            self.branches.discard(name)
        for column in columns:
            del column[place:]
        self._extend(nodes[:1], depth, gutter)
        self._extend(nodes[1:], depth, gutter.translate(_BELOW))
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

    def _extend(self, nodes: Sequence[t.TreeNode], depth: int = 0, gutter: str = "") -> None:
        """Add rows after the others; `depth` and `gutter` precede those of the nodes."""
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
            self.gutters.append(intern((gutter + node.gutter)[-_MAX_COLUMNS:]))
            if node.label:
                self.labels[node.id] = node.label
            if node.child_count and self.is_branch(place):
                self.branches.add(node.id)


_BELOW = str.maketrans("+'", "| ")
"""Changes the gutter of a row to the one of the rows that continue its line."""
