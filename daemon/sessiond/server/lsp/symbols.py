"""`textDocument/documentSymbol`: the tree of a session file as an outline, single chains flat."""

from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from sessiond.hub.errors import HubError
from sessiond.hub.hub import Hub
from sessiond.session import views
from sessiond.store.base import StorageFailed

MAX_SYMBOLS: Final = 5_000
"""More rows than this help nobody in an outline, and cost every editor seconds."""
END_OF_LINE: Final = 2**31 - 1
"""A character past the end of a line means its end (LSP 3.17), in every position encoding."""

_KINDS: Final = {
    "user": types.SymbolKind.Event,
    "assistant": types.SymbolKind.Method,
    "toolResult": types.SymbolKind.Function,
    "compaction": types.SymbolKind.Package,
    "branch_summary": types.SymbolKind.Package,
    "model_change": types.SymbolKind.Constant,
    "thinking_level_change": types.SymbolKind.Constant,
}


def register(server: LanguageServer, hub: Hub) -> None:
    """Offer the feature to one client."""

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def document_symbol(
        params: types.DocumentSymbolParams,
    ) -> list[types.DocumentSymbol] | list[types.SymbolInformation]:
        path = _path(params.text_document.uri)
        if path is None:
            return []
        try:
            async with hub.glance(path) as live:
                page = await live.drive(
                    views.tree_rows(live.tree, live.outline, live.read_rows, limit=MAX_SYMBOLS)
                )
                line_of = live.tree.line
                outline = _outline(page.nodes, line_of)
        except (HubError, StorageFailed):
            return []  # not a session: other servers may know better
        if _hierarchical(server):
            return outline
        return [symbol for root in outline for symbol in _flat(root, params.text_document.uri)]


def _outline(nodes: list[Any], line_of: Any) -> list[types.DocumentSymbol]:
    """Nest where the tree forks; an entry that only continues its parent stands beside it."""
    roots: list[types.DocumentSymbol] = []
    lists: dict[str, list[types.DocumentSymbol]] = {}
    symbols: dict[str, types.DocumentSymbol] = {}
    indents: dict[str, int] = {}
    for node in nodes:
        symbol = _symbol(node, line_of(node.seq))
        if node.parent_id not in symbols:
            where = roots
        elif node.indent == indents[node.parent_id]:
            where = lists[node.parent_id]
        else:
            where = symbols[node.parent_id].children = symbols[node.parent_id].children or []  # type: ignore[assignment]
        where.append(symbol)
        symbols[node.id], lists[node.id], indents[node.id] = symbol, where, node.indent
    return roots


def _symbol(node: Any, line: int) -> types.DocumentSymbol:
    place = types.Range(types.Position(line, 0), types.Position(line, END_OF_LINE))
    label = f"[{node.label}] " if node.label else ""
    what = node.role or node.type
    return types.DocumentSymbol(
        name=f"{label}{node.preview}".strip() or what,
        detail=what if node.on_path else f"{what} (other branch)",
        kind=_KINDS.get(node.role or node.type, types.SymbolKind.Object),
        range=place,
        selection_range=place,
    )


def _flat(symbol: types.DocumentSymbol, uri: str) -> list[types.SymbolInformation]:
    found = [
        types.SymbolInformation(
            name=symbol.name, kind=symbol.kind, location=types.Location(uri, symbol.range)
        )
    ]
    for child in symbol.children or []:
        found += _flat(child, uri)
    return found


def _hierarchical(server: LanguageServer) -> bool:
    document = server.client_capabilities.text_document
    symbols = document.document_symbol if document is not None else None
    return bool(symbols is not None and symbols.hierarchical_document_symbol_support)


def _path(uri: str) -> str | None:
    parts = urlsplit(uri)
    if parts.scheme != "file":
        return None
    path = unquote(parts.path)
    return path if Path(path).is_file() else None
