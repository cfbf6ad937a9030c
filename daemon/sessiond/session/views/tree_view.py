"""Views of the tree, page by page: rows in preorder that pass a filter and a query.

The children of a hidden row belong to the nearest visible row above it. Chains are not indented (decision 0021). There
are two layouts: in that of the log, children are in log order, and `indent` counts the forks above a row; for the other
see `path_layout`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from sessiond.error_text import TemplatedError
from sessiond.session.content import preview
from sessiond.session.content.row_text import row_text
from sessiond.session.tree import steps
from sessiond.session.tree.marks import Label
from sessiond.session.tree.steps import Read, ReadStored, Steps
from sessiond.session.tree.tree import NONE, Tree
from sessiond.session.views import path_layout
from sessiond.session.views.filters import Filter
from sessiond.session.views.outline import Open, Outline, RowText
from sessiond.session.views.view import RowShape

_PREVIEW_CHARACTERS: Final = 120
_MAX_CACHED_TEXTS: Final = 4_000
"""Rows of the last pages whose texts are cached. A text takes about 0.5 kB."""
_NODES_A_STEP: Final = 500


class Node(msgspec.Struct, frozen=True, gc=False):
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
    gutter: str
    hidden_count: int


class LayoutChangedError(TemplatedError):
    """Raised for the page after a row if the layout has changed since the page with that row."""

    sentence = "The layout of the tree has changed since the page before."
    advice = "Read the first page again."


@dataclass(frozen=True, slots=True)
class TreePage:
    """One page of a view.

    Attributes:
        nodes: The rows of the page.
        resume: The row after which the next page begins; `NONE` on the last page.
        entry_count: The number of entries in the session.
        visible_count: The number of rows in the whole view.
        preceding_count: The number of rows of the view before this page.
        version: The version of a path layout, for the next page; empty for the layout of the log.
        opened: The rows of a path layout that begin an open branch; empty if all are open.

    """

    nodes: list[Node]
    resume: int
    entry_count: int
    visible_count: int
    preceding_count: int = 0
    version: str = ""
    opened: frozenset[int] = frozenset()


def tree_rows(
    tree: Tree, outline: Outline, read: Read, *, filter: Filter = "default", query: str = "",
    root_row: int = NONE, after_row: int = NONE, around_row: int = NONE, limit: int = 1000,
    read_stored: ReadStored | None = None, open: Open | None = None, version: str = "",
) -> Steps[TreePage]:  # fmt: skip
    """Return a page of a view. The page costs its rows, and an append since the last page costs its row.

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
        read_stored: Returns stored lines, with which the outline is extended faster.
        open: The open branches of a path layout; None for the layout of the log.
        version: With `after_row`, the version of the page that ends with that row.

    Raises:
        LayoutChangedError: The layout has another version now, or `after_row` is not in it.

    """
    yield from outline.extend(tree, read, read_stored)
    work = (
        _layout(tree, outline, read, filter, query, root_row, after_row, around_row, limit)
        if open is None
        else _path_layout(
            tree, outline, read, filter, query, root_row, after_row, around_row, limit, open, version
        )
    )
    layout = yield from outline.exclusively(work)
    nodes = yield from nodes_of(tree, outline, layout.page, layout.on_path, tree.labels, read)
    is_end = layout.preceding + len(nodes) >= layout.count
    return TreePage(
        nodes=nodes,
        resume=NONE if is_end else layout.page[-1].row,
        entry_count=tree.count_entries(),
        visible_count=layout.count,
        preceding_count=layout.preceding,
        version=layout.version,
        opened=layout.opened,
    )


@dataclass(frozen=True, slots=True)
class _Layout:
    """A page without texts, as of one moment of the tree. `on_path` are the rows on the path to the leaf."""

    page: list[RowShape]
    count: int
    preceding: int
    on_path: set[int]
    version: str = ""
    opened: frozenset[int] = frozenset()


def _layout(
    tree: Tree, outline: Outline, read: Read, filter: Filter, query: str, root_row: int, after_row: int,
    around_row: int, limit: int,
) -> Steps[_Layout]:  # fmt: skip
    moment = outline.moment(tree)
    view = yield from outline.view(tree, read, moment, filter, query, root_row)
    if around_row != NONE:
        place = yield from view.place_around(around_row, limit)
    elif after_row != NONE:
        place = yield from view.place_after(after_row)
    else:
        place = view.first_place()
    page = yield from view.shapes(place, limit)
    count = yield from view.visible_count()
    if place.preceding + len(page) >= count:  # otherwise the next page is likely to be requested
        outline.drop_cached_view()
    on_path = yield from outline.on_path(tree, moment.leaf, [shape.row for shape in page])
    return _Layout(page, count, place.preceding, on_path)


def _path_layout(
    tree: Tree, outline: Outline, read: Read, filter: Filter, query: str, root_row: int, after_row: int,
    around_row: int, limit: int, open: Open, version: str,
) -> Steps[_Layout]:  # fmt: skip
    moment = outline.moment(tree)
    view = yield from outline.view(tree, read, moment, filter, query, root_row)
    if around_row != NONE:
        around_row = yield from view.nearest_visible(around_row)
    layout = yield from outline.layout(view, moment.leaf, open)
    page = yield from path_layout.page(
        view, layout.pieces, outline.chains, after=after_row, around=around_row, limit=limit
    )
    if page is None and around_row != NONE:  # it is in a folded branch
        layout = yield from outline.layout(view, moment.leaf, open, around_row)
        page = yield from path_layout.page(
            view, layout.pieces, outline.chains, after=NONE, around=around_row, limit=limit
        )
    if page is None or (after_row != NONE and version != layout.version):
        raise LayoutChangedError
    on_path = yield from outline.on_path(tree, moment.leaf, [shape.row for shape in page.shapes])
    return _Layout(page.shapes, page.total, page.preceding, on_path, layout.version, layout.opened)


def _texts(tree: Tree, outline: Outline, rows: Sequence[int], read: Read) -> Steps[dict[int, RowText]]:
    """Return the texts of rows, and cache them if they are not too many."""
    cached = outline.texts
    texts = {row: cached[row] for row in rows if row in cached}
    for batch in steps.batches(tree, [row for row in rows if row not in cached]):
        texts.update(zip(batch, map(_text, read(batch)), strict=True))
        yield
    if len(cached) + len(texts) <= _MAX_CACHED_TEXTS:
        cached |= texts
    elif len(texts) <= _MAX_CACHED_TEXTS:
        outline.texts = dict(texts)
    return texts


def _text(entry: bytes) -> RowText:
    decoded = preview.decoded(entry)
    message, timestamp, type_ = decoded.get("message"), decoded.get("timestamp"), decoded.get("type")
    role = message.get("role") if isinstance(message, dict) else None
    return RowText(
        type=type_ if isinstance(type_, str) else None,
        role=role if isinstance(role, str) else None,
        timestamp=timestamp if isinstance(timestamp, str) else None,
        preview=row_text(decoded, _PREVIEW_CHARACTERS),
    )


def nodes_of(
    tree: Tree,
    outline: Outline,
    shapes: Sequence[RowShape],
    on_path: set[int],
    labels: Mapping[str, Label],
    read: Read,
) -> Steps[list[Node]]:
    """Return rows with their texts, which are read; the shapes and labels may be those of an earlier moment."""
    texts = yield from _texts(tree, outline, [shape.row for shape in shapes], read)
    nodes: list[Node] = []
    for start in range(0, len(shapes), _NODES_A_STEP):
        for row, above, depth, indent, child_count, is_last, gutter, hidden in shapes[
            start : start + _NODES_A_STEP
        ]:
            type_, role, timestamp, text = texts[row]
            entry_id = tree.id(row) or ""
            label = labels.get(entry_id)
            nodes.append(
                Node(
                    entry_id, None if above == NONE else tree.id(above), depth, indent, row,
                    tree.type(row) if type_ is None else type_, timestamp, child_count, row in on_path, role, text,
                    None if label is None else label.text, is_last, gutter, hidden,
                )
            )  # fmt: skip
        yield
    return nodes
