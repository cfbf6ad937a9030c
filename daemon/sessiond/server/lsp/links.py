"""`textDocument/documentLink`: from a blob reference to its file, from the header to the parent session."""

from bisect import bisect_right
from typing import Final

from lsprotocol import types

from sessiond.hub.session.blobs import SessionBlobs
from sessiond.server.lsp import position
from sessiond.server.lsp.definition import parent_session_uri
from sessiond.server.lsp.documents import Document, uri_of
from sessiond.server.lsp.editor import Editor
from sessiond.server.lsp.fields import own_fields
from sessiond.server.lsp.shapes import DocumentLink, Encoded, at, encoded
from sessiond.session.content import blobs
from sessiond.session.tree import steps
from sessiond.session.tree.steps import Steps
from sessiond.session.tree.tree import HEADER

MAX_LINKS: Final = 1_000
_PREFIX: Final = blobs.PREFIX.encode()


def register(editor: Editor) -> None:
    """Register the feature for one editor."""

    async def links(params: types.DocumentLinkParams) -> Encoded | None:
        async with editor.documents.at(params.text_document.uri) as document:
            if document is None:
                return None
            found: list[DocumentLink] = []
            target = await parent_session_uri(editor, document)
            if target is not None:
                found += _header_link(document, target)
            if document.path is not None:
                place = editor.hub.sessions.blobs_of(document.session)
                found += await document.session.drive(_blob_links(document, place))
            if not editor.can("text_document.document_link.tooltip_support"):
                found = [DocumentLink(link.range, link.target) for link in found]
            return await encoded(found)

    editor.offer(types.TEXT_DOCUMENT_DOCUMENT_LINK, links)


def _header_link(document: Document, target: str) -> list[DocumentLink]:
    if document.tree.kind(0) != HEADER or not document.rows:
        return []
    raw, line = document.raw(0), document.line_of(0)
    field = own_fields(raw).get("parentSession")
    return (
        []
        if field is None
        else [_link(document, line, raw, field.start, field.end, target, "Open the parent session")]
    )


def _blob_links(document: Document, place: SessionBlobs) -> Steps[list[DocumentLink]]:
    found: list[DocumentLink] = []
    for batch in steps.batches(document.tree, range(1, document.rows)):
        tree = document.tree  # a move replaces it between two steps
        begin = tree.span(batch[0])[0]
        block = document.session.read_bytes(begin, tree.span(batch[-1])[1])
        starts = [tree.span(row)[0] - begin for row in batch] if _PREFIX in block else []
        offset = block.find(_PREFIX) if starts else -1
        while offset >= 0 and len(found) < MAX_LINKS:
            row = batch[bisect_right(starts, offset) - 1]
            found += _blob_link(document, row, offset - starts[row - batch[0]], place)
            offset = block.find(_PREFIX, offset + 1)
        yield
    return found


def _blob_link(document: Document, row: int, start: int, place: SessionBlobs) -> list[DocumentLink]:
    raw = document.raw(row)
    end = start + blobs.REFERENCE_BYTES
    digest = blobs.reference_hash(raw[start:end].decode("ascii", "replace"))
    path = None if digest is None else place.path_of(digest)
    if path is None:
        return []
    return [
        _link(document, document.line_of(row), raw, start, end, uri_of(path), "Open the content of this blob")
    ]


def _link(
    document: Document, line: int, raw: bytes, start: int, end: int, target: str, tooltip: str
) -> DocumentLink:
    first, last = (position.character(raw, offset, document.encoding) for offset in (start, end))
    return DocumentLink(at(line, first, last), target, tooltip)
