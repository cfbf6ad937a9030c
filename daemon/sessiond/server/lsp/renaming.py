"""`textDocument/rename`: another text for a label, at its line or at the entry that has it."""

from typing import NamedTuple

from lsprotocol import types

from sessiond.hub.errors import IncompatibleParams
from sessiond.protocol import methods as m, types as t
from sessiond.server.lsp.documents import Document
from sessiond.server.lsp.editor import Editor
from sessiond.server.lsp.fields import own_fields
from sessiond.server.lsp.naming import id_range, spot


class _Label(NamedTuple):
    """A label that an entry has now, and the range that an editor shows for it."""

    entry_id: str
    text: str
    range: types.Range


def register(editor: Editor) -> None:
    """Register both requests for one editor."""

    async def prepare(params: types.PrepareRenameParams) -> types.PrepareRenamePlaceholder | None:
        async with editor.documents.at(params.text_document.uri) as document:
            found = None if document is None else _label_at(document, params.position)
        return None if found is None else types.PrepareRenamePlaceholder(found.range, found.text)

    async def rename(params: types.RenameParams) -> types.WorkspaceEdit:
        text = params.new_name.strip()
        if not text:
            raise IncompatibleParams("a label needs a text; the action that removes a label needs none")
        async with editor.documents.at(params.text_document.uri) as document:
            found = None if document is None else _label_at(document, params.position)
            if document is None or found is None or document.path is None:
                raise IncompatibleParams("there is no label here; the action for an entry adds one")
            path = document.path
        # The label applies to the state after all earlier writes.
        await editor.client.dispatcher.order.until_written()
        live = await editor.hub.sessions.named(None, path)
        await editor.ask(
            m.LABEL, t.LabelParams(session_id=live.session_id, entry_id=found.entry_id, label=text)
        )
        return types.WorkspaceEdit()  # the daemon adds a line to the file; no line of it changes

    editor.offer(types.TEXT_DOCUMENT_PREPARE_RENAME, prepare)
    editor.offer(types.TEXT_DOCUMENT_RENAME, rename, types.RenameOptions(prepare_provider=True))


def _label_at(document: Document, position: types.Position) -> _Label | None:
    """Return the label at a position: that of the entry, or the one that a label line has set and that is in force."""
    about = spot(document, position)
    if about is None:
        return None
    labels, entry_id = document.tree.labels, document.tree.id(about.row) or ""
    if entry_id in labels:
        return _Label(entry_id, labels[entry_id].text, id_range(document, about.row))
    fields = own_fields(about.raw)
    target, text = fields.get("targetId"), fields.get("label")
    if target is None or text is None or (label := labels.get(target.value)) is None:
        return None
    if label.text != text.value:
        return None  # a later line has changed it
    where = document.range_on(position.line, about.raw, text.start, text.end)
    return _Label(target.value, text.value, where)
