"""`textDocument/foldingRange`: a fold for each turn, and for each stretch of entries off the path.

A turn is a user message and the entries up to the next one.
"""

from collections.abc import Sequence
from typing import Final

from lsprotocol import types

from sessiond.server.lsp.documents import Document
from sessiond.server.lsp.editor import Editor
from sessiond.server.lsp.shapes import Encoded, Fold, encoded
from sessiond.session.tree import steps
from sessiond.session.tree.steps import ROWS_A_STEP, Steps
from sessiond.session.tree.tree import USER

MAX_FOLDS: Final = 5_000
"""Limit of folds if the editor declares none."""


def register(editor: Editor) -> None:
    """Register the feature for one editor."""

    async def folding(params: types.FoldingRangeParams) -> Encoded | None:
        async with editor.documents.at(params.text_document.uri) as document:
            if document is None:
                return None
            found = await document.session.drive(_folds(document))
        limit = editor.declares("text_document.folding_range.range_limit") or MAX_FOLDS
        return await encoded(found[:limit])

    editor.offer(types.TEXT_DOCUMENT_FOLDING_RANGE, folding)


def _folds(document: Document) -> Steps[Sequence[Fold]]:
    """Return the folds. The fold of a stretch contains those of its turns, so that folds never overlap partially."""
    tree, end = document.tree, document.rows
    path = yield from steps.path(tree, tree.leaf)
    marks = bytearray(len(tree))
    for row in path:
        marks[row] = 1
    yield
    found: list[Fold] = []
    turn = stretch = 1
    for row in range(1, end + 1):
        if row % ROWS_A_STEP == 0:
            yield
            if len(found) > MAX_FOLDS:
                break
        turns = row == end or marks[row] != marks[row - 1]
        if turns or tree.role(row) == USER:
            _fold(found, document, turn, row - 1)
            turn = row
        if turns:
            if not marks[row - 1]:
                _fold(found, document, stretch, row - 1)
            stretch = row
    found = list(dict.fromkeys(found))
    return sorted(found, key=lambda fold: (fold.start_line, -fold.end_line))


def _fold(found: list[Fold], document: Document, first: int, last: int) -> None:
    if last > first:
        found.append(Fold(document.line_of(first), document.line_of(last)))
