"""`textDocument/inlayHint`: the role, time, token count and marks of each line."""

from collections.abc import Iterator
from typing import Any, Final

from lsprotocol import types

from sessiond.server.lsp.documents import Document
from sessiond.server.lsp.editor import Editor
from sessiond.server.lsp.shapes import Encoded, Hint, Position, encoded
from sessiond.session.content import preview
from sessiond.session.context import tokens
from sessiond.session.tree import lines, steps
from sessiond.session.tree.tree import BAD, HEADER, LEAF

MAX_HINTS: Final = 2_000
"""Limit of lines in one request. An editor requests the lines that it shows."""
MAX_ENTRY_BYTES: Final = 256 * 1024
"""Bytes of an entry above which its tokens are not estimated."""


def register(editor: Editor) -> None:
    """Register the feature for one editor."""

    async def hints(params: types.InlayHintParams) -> Encoded | list[Any]:
        if not editor.options.inlay_hints:
            return []
        async with editor.documents.at(params.text_document.uri) as document:
            if document is None:
                return []
            tree = document.tree
            path = set(await document.session.drive(steps.path(tree, tree.leaf)))
            return await encoded(_hints(document, params.range, path))

    editor.offer(types.TEXT_DOCUMENT_INLAY_HINT, hints)


def _hints(document: Document, requested: types.Range, path: set[int]) -> Iterator[Hint]:
    first, last = requested.start.line, min(requested.end.line, requested.start.line + MAX_HINTS)
    for line in range(first, last + 1):
        row = document.row_at(line)
        if row is not None and document.tree.kind(row) not in (BAD, HEADER):
            yield Hint(Position(line, 0), _label(document, row, row in path), padding_right=True)


def _label(document: Document, row: int, on_path: bool) -> str:
    tree = document.tree
    entry = document.session.read(row)
    fields = preview.decoded(entry)
    message, timestamp = fields.get("message"), fields.get("timestamp")
    role = message.get("role") if isinstance(message, dict) else None
    label = tree.labels.get(tree.id(row) or "")
    parts = [
        preview.one_line(role, 20) if isinstance(role, str) else tree.type(row),
        preview.one_line(timestamp, 30)[11:16] if isinstance(timestamp, str) else "",
        _tokens(message) if isinstance(message, dict) and len(entry) < MAX_ENTRY_BYTES else "",
        f"★ {preview.one_line(label.text, 40)}" if label is not None else "",
        "◆ leaf" if row == tree.leaf else "",
        "other branch" if not on_path and tree.kind(row) != LEAF else "",
    ]
    return " · ".join(filter(None, parts))


def _tokens(message: dict[str, Any]) -> str:
    count = tokens.estimate(lines.dumps(message))
    return f"{count} tok" if count < 1_000 else f"{count / 1_000:.1f}k tok"
