"""One view: the visible rows of a tree or subtree in preorder, and their relations.

The children of a hidden row belong to the nearest visible row above it. Everything is answered from the chains of the
tree and one byte for each row, so a page costs its rows and the branches beside them, not the whole tree.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import compress, count, islice
from typing import Final, NamedTuple

from sessiond.session.tree.chains import Chains
from sessiond.session.tree.steps import Steps
from sessiond.session.tree.tree import NONE

_CHAINS_A_STEP: Final = 500
_ROWS_A_STEP: Final = 500


class ChildSummary(NamedTuple):
    """The number of visible children of a row, and the last of them; `NONE` without any."""

    total: int
    last: int


class ChainBase(NamedTuple):
    """The surroundings of the first visible row of a chain: its parent, its depth and its indent."""

    above: int
    depth: int
    indent: int


class RowShape(NamedTuple):
    """A visible row in its view, with the fields of `tree_view.Node`; `above` is the visible parent."""

    row: int
    above: int
    depth: int
    indent: int
    child_count: int
    is_last: bool
    gutter: str = ""
    hidden: int = 0


@dataclass(frozen=True, slots=True)
class ViewPlace:
    """A place in a view: the index of a chain in preorder, a row of the chain, and the visible rows before that row."""

    index: int
    row: int
    preceding: int


class View:
    """The visible rows at and below a root row, or of the whole tree.

    The caller reports every change with `update`. Between two calls of it, results are cached.

    Attributes:
        marks: One byte for each row: 1 for a visible row.
        root_row: The row that is the root of the view; `NONE` for the whole tree.
        structure: A number that changes when the forks or the visible rows around them may have changed.

    """

    def __init__(self, chains: Chains, root_row: int = NONE) -> None:
        self._chains = chains
        self.marks = bytearray()
        self.root_row = root_row
        self.structure = 0
        self._root_chain = NONE if root_row == NONE else chains.chain_of(root_row)
        self._children: dict[int, ChildSummary] = {}
        self._bases: dict[int, ChainBase] = {}
        self._totals: array[int] | None = None
        self._indexes: array[int] | None = None
        self._chain_count = chains.count

    # --- changes ---------------------------------------------------------------------------------------

    def update(self, marks: bytearray, changed: Iterable[int] | None) -> None:
        """Set the marks of the rows: 1 for a visible row.

        Args:
            marks: One byte for each row.
            changed: The rows that have changed or are new since the last call; None if any may have changed.

        """
        self.marks = marks
        is_same = changed is not None and self._chain_count == self._chains.count
        if changed is not None:
            changed = list(changed)
            if is_same and not changed:
                return
        self._totals = None
        if not is_same:
            self._indexes = None
        self._chain_count = self._chains.count
        if changed is None or not is_same or not all(map(self._is_plain, changed)):
            self._children.clear()
            self._bases.clear()
            self.structure += 1
        elif not all(map(marks.__getitem__, changed)):
            self.structure += 1

    def _is_plain(self, row: int) -> bool:
        """Whether a change of a row affects no branch: no fork follows the visible row before it in its chain."""
        chain = self._chains.chain_of(row)
        before = self.marks.rfind(1, self._chains.start(chain), row)
        return before >= 0 and self._chains.next_fork(before, self._chains.end(chain)) == NONE

    # --- places ----------------------------------------------------------------------------------------

    def visible_count(self) -> Steps[int]:
        """Return the number of visible rows."""
        if self.root_row == NONE:
            return self.marks.count(1)
        return (yield from self._totals_of_chains())[-1]

    def rows(self) -> Steps[list[int]]:
        """Return the visible rows in preorder."""
        found: list[int] = []
        for index in self._range():
            start, end = self._bounds(self._chains.preorder[index])
            found += compress(range(start, end), self.marks[start:end])
            if index % _CHAINS_A_STEP == 0:
                yield
        return found

    def first_place(self) -> ViewPlace:
        """Return the place before the first row."""
        return ViewPlace(self._range().start, NONE, 0)

    def place_after(self, row: int) -> Steps[ViewPlace]:
        """Return the place after a row, visible or not; the first place for a row that is not in the view."""
        try:
            index = self._chains.preorder.index(self._chains.chain_of(row))
        except ValueError:  # a line without an entry
            return self.first_place()
        start, _ = self._bounds(self._chains.preorder[index])
        if index not in self._range() or row < start:
            return self.first_place()
        totals = yield from self._totals_of_chains()
        preceding = totals[index - self._range().start] + self.marks.count(1, start, row + 1)
        return ViewPlace(index, row + 1, preceding)

    def place_around(self, row: int, limit: int) -> Steps[ViewPlace]:
        """Return the place from which `limit` rows have a row, or its nearest visible ancestor, in the middle."""
        visible = yield from self.nearest_visible(row)
        if visible == NONE:
            return self.first_place()
        before = (yield from self.place_after(visible)).preceding - 1
        preceding = max(before - limit // 2, 0)
        totals = yield from self._totals_of_chains()
        position = bisect_right(totals, preceding) - 1
        index = self._range().start + position
        start, end = self._bounds(self._chains.preorder[index])
        rows = compress(range(start, end), self.marks[start:end])
        return ViewPlace(index, next(islice(rows, preceding - totals[position], None)), preceding)

    def count_below(self, row: int) -> Steps[int]:
        """Return the number of visible rows in the subtree of a row of the view, including the row."""
        chain = self._chains.chain_of(row)
        totals, first = (yield from self._totals_of_chains()), self._range().start
        indexes = yield from self._indexes_of_chains()
        following = self._chains.following(row)
        end = len(totals) - 1 if following == NONE else indexes[following] - first
        below = totals[end] - totals[indexes[chain] - first + 1]
        return self.marks.count(1, row, self._chains.end(chain)) + below

    def _range(self) -> range:
        """Return the indexes of the view's chains in preorder."""
        preorder = self._chains.preorder
        if self.root_row == NONE:
            return range(len(preorder))
        following = self._chains.following(self.root_row)
        end = len(preorder) if following == NONE else preorder.index(following)
        return range(preorder.index(self._root_chain), end)

    def _totals_of_chains(self) -> "Steps[array[int]]":
        """Return the number of visible rows in the first 0, 1, 2, … chains of the view."""
        if self._totals is None:
            totals = array("i", [0])
            for index in self._range():
                totals.append(totals[-1] + self.marks.count(1, *self._bounds(self._chains.preorder[index])))
                if len(totals) % _CHAINS_A_STEP == 0:
                    yield
            self._totals = totals
        return self._totals

    def _indexes_of_chains(self) -> "Steps[array[int]]":
        """Return the index of each chain in preorder."""
        if self._indexes is None:
            indexes = array("i", [NONE]) * self._chains.count
            for index, chain in enumerate(self._chains.preorder):
                indexes[chain] = index
                if index % _CHAINS_A_STEP == 0:
                    yield
            self._indexes = indexes
        return self._indexes

    def _bounds(self, chain: int) -> tuple[int, int]:
        """Return the first row of a chain that is in the view, and the row after the chain."""
        start = self.root_row if chain == self._root_chain else self._chains.start(chain)
        return start, self._chains.end(chain)

    def nearest_visible(self, row: int) -> Steps[int]:
        """Return a row or its nearest visible ancestor; `NONE` if there is none, or the row is not in the view."""
        found = NONE
        for steps_taken in count():
            chain = self._chains.chain_of(row)
            start, _ = self._bounds(chain)
            if found == NONE:
                found = self.marks.rfind(1, start, row + 1)
            if chain == self._root_chain:
                return found if row >= start else NONE
            if found != NONE and self.root_row == NONE:
                return found
            row = self._chains.parent(chain)
            if row == NONE:
                break
            if steps_taken % _CHAINS_A_STEP == 0:
                yield
        return NONE

    # --- relations -------------------------------------------------------------------------------------

    def shapes(self, place: ViewPlace, limit: int) -> Steps[list[RowShape]]:
        """Return the shapes of the rows after a place, at most `limit`."""
        found: list[RowShape] = []
        row = place.row
        for index in range(place.index, self._range().stop):
            chain = self._chains.preorder[index]
            start, end = self._bounds(chain)
            first, row = max(start, row), NONE
            rows = list(islice(compress(range(first, end), self.marks[first:end]), limit - len(found)))
            for part in range(0, len(rows), _ROWS_A_STEP):
                found += yield from self._shapes_in_chain(chain, rows[part : part + _ROWS_A_STEP])
                yield
            if len(found) >= limit:
                break
            if index % _CHAINS_A_STEP == 0:
                yield
        return found

    def _shapes_in_chain(self, chain: int, rows: list[int]) -> Steps[list[RowShape]]:
        """Return the shapes of visible rows of a chain that follow one another."""
        marks, next_fork = self.marks, self._chains.next_fork
        start, end = self._bounds(chain)
        base = yield from self._base(chain)
        before = marks.rfind(1, start, rows[0])
        above = base.above if before < 0 else before
        depth = base.depth + marks.count(1, start, rows[0])
        indent = base.indent + (yield from self._forks_in_chain(chain, rows[0]))
        is_last = (yield from self.children(above)).last == rows[0]
        fork = next_fork(rows[0], end)
        shapes: list[RowShape] = []
        for row, after in zip(rows, [*rows[1:], marks.find(1, rows[-1] + 1, end)], strict=True):
            if fork == NONE or fork >= after >= 0:
                child_count = int(after >= 0)
            else:
                child_count = (yield from self.children(row)).total
                fork = next_fork(after, end) if after >= 0 else NONE
            shapes.append(RowShape(row, above, depth, indent, child_count, is_last))
            above, is_last = row, child_count == 1
            depth += 1
            indent += child_count > 1
        return shapes

    def children(self, row: int) -> Steps[ChildSummary]:
        """Return the children of a visible row, or the roots of the view for `NONE`."""
        known = self._children.get(row)
        if known is not None:
            return known
        child_count, last = 0, NONE
        if row != NONE:
            end = self._chains.end(self._chains.chain_of(row))
            last = self.marks.find(1, row + 1, end)
            child_count = int(last >= 0)
            to_visit = self._attached(row, last if last >= 0 else end)
            if not to_visit:
                return ChildSummary(child_count, last)
        else:
            to_visit = [*self._chains.attached(NONE)][::-1] if self.root_row == NONE else [self._root_chain]
        visited = 0
        while to_visit:
            start, end = self._bounds(to_visit.pop())
            child = self.marks.find(1, start, end)
            if child >= 0:
                child_count, last = child_count + 1, child
            to_visit += self._attached(start, child if child >= 0 else end)
            visited += 1
            if visited % _CHAINS_A_STEP == 0:
                yield
        self._children[row] = found = ChildSummary(child_count, last)
        return found

    def _attached(self, row: int, end: int) -> list[int]:
        """Return the chains that are attached to the rows from `row` to before `end`, in reverse preorder."""
        found: list[int] = []
        fork = self._chains.next_fork(row, end)
        while fork != NONE:
            found += [*self._chains.attached(fork)][::-1]
            fork = self._chains.next_fork(fork + 1, end)
        return found

    def _base(self, chain: int) -> Steps[ChainBase]:
        """Return the surroundings above the first visible row of a chain."""
        to_compute: list[int] = []
        while chain not in self._bases:
            if chain == self._root_chain or self._chains.parent(chain) == NONE:
                self._bases[chain] = ChainBase(NONE, 0, 0)
            else:
                to_compute.append(chain)
                chain = self._chains.chain_of(self._chains.parent(chain))
        for steps_taken, attached in enumerate(reversed(to_compute)):
            parent = self._chains.parent(attached)
            chain = self._chains.chain_of(parent)
            base = self._bases[chain]
            start, _ = self._bounds(chain)
            above = self.marks.rfind(1, start, parent + 1)
            if above >= 0:
                forks = yield from self._forks_in_chain(chain, above)
                is_fork = (yield from self.children(above)).total > 1
                depth = base.depth + self.marks.count(1, start, above + 1)
                base = ChainBase(above, depth, base.indent + forks + is_fork)
            self._bases[attached] = base
            if steps_taken % _CHAINS_A_STEP == 0:
                yield
        return self._bases[to_compute[0] if to_compute else chain]

    def _forks_in_chain(self, chain: int, row: int) -> Steps[int]:
        """Return the number of visible forks of a chain before a visible row of the chain."""
        found = 0
        start, _ = self._bounds(chain)
        fork = self._chains.next_fork(start, row)
        while fork != NONE:
            above = self.marks.rfind(1, start, fork + 1)
            found += above >= 0 and (yield from self.children(above)).total > 1
            fork = self._chains.next_fork(self.marks.find(1, fork + 1, row + 1), row)
            if found % _ROWS_A_STEP == _ROWS_A_STEP - 1:
                yield
        return found
