"""`textDocument/documentSymbol`: the outline of a session file, with single chains flat."""

from collections.abc import Iterator
from typing import Any, Final

from lsprotocol import types

from sessiond.server.lsp.documents import MAX_CACHED, Document
from sessiond.server.lsp.editor import Editor
from sessiond.server.lsp.position import END_OF_LINE
from sessiond.server.lsp.shapes import Encoded, FlatSymbol, Location, Symbol, at, encoded
from sessiond.session.tree.steps import Steps
from sessiond.session.tree.tree import NONE
from sessiond.session.views import tree_view
from sessiond.session.views.filters import Filter
from sessiond.session.views.tree_view import Node, TreePage

MAX_SYMBOLS: Final = 5_000
"""Limit of symbols. A larger outline is not useful, and costs every editor seconds."""
MAX_INDENT: Final = 50
"""Limit of nested forks. Deeper forks become siblings, because deep nesting overflows the stack of editors."""
_FILTERS: Final[tuple[Filter, ...]] = ("default", "noTools", "userOnly")
"""The first filter is used whose rows do not exceed `MAX_SYMBOLS`."""
_TOGETHER: Final = 500  # symbols built in one step

_KINDS: Final = {
    "user": types.SymbolKind.Event,
    "assistant": types.SymbolKind.Method,
    "toolResult": types.SymbolKind.Function,
    "compaction": types.SymbolKind.Package,
    "branch_summary": types.SymbolKind.Package,
    "model_change": types.SymbolKind.Constant,
    "thinking_level_change": types.SymbolKind.Constant,
}


def register(editor: Editor) -> None:
    """Register the feature for one editor."""
    cached: dict[str, tuple[object, Encoded]] = {}

    async def outline(params: types.DocumentSymbolParams) -> Encoded | list[Any]:
        uri = params.text_document.uri
        async with editor.documents.at(uri) as document:
            if document is None:
                return []  # not a session: other servers may have symbols for it
            known = cached.pop(uri, None)
            if known is None or known[0] != document.version:
                known = document.version, await _encoded_outline(editor, document)
            cached[uri] = known
            while len(cached) > MAX_CACHED:
                del cached[next(iter(cached))]
            return known[1]

    editor.offer(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, outline)


async def _encoded_outline(editor: Editor, document: Document) -> Encoded:
    roots = await document.session.drive(_outline(document, await _page(document)))
    if editor.can("text_document.document_symbol.hierarchical_document_symbol_support"):
        return await encoded(roots)
    return await encoded(_flat(roots, document.uri))


async def _page(document: Document) -> TreePage:
    """Return the rows of the first filter that passes at most `MAX_SYMBOLS`, else the first rows of the last filter."""
    session, chosen = document.session, _FILTERS[-1]

    def page(filter: Filter, limit: int) -> Steps[TreePage]:
        return tree_view.tree_rows(
            session.tree,
            session.outline,
            session.read_rows,
            filter=filter,
            limit=limit,
            read_stored=session.read_stored,
        )

    for filter in _FILTERS[:-1]:
        if (await session.drive(page(filter, 1))).visible_count <= MAX_SYMBOLS:
            chosen = filter
            break
    return await session.drive(page(chosen, MAX_SYMBOLS))


def _outline(document: Document, page: TreePage) -> Steps[list[Symbol]]:
    """Build the outline. It nests where the tree forks; an entry that only continues its parent is a sibling of it."""
    roots: list[Symbol] = []
    lists: dict[str, list[Symbol]] = {}
    symbols: dict[str, Symbol] = {}
    indents: dict[str, int] = {}
    rows, line = document.rows, 0
    for count, node in enumerate(page.nodes):
        if count % _TOGETHER == 0:
            yield
        if node.seq >= rows:
            continue  # the editor does not show this row yet
        line = document.line_of(node.seq)
        symbol = _symbol(node, line)
        if node.parent_id is None or node.parent_id not in symbols:
            where = roots
        elif node.indent == indents[node.parent_id] or node.indent > MAX_INDENT:
            where = lists[node.parent_id]
        else:
            where = symbols[node.parent_id].children
        where.append(symbol)
        symbols[node.id], lists[node.id], indents[node.id] = symbol, where, node.indent
    if page.resume != NONE:
        place = at(line, 0, END_OF_LINE)
        roots.append(
            Symbol("… more entries than the outline shows", "", types.SymbolKind.Null.value, place, place)
        )
    return roots


def _symbol(node: Node, line: int) -> Symbol:
    place = at(line, 0, END_OF_LINE)
    label = f"[{node.label}] " if node.label else ""
    kind = node.role or node.type
    return Symbol(
        name=f"{label}{node.preview}".strip() or kind,
        detail=kind if node.on_path else f"{kind} (other branch)",
        kind=_KINDS.get(kind, types.SymbolKind.Object).value,
        range=place,
        selection_range=place,
    )


def _flat(symbols: list[Symbol], uri: str) -> Iterator[FlatSymbol]:
    for symbol in symbols:
        yield FlatSymbol(symbol.name, symbol.kind, Location(uri, symbol.range))
        yield from _flat(symbol.children, uri)
