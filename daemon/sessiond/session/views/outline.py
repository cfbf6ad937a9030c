"""The data of a tree that its views need. It is stored with the tree and extended, not rebuilt."""

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeVar

from sessiond.session.content import preview
from sessiond.session.tree import steps
from sessiond.session.tree.chains import Chains
from sessiond.session.tree.steps import Read, ReadStored, Steps
from sessiond.session.tree.tree import NONE, Tree
from sessiond.session.tree.turns import SilentTurns
from sessiond.session.views.filters import Filter, VisibleRows, label_of
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
        """Return the newest state of which the outline includes all rows."""
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
                view.update((yield from _matching(tree, view, words, read)), None)
            self._cached_view = key, view
        return self._cached_view[1]

    def drop_cached_view(self) -> None:
        """Drop the view of a subtree or query after its last page."""
        self._cached_view = None

    def on_path(self, tree: Tree, leaf: int, rows: Sequence[int]) -> Steps[set[int]]:
        """Return those of some rows that are on the path to the leaf."""
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
            ends: dict[int, int] = {}
            above = chains.parent(chain) if chain != NONE else NONE
            while above != NONE:
                ends[chains.chain_of(above)] = above
                above = chains.parent(chains.chain_of(above))
                if len(ends) % _CHAINS_A_STEP == 0:
                    yield
            self._path = chain, chains.count, ends
        if chain != NONE:
            self._path[2][chain] = leaf
        return self._path[2]


def _matching(tree: Tree, view: View, words: Sequence[str], read: Read) -> Steps[bytearray]:
    """Return the marks of the rows of a view in which all words occur."""
    marks = bytearray(len(tree))
    candidates = sorted((yield from view.rows()))
    for batch in steps.batches(tree, candidates):
        for row, entry in zip(batch, read(batch), strict=True):
            decoded = preview.decoded(entry)
            message = decoded.get("message")
            role = message.get("role") if isinstance(message, dict) else None
            label = label_of(tree, row)
            text = f"{decoded.get('type')} {role or ''} {label or ''} {preview.text_of(decoded)}".casefold()
            marks[row] = all(word in text for word in words)
        yield
    return marks
