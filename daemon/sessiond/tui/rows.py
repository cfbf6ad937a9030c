"""The rows of a view, stored by columns: 100,000 rows are a few lists, without an object for each.

They are in the order of the layout `path` of `session/tree`, with all branches open. The gutter of a row is as the
daemon sent it. The parents of rows follow from the depths.
"""

from array import array
from collections.abc import Callable, Sequence
from copy import copy
from sys import intern

from sessiond.protocol import types as t

NOWHERE = -1


class Rows:
    """The rows of one view, at first those of `page`. Places count from 0."""

    def __init__(self, page: t.TreeResult | None = None) -> None:
        self.before = 0
        """Number of rows of the view before the first loaded one."""
        self.shown = 0
        """Number of rows of the whole view, loaded or not."""
        self.ids: list[str] = []
        self.places: dict[str, int] = {}
        self.roles: list[str] = []
        self.previews: list[str] = []
        self.times: list[str] = []
        self.labels: dict[str, str] = {}
        self.depths = array("i")
        self.children = array("i")
        self.gutters: list[str] = []
        self.branches: set[str] = set()
        """The rows that begin a branch beside the path and have children."""
        self.on_path = bytearray()
        if page is not None:
            self.before, self.shown = page.preceding_count, page.visible_count
            self._replace(0, 0, page.nodes)

    def __len__(self) -> int:
        return len(self.ids)

    def copy(self) -> "Rows":
        """Return other rows that are equal."""
        other = Rows()
        other.__dict__ = {name: copy(value) for name, value in vars(self).items()}
        return other

    @property
    def is_whole(self) -> bool:
        """Whether all rows of the view are loaded."""
        return len(self.ids) == self.shown

    @property
    def tip(self) -> int:
        """The last shown place of the path to the leaf."""
        return self.on_path.rfind(1)

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
        """Return whether a branch of the line of its parent begins here."""
        return self.gutters[place][-1:] in ("+", "'")

    def branch(self, place: int) -> int:
        """Return the place where the branch of a row begins; `NOWHERE` on the line of the path."""
        while place != NOWHERE and not self.is_branch(place):
            place = self.parent(place)
        return place

    def has_siblings(self, place: int) -> bool:
        """Return whether a row is a branch, or the row after the branches of a fork that continues the line."""
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

    def apply(self, note: t.TreeChangedNote) -> None:
        """Apply a notification of a watch."""
        lowest = max(self.tip, 0)
        for change in note.changes:
            self._replace(change.place, change.place + change.removed, change.nodes)
            lowest = min(lowest, change.place)
        for labeled in note.labels:
            self._label(labeled.entry_id, labeled.label)
        self.before, self.shown = note.preceding_count, note.visible_count
        tip = NOWHERE if note.path_end is None else note.path_end - self.before
        for place in range(min(lowest, max(tip, 0)), len(self.ids)):
            self.on_path[place] = place <= tip and not self.gutters[place]

    def _replace(self, place: int, end: int, nodes: Sequence[t.TreeNode]) -> None:
        for at, name in enumerate(self.ids[place:end], place):
            if self.places[name] == at:  # otherwise an earlier change has moved it
                del self.places[name]
                self.labels.pop(name, None)
                self.branches.discard(name)
        self.ids[place:end] = [node.id for node in nodes]
        self.roles[place:end] = [intern(node.role or node.type) for node in nodes]
        self.previews[place:end] = [node.preview for node in nodes]
        self.times[place:end] = [node.timestamp or "" for node in nodes]
        self.depths[place:end] = array("i", [node.depth for node in nodes])
        self.children[place:end] = array("i", [node.child_count for node in nodes])
        self.on_path[place:end] = bytes(node.on_path for node in nodes)
        self.gutters[place:end] = [intern(node.gutter) for node in nodes]
        last = place + len(nodes)
        moved = slice(place, last if last == end else len(self.ids))
        self.places.update(zip(self.ids[moved], range(moved.start, moved.stop), strict=True))
        for at, node in enumerate(nodes, place):
            self._label(node.id, node.label)
            if node.child_count and self.is_branch(at):
                self.branches.add(node.id)
            else:
                self.branches.discard(node.id)

    def _label(self, name: str, label: str | None) -> None:
        if label and name in self.places:
            self.labels[name] = label
        else:
            self.labels.pop(name, None)
