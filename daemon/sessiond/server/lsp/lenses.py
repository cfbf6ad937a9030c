"""`textDocument/codeLens`: branch and fork, above each user message. Off by default."""

from collections.abc import Iterator
from typing import Any, Final

from lsprotocol import types

from sessiond.server.lsp import names
from sessiond.server.lsp.documents import Document
from sessiond.server.lsp.editor import Editor
from sessiond.server.lsp.shapes import Encoded, Lens, LensCommand, at, encoded
from sessiond.session.tree.tree import USER

MAX_LENSES: Final = 5_000


def register(editor: Editor) -> None:
    """Register the feature for one editor."""

    async def lenses(params: types.CodeLensParams) -> Encoded | list[Any]:
        if not editor.options.code_lens:
            return []
        async with editor.documents.at(params.text_document.uri) as document:
            if document is None or document.path is None:
                return []
            return await encoded(_lenses(document))

    editor.offer(types.TEXT_DOCUMENT_CODE_LENS, lenses)


def _lenses(document: Document) -> Iterator[Lens]:
    tree, found = document.tree, 0
    for row in range(1, document.rows):
        if tree.role(row) != USER or not tree.is_entry(row) or found == MAX_LENSES:
            continue
        found += 1
        place = at(document.line_of(row), 0, 0)
        about = names.arguments(document, row)
        yield Lens(place, LensCommand("branch here", names.BRANCH, [about]))
        yield Lens(place, LensCommand("fork here", names.FORK, [about]))
