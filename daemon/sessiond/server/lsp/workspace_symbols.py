"""`workspace/symbol`: a full-text search over the sessions of the open folders' projects.

If it finds nothing there, it is over all sessions. Without a query, the result is the newest sessions.
"""

import asyncio
from collections.abc import Iterable
from typing import Final

import msgspec
from lsprotocol import types

from sessiond.distinctions import distinctions, session_facts
from sessiond.hub import session_info
from sessiond.hub.errors import IncompatibleParams
from sessiond.protocol import methods as m, types as t
from sessiond.server.lsp.documents import path_of, uri_of
from sessiond.server.lsp.editor import Editor
from sessiond.session.content import preview
from sessiond.text import one_line

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
            hits = await _found(editor, params.query[:1_000])
        except IncompatibleParams:
            return []  # the query has no searchable term yet
        in_files = [(hit.path, hit) for hit in hits if hit.path is not None]
        slots = await asyncio.to_thread(_slots, {path for path, _ in in_files})
        return _distinguished(
            [
                (_of_hit(path, hit, slots[path]), _hit_facts(hit), hit.entry_id or hit.session_id)
                for path, hit in in_files
            ]
        )

    editor.offer(types.WORKSPACE_SYMBOL, symbols)


async def _found(editor: Editor, query: str) -> list[t.Hit]:
    hits: list[t.Hit] = []
    for project in _projects(editor):
        params = t.SearchParams(query=query, project=project, limit=MAX_SYMBOLS)
        hits += (await editor.ask(m.SEARCH, params)).hits
    if hits:
        return hits[:MAX_SYMBOLS]
    return (await editor.ask(m.SEARCH, t.SearchParams(query=query, limit=MAX_SYMBOLS))).hits


def _projects(editor: Editor) -> list[str]:
    """Return the folders that the editor has open."""
    workspace = editor.server.workspace
    uris = [folder.uri for folder in workspace.folders.values()] or [workspace.root_uri or ""]
    return [path for path in map(path_of, uris) if path is not None]


async def _newest(editor: Editor) -> list[types.SymbolInformation]:
    listed = await editor.ask(m.LIST, t.ListParams(limit=MAX_SYMBOLS))
    # A page contains the sessions as JSON from the index.
    sessions = [session_info.from_json(msgspec.json.encode(session)) for session in listed.sessions]
    return _distinguished(
        [
            (
                types.SymbolInformation(
                    location=_place(session.path, 0),
                    name=preview.one_line(session.title or session.first_prompt or session.session_id, 100),
                    kind=types.SymbolKind.File,
                    container_name=session.cwd,
                ),
                _facts(session, session.updated_at),
                session.session_id,
            )
            for session in sessions
            if session.path is not None
        ]
    )


def _distinguished(
    found: list[tuple[types.SymbolInformation, list[str], str]],
) -> list[types.SymbolInformation]:
    """Return symbols, given with the facts and the id of each. The container of equal ones begins with what differs."""
    rows = [(f"{symbol.name} {symbol.container_name}", facts, name) for symbol, facts, name in found]
    for (symbol, _, _), added in zip(found, distinctions(rows), strict=True):
        symbol.container_name = " · ".join(filter(None, [*added, symbol.container_name]))
    return [symbol for symbol, _, _ in found]


def _facts(session: t.SessionSummary | t.Hit, updated_at: str) -> list[str]:
    return session_facts(
        title=session.title, first_prompt=session.first_prompt, cwd=session.cwd, home="", updated_at=updated_at,
        agent="" if session.origin is None else session.origin.agent,
    )  # fmt: skip


def _hit_facts(hit: t.Hit) -> list[str]:
    """Return the facts of a hit. Copies of one entry, in forks, differ in their sessions only."""
    return [one_line(hit.snippet), *_facts(hit, hit.timestamp or ""), hit.session_id]


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
