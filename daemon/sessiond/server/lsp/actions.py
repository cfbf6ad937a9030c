"""`textDocument/codeAction`: the commands for the entry on a line, and quick fixes for its problems."""

from collections.abc import Iterator
from typing import Any, Final

from lsprotocol import types

from sessiond.server.lsp import names
from sessiond.server.lsp.diagnostics import SOURCE
from sessiond.server.lsp.documents import Document
from sessiond.server.lsp.editor import Editor
from sessiond.server.lsp.naming import is_entry
from sessiond.session.content import preview
from sessiond.session.content.entry_document import entry_uri
from sessiond.session.tree.tree import LEAF

KIND: Final = "refactor.sessiond"
QUICK_FIX: Final = types.CodeActionKind.QuickFix.value
LABEL_LENGTH: Final = 40


def register(editor: Editor) -> None:
    """Register the feature for one editor."""

    async def actions(params: types.CodeActionParams) -> list[types.CodeAction | types.Command]:
        async with editor.documents.at(params.text_document.uri) as document:
            if document is None or document.path is None:
                return []  # an entry that is not on disk cannot be branched from
            found = [*_fixes(document, params), *_on_entry(editor, document, params.range.start.line)]
        only = [str(getattr(kind, "value", kind)) for kind in params.context.only or [""]]
        found = [action for action in found if any(_is_of(str(action.kind), kind) for kind in only)]
        if editor.can("text_document.code_action.code_action_literal_support"):
            return list(found)
        return [action.command for action in found if action.command is not None]

    options = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix, KIND])
    editor.offer(types.TEXT_DOCUMENT_CODE_ACTION, actions, options)


def default_label(document_text: str) -> str:
    """Return a label for an entry without one: its first words."""
    return preview.one_line(document_text, LABEL_LENGTH)


def _fixes(document: Document, params: types.CodeActionParams) -> Iterator[types.CodeAction]:
    """Yield the fix that is safe for any problem: a fork of the readable entries. The file does not change."""
    ours = [diagnostic for diagnostic in params.context.diagnostics if diagnostic.source == SOURCE]
    if ours and document.tree.count_entries():
        title = "Fork the readable entries into a new session (this file is not changed)"
        yield _action(title, names.FORK, names.arguments(document, None), kind=QUICK_FIX, fixes=ours)


def _on_entry(editor: Editor, document: Document, line: int) -> Iterator[types.CodeAction]:
    row = document.row_at(line)
    if row is None:
        return
    tree = document.tree
    if is_entry(document, row) and tree.kind(row) != LEAF and tree.is_entry(row):
        about = names.arguments(document, row)
        entry_id = tree.id(row) or ""
        if row != tree.leaf:
            yield _action("Branch here: the next entry attaches to this one", names.BRANCH, about)
        yield _action("Fork the path to here into a new session", names.FORK, about)
        label = tree.labels.get(entry_id)
        if label is None:
            entry_text = preview.text_of(preview.decoded(document.session.read(row)))
            text = default_label(entry_text) or tree.type(row)
            yield _action(f"Label this entry “{text}”", names.LABEL, about | {"label": text})
        else:
            text = preview.one_line(label.text, LABEL_LENGTH)
            yield _action(f"Remove the label “{text}”", names.LABEL, about | {"label": ""})
        if editor.can("workspace.text_document_content"):
            uri = entry_uri(document.session_id, entry_id)
            yield _action("Show this entry as a document", names.OPEN, {"uri": uri})
        yield _action("Export the path to here as Markdown", names.EXPORT, about)
    if tree.header is not None:
        yield _action("Compact the session", names.COMPACT, names.arguments(document, None))


def _action(
    title: str,
    command: str,
    about: dict[str, Any],
    *,
    kind: str = KIND,
    fixes: list[types.Diagnostic] | None = None,
) -> types.CodeAction:
    return types.CodeAction(
        title=title, kind=kind, diagnostics=fixes, command=types.Command(title, command, arguments=[about])
    )


def _is_of(kind: str, requested: str) -> bool:
    """Return whether a kind is the requested one, or below it."""
    return requested == "" or kind == requested or kind.startswith(f"{requested}.")
