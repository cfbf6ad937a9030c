"""The path layout of a view: the path to the leaf has no indentation, and other branches are folded beside it.

A line is a row and its descendants, of which one child is followed at each fork: the one on the path to the leaf, else
the one with the newest visible row. The other children begin branches. They are drawn below their parent and before
the line goes on; a branch that is open is a line of its own with one more column.
"""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from itertools import compress, count, islice
from typing import Final, NamedTuple, TypeAlias

from sessiond.session.tree.chains import Chains
from sessiond.session.tree.steps import Steps
from sessiond.session.tree.tree import NONE
from sessiond.session.views.view import RowShape, View

MAX_COLUMNS: Final = 120
"""The maximum length of a gutter. Of a longer one, the last columns are kept."""
_CHAINS_A_STEP: Final = 500
_ROWS_A_STEP: Final = 500


class Piece(NamedTuple):
    """Visible rows of one chain that follow one another in the layout, or the first row of a folded branch."""

    start: int
    """The first row, visible or not."""
    end: int
    """The row after the last one; `NONE` for the end of the chain."""
    above: int
    """The visible parent of the first visible row."""
    depth: int
    """The number of visible ancestors of the first visible row."""
    indent: int
    """The number of branches that the rows are in."""
    gutter: str
    """The columns of the rows: `|` a line, a blank, `+` the beginning of a branch, `'` that of the last branch."""
    first_gutter: str
    """The columns of the first visible row."""
    is_folded: bool


class _Branch(NamedTuple):
    """An open branch, with the fields of its first piece."""

    row: int
    above: int
    depth: int
    indent: int
    gutter: str
    first_gutter: str


_Items: TypeAlias = Iterator[Piece | _Branch | None]
"""Parts of a line in order; None if the work may be interrupted."""


def pieces(
    view: View, chains: Chains, path_ends: Mapping[int, int], is_open: Callable[[int], bool]
) -> Steps[list[Piece]]:
    """Return the layout of a view. It costs the forks of the open lines.

    Args:
        view: The view.
        chains: The chains of the tree, sorted.
        path_ends: The last row of each chain that is on the path to the leaf, by chain.
        is_open: Whether the branch that begins with a row is open.

    """
    newest = yield from _newest_rows(view, chains)
    lines = _Lines(view, chains, path_ends, newest, is_open)
    found: list[Piece] = []
    to_write: list[_Items] = [lines.trunk()]  # a stack, because branches may nest deeper than Python's calls
    while to_write:
        for item in to_write[-1]:
            if item is None:
                yield
            elif isinstance(item, Piece):
                found.append(item)
            else:
                to_write.append(lines.line(*item))
                break
        else:
            to_write.pop()
    return found


class PiecesPage(NamedTuple):
    """Rows of a layout, the number of all its rows, and of those before the page."""

    shapes: list[RowShape]
    total: int
    preceding: int


def page(
    view: View, layout: list[Piece], chains: Chains, *, after: int, around: int, limit: int
) -> Steps[PiecesPage | None]:
    """Return rows of a layout: the first ones, those after a row, or those around a row.

    Args:
        view: The view of the layout.
        layout: Its pieces.
        chains: The chains of the tree.
        after: The row before the page; `NONE` for none.
        around: The row in the middle of the page; `NONE` for none.
        limit: Limit of the rows.

    Returns:
        The page; None if the row `after` or `around` is not in the layout.

    """
    totals = array("i", [0])
    place = 0 if after == NONE and around == NONE else NONE
    for at, piece in enumerate(layout):
        end = piece.end if piece.end != NONE else chains.end(chains.chain_of(piece.start))
        if piece.start <= around < end:
            place = max(totals[-1] + view.marks.count(1, piece.start, around) - limit // 2, 0)
        elif piece.start <= after < end:
            place = totals[-1] + view.marks.count(1, piece.start, after + 1)
        totals.append(totals[-1] + view.marks.count(1, piece.start, end))
        if at % _CHAINS_A_STEP == 0:
            yield
    if place == NONE:
        return None
    shapes: list[RowShape] = []
    index = max(bisect_right(totals, place) - 1, 0)
    while index < len(layout) and len(shapes) < limit:
        shapes += yield from _shapes(
            view, layout[index], chains, max(place - totals[index], 0), limit - len(shapes)
        )
        index += 1
        yield
    return PiecesPage(shapes, totals[-1], place)


def _shapes(view: View, piece: Piece, chains: Chains, skipped: int, limit: int) -> Steps[list[RowShape]]:
    """Return the shapes of rows of a piece without the first `skipped`, at most `limit`."""
    end = piece.end if piece.end != NONE else chains.end(chains.chain_of(piece.start))
    visible = compress(range(piece.start, end), view.marks[piece.start : end])
    first = max(skipped - 1, 0)  # the row before the page is the parent of its first row
    rows = list(islice(visible, first, skipped + limit))
    last = view.marks.rfind(1, piece.start, end)
    found: list[RowShape] = []
    above = piece.above if not skipped else rows.pop(0)
    for number, row in enumerate(rows, skipped):
        hidden, child_count = 0, 1
        if row == last:
            child_count = (yield from view.children(row)).total
            if piece.is_folded and child_count:
                hidden = (yield from view.count_below(row)) - 1
        gutter = piece.gutter if number else piece.first_gutter
        found.append(
            RowShape(
                row, above, piece.depth + number, piece.indent, child_count, gutter[-1:] != "+" or bool(number),
                gutter, hidden,
            )
        )  # fmt: skip
        above = row
        if len(found) % _ROWS_A_STEP == 0:
            yield
    return found


class _Lines:
    """Writes the lines of one layout."""

    def __init__(
        self, view: View, chains: Chains, path_ends: Mapping[int, int], newest: "array[int]",
        is_open: Callable[[int], bool],
    ) -> None:  # fmt: skip
        self._view = view
        self._chains = chains
        self._path_ends = path_ends
        self._path_chains = {chains.parent(chain): chain for chain in path_ends}
        self._newest = newest
        self._newest_after: dict[int, dict[int, int]] = {}
        self._is_open = is_open

    def trunk(self) -> _Items:
        """Yield the parts of the line that begins with the view's root, or with one of several roots."""
        if self._view.root_row != NONE:
            yield from self.line(self._view.root_row, NONE, 0, 0, "", "")
            return
        roots = [*self._chains.attached(NONE)]
        if not roots:
            return
        followed = self._path_chains.get(NONE)
        if followed is None:
            followed = max(roots, key=self._newest.__getitem__)
        branches: list[int] = []
        for root in roots:
            if root != followed:
                yield from self._add_tops(self._chains.start(root), branches)
        yield from self._branches(branches, NONE, 0, 0, "")
        yield from self.line(self._chains.start(followed), NONE, 0, 0, "", "")

    def line(self, row: int, above: int, depth: int, indent: int, gutter: str, first_gutter: str) -> _Items:
        """Yield the parts of the line that begins with a row; the other arguments are those of `Piece`."""
        chains, marks = self._chains, self._view.marks
        start = row
        branches: list[int] = []
        while start != NONE:
            chain = chains.chain_of(start)
            end = chains.end(chain)
            following = NONE
            fork = chains.next_fork(start, end)
            while fork != NONE and following == NONE:
                followed = self._followed(fork, chain, end)
                leaves_chain = followed != fork + 1 or fork + 1 == end
                others: list[int] = []
                yield from self._add_branches(fork, followed, others)
                visible = marks.count(1, start, fork + 1)
                if visible and branches:
                    yield from self._branches(branches, above, depth, indent, gutter)
                    branches = []
                if visible and (others or leaves_chain):
                    yield Piece(start, fork + 1, above, depth, indent, gutter, first_gutter, is_folded=False)
                    above, depth, first_gutter = marks.rfind(1, start, fork + 1), depth + visible, gutter
                    start = fork + 1
                branches += others
                if leaves_chain:
                    following = followed
                else:
                    fork = chains.next_fork(fork + 1, end)
                yield None
            if following == NONE and marks.find(1, start, end) >= 0:
                yield from self._branches(branches, above, depth, indent, gutter)
                branches = []
                yield Piece(start, NONE, above, depth, indent, gutter, first_gutter, is_folded=False)
            start = following
        yield from self._branches(branches, above, depth, indent, gutter)

    def _branches(self, rows: list[int], above: int, depth: int, indent: int, gutter: str) -> _Items:
        """Yield the branches that begin with these rows, which are children of `above`."""
        for row in rows:
            is_last = row == rows[-1]
            first = (gutter + ("'" if is_last else "+"))[-MAX_COLUMNS:]
            if self._is_open(row):
                below = (gutter + (" " if is_last else "|"))[-MAX_COLUMNS:]
                yield _Branch(row, above, depth, indent + 1, below, first)
            else:
                yield Piece(row, row + 1, above, depth, indent + 1, first, first, is_folded=True)

    def _followed(self, fork: int, chain: int, end: int) -> int:
        """Return the child of a fork that continues its line."""
        if fork in self._path_chains:
            return self._chains.start(self._path_chains[fork])
        if self._path_ends.get(chain, NONE) > fork:
            return fork + 1
        attached = max(self._chains.attached(fork), key=self._newest.__getitem__)
        if fork + 1 < end and self._newest_in_chain(chain, fork, end) > self._newest[attached]:
            return fork + 1
        return self._chains.start(attached)

    def _newest_in_chain(self, chain: int, fork: int, end: int) -> int:
        """Return the newest visible row below a fork: in the fork's chain, or below a later row of the chain."""
        if chain not in self._newest_after:
            forks: list[int] = []
            at = self._chains.next_fork(self._chains.start(chain), end)
            while at != NONE:
                forks.append(at)
                at = self._chains.next_fork(at + 1, end)
            after, newest = dict[int, int](), NONE
            for at in reversed(forks):
                newest = max(newest, self._view.marks.rfind(1, at + 1, end))
                after[at] = newest
                newest = max(newest, *(self._newest[chain] for chain in self._chains.attached(at)))
            self._newest_after[chain] = after
        return self._newest_after[chain][fork]

    def _add_branches(self, fork: int, followed: int, found: list[int]) -> _Items:
        """Add the first visible rows below the children of a fork that do not continue its line."""
        for child in self._chains.children(fork):
            if child != followed:
                yield from self._add_tops(child, found)

    def _add_tops(self, row: int, found: list[int]) -> _Items:
        """Add a row, or if it is hidden, the first visible rows below it."""
        to_visit = [row]
        for visited in count():
            if not to_visit:
                break
            start = to_visit.pop()
            end = self._chains.end(self._chains.chain_of(start))
            top = self._view.marks.find(1, start, end)
            if top >= 0:
                found.append(top)
            fork = self._chains.next_fork(start, top if top >= 0 else end)
            below: list[int] = []
            while fork != NONE:
                below = [*map(self._chains.start, self._chains.attached(fork)), *below]
                fork = self._chains.next_fork(fork + 1, top if top >= 0 else end)
            to_visit += below[::-1]
            if visited % _CHAINS_A_STEP == _CHAINS_A_STEP - 1:
                yield None


def _newest_rows(view: View, chains: Chains) -> "Steps[array[int]]":
    """Return the newest visible row in or below each chain; `NONE` without any."""
    newest = array("i", [NONE]) * chains.count
    for chain in chains.preorder:
        newest[chain] = view.marks.rfind(1, chains.start(chain), chains.end(chain))
        if chain % _CHAINS_A_STEP == 0:
            yield
    for visited, chain in enumerate(reversed(chains.preorder)):  # children before their parents
        parent = chains.parent(chain)
        if parent != NONE:
            above = chains.chain_of(parent)
            newest[above] = max(newest[above], newest[chain])
        if visited % _CHAINS_A_STEP == 0:
            yield
    return newest
