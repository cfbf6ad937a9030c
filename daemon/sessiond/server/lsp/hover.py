"""`textDocument/hover`: the entry of a line, or the entry whose id is under the cursor."""

from typing import Final

from lsprotocol import types

from sessiond.server.handlers.views import surroundings
from sessiond.server.lsp.documents import Document
from sessiond.server.lsp.editor import Editor
from sessiond.server.lsp.naming import is_entry, spot
from sessiond.session.content import markdown, preview
from sessiond.session.content.entry_document import entry_document
from sessiond.session.tree.problems import PROBLEMS

MAX_CHARACTERS: Final = 6_000
"""Characters of an entry's text that a hover shows."""


def register(editor: Editor) -> None:
    """Register the feature for one editor."""

    async def hover(params: types.HoverParams) -> types.Hover | None:
        async with editor.documents.at(params.text_document.uri) as document:
            if document is None:
                return None
            line = params.position.line
            about = spot(document, params.position)
            plain = not _reads_markdown(editor)
            if about is None or not is_entry(document, about.row):
                text = _problem(document, line) or (_header(document) if about is not None else None)
                if text is None:
                    return None
                raw = document.raw_line(line)
                return types.Hover(_content(text, plain), document.range_on(line, raw, 0, len(raw)))
            row, place = about.row, document.range_of(about.row)
            named = about.names
            if named is not None and about.field is not None:
                place = document.range_in(row, about.field.start, about.field.end)
                target = document.tree.row(named)
                if target is None:
                    return types.Hover(
                        _content(f"There is no entry {markdown.inline(named)} in this session.", plain), place
                    )
                row = target
            text = await entry_text(document, row, plain=plain)
            return types.Hover(_content(text, plain), place)

    editor.offer(types.TEXT_DOCUMENT_HOVER, hover)


async def entry_text(document: Document, row: int, *, plain: bool) -> str:
    """Return the text of a hover for an entry."""
    entry = document.session.read(row)
    if plain:
        text = preview.clean(preview.text_of(preview.decoded(entry)))[:MAX_CHARACTERS]
        return f"{document.tree.type(row)} {document.tree.id(row)}\n\n{text}"
    around = await surroundings(document.session, document.session_id, row)
    return entry_document(entry, around, max_characters=MAX_CHARACTERS)


def _reads_markdown(editor: Editor) -> bool:
    formats = editor.declares("text_document.hover.content_format")
    return formats is None or types.MarkupKind.Markdown in formats


def _content(text: str, plain: bool) -> types.MarkupContent:
    return types.MarkupContent(types.MarkupKind.PlainText if plain else types.MarkupKind.Markdown, text)


def _problem(document: Document, line: int) -> str | None:
    found = [problem for problem in document.tree.problems if problem.line == line + 1]
    if not found:
        return None
    return "\n\n".join(
        f"{markdown.inline(problem.reason)}\n\n{PROBLEMS[problem.kind][1]}" for problem in found
    )


def _header(document: Document) -> str | None:
    header, tree = document.tree.header, document.tree
    if header is None:
        return None
    facts = {
        "Session": header.id, "Title": tree.title or "", "Folder": header.cwd, "Began": header.timestamp,
        "Version": str(tree.version), "Tags": ", ".join(tree.tags), "From": header.parent_session or "",
        "Entries": f"{tree.count_entries():,}", "Leaf": tree.leaf_id or "none",
    }  # fmt: skip
    return "\n".join(f"- {name}: {markdown.inline(value)}" for name, value in facts.items() if value)
