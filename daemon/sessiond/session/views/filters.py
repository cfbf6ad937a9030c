"""The filters of views: which rows each of them shows (decision 0021)."""

from collections.abc import Iterable
from itertools import islice
from operator import and_, gt
from typing import Final, Literal, TypeAlias, get_args

from sessiond.session.tree.steps import ROWS_A_STEP, Steps
from sessiond.session.tree.tree import ASSISTANT, BAD, HEADER, KIND, LEAF, NONE, ROLE, USER, Tree
from sessiond.session.tree.turns import SilentTurns

Filter: TypeAlias = Literal["default", "noTools", "userOnly", "labeledOnly", "all"]

FILTERS: Final[tuple[Filter, ...]] = get_args(Filter)

_LABEL: Final = KIND["label"]
_CUSTOM_MESSAGE: Final = KIND["custom_message"]
_NEVER_SHOWN: Final = frozenset((BAD, HEADER, LEAF))
_HIDDEN_BY_DEFAULT: Final = frozenset(
    KIND[name]
    for name in (
        "label", "custom", "model_change", "thinking_level_change", "mode_change", "service_tier_change",
        "session_info", "title_change", "session_init", "ttsr_injection", "context_edit", "credential_pin",
        "usage", "model_usage",
    )
)  # fmt: skip


def _table(shown: Iterable[int]) -> bytes:
    """Return a table for `bytes.translate`: 1 for the given codes, else 0."""
    codes = frozenset(shown)
    return bytes(code in codes for code in range(256))


_ALL_KINDS: Final = _table(set(range(256)) - _NEVER_SHOWN)
_DEFAULT_KINDS: Final = _table(set(range(256)) - _NEVER_SHOWN - _HIDDEN_BY_DEFAULT)
_USER_ROLE: Final = _table((USER,))
_ROLES_WITHOUT_TOOLS: Final = _table(set(range(256)) - {ROLE["toolResult"]})


def label_of(tree: Tree, row: int) -> str | None:
    """Return the label of a row, or None."""
    label = tree.labels.get(tree.id(row) or "")
    return label.text if label is not None else None


def filter_mask(tree: Tree, silent: SilentTurns, row: int) -> int:
    """Return the filters that show the entry of a row that is not the leaf, one bit for each of `FILTERS`."""
    kind, role = tree.kind(row), tree.role(row)
    if not _ALL_KINDS[kind]:
        return 0
    is_default = bool(_DEFAULT_KINDS[kind]) and row not in silent
    is_without_tools = is_default and bool(_ROLES_WITHOUT_TOOLS[role])
    is_labeled = label_of(tree, row) is not None and not _is_hidden(tree, silent, row)
    return is_default | is_without_tools << 1 | (role == USER) << 2 | is_labeled << 3 | 1 << 4


class VisibleRows:
    """The rows that a filter shows.

    Attributes:
        marks: One byte for each row: 1 if the filter shows it.
        changed: The rows whose marks have changed or were added since the caller emptied this list; None if any may
            have changed.

    """

    def __init__(self, filter: Filter) -> None:
        self.marks = bytearray()
        self.changed: list[int] | None = []
        self._filter: Filter = filter
        self._shown_leaf = NONE
        self._moment: tuple[int, int] | None = None

    def extend(self, tree: Tree, silent: SilentTurns, end: int, leaf: int) -> Steps[None]:
        """Add the rows to before `end`, all of which are in `silent`, and show the leaf. One caller at a time."""
        if tree.irregular:
            if self._moment != (end, leaf):
                self.marks, self.changed = (yield from self._marks_of_irregular(tree, silent, end)), None
                self._moment = end, leaf
                self._shown_leaf = NONE
        else:
            yield from self._add(tree, silent, end)
        self._show_leaf(tree, leaf)

    def _add(self, tree: Tree, silent: SilentTurns, end: int) -> Steps[None]:
        first = len(self.marks)
        are_labeled = False
        while len(self.marks) < end:
            start = len(self.marks)
            stop = min(start + ROWS_A_STEP, end)
            self.marks += _marks(self._filter, tree, silent, start, stop)
            are_labeled |= _LABEL in tree.kinds(start, stop)
            yield
        if end - first > ROWS_A_STEP:
            self.changed = None
        elif self.changed is not None:
            self.changed += range(first, end)
        if self._filter == "labeledOnly" and are_labeled:
            self.marks, self.changed = (yield from _marks_of_labels(tree, silent, end)), None

    def _marks_of_irregular(self, tree: Tree, silent: SilentTurns, end: int) -> Steps[bytearray]:
        """Return the marks of a tree that may have several rows of one id, of which only one is an entry."""
        if self._filter == "labeledOnly":
            return (yield from _marks_of_labels(tree, silent, end))
        marks = bytearray()
        while len(marks) < end:
            start = len(marks)
            stop = min(start + ROWS_A_STEP, end)
            are_entries = bytes(map(tree.is_entry, range(start, stop)))
            marks += bytes(map(and_, _marks(self._filter, tree, silent, start, stop), are_entries))
            yield
        return marks

    def _show_leaf(self, tree: Tree, leaf: int) -> None:
        """Show the leaf even if it is a silent turn, and the previous leaf no longer."""
        if self._filter not in ("default", "noTools") or leaf == self._shown_leaf:
            return
        if self._shown_leaf != NONE:
            self._set(self._shown_leaf, 0)
        self._shown_leaf = NONE
        if leaf != NONE and tree.role(leaf) == ASSISTANT and not self.marks[leaf]:
            self._set(leaf, 1)
            self._shown_leaf = leaf

    def _set(self, row: int, mark: int) -> None:
        self.marks[row] = mark
        if self.changed is not None:
            self.changed.append(row)


def _marks(filter: Filter, tree: Tree, silent: SilentTurns, first: int, end: int) -> bytes:
    """Return the marks of rows for a filter by kind and role."""
    if filter == "userOnly":
        return tree.roles(first, end).translate(_USER_ROLE)
    if filter == "labeledOnly":
        return bytes(end - first)
    kinds = tree.kinds(first, end)
    if filter == "all":
        return kinds.translate(_ALL_KINDS)
    marks = bytes(map(gt, kinds.translate(_DEFAULT_KINDS), silent.marks(first, end)))
    if filter == "noTools":
        return bytes(map(and_, marks, tree.roles(first, end).translate(_ROLES_WITHOUT_TOOLS)))
    return marks


def _marks_of_labels(tree: Tree, silent: SilentTurns, end: int) -> Steps[bytearray]:
    marks = bytearray(end)
    labeled = iter(list(tree.labels))
    while some := list(islice(labeled, ROWS_A_STEP)):
        for row in map(tree.row, some):
            if row is not None and row < end:
                marks[row] = tree.kind(row) != LEAF and not _is_hidden(tree, silent, row)
        yield
    return marks


def _is_hidden(tree: Tree, silent: SilentTurns, row: int) -> bool:
    """Whether a message is for models only."""
    return tree.kind(row) == _CUSTOM_MESSAGE and row in silent
