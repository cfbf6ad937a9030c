"""The bridge between a client and its pygls object. It replaces the framing and the transport of pygls.

pygls provides the life cycle, capabilities, features and the LSP types. Its transports, its JSON loop, its `exit` and
its namedtuples are not used (decision 0002).
"""

import contextlib
import logging
from collections.abc import Generator
from typing import Any, Final

import msgspec
from lsprotocol import converters, types
from pygls.exceptions import FeatureRequestError
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

import sessiond
from sessiond.protocol import error_details as d, errors as wire
from sessiond.rpc.errors import NotAwaited
from sessiond.rpc.message import RequestId
from sessiond.server.connection.client import Client
from sessiond.server.lsp import (
    actions,
    commands,
    completion,
    definition,
    diagnostics,
    entry_content,
    folding,
    hints,
    hover,
    lenses,
    links,
    references,
    renaming,
    selection,
    settings,
    symbols,
    watching,
    workspace_symbols,
)
from sessiond.server.lsp.editor import Editor
from sessiond.server.lsp.live import Live
from sessiond.server.lsp.position import Encoding
from sessiond.server.lsp.shapes import Encoded
from sessiond.server.lsp.syncing import Syncing

_FEATURES: Final = (
    actions, commands, completion, definition, diagnostics, entry_content, folding, hints, hover, lenses, links,
    references, renaming, selection, symbols, workspace_symbols,
)  # fmt: skip

_CONVERTER: Final = converters.get_converter()
_DATA: Final = {
    wire.METHOD_NOT_FOUND.code: wire.METHOD_NOT_FOUND.data(d.MethodNotFoundDetails(did_you_mean=[])),
    wire.INVALID_PARAMS.code: wire.INVALID_PARAMS.data(d.InvalidParamsDetails(path="$", did_you_mean=[])),
    **{
        kind.code: kind.data(None)
        for kind in (wire.PARSE, wire.INVALID_REQUEST, wire.NOT_INITIALIZED, wire.CANCELED)
    },
}
"""The `data` of errors that pygls raises. All others are `internal`."""

_ENCODINGS: Final[dict[str, Encoding]] = {encoding: encoding for encoding in ("utf-8", "utf-16", "utf-32")}

log = logging.getLogger(__name__)
# pygls logs every message at INFO, and the log must not contain transcripts.
logging.getLogger("pygls").setLevel(logging.CRITICAL)


class _Envelope(msgspec.Struct):
    """The fields of a message that determine whether it requires a response."""

    id: str | int | None = None
    method: str | None = None


_decode_envelope = msgspec.json.Decoder(_Envelope).decode


class LspBridge:
    """The LSP side of one client."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._server = _Server(
            "sessiond",
            sessiond.__version__,
            text_document_sync_kind=types.TextDocumentSyncKind.None_,
            protocol_cls=_Protocol,
            converter_factory=lambda: _CONVERTER,
        )
        self._protocol: _Protocol = self._server.protocol  # type: ignore[assignment]
        self._protocol.client = client
        self._protocol.pending_ids = set()
        editor = self._protocol.editor = Editor(self._server, client)
        self._live = Live(editor)
        self._leave = client.hub.add_list_observer(self._live)
        self._syncing = Syncing(editor, self._live.text_changed)
        for feature in _FEATURES:
            feature.register(editor)
        for feature in (settings, watching):
            feature.register(editor, self._live)

    def feed(self, body: bytes) -> None:
        """Pass a message to pygls. A request always gets a response, and an invalid message has no other effect."""
        envelope = _decode_envelope(body)
        if envelope.id is None and self._syncing.take(envelope.method, body):
            return
        try:
            # Top level only: pygls itself would structure every object that has a "jsonrpc" key.
            message = self._protocol.structure_message(msgspec.json.decode(body))
        except Exception as error:  # noqa: BLE001 - pygls and cattrs raise many types for invalid params
            if envelope.id is not None and envelope.method is not None:
                reason = str(getattr(error, "message", "")) or "The params are invalid for this method."
                self._protocol.refuse(envelope.id, wire.INVALID_PARAMS.code, reason)
        else:
            self._protocol.handle_message(message)

    def feed_response(self, id: RequestId | None, body: bytes) -> None:
        """Pass on a response to a request of pygls. Others are dropped: pygls would end a request with them."""
        if id is not None and id in self._protocol.pending_ids:
            self._protocol.pending_ids.remove(id)
            self.feed(body)

    def close(self) -> None:
        """Release the resources of the client, because it has disconnected."""
        self._leave()
        self._live.close()
        for future in list(self._protocol._request_futures.values()):  # noqa: SLF001 - pygls has no public method for this
            future.cancel()
        self._server.shutdown()  # type: ignore[no-untyped-call]  # pygls does not annotate it


class _Server(LanguageServer):
    """The pygls server. Errors in notifications go to the daemon's log, not to a message box of the editor."""

    def report_server_error(self, error: Exception, source: Any) -> None:
        if source is not FeatureRequestError:
            log.warning("Cannot handle a notification of an editor: %s", type(error).__name__)


class _Protocol(LanguageServerProtocol):
    """The pygls protocol. It sends over the connection of the client."""

    client: Client
    editor: Editor
    pending_ids: set[RequestId]
    """Ids of requests to the editor. pygls uses strings and the connection uses integers, so they cannot collide."""

    def get_message_type(self, method: str) -> type[Any] | None:  # type: ignore[override]
        # pygls caches this per object, and its cache would reference every client forever.
        return types.METHOD_TO_TYPES.get(method, (None,))[0]

    def get_result_type(self, method: str) -> type[Any] | None:  # type: ignore[override]
        return types.METHOD_TO_TYPES.get(method, (None, None))[1]

    def _send_data(self, data: Any) -> None:
        message = self._converter.unstructure(data)
        body = msgspec.json.encode(message)
        if "method" in message:
            if "id" in message:
                self.pending_ids.add(message["id"])
            self.client.connection.send_body(body)
        else:
            # pygls may answer a canceled request twice. The second response is dropped.
            with contextlib.suppress(NotAwaited):
                self.client.connection.reply_body(message["id"], body)
            self.client.answered()

    def _send_response(
        self, msg_id: str | int, result: Any | None = None, error: types.ResponseError | None = None
    ) -> None:
        if isinstance(result, Encoded):
            with contextlib.suppress(NotAwaited):
                self.client.connection.reply(msg_id, msgspec.Raw(result.body))
            self.client.answered()
        elif error is None:
            super()._send_response(msg_id, result)
        else:
            data = error.data if isinstance(error.data, wire.ErrorData) else None
            self.refuse(msg_id, error.code, error.message, data)

    def refuse(self, msg_id: str | int, code: int, message: str, data: wire.ErrorData | None = None) -> None:
        """Respond to a request with an error in the daemon's form, without the traceback of pygls."""
        data = data or _DATA.get(code) or wire.INTERNAL.data(d.InternalDetails(report_id=None))
        with contextlib.suppress(NotAwaited):
            self.client.connection.fail(msg_id, code, message, data)
        self.client.answered()

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        result = yield from super().lsp_initialize(params)
        capabilities = result.capabilities
        encoding = _ENCODINGS.get(str(capabilities.position_encoding), "utf-16")
        self.editor.documents.encoding = encoding
        self.client.negotiated_by_lsp(encoding)
        capabilities.text_document_sync = types.TextDocumentSyncOptions(
            open_close=True, change=types.TextDocumentSyncKind.Incremental, save=True
        )
        if capabilities.workspace is not None:
            capabilities.workspace.text_document_content = entry_content.OPTIONS
        capabilities.experimental = {"sessiond": msgspec.to_builtins(self.client.description_of_server())}
        return result
