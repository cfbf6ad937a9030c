"""`textDocument/definition`: the parent of an entry, the entry of an id, the parent session of a header."""

from lsprotocol import types

from sessiond.hub.errors import HubError
from sessiond.server.lsp.documents import Document, path_of, uri_of
from sessiond.server.lsp.editor import Editor
from sessiond.server.lsp.naming import Spot, id_range, is_entry, spot
from sessiond.session.tree.tree import HEADER, NONE


def register(editor: Editor) -> None:
    """Register the feature for one editor."""

    async def definition(
        params: types.DefinitionParams,
    ) -> types.Location | list[types.LocationLink] | None:
        async with editor.documents.at(params.text_document.uri) as document:
            about = None if document is None else spot(document, params.position)
            if document is None or about is None:
                return None
            if document.tree.kind(about.row) == HEADER:
                return await _parent_session(editor, document)
            row = _row(document, about)
            if row is None or row >= document.rows:
                return None
            target = id_range(document, row)
            if not editor.can("text_document.definition.link_support"):
                return types.Location(document.uri, target)
            origin = None
            if about.names is not None and about.field is not None:
                origin = document.range_in(about.row, about.field.start, about.field.end)
            whole = document.range_of(row)
            return [types.LocationLink(document.uri, whole, target, origin)]

    editor.offer(types.TEXT_DOCUMENT_DEFINITION, definition)


def _row(document: Document, about: Spot) -> int | None:
    if about.names is not None:
        return document.tree.row(about.names)
    if not is_entry(document, about.row):
        return None
    parent = document.tree.parent(about.row)
    return None if parent == NONE else parent


async def _parent_session(editor: Editor, document: Document) -> types.Location | None:
    uri = await parent_session_uri(editor, document)
    return (
        None if uri is None else types.Location(uri, types.Range(types.Position(0, 0), types.Position(0, 0)))
    )


async def parent_session_uri(editor: Editor, document: Document) -> str | None:
    """Return the URI of the session that a header names as its parent, by path or by id, or None."""
    header = document.tree.header
    named = None if header is None else header.parent_session
    if not named:
        return None
    if named.startswith("/") and path_of(uri_of(named)) is not None:
        return uri_of(named)
    try:
        ref = await editor.hub.sessions.ref_of(named)
    except HubError:
        return None
    return uri_of(ref) if ref.startswith("/") else None  # an ephemeral session has no file
