"""The children of every row, in log order: columns that grow with a tree.

If parents form a circle, the first row of the circle counts as a root, so that every entry is reachable from the top
exactly once.
"""

from array import array

from sessiond.session.tree.steps import ROWS_A_STEP, Steps
from sessiond.session.tree.tree import NONE, Tree


class Children:
    """First child and next sibling of every row up to the last `extend`; `NONE` is the parent of the roots."""

    def __init__(self) -> None:
        self._links = _Links()

    def extend(self, tree: Tree) -> Steps[None]:
        """Add the committed rows that are new. Several callers may do so at the same time."""
        if not tree.irregular:
            while self._links.rows < tree.committed:
                end = min(self._links.rows + ROWS_A_STEP, tree.committed)
                for row in range(self._links.rows, end):
                    self._links.add(row, tree.parent(row), tree.is_entry(row))
                yield
        elif self._links.rows < tree.committed:
            self._links = yield from _links_of_irregular(tree, tree.committed)

    def first(self, row: int) -> int:
        """Return the first child of a row, or the first root for `NONE`; `NONE` if there is none."""
        return self._links.first[row + 1]

    def next(self, row: int) -> int:
        """Return the next sibling of a row in log order, or `NONE`."""
        return self._links.next[row + 1]


class _Links:
    """The columns. Index 0 is the parent of all roots, so the index of a row is row + 1."""

    def __init__(self) -> None:
        self.first = array("i", [NONE])
        self.next = array("i", [NONE])
        self._last = array("i", [NONE])

    @property
    def rows(self) -> int:
        return len(self.first) - 1

    def add(self, row: int, parent: int, is_entry: bool) -> None:
        for column in (self.first, self.next, self._last):
            column.append(NONE)
        if is_entry:
            self.link(row, parent)

    def link(self, row: int, parent: int) -> None:
        before = self._last[parent + 1]
        if before == NONE:
            self.first[parent + 1] = row
        else:
            self.next[before + 1] = row
        self._last[parent + 1] = row


def _links_of_irregular(tree: Tree, end: int) -> Steps[_Links]:
    """Build all links from scratch: parents may follow their children, and may have changed."""
    links = _Links()
    for row in range(end):
        links.add(row, NONE, is_entry=False)
        if row % ROWS_A_STEP == 0:
            yield
    tops = yield from _tops_of_circles(tree, end)
    for row in range(end):
        if tree.is_entry(row):
            links.link(row, NONE if row in tops else tree.parent(row))
        if row % ROWS_A_STEP == 0:
            yield
    return links


def _tops_of_circles(tree: Tree, end: int) -> Steps[set[int]]:
    """Return the first row of each circle of parents."""
    tops: set[int] = set()
    known = bytearray(end)
    steps_taken = 0
    for start in range(end):
        walk: dict[int, None] = {}
        row = start
        while row != NONE and not known[row]:
            known[row] = 1
            walk[row] = None
            row = tree.parent(row)
            steps_taken += 1
            if steps_taken % ROWS_A_STEP == 0:
                yield
        if row in walk:
            circle = list(walk)
            tops.add(min(circle[circle.index(row) :]))
    return tops
