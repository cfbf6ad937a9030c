"""An editor: a real LSP client (pytest-lsp) at a daemon's socket."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest_lsp
from lsprotocol import types
from pygls.io_ import run_async

from support.daemons import socket_path

log = logging.getLogger(__name__)
HIERARCHICAL = types.ClientCapabilities(
    text_document=types.TextDocumentClientCapabilities(
        document_symbol=types.DocumentSymbolClientCapabilities(hierarchical_document_symbol_support=True)
    )
)
FLAT = types.ClientCapabilities(
    text_document=types.TextDocumentClientCapabilities(
        document_symbol=types.DocumentSymbolClientCapabilities()
    )
)


class LanguageProtocol(pytest_lsp.LanguageClientProtocol):
    """The protocol of pygls, with whole messages only: pygls treats any nested object with a key `jsonrpc` as one."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        return data

    def handle_message(self, message: Any) -> None:
        super().handle_message(super().structure_message(message))


@contextlib.asynccontextmanager
async def connected(
    home: Path, protocol: type[pytest_lsp.LanguageClientProtocol] = pytest_lsp.LanguageClientProtocol
) -> AsyncIterator[pytest_lsp.LanguageClient]:
    """An LSP client that has sent nothing."""
    client = pytest_lsp.LanguageClient(protocol_cls=protocol)
    converter = client.protocol._converter  # noqa: SLF001 - pygls has no other name for it
    # lsprotocol decodes every action that has a command as a command.
    converter.register_structure_hook(
        types.Command | types.CodeAction,
        lambda item, _: converter.structure(
            item, types.Command if isinstance(item.get("command"), str) else types.CodeAction
        ),
    )
    reader, writer = await asyncio.open_unix_connection(socket_path(home))
    client.protocol.set_writer(writer)
    stop = threading.Event()
    loop = asyncio.create_task(run_async(stop, reader, client.protocol, logger=log))
    try:
        yield client
    finally:
        stop.set()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        await loop


@contextlib.asynccontextmanager
async def editor(
    home: Path, capabilities: types.ClientCapabilities = HIERARCHICAL, **options: Any
) -> AsyncIterator[pytest_lsp.LanguageClient]:
    """An editor that is initialized."""
    async with connected(home) as client:
        params = types.InitializeParams(capabilities=capabilities, process_id=None, root_uri=None, **options)
        await client.initialize_session(params)
        yield client


async def symbols(client: pytest_lsp.LanguageClient, path: Path) -> list[Any]:
    """The outline of a file."""
    document = types.TextDocumentIdentifier(path.as_uri())
    found = await client.text_document_document_symbol_async(types.DocumentSymbolParams(document))
    return list(found or [])


def names(outline: list[types.DocumentSymbol]) -> list[Any]:
    """An outline as nested names: a symbol with children is a pair."""
    return [
        (symbol.name, names(list(symbol.children))) if symbol.children else symbol.name for symbol in outline
    ]


def document(path: Path) -> types.TextDocumentIdentifier:
    """A file as LSP names it."""
    return types.TextDocumentIdentifier(path.as_uri())


def place(path: Path, line: int, within: str = "", *, after: int = 0) -> types.TextDocumentPositionParams:
    """A place in a file: the beginning of a text on a line (in UTF-16 units), or some bytes after that."""
    before = path.read_bytes().split(b"\n")[line].decode().partition(within)[0] if within else ""
    character = len(before.encode("utf-16-le")) // 2 + after
    return types.TextDocumentPositionParams(document(path), types.Position(line, character))


def show(client: pytest_lsp.LanguageClient, path: Path, text: str | None = None) -> None:
    """Let the editor open a file, with the text of the file or an unsaved text."""
    text = path.read_text(encoding="utf-8") if text is None else text
    item = types.TextDocumentItem(path.as_uri(), "jsonl", 1, text)
    client.text_document_did_open(types.DidOpenTextDocumentParams(item))


def edit(client: pytest_lsp.LanguageClient, path: Path, text: str, *range: types.Range) -> None:
    """Let the editor replace a range of a text, or all of it."""
    which = types.VersionedTextDocumentIdentifier(2, path.as_uri())
    change = (
        types.TextDocumentContentChangePartial(range[0], text)
        if range
        else types.TextDocumentContentChangeWholeDocument(text)
    )
    client.text_document_did_change(types.DidChangeTextDocumentParams(which, [change]))


def said(line: int, start: int, end: int) -> types.Range:
    """A range on one line."""
    return types.Range(types.Position(line, start), types.Position(line, end))


def texts_at(path: Path, ranges: list[types.Range]) -> list[str]:
    """Return the text in ranges of a file, each on one line (in UTF-16 units)."""
    lines = path.read_bytes().split(b"\n")
    found = []
    for range_ in ranges:
        units = lines[range_.start.line].decode("utf-8", "replace").encode("utf-16-le")
        found.append(units[2 * range_.start.character : 2 * range_.end.character].decode("utf-16-le"))
    return found


async def choose(client: pytest_lsp.LanguageClient, chosen: Any) -> Any:
    """Return the answer to the command of a lens or an action."""
    command = chosen if isinstance(chosen, types.Command) else chosen.command
    params = types.ExecuteCommandParams(command.command, command.arguments)
    return await client.workspace_execute_command_async(params)


async def execute(client: pytest_lsp.LanguageClient, command: str, **about: Any) -> Any:
    """Return the answer to a command."""
    return await client.workspace_execute_command_async(types.ExecuteCommandParams(command, [about]))
