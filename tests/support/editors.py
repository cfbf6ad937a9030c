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


@contextlib.asynccontextmanager
async def connected(home: Path) -> AsyncIterator[pytest_lsp.LanguageClient]:
    """An LSP client that has said nothing yet."""
    client = pytest_lsp.LanguageClient()
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
    return [(it.name, names(list(it.children))) if it.children else it.name for it in outline]
