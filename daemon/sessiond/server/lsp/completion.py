"""`textDocument/completion`: ids of entries, in fields that refer to an entry."""

import re
from typing import Any, Final

from lsprotocol import types

from sessiond.server.lsp.documents import Document
from sessiond.server.lsp.editor import Editor
from sessiond.server.lsp.fields import half_written
from sessiond.server.lsp.hover import entry_text
from sessiond.session.content import preview
from sessiond.session.content.row_text import row_text
from sessiond.session.tree.references import FIELDS
from sessiond.session.tree.steps import ROWS_A_STEP, Steps

MAX_ITEMS: Final = 100
_REST_OF_ID: Final = re.compile(rb"[A-Za-z0-9_-]*")


def register(editor: Editor) -> None:
    """Register the feature for one editor."""

    async def complete(params: types.CompletionParams) -> types.CompletionList | None:
        async with editor.documents.at(params.text_document.uri) as document:
            if document is None:
                return None
            line = params.position.line
            raw = document.raw_line(line)
            offset = document.offset(raw, params.position.character)
            writing = half_written(raw[:offset])
            if writing is None or writing[0] not in FIELDS:
                return None
            prefix = writing[1].decode("utf-8", "replace")
            rows, more = await document.session.drive(_rows(document, prefix, line))
            rest = _REST_OF_ID.match(raw, offset)
            end = offset if rest is None else rest.end()
            place = document.range_on(line, raw, offset - len(writing[1]), end)
            return types.CompletionList(more, [_item(document, row, place, n) for n, row in enumerate(rows)])

    async def resolve(item: types.CompletionItem) -> types.CompletionItem:
        about = item.data if isinstance(item.data, dict) else {}
        async with editor.documents.at(str(about.get("uri"))) as document:
            row = None if document is None else document.tree.row(item.label)
            if document is not None and row is not None:
                formats = editor.declares("text_document.completion.completion_item.documentation_format")
                reads_markdown = types.MarkupKind.Markdown in (formats or [])
                text = await entry_text(document, row, plain=not reads_markdown)
                marked = types.MarkupContent(types.MarkupKind.Markdown, text)
                item.documentation = marked if reads_markdown else text
        return item

    options = types.CompletionOptions(trigger_characters=['"'], resolve_provider=True)
    editor.offer(types.TEXT_DOCUMENT_COMPLETION, complete, options)
    editor.offer(types.COMPLETION_ITEM_RESOLVE, resolve)


def _rows(document: Document, prefix: str, line: int) -> Steps[tuple[list[int], bool]]:
    """Return the newest entries whose ids begin with `prefix`, and whether there are more.

    The entry on `line` is excluded.
    """
    tree, found = document.tree, list[int]()
    own = document.row_at(line)
    for row in range(document.rows - 1, 0, -1):
        if row % ROWS_A_STEP == 0:
            yield
        name = tree.id(row)
        if name is not None and row != own and tree.is_entry(row) and name.startswith(prefix):
            if len(found) == MAX_ITEMS:
                return found, True
            found.append(row)
    return found, False


def _item(document: Document, row: int, place: types.Range, rank: int) -> types.CompletionItem:
    name = document.tree.id(row) or ""
    entry = preview.decoded(document.session.read(row))
    message: Any = entry.get("message")
    role = message.get("role") if isinstance(message, dict) else None
    kind = preview.one_line(role, 20) if isinstance(role, str) else document.tree.type(row)
    return types.CompletionItem(
        label=name, kind=types.CompletionItemKind.Reference, sort_text=f"{rank:04}", filter_text=name,
        detail=f"{kind}: {row_text(entry, 80)}",
        text_edit=types.TextEdit(place, name), data={"uri": document.uri},
    )  # fmt: skip
