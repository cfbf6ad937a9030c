"""`textDocument/selectionRange`: from the text at the cursor to its JSON values, the line and the file."""

from lsprotocol import types

from sessiond.server.lsp.documents import Document
from sessiond.server.lsp.editor import Editor
from sessiond.server.lsp.fields import MAX_TOKENS, TOKEN


def register(editor: Editor) -> None:
    """Register the feature for one editor."""

    async def selection(params: types.SelectionRangeParams) -> list[types.SelectionRange] | None:
        async with editor.documents.at(params.text_document.uri) as document:
            if document is None:
                return None
            return [_around(document, position) for position in params.positions]

    editor.offer(types.TEXT_DOCUMENT_SELECTION_RANGE, selection)


def _around(document: Document, position: types.Position) -> types.SelectionRange:
    line = position.line
    raw = document.raw_line(line)
    offset = document.offset(raw, position.character)
    last = document.line_of(document.rows - 1) if document.rows else 0
    chain: types.SelectionRange | None = types.SelectionRange(
        types.Range(types.Position(0, 0), types.Position(max(last, line) + 1, 0))
    )
    for start, end in [(0, len(raw)), *_values(raw, offset)]:
        place = document.range_on(line, raw, start, end)
        if chain is None or chain.range != place:
            chain = types.SelectionRange(place, chain)
    assert chain is not None
    return chain


def _values(raw: bytes, offset: int) -> list[tuple[int, int]]:
    """Return the values of a line around a byte offset, the outermost first.

    A text is returned both with and without its quotes.
    """
    opened: list[int] = []
    found: list[tuple[int, int]] = []
    for count, token in enumerate(TOKEN.finditer(raw)):
        if count > MAX_TOKENS:
            break
        kind = token[0][:1]
        if kind in b":,":
            continue
        if kind in b"{[":
            opened.append(token.start())
        elif kind == b'"':
            if token.start() <= offset < token.end():
                found += [(token.start(), token.end()), (token.start() + 1, token.end() - 1)]
        elif opened and opened[-1] <= offset < token.end():
            found.append((opened.pop(), token.end()))
        elif opened:
            opened.pop()
    return sorted(found, key=lambda pair: pair[0] - pair[1])
