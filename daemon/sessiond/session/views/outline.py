"""The data of a tree that its views need. It is stored with the tree and extended, not rebuilt."""

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeVar

from sessiond.session.content import preview
from sessiond.session.tree import steps
from sessiond.session.tree.chains import Chains
from sessiond.session.tree.steps import Read, ReadStored, Steps
from sessiond.session.tree.tree import NONE, Tree
from sessiond.session.tree.turns import SilentTurns
from sessiond.session.views import path_layout
from sessiond.session.views.filters import Filter, VisibleRows, label_of
from sessiond.session.views.path_layout import Piece
from sessiond.session.views.view import View

T = TypeVar("T")

_CHAINS_A_STEP: Final = 500


class RowText(NamedTuple):
    """The parts of a node that are in its entry."""

    type: str | None
    role: str | None
    timestamp: str | None
    preview: str


class TreeMoment(NamedTuple):
    """The state of a tree for which a page is computed: the rows before `end`, and the leaf among them."""

    end: int
    leaf: int


class Open(NamedTuple):
    """The open branches of a path layout: all, or those that begin with the rows."""

    is_all: bool = False
    rows: frozenset[int] = frozenset()


class PathLayout(NamedTuple):
    """The pieces of a path layout, and its version: pages of one version fit together."""

    pieces: list[Piece]
    version: str
    opened: frozenset[int]
    """The rows that begin an open branch; empty if all are open."""


class Outline:
    """The outline of one tree.

    Args:
        silent: The rows that views omit, as far as they are known.

    Attributes:
        chains: The chains of the rows.
        silent: The rows that views omit because of their content.
        texts: Texts of rows of the last pages, which are often requested again after an append.

    """

    def __init__(self, silent: SilentTurns | None = None) -> None:
        self.chains = Chains()
        self.silent = SilentTurns() if silent is None else silent
        self.texts: dict[int, RowText] = {}
        self._filters: dict[Filter, tuple[VisibleRows, View]] = {}
        self._cached_view: tuple[object, View] | None = None
        self._path: tuple[int, int, dict[int, int]] = (NONE, 0, {})
        self._layout: tuple[object, PathLayout] | None = None
        self._is_busy = False

    def extend(self, tree: Tree, read: Read, read_stored: ReadStored | None = None) -> Steps[None]:
        """Add the committed rows that are new. Several callers may do so at the same time."""
        yield from self.extend_chains(tree)
        yield from self.silent.extend(tree, read, read_stored)

    def extend_chains(self, tree: Tree) -> Steps[None]:
        """Add the committed rows that are new to `chains` only."""
        yield from self.exclusively(self.chains.extend(tree))

    def exclusively(self, work: Steps[T]) -> Steps[T]:
        """Run work that changes or reads `chains` and views in several steps, while no other such work runs."""
        while self._is_busy:
            yield
        self._is_busy = True
        try:
            return (yield from work)
        finally:
            self._is_busy = False

    def moment(self, tree: Tree) -> TreeMoment:
        """Return the newest state whose rows the outline all includes."""
        end, leaf = min(self.chains.rows, len(self.silent)), tree.leaf
        while leaf >= end:
            leaf = tree.parent(leaf)
        return TreeMoment(end, leaf)

    def view(
        self, tree: Tree, read: Read, moment: TreeMoment, filter: Filter, query: str, root_row: int
    ) -> Steps[View]:
        """Return the view for a filter, a query and a root. It is valid until the end of the exclusive work."""
        yield from self.chains.sort()
        if filter not in self._filters:
            self._filters[filter] = VisibleRows(filter), View(self.chains)
        visible, view = self._filters[filter]
        yield from visible.extend(tree, self.silent, moment.end, moment.leaf)
        view.update(visible.marks, visible.changed)
        visible.changed = []
        words = query.casefold().split()
        if not words and root_row == NONE:
            return view
        key = moment, filter, query, root_row
        if self._cached_view is None or self._cached_view[0] != key:
            view = View(self.chains, root_row)
            view.update(visible.marks, None)
            if words:
                marks = bytearray(len(tree))
                for row in (yield from matching(tree, sorted((yield from view.rows())), words, read)):
                    marks[row] = 1
                view.update(marks, None)
            self._cached_view = key, view
        return self._cached_view[1]

    def drop_cached_view(self) -> None:
        """Drop the view of a subtree or query after its last page."""
        self._cached_view = None

    def layout(self, view: View, leaf: int, open: Open, shown: int = NONE) -> Steps[PathLayout]:
        """Return the path layout of a view. It is valid until the end of the exclusive work.

        Args:
            view: The view, as `view` returned it.
            leaf: The row of the leaf; `NONE` without one.
            open: The open branches.
            shown: A row that must not be in a folded branch: the branches above it are opened, too. `NONE` for none.

        """
        chains = self.chains
        chain = chains.chain_of(leaf) if leaf != NONE else NONE
        next_fork = chains.next_fork(leaf, chains.end(chain)) if leaf != NONE else NONE
        key = view, view.structure, chains.count, chain, next_fork
        if self._layout is not None and self._layout[0] == (key, open) and shown == NONE:
            return self._layout[1]
        ends = yield from self._path_ends(leaf)
        shown_ends = dict[int, int]()
        if shown != NONE:
            shown_ends = dict((yield from self._ends_above(shown)))
        opened: set[int] = set()

        def is_open(row: int) -> bool:
            if open.is_all:
                return True
            above_shown = row != shown and shown_ends.get(chains.chain_of(row), NONE) >= row
            if above_shown or row in open.rows:
                opened.add(row)
                return True
            return False

        found = yield from path_layout.pieces(view, chains, ends, is_open)
        version = f"{chains.count}.{chain}.{next_fork}"
        layout = PathLayout(found, version, frozenset(opened))
        self._layout = (key, open if shown == NONE else Open(open.is_all, layout.opened)), layout
        return layout

    def on_path(self, tree: Tree, leaf: int, rows: Sequence[int]) -> Steps[set[int]]:
        """Return the rows, of some rows, that are on the path to the leaf."""
        if tree.irregular:  # parents may form a cycle, which the chains cut
            return set((yield from steps.path(tree, leaf))).intersection(rows)
        ends = yield from self._path_ends(leaf)
        chain_of = self.chains.chain_of
        return {row for row in rows if row <= ends.get(chain_of(row), NONE)}

    def _path_ends(self, leaf: int) -> Steps[dict[int, int]]:
        """Return the last row of each chain that is on the path to the leaf, by chain."""
        chains = self.chains
        chain = chains.chain_of(leaf) if leaf != NONE else NONE
        if self._path[:2] != (chain, chains.count):
            self._path = chain, chains.count, (yield from self._ends_above(leaf))
        if chain != NONE:
            self._path[2][chain] = leaf
        return self._path[2]

    def _ends_above(self, row: int) -> Steps[dict[int, int]]:
        """Return the last row of each chain that is on the path to a row, by chain, beginning with the row's chain."""
        chains = self.chains
        ends: dict[int, int] = {}
        while row != NONE:
            chain = chains.chain_of(row)
            ends[chain] = row
            row = chains.parent(chain)
            if len(ends) % _CHAINS_A_STEP == 0:
                yield
        return ends


def matching(tree: Tree, rows: Sequence[int], words: Sequence[str], read: Read) -> Steps[list[int]]:
    """Return the rows, of some rows in ascending order, in which all words occur."""
    found: list[int] = []
    for batch in steps.batches(tree, rows):
        for row, entry in zip(batch, read(batch), strict=True):
            decoded = preview.decoded(entry)
            message = decoded.get("message")
            role = message.get("role") if isinstance(message, dict) else None
            label = label_of(tree, row)
            text = f"{decoded.get('type')} {role or ''} {label or ''} {preview.text_of(decoded)}".casefold()
            if all(word in text for word in words):
                found.append(row)
        yield
    return found
