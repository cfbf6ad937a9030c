"""One pygls object per client, fed by our own framing, writing through our own connection.

pygls keeps what it is good at: the life cycle, capabilities, features and the LSP types. Its transports, its
JSON loop, its `exit` and its namedtuples are not used (facts: stack §1.5 lists why, as fourteen defects).
"""

import contextlib
import logging
from collections.abc import Generator
from typing import Any, Final

import msgspec
from lsprotocol import converters, types
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

import sessiond
from sessiond.protocol import errors as wire
from sessiond.rpc.connection import NotAwaited
from sessiond.rpc.message import RequestId
from sessiond.server.client import Client
from sessiond.server.lsp import symbols

_CONVERTER: Final = converters.get_converter()
_KINDS: Final = {code: kind for kind, code in wire.CODES.items() if code < 0}

# pygls writes every message at INFO; transcripts do not belong into a log.
logging.getLogger("pygls").setLevel(logging.CRITICAL)


class _Asked(msgspec.Struct):
    """Of a message, whether and how it must be answered."""

    id: str | int | None = None
    method: str | None = None


_decode_asked = msgspec.json.Decoder(_Asked).decode


class LspBridge:
    """The LSP side of one client."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._server = LanguageServer(
            "sessiond",
            sessiond.__version__,
            text_document_sync_kind=types.TextDocumentSyncKind.None_,
            protocol_cls=_Protocol,
            converter_factory=lambda: _CONVERTER,
        )
        self._protocol: _Protocol = self._server.protocol  # type: ignore[assignment]
        self._protocol.client = client
        self._protocol.asked = set()
        symbols.register(self._server, client.hub)

    def feed(self, body: bytes) -> None:
        """Hand a message to pygls; a request always gets a reply, and no message harms anybody."""
        asked = _decode_asked(body)
        try:
            # Top level only: pygls itself would restructure whatever holds a "jsonrpc" key.
            message = self._protocol.structure_message(msgspec.json.decode(body))
        except Exception as error:  # noqa: BLE001 - pygls and cattrs raise what they like about bad params
            if asked.id is not None and asked.method is not None:
                reason = str(getattr(error, "message", "")) or "The params are not what the method takes."
                self._protocol.refuse(asked.id, wire.INVALID_PARAMS, reason)
        else:
            self._protocol.handle_message(message)

    def feed_response(self, id: RequestId | None, body: bytes) -> None:
        """Hand over a response to something that pygls asked; any other would end a request in its work."""
        if id is not None and id in self._protocol.asked:
            self._protocol.asked.remove(id)
            self.feed(body)

    def close(self) -> None:
        """The client is gone: nothing of it is kept."""
        for future in list(self._protocol._request_futures.values()):  # noqa: SLF001 - pygls has no way to say this
            future.cancel()
        self._server.shutdown()  # type: ignore[no-untyped-call]  # pygls does not annotate it


class _Protocol(LanguageServerProtocol):
    """pygls' protocol with our connection as its wire."""

    client: Client
    asked: set[RequestId]
    """Ids of requests to the editor. pygls makes texts, our own connection numbers: they cannot meet."""

    def get_message_type(self, method: str) -> type[Any] | None:  # type: ignore[override]
        # pygls caches this per object and so keeps every client for ever.
        return types.METHOD_TO_TYPES.get(method, (None,))[0]

    def get_result_type(self, method: str) -> type[Any] | None:  # type: ignore[override]
        return types.METHOD_TO_TYPES.get(method, (None, None))[1]

    def _send_data(self, data: Any) -> None:
        message = self._converter.unstructure(data)
        body = msgspec.json.encode(message)
        if "method" in message:
            if "id" in message:
                self.asked.add(message["id"])
            self.client.connection.send_body(body)
        else:
            # A request that was cancelled may be answered twice by pygls; the second answer goes nowhere.
            with contextlib.suppress(NotAwaited):
                self.client.connection.reply_body(message["id"], body)
            self.client.answered()

    def _send_response(
        self, msg_id: str | int, result: Any | None = None, error: types.ResponseError | None = None
    ) -> None:
        if error is None:
            super()._send_response(msg_id, result)
        else:
            self.refuse(msg_id, error.code, error.message)

    def refuse(self, msg_id: str | int, code: int, message: str) -> None:
        """Answer a request with an error in our own form, without pygls' traceback."""
        data = wire.ErrorData(kind=_KINDS.get(code, "internal"), retryable=False)
        with contextlib.suppress(NotAwaited):
            self.client.connection.fail(msg_id, code, message, data)
        self.client.answered()

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        result = yield from super().lsp_initialize(params)
        # Sessions are read from disk or from the hub: an editor need not send a gigabyte in didOpen.
        result.capabilities.text_document_sync = types.TextDocumentSyncOptions(
            open_close=False, change=types.TextDocumentSyncKind.None_
        )
        result.capabilities.experimental = {"sessiond": msgspec.to_builtins(self.client.handshake())}
        return result
