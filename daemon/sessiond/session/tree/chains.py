"""The tree as chains: runs of consecutive rows, each of which is the first child of the row before it.

A session mostly grows at its end, so nearly all rows are in few chains. In preorder the rows of a chain are adjacent:
its first row, the others, and then the chains that are attached to its rows, deepest row first. So most questions about
the order and the shape of a tree are questions about chains and slices of columns.

If parents form a cycle, the first row of the cycle counts as a root, so that every entry is reachable from the roots
exactly once.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from itertools import compress
from operator import ne
from typing import Final

from sessiond.session.tree.steps import ROWS_A_STEP, Steps
from sessiond.session.tree.tree import NONE, Tree

_UNATTACHED: Final = NONE - 1
"""The parent of a chain without entries."""
_CHAINS_A_STEP: Final = 500
_MAX_INSERTION_WORK: Final = 200_000
"""The preorder is computed again if inserting the new chains would examine more chains than this."""


class Chains:
    """The chains of the rows up to the last `extend`.

    Chains are numbered in log order. Lines without an entry are in chains that are attached to nothing.
    """

    def __init__(self) -> None:
        self._links = _Links()

    def extend(self, tree: Tree) -> Steps[None]:
        """Add the committed rows that are new."""
        if not tree.irregular:
            while self._links.rows < tree.committed:
                self._links.add(tree, min(self._links.rows + ROWS_A_STEP, tree.committed))
                yield
        elif self._links.rows < tree.committed:
            self._links = yield from _links_of_irregular(tree, tree.committed)

    def sort(self) -> Steps[None]:
        """Bring `preorder` up to date."""
        yield from self._links.sort()

    @property
    def rows(self) -> int:
        """The number of rows that were added."""
        return self._links.rows

    @property
    def count(self) -> int:
        """The number of chains."""
        return len(self._links.starts)

    @property
    def preorder(self) -> "array[int]":
        """The chains in preorder, as of the last `sort`. It must not be modified."""
        return self._links.preorder

    def chain_of(self, row: int) -> int:
        """Return the chain of a row."""
        return bisect_right(self._links.starts, row) - 1

    def start(self, chain: int) -> int:
        """Return the first row of a chain."""
        return self._links.starts[chain]

    def end(self, chain: int) -> int:
        """Return the row after a chain."""
        starts = self._links.starts
        return starts[chain + 1] if chain + 1 < len(starts) else self._links.rows

    def parent(self, chain: int) -> int:
        """Return the row to which a chain is attached; `NONE` for a root."""
        return max(self._links.parents[chain], NONE)

    def attached(self, row: int) -> Iterator[int]:
        """Yield the chains that are attached to a row, or the chains of the roots for `NONE`, in log order."""
        return self._links.attached(row)

    def next_fork(self, row: int, end: int) -> int:
        """Return the first row from `row` to before `end` to which a chain is attached, or `NONE`."""
        found = self._links.forks.find(1, row + 1, end + 1)
        return NONE if found < 0 else found - 1

    def following(self, row: int) -> int:
        """Return the chain that follows the subtree of a row in preorder, or `NONE`."""
        return self._links.following(self.chain_of(row), row, self.count)

    def children(self, row: int) -> Iterator[int]:
        """Yield the children of a row, or the roots for `NONE`, in log order."""
        if row != NONE and row + 1 < self.end(self.chain_of(row)):
            yield row + 1
        for chain in self.attached(row):
            yield self._links.starts[chain]


class _Links:
    """The columns. `starts`, `parents` and `next` are by chain; `last` and `forks` by row + 1, so that 0 is `NONE`."""

    def __init__(self) -> None:
        self.rows = 0
        self.starts = array("i", [0])  # the first chain begins with the header and is attached to nothing
        self.parents = array("i", [_UNATTACHED])
        self.next = array(
            "i", [0]
        )  # the next chain that is attached to the same row; the first one after the last
        self.last = array("i", [NONE])
        self.forks = bytearray(1)
        self.preorder = array("i")
        self._sorted = 1  # the chains that `preorder` includes, attached or not

    def add(self, tree: Tree, end: int) -> None:
        """Add the rows to before `end` of a tree in which parents precede their children."""
        first = self.rows
        parents = tree.parents(first, end)
        self.grow(end)
        for row in compress(range(first, end), map(ne, parents, range(first - 1, end - 1))):
            self.begin(row, parents[row - first] if tree.is_entry(row) else _UNATTACHED)

    def begin(self, row: int, parent: int) -> None:
        """Begin a chain with a row."""
        chain = len(self.starts)
        self.starts.append(row)
        self.parents.append(parent)
        self.next.append(chain)
        if parent != _UNATTACHED:
            before = self.last[parent + 1]
            if before != NONE:
                self.next[chain], self.next[before] = self.next[before], chain
            self.last[parent + 1] = chain
            self.forks[parent + 1] = 1

    def grow(self, end: int) -> None:
        """Add rows to before `end`, which continue the last chain."""
        self.last.extend(array("i", [NONE]) * (end - self.rows))
        self.forks.extend(bytes(end - self.rows))
        self.rows = end

    def attached(self, row: int) -> Iterator[int]:
        last = self.last[row + 1]
        chain = last
        while chain != NONE:
            chain = self.next[chain]
            yield chain
            if chain == last:
                return

    def following(self, chain: int, row: int, before: int) -> int:
        """Return the chain that follows the subtree of a row in preorder. Only chains below `before` count."""
        while True:
            fork = self.forks.rfind(1, self.starts[chain] + 1, row + 1) - 1
            while fork >= 0:
                first = self.next[self.last[fork + 1]]
                if first < before:
                    return first
                fork = self.forks.rfind(1, self.starts[chain] + 1, fork + 1) - 1
            row = self.parents[chain]
            if self.last[row + 1] != chain and (sibling := self.next[chain]) < before:
                return sibling
            if row == NONE:
                return NONE
            chain = bisect_right(self.starts, row) - 1

    def sort(self) -> Steps[None]:
        """Add the new chains to `preorder`."""
        while (missing := len(self.starts) - self._sorted) > 0:
            if missing > 1 + len(self.preorder) // 64 or missing * len(self.preorder) > _MAX_INSERTION_WORK:
                yield from self._sort_again()
            else:
                for chain in range(self._sorted, len(self.starts)):
                    self._insert(chain)
                self._sorted = len(self.starts)
                yield

    def _insert(self, chain: int) -> None:
        row = self.parents[chain]
        if row == _UNATTACHED:
            return
        following = NONE
        if row != NONE:
            following = self.following(bisect_right(self.starts, row) - 1, row, chain)
        place = len(self.preorder) if following == NONE else self.preorder.index(following)
        self.preorder.insert(place, chain)

    def _sort_again(self) -> Steps[None]:
        count = len(self.starts)
        preorder, to_visit = array("i"), [*self.attached(NONE)][::-1]
        while to_visit:
            chain = to_visit.pop()
            preorder.append(chain)
            end = (self.starts[chain + 1] if chain + 1 < count else self.rows) + 1
            fork = self.forks.find(1, self.starts[chain] + 1, end)
            while fork >= 0:
                to_visit += [*self.attached(fork - 1)][::-1]
                fork = self.forks.find(1, fork + 1, end)
            if len(preorder) % _CHAINS_A_STEP == 0:
                yield
        self.preorder, self._sorted = preorder, count


def _links_of_irregular(tree: Tree, end: int) -> Steps[_Links]:
    """Build all links from scratch: parents may follow their children, and may have changed."""
    tops = yield from _tops_of_cycles(tree, end)
    parents, follows = (
        array("i"),
        bytearray(end + 1),
    )  # `follows`: the numbers plus 1 of rows that follow one of their children
    for row in range(end):
        parent = NONE if row in tops else tree.parent(row) if tree.is_entry(row) else _UNATTACHED
        parents.append(parent)
        if parent >= row:
            follows[parent + 1] = 1
        if row % ROWS_A_STEP == 0:
            yield
    links = _Links()
    links.grow(end)
    for row in range(1, end):
        parent = parents[row]
        if parent == NONE or parent != row - 1 or follows[row]:
            links.begin(row, parent)
        if row % ROWS_A_STEP == 0:
            yield
    return links


def _tops_of_cycles(tree: Tree, end: int) -> Steps[set[int]]:
    """Return the first row of each cycle of parents."""
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
            cycle = list(walk)
            tops.add(min(cycle[cycle.index(row) :]))
    return tops
