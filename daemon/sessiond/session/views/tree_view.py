"""Views of the tree: rows in preorder that pass a filter and a query.

The children of a hidden row belong to the nearest visible row above it. Chains are not indented: `indent` counts the
forks above a row (decision 0021).
"""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from sessiond.session.content import preview
from sessiond.session.tree import steps
from sessiond.session.tree.children import Children
from sessiond.session.tree.steps import ROWS_A_STEP, Read, Steps
from sessiond.session.tree.tree import ASSISTANT, KIND, LEAF, NONE, ROLE, USER, Tree
from sessiond.session.tree.turns import SilentTurns

Filter: TypeAlias = Literal["default", "noTools", "userOnly", "labeledOnly", "all"]

_PREVIEW_CHARACTERS: Final = 120
_TOOL_RESULT: Final = ROLE["toolResult"]
_HIDDEN_BY_DEFAULT: Final = frozenset(
    KIND[name]
    for name in (
        "label", "custom", "model_change", "thinking_level_change", "mode_change", "service_tier_change",
        "session_info", "title_change", "session_init", "ttsr_injection", "context_edit", "credential_pin",
        "usage", "model_usage",
    )
)  # fmt: skip

_CUSTOM_MESSAGE: Final = KIND["custom_message"]


@dataclass(frozen=True, slots=True)
class Node:
    """One visible row, with the fields of the protocol's TreeNode."""

    id: str
    parent_id: str | None
    depth: int
    indent: int
    seq: int
    type: str
    timestamp: str | None
    child_count: int
    on_path: bool
    role: str | None
    preview: str
    label: str | None
    last_sibling: bool


@dataclass(frozen=True, slots=True)
class TreePage:
    """One page of a view.

    Attributes:
        nodes: The rows of the page.
        resume: The row after which the next page begins; `NONE` on the last page.
        entry_count: The number of entries in the session.
        visible_count: The number of rows in the whole view.
        preceding_count: The number of rows of the view before this page.
        bars: For each fork above the first row, top first: whether branches of it follow the one with the first row.
            Several roots count as a fork. Empty if the page begins the view.
        above: For a page around a row: the ancestors of the first row that are forks or begin a branch.

    """

    nodes: list[Node]
    resume: int
    entry_count: int
    visible_count: int
    preceding_count: int = 0
    bars: tuple[bool, ...] = ()
    above: tuple[Node, ...] = ()


@dataclass(slots=True)
class Outline:
    """Data about all rows that views need. It is stored with a tree and extended, not rebuilt."""

    children: Children = field(default_factory=Children)
    silent: SilentTurns = field(default_factory=SilentTurns)
    cached_view: "_View | None" = None

    def extend(self, tree: Tree, read: Read) -> Steps[None]:
        """Add the committed rows that are new."""
        yield from self.children.extend(tree)
        yield from self.silent.extend(tree, read)


def tree_rows(
    tree: Tree, outline: Outline, read: Read, *, filter: Filter = "default", query: str = "",
    root_row: int = NONE, after_row: int = NONE, around_row: int = NONE, limit: int = 1000,
) -> Steps[TreePage]:  # fmt: skip
    """Return a page of a view.

    Args:
        tree: The tree of the session.
        outline: Its outline, which is extended first.
        read: Returns the entries of rows.
        filter: The filter that rows pass.
        query: Words that all occur in the text of a row.
        root_row: The view consists of this row and its descendants; `NONE` for the whole tree.
        after_row: The page begins after this row; `NONE` for the start of the view.
        around_row: This row, or its nearest visible ancestor, is in the middle of the page.
        limit: Limit of the rows on the page.

    """
    yield from outline.extend(tree, read)
    key = tree.committed, tree.leaf, filter, query, root_row
    cached_view = outline.cached_view
    if (
        cached_view is None
        or cached_view.key != key
        or (after_row != NONE and after_row not in cached_view.shape.rows)
    ):
        visible = yield from _visible(tree, outline, read, filter, query, root_row)
        shape, start = yield from _arrange(tree, outline.children, visible, root_row, after_row)
        cached_view = _View(key, shape, (yield from _indents(shape)), (yield from _on_path(tree)))
    else:
        start = 0 if after_row == NONE else cached_view.shape.rows.index(after_row) + 1
    if around_row != NONE:
        start = max((yield from _nearest(tree, cached_view.shape, around_row)) - limit // 2, 0)
    rows = cached_view.shape.rows
    nodes = yield from _nodes(tree, cached_view, range(start, min(start + limit, len(rows))), read)
    end = start + len(nodes)
    # The next page is likely to be requested; after the last page the view is dropped.
    outline.cached_view = cached_view if end < len(rows) else None
    resume = rows[end - 1] if end < len(rows) else NONE
    bars = (yield from _bars(cached_view.shape, start)) if 0 < start < len(rows) else ()
    above: list[Node] = []
    if around_row != NONE:
        above = yield from _nodes(tree, cached_view, (yield from _structure(cached_view.shape, start)), read)
    return TreePage(nodes, resume, tree.count_entries(), len(rows), start, bars, tuple(above))


def passes_filter(filter: Filter, tree: Tree, outline: Outline, row: int) -> bool:
    """Return whether a filter shows a row that is not the leaf. The outline must be extended to the row first."""
    return _FILTERS[filter](tree, outline.silent, NONE, row)


# --- visible rows ------------------------------------------------------------------------------------------


def _visible(
    tree: Tree, outline: Outline, read: Read, filter: Filter, query: str, root_row: int
) -> Steps[bytearray]:
    """Return one byte for each row: whether the view shows it, for rows at or below `root_row`."""
    passes = _FILTERS[filter]
    leaf, silent = tree.leaf, outline.silent
    end = tree.committed
    candidates: Sequence[int] = range(end)
    if root_row != NONE:
        candidates = yield from _below(outline.children, root_row, end)
    visible = bytearray(end)
    for start in range(0, len(candidates), ROWS_A_STEP):
        for row in candidates[start : start + ROWS_A_STEP]:
            visible[row] = tree.is_entry(row) and tree.kind(row) != LEAF and passes(tree, silent, leaf, row)
        yield
    words = query.casefold().split()
    if words:
        yield from _hide_non_matches(tree, visible, words, read)
    return visible


def _below(children: Children, root_row: int, end: int) -> Steps[list[int]]:
    """Return a row and its descendants, so that the cost of viewing a subtree depends on its own size."""
    found: list[int] = []
    to_visit = [root_row]
    while to_visit:
        row = to_visit.pop()
        if row == NONE or row >= end:
            continue
        found.append(row)
        if row != root_row:
            to_visit.append(children.next(row))
        to_visit.append(children.first(row))
        if len(found) % ROWS_A_STEP == 0:
            yield
    return found


def _hide_non_matches(tree: Tree, visible: bytearray, words: Sequence[str], read: Read) -> Steps[None]:
    """Hide the rows in which a word of the query does not occur."""
    candidates = [row for row, is_visible in enumerate(visible) if is_visible]
    for batch in steps.batches(tree, candidates):
        for row, entry in zip(batch, read(batch), strict=True):
            decoded = preview.decoded(entry)
            message = decoded.get("message")
            role = message.get("role") if isinstance(message, dict) else None
            label = _label(tree, row)
            text = f"{decoded.get('type')} {role or ''} {label or ''} {preview.text_of(decoded)}".casefold()
            visible[row] = all(word in text for word in words)
        yield


def _shown_by_default(tree: Tree, silent: SilentTurns, leaf: int, row: int) -> bool:
    if tree.kind(row) in _HIDDEN_BY_DEFAULT or _is_for_models_only(tree, silent, row):
        return False
    return tree.role(row) != ASSISTANT or row == leaf or row not in silent


def _shown_without_tools(tree: Tree, silent: SilentTurns, leaf: int, row: int) -> bool:
    return tree.role(row) != _TOOL_RESULT and _shown_by_default(tree, silent, leaf, row)


def _shown_of_user(tree: Tree, silent: SilentTurns, leaf: int, row: int) -> bool:
    return tree.role(row) == USER


def _shown_labeled(tree: Tree, silent: SilentTurns, leaf: int, row: int) -> bool:
    return _label(tree, row) is not None and not _is_for_models_only(tree, silent, row)


def _shown_always(tree: Tree, silent: SilentTurns, leaf: int, row: int) -> bool:
    return True


_FILTERS: Final[dict[Filter, Callable[[Tree, SilentTurns, int, int], bool]]] = {
    "default": _shown_by_default,
    "noTools": _shown_without_tools,
    "userOnly": _shown_of_user,
    "labeledOnly": _shown_labeled,
    "all": _shown_always,
}


def _is_for_models_only(tree: Tree, silent: SilentTurns, row: int) -> bool:
    return tree.kind(row) == _CUSTOM_MESSAGE and row in silent


def _label(tree: Tree, row: int) -> str | None:
    label = tree.labels.get(tree.id(row) or "")
    return label.text if label is not None else None


# --- order and shape ---------------------------------------------------------------------------------------


class _Shape:
    """Visible rows in preorder. The other columns refer to indexes in this order, not to rows."""

    def __init__(self) -> None:
        self.rows = array("i")
        self.above = array("i")
        self.depths = array("i")
        self.child_counts = array("i")
        self.last_children = array("i")
        self.last_root = NONE

    def add(self, row: int, above: int) -> int:
        index = len(self.rows)
        self.rows.append(row)
        self.above.append(above)
        self.child_counts.append(0)
        self.last_children.append(NONE)
        if above == NONE:
            self.depths.append(0)
            self.last_root = index
        else:
            self.depths.append(self.depths[above] + 1)
            self.child_counts[above] += 1
            self.last_children[above] = index
        return index

    def is_last(self, index: int) -> bool:
        above = self.above[index]
        return index == (self.last_root if above == NONE else self.last_children[above])


@dataclass(frozen=True, slots=True)
class _View:
    """A whole view, and the parameters for which it was computed."""

    key: tuple[int, int, str, str, int]
    shape: _Shape
    indents: "array[int]"
    on_path: bytearray


def _arrange(
    tree: Tree, children: Children, visible: bytearray, root_row: int, after_row: int
) -> Steps[tuple[_Shape, int]]:
    """Walk the tree in preorder; return the shape, and the first index after `after_row`, visible or not."""
    shape, start = _Shape(), 0
    end = len(visible)
    to_visit = [(root_row, NONE)] if root_row != NONE else [(children.first(NONE), NONE)]
    visited = 0
    while to_visit:
        row, above = to_visit.pop()
        if row == NONE or row >= end:
            continue
        if row != root_row:
            to_visit.append((children.next(row), above))
        if visible[row]:
            above = shape.add(row, above)
        to_visit.append((children.first(row), above))
        if row == after_row:
            start = len(shape.rows)
        visited += 1
        if visited % 1000 == 0:
            yield
    return shape, start


def _nearest(tree: Tree, shape: _Shape, row: int) -> Steps[int]:
    """Return the index of a row, or of its nearest visible ancestor; 0 if there is none."""
    indexes: dict[int, int] = {}
    for start in range(0, len(shape.rows), ROWS_A_STEP):
        indexes.update(
            zip(shape.rows[start : start + ROWS_A_STEP], range(start, len(shape.rows)), strict=False)
        )
        yield
    above = yield from steps.path(tree, row)
    return next((indexes[it] for it in reversed(above) if it in indexes), 0)


def _bars(shape: _Shape, index: int) -> Steps[tuple[bool, ...]]:
    """For each fork above an index, top first, return whether branches follow the one with the index."""
    bars: list[bool] = []
    visited = 0
    while index != NONE:
        above = shape.above[index]
        if shape.child_counts[above] > 1 if above != NONE else shape.last_root > 0:
            bars.append(not shape.is_last(index))
        index = above
        visited += 1
        if visited % ROWS_A_STEP == 0:
            yield
    return tuple(reversed(bars))


def _on_path(tree: Tree) -> Steps[bytearray]:
    """Return one byte for each row: whether it is on the path to the leaf."""
    path = yield from steps.path(tree, tree.leaf)
    marks = bytearray(len(tree))
    for start in range(0, len(path), ROWS_A_STEP):
        for row in path[start : start + ROWS_A_STEP]:
            marks[row] = 1
        yield
    return marks


def _structure(shape: _Shape, index: int) -> Steps[list[int]]:
    """Return the indexes above an index that a client draws: forks and rows that begin a branch, top first."""
    found: list[int] = []
    above = shape.above[index] if index < len(shape.rows) else NONE
    visited = 0
    while above != NONE:
        grandparent = shape.above[above]
        begins_branch = shape.child_counts[grandparent] > 1 if grandparent != NONE else shape.last_root > 0
        if begins_branch or shape.child_counts[above] > 1:
            found.append(above)
        above = grandparent
        visited += 1
        if visited % ROWS_A_STEP == 0:
            yield
    found.reverse()
    return found


def _nodes(tree: Tree, cached_view: _View, indexes: Sequence[int], read: Read) -> Steps[list[Node]]:
    nodes: list[Node] = []
    page = [cached_view.shape.rows[index] for index in indexes]
    for batch in steps.batches(tree, page):
        for row, entry in zip(batch, read(batch), strict=True):
            index = indexes[len(nodes)]
            nodes.append(
                _node(
                    tree,
                    cached_view.shape,
                    index,
                    cached_view.indents[index],
                    bool(cached_view.on_path[row]),
                    entry,
                )
            )
        yield
    return nodes


def _indents(shape: _Shape) -> "Steps[array[int]]":
    """Return the number of forks above each index."""
    indents = array("i")
    for index, above in enumerate(shape.above):
        indents.append(0 if above == NONE else indents[above] + (shape.child_counts[above] > 1))
        if index % ROWS_A_STEP == 0:
            yield
    return indents


def _node(tree: Tree, shape: _Shape, index: int, indent: int, on_path: bool, entry: bytes) -> Node:
    row, above = shape.rows[index], shape.above[index]
    decoded = preview.decoded(entry)
    message, timestamp, type_ = decoded.get("message"), decoded.get("timestamp"), decoded.get("type")
    role = message.get("role") if isinstance(message, dict) else None
    return Node(
        id=tree.id(row) or "",
        parent_id=None if above == NONE else tree.id(shape.rows[above]),
        depth=shape.depths[index],
        indent=indent,
        seq=row,
        type=type_ if isinstance(type_, str) else tree.type(row),
        timestamp=timestamp if isinstance(timestamp, str) else None,
        child_count=shape.child_counts[index],
        on_path=on_path,
        role=role if isinstance(role, str) else None,
        preview=preview.one_line(preview.text_of(decoded), _PREVIEW_CHARACTERS),
        label=_label(tree, row),
        last_sibling=shape.is_last(index),
    )
