"""`workspace/symbol`: a full-text search over all sessions. Without a query, the newest sessions."""

import asyncio
from collections.abc import Iterable
from typing import Final

import msgspec
from lsprotocol import types

from sessiond.hub import session_info
from sessiond.hub.errors import IncompatibleParams
from sessiond.protocol import methods as m, types as t
from sessiond.server.lsp.documents import uri_of
from sessiond.server.lsp.editor import Editor
from sessiond.session.content import preview

MAX_SYMBOLS: Final = 100
_SLOT: Final = b'{"type":"title"'

_KINDS: Final = {
    "user": types.SymbolKind.Event,
    "assistant": types.SymbolKind.Method,
    "toolResult": types.SymbolKind.Function,
}


def register(editor: Editor) -> None:
    """Register the feature for one editor."""

    async def symbols(params: types.WorkspaceSymbolParams) -> list[types.SymbolInformation]:
        if not params.query.strip():
            return await _newest(editor)
        try:
            found = await editor.ask(m.SEARCH, t.SearchParams(query=params.query[:1_000], limit=MAX_SYMBOLS))
        except IncompatibleParams:
            return []  # the query has no searchable term yet
        in_files = [(hit.path, hit) for hit in found.hits if hit.path is not None]
        slots = await asyncio.to_thread(_slots, {path for path, _ in in_files})
        return [_of_hit(path, hit, slots[path]) for path, hit in in_files]

    editor.offer(types.WORKSPACE_SYMBOL, symbols)


async def _newest(editor: Editor) -> list[types.SymbolInformation]:
    listed = await editor.ask(m.LIST, t.ListParams(limit=MAX_SYMBOLS))
    # A page contains the sessions as JSON from the index.
    sessions = [session_info.from_json(msgspec.json.encode(session)) for session in listed.sessions]
    return [
        types.SymbolInformation(
            location=_place(session.path, 0),
            name=preview.one_line(session.title or session.first_prompt or session.session_id, 100),
            kind=types.SymbolKind.File,
            container_name=session.cwd,
        )
        for session in sessions
        if session.path is not None
    ]


def _of_hit(path: str, hit: t.Hit, slots: int) -> types.SymbolInformation:
    return types.SymbolInformation(
        location=_place(path, hit.seq + slots),
        name=preview.one_line(hit.snippet, 160),
        kind=_KINDS.get(hit.role or "", types.SymbolKind.Object),
        container_name=preview.one_line(hit.title or hit.session_id, 80),
    )


def _place(path: str, line: int) -> types.Location:
    place = types.Position(line, 0)
    return types.Location(uri_of(path), types.Range(place, place))


def _slots(paths: Iterable[str]) -> dict[str, int]:
    """Return the number of lines before the header: oh-my-pi reserves one for the title. Blocking."""
    return {path: int(_begins_with_slot(path)) for path in paths}


def _begins_with_slot(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(_SLOT)) == _SLOT
    except OSError:
        return False
