"""`textDocument/references` and `documentHighlight`: the places that refer to an entry."""

from collections.abc import Iterator, Sequence
from typing import Final

from lsprotocol import types

from sessiond.server.lsp.documents import Document
from sessiond.server.lsp.editor import Editor
from sessiond.server.lsp.fields import own_fields
from sessiond.server.lsp.naming import id_range, is_entry, spot
from sessiond.session.tree.references import FIELDS, referring_rows

MAX_REFERENCES: Final = 1_000
"""Limit of places in one result. An entry may have thousands of children."""


def register(editor: Editor) -> None:
    """Register both features for one editor."""

    async def references(params: types.ReferenceParams) -> list[types.Location] | None:
        async with editor.documents.at(params.text_document.uri) as document:
            about = None if document is None else spot(document, params.position)
            if document is None or about is None or not is_entry(document, about.row):
                return None
            row = about.row if about.names is None else document.tree.row(about.names)
            if row is None:
                return None
            places = [id_range(document, row)] if params.context.include_declaration else []
            places += _places(document, row, await _rows(document, row))
            return [types.Location(document.uri, place) for place in places]

    async def highlight(params: types.DocumentHighlightParams) -> list[types.DocumentHighlight] | None:
        async with editor.documents.at(params.text_document.uri) as document:
            about = None if document is None else spot(document, params.position)
            if document is None or about is None or about.field is None or not is_entry(document, about.row):
                return None
            row = document.tree.row(about.names) if about.names is not None else None
            row = about.row if about.field.name == "id" else row
            if row is None:
                return None
            found = [types.DocumentHighlight(id_range(document, row), types.DocumentHighlightKind.Write)]
            return found + [
                types.DocumentHighlight(place, types.DocumentHighlightKind.Read)
                for place in _places(document, row, await _rows(document, row))
            ]

    editor.offer(types.TEXT_DOCUMENT_REFERENCES, references)
    editor.offer(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, highlight)


async def _rows(document: Document, row: int) -> Sequence[int]:
    session = document.session
    outline = session.outline
    await session.drive(outline.extend_chains(session.tree))
    rows = await session.drive(referring_rows(session.tree, outline.chains, row, session.read_rows))
    return [number for number in rows if number < document.rows][:MAX_REFERENCES]


def _places(document: Document, row: int, rows: Sequence[int]) -> Iterator[types.Range]:
    """Yield where these rows contain the id of a row. The whole line if they do not contain it (version 1)."""
    entry_id = document.tree.id(row)
    for number in rows:
        raw = document.raw(number)
        own = own_fields(raw)
        fields = [own[name] for name in FIELDS if name in own and own[name].value == entry_id]
        line = document.line_of(number)
        if fields:
            yield from (document.range_on(line, raw, field.start, field.end) for field in fields)
        else:
            yield document.range_on(line, raw, 0, len(raw))
