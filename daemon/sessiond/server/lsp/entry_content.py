"""`workspace/textDocumentContent` (LSP 3.18): the document of an entry at its `sessiond:` URI."""

from lsprotocol import types

from sessiond.hub.errors import SessionNotFound
from sessiond.protocol import methods as m, types as t
from sessiond.server.lsp.editor import Editor
from sessiond.session.content.entry_document import SCHEME, parse_entry_uri

OPTIONS = types.TextDocumentContentOptions(schemes=[SCHEME])


def register(editor: Editor) -> None:
    """Register the feature for one editor. The bridge adds the scheme to the capabilities."""

    async def content(params: types.TextDocumentContentParams) -> types.TextDocumentContentResult:
        named = parse_entry_uri(params.uri)
        if named is None:
            raise SessionNotFound(params.uri[:200])
        asked = t.ViewEntryParams(session_id=named[0], entry_id=named[1])
        return types.TextDocumentContentResult(text=(await editor.ask(m.VIEW_ENTRY, asked)).text)

    editor.offer(types.WORKSPACE_TEXT_DOCUMENT_CONTENT, content)
