"""One attached client: dispatches its messages, sends each request one response, and sends notifications.

The methods of sessiond are handled here. Other LSP methods go to a pygls object that belongs to this client. It is
created when it is first needed: importing pygls takes half a second, so clients without LSP do not pay for it.
"""

import asyncio
import contextlib
import itertools
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, Final, get_args

import msgspec
from msgspec import UNSET

import sessiond
from sessiond.hub import clock
from sessiond.hub.hub import Hub
from sessiond.protocol import errors as kinds, methods as m, types as t, versions
from sessiond.protocol.enums import Access, PositionEncoding
from sessiond.protocol.error_details import TooLargeDetails
from sessiond.rpc.connection import Connection
from sessiond.rpc.errors import ConnectionClosed
from sessiond.rpc.framing import MAX_FRAME, FrameTooLarge, FramingError
from sessiond.rpc.handler import Handler
from sessiond.rpc.message import BadMessage, Head, RequestId, decode_envelope
from sessiond.server import errors
from sessiond.server.connection import handshake, position_encoding, read_throttle
from sessiond.server.connection.deferred import DEFERRED
from sessiond.server.connection.dispatch import Dispatcher
from sessiond.server.connection.read_throttle import ReadThrottle
from sessiond.server.connection.requests import Requests
from sessiond.server.connection.services import Bridge, Services

MAX_REPLY_BYTES: Final = MAX_FRAME - 1024 * 1024
"""Limit of the entries or messages in a response, in bytes. The remainder of the frame is for the other fields."""
LOW_QUEUE_BYTES: Final = 1024 * 1024
_MAX_IDS: Final = 1_000
"""Limit of the ids in each list of a row of `server/clients`."""
_MAX_WAITING_FOR_BRIDGE: Final = 64
"""Limit of LSP messages that wait while pygls is imported. At the limit, reading pauses until then."""

_AT_ONCE: Final = 32
"""Limit of the small requests that are answered in one loop. Each of them takes microseconds."""
_SMALL_BYTES: Final = 4096
"""Limit of the body of a small request."""
_LARGE_BYTES: Final = 64 * 1024
"""A response of more bytes ends the loop, so that a client that does not read is noticed."""

_LSP: Final = (
    "textDocument/", "workspace/", "window/", "notebookDocument/", "completionItem/", "codeAction/",
    "codeLens/", "documentLink/", "inlayHint/", "workspaceSymbol/",
    "callHierarchy/", "typeHierarchy/", "shutdown",
)  # fmt: skip
"""Prefixes of LSP methods. Before `initialize`, such a request fails with `notInitialized`, not `methodNotFound`."""


class _CancelParams(msgspec.Struct):
    id: RequestId


_decode_cancel = msgspec.json.Decoder(_CancelParams).decode
_decode_progress = msgspec.json.Decoder(t.ProgressNote).decode


class Client(Handler[Connection]):
    """One attached client: its connection, its options and the state of its handshake."""

    connection: Connection
    requests: Requests
    dispatcher: Dispatcher["Client"]
    _read_throttle: ReadThrottle

    def __init__(self, server: Services["Client"], *, framing: str | None = None) -> None:
        self.server = server
        self.hub: Hub = server.hub
        self.client_id = "c-" + os.urandom(6).hex()
        self.knows_sessions = False
        self.terminal: t.Terminal | None = None
        self.name: str | None = None
        self.version: str | None = None
        self.protocol_version = versions.NEWEST
        self.connected_at = clock.timestamp()
        self._framing = framing
        self.summarizes = False
        self.lsp_options = t.LspOptions()
        self.position_encoding: PositionEncoding = position_encoding.DEFAULT
        self._has_chosen_encoding = False
        self._progress_callbacks: dict[t.ProgressToken, Callable[[t.Progress], None]] = {}
        self._tokens = itertools.count(1)
        self._opt_out: frozenset[str] = frozenset()
        self._origin = t.Origin(kind="client")  # the last one without a command
        self.max_frame = server.config.limits.max_frame  # the configured limit at the time of the connection
        self.came_at = time.monotonic()
        self.least_queued = 0
        self.stalled_since: float | None = None
        self._initialized = False
        self._shut_down = False
        self._bridge: Bridge | None = None
        self._for_bridge: list[bytes] | None = None  # messages that wait for the bridge

    def origin(self, command_id: str | None = None) -> t.Origin:
        """Return the origin of the changes that a request of this client makes.

        Args:
            command_id: The `commandId` of the request.
        """
        known = self._origin
        if command_id is None and known.client_id == self.client_id and known.agent == self.name:
            return known
        origin = t.Origin(
            kind="client", client_id=self.client_id, server_id=self.server.server_id, agent=self.name,
            command_id=command_id,
        )  # fmt: skip
        if command_id is None:
            self._origin = origin
        return origin

    def announce(self, notification: m.Notification[Any], note: t.Wire) -> None:
        """Notify all clients that use sessions, after the response to the request that is being handled."""
        self.server.notify_all_soon(notification, note)

    # --- receiving -------------------------------------------------------------------------------------

    def opened(self, connection: Connection) -> None:
        """Create the parts that need the connection, and attach the client to the server."""
        self.connection = connection
        server = self.server
        self._read_throttle = ReadThrottle(connection, server.memory_budget, server.spawn, self.max_frame)
        self.requests = Requests(
            self.answer, self._read_throttle, server.memory_budget, server.spawn, server.spawn_write
        )
        self.dispatcher = Dispatcher(self, server, self.requests, self._read_throttle, self.answer)
        self.server.attached(self)

    def answered_at_once(self, connection: Connection, bodies: list[bytes]) -> int:
        """Answer small requests that only read, in the order of the wire, until one needs more than a call.

        This is the short way of the most frequent requests, without any state of its own. It may end before any
        request: `received` handles all others, and all invalid ones.
        """
        if not self.knows_sessions or self._shut_down or self._read_throttle.awaits_answer:
            return 0
        if (
            self.dispatcher.order.entered
            or self.server.ending
            or connection.exceeds(0, read_throttle.QUEUE_SOFT)
        ):
            return 0  # `received` stops the reading if too many bytes are unread
        routes, answered = self.server.routes, connection.answer_at_once
        for place, body in enumerate(bodies[:_AT_ONCE]):
            if len(body) > _SMALL_BYTES or not body.isascii():
                return place
            try:
                head = decode_envelope(body)
                route = routes[head.method]  # type: ignore[index]
                if not route.starts_when_idle or head.id is None or head.id is UNSET:
                    return place
                params = route.decode(b"{}" if head.params is UNSET else head.params)
            except (msgspec.DecodeError, KeyError, RecursionError, errors.InvalidParams):
                return place
            try:
                answer = route.call(self, params)
                if type(answer) not in DEFERRED:
                    if answered(head.id, answer) > _LARGE_BYTES:
                        return place + 1
                    continue
            except Exception as error:  # noqa: BLE001 - everything becomes an answer
                answer = error
            connection.expect_answer(head.id)
            self.dispatcher.settle(head.id, len(body), route, params, None, answer)
            return place + 1
        return min(len(bodies), _AT_ONCE)

    def received(self, connection: Connection, head: Head, body: bytes) -> None:
        """Dispatch a request of sessiond, ignore a notification of its methods, and handle LSP and life cycle."""
        route = self.server.routes.get(head.method)  # type: ignore[arg-type]
        if route is None:
            self._other(head, body)
        elif head.id is not UNSET:
            self.knows_sessions = True
            if self._shut_down:
                self._refuse_after_shutdown(head.id)
            else:
                self.dispatcher.receive(route, head, len(body))
        if connection.exceeds(read_throttle.MAX_IN_FLIGHT, read_throttle.QUEUE_SOFT):
            self._read_throttle.hold()

    def delivered(self, connection: Connection) -> None:
        """Carry out the requests that the dispatcher has gathered."""
        if self.dispatcher.has_group:
            self.dispatcher.start_group()

    def broken(self, connection: Connection, error: BadMessage) -> None:
        """Respond to an invalid message with a parse error or `invalidRequest`."""
        kind = kinds.PARSE if error.code == kinds.PARSE.code else kinds.INVALID_REQUEST
        connection.fail(error.id, error.code, error.message, kind.data(None))

    def unframed(self, connection: Connection, error: FramingError) -> None:
        """Respond to an invalid frame with `tooLarge` or a parse error. The connection closes afterwards."""
        if isinstance(error, FrameTooLarge):
            details = TooLargeDetails(limit_bytes=error.limit, actual_bytes=error.actual)
            connection.fail(None, kinds.TOO_LARGE.code, str(error), kinds.TOO_LARGE.data(details))
        else:
            connection.fail(None, kinds.PARSE.code, str(error), kinds.PARSE.data(None))

    def strayed(self, connection: Connection, head: Head, body: bytes) -> None:
        """Handle a response to a request of pygls, or a response that arrives too late."""
        if self._bridge is not None:
            self._bridge.feed_response(None if head.id is UNSET else head.id, body)

    def announced(self, connection: Connection, size: int) -> None:
        """Pass the size of a large frame to the read throttle."""
        self._read_throttle.announced(size)

    def arrived(self, connection: Connection) -> None:
        """Report to the read throttle that the large frame is complete."""
        self._read_throttle.arrived()

    def closed(self, connection: Connection, reason: Exception | None) -> None:
        """Release the parts of the closed connection, and detach the client from the server."""
        self._read_throttle.closed()
        self.dispatcher.close()
        if self._bridge is not None:
            self._bridge.close()
        self.server.detached(self)

    def answer(self, request_id: RequestId, answer: object) -> None:
        """Send the response to a request: a result or an exception."""
        if self.connection.closing:
            return
        if self._read_throttle.awaits_answer:
            self._read_throttle.answered()
        if not isinstance(answer, Exception):
            try:
                self.connection.reply(request_id, answer)
            except (
                UnicodeEncodeError,
                MemoryError,
            ) as error:  # a file name that is not valid UTF-8; a huge result
                answer = error
            else:
                return
        code, message, data = errors.explain(answer)
        self.connection.fail(request_id, code, message, data)

    def reply_all(self, results: Sequence[tuple[RequestId, t.Wire]]) -> None:
        """Send the results of several requests, which have no text that could be invalid."""
        if not self.connection.closing:
            if self._read_throttle.awaits_answer:
                self._read_throttle.answered()
            self.connection.reply_all(results)

    def _refuse_after_shutdown(self, request_id: object) -> None:
        self.answer(request_id, errors.InvalidRequest("After `shutdown` only `exit` may come."))  # type: ignore[arg-type]

    # --- life cycle and LSP ----------------------------------------------------------------------------

    def _other(self, head: Head, body: bytes) -> None:
        self.dispatcher.start_group()
        match head.method:
            case "initialize" if head.id is not UNSET:
                self._initialize(head, body)
            case "$/cancelRequest":
                self._cancel(head, body)
            case m.PROGRESS:
                self._hear_of_progress(head, body)
            case "exit":
                self.connection.pause()
                self.server.spawn(self._read_throttle.leave())
            case "shutdown" if head.id is not UNSET and self._initialized and not self._is_bridged:
                self._shut_down = True
                self.connection.reply(head.id, None)  # type: ignore[arg-type]
            case _:
                self._lsp(head, body)

    def _initialize(self, head: Head, body: bytes) -> None:
        request_id: RequestId = head.id  # type: ignore[assignment]
        try:
            self._refuse_second_handshake()
            greeting = handshake.read_greeting(b"{}" if head.params is UNSET else head.params)
        except Exception as error:  # noqa: BLE001 - answered like any refusal
            self.answer(request_id, error)
            return
        self._initialized = True
        self.name, self.version = greeting.name, greeting.version
        self.protocol_version = greeting.protocol_version
        if greeting.ours is not None:
            self._take_in(greeting.ours)
            self.lsp_options = greeting.ours.lsp
        if greeting.speaks_lsp:
            self.connection.skip_large_texts()
            self._to_bridge(body)
            return
        answer = {
            "capabilities": {"experimental": {"sessiond": self.description_of_server()}},
            "serverInfo": {"name": "sessiond", "version": sessiond.__version__},
        }
        self.answer(request_id, answer)

    def hello(self, params: t.HelloParams) -> t.HelloResult:
        """Take the handshake of a client without LSP. Raises `InvalidRequest` or `UnsupportedProtocol`."""
        self._refuse_second_handshake()
        self.protocol_version = handshake.common_version(params)
        self._initialized = True
        if params.client_info is not None:
            self.name, self.version = params.client_info.name or None, params.client_info.version
        self._take_in(params)
        return self.description_of_server()

    def _refuse_second_handshake(self) -> None:
        if self._initialized:
            raise errors.InvalidRequest("A connection has one handshake: `initialize` or `server/hello`.")

    def _take_in(self, ours: t.ClientOptions) -> None:
        self.knows_sessions = True
        if ours.client_id is not None:
            self.server.rename(self, ours.client_id)
        self.terminal = ours.terminal
        self.summarizes = ours.capabilities.summarize is not None
        self._opt_out = frozenset(ours.opt_out_notifications)
        if ours.position_encodings:
            self.position_encoding = ours.position_encodings[0]
            self._has_chosen_encoding = True

    def negotiated_by_lsp(self, encoding: PositionEncoding) -> None:
        """Use the encoding that the LSP side has negotiated, unless the sessiond options named one."""
        if not self._has_chosen_encoding:
            self.position_encoding = encoding

    def description_of_server(self) -> t.HelloResult:
        """Return the result of the handshake: in `initialize`, it is `capabilities.experimental.sessiond`."""
        return t.HelloResult(
            protocol_version=self.protocol_version,
            server_id=self.server.server_id,
            epoch=self.server.epoch,
            client_id=self.client_id,
            methods=list(m.METHODS),
            notifications=list(m.NOTIFICATIONS),
            experimental=handshake.EXPERIMENTAL,
            capabilities=handshake.capabilities(has_command=bool(self.server.config.summarizer.command)),
            access=list(get_args(Access)),
            position_encoding=self.position_encoding,
            limits=self.limits(),
        )

    def limits(self) -> t.Limits:
        """Return the limits of this connection, for the handshake and `server/status`."""
        return handshake.limits(self.max_frame, self.server.max_clients)

    def _cancel(self, head: Head, body: bytes) -> None:
        try:
            request_id = _decode_cancel(b"{}" if head.params is UNSET else head.params).id
        except msgspec.DecodeError:
            return
        if not self.dispatcher.cancel(request_id) and self._is_bridged:
            self._to_bridge(body)

    def _hear_of_progress(self, head: Head, body: bytes) -> None:
        try:
            note = _decode_progress(b"{}" if head.params is UNSET else head.params)
        except (msgspec.DecodeError, RecursionError):
            return
        on_progress = self._progress_callbacks.get(note.token)
        if on_progress is not None:
            on_progress(note.value)
        else:
            self._lsp(head, body)  # progress of a request of pygls

    def _lsp(self, head: Head, body: bytes) -> None:
        if head.method == "initialized" and not self._is_bridged:
            return
        if self._shut_down and head.id is not UNSET:
            self._refuse_after_shutdown(head.id)
        elif self._is_bridged and (head.id is UNSET or str(head.method).startswith(_LSP)):
            self._shut_down = self._shut_down or head.method == "shutdown"
            self._to_bridge(body)
        elif head.id is not UNSET:
            method = str(head.method)
            too_early = not self._initialized and method.startswith(_LSP)
            refusal = errors.NotInitialized() if too_early else errors.MethodNotFound(method)
            self.answer(head.id, refusal)  # type: ignore[arg-type]

    @property
    def _is_bridged(self) -> bool:
        return self._bridge is not None or self._for_bridge is not None

    def _to_bridge(self, body: bytes) -> None:
        if self._bridge is not None:
            self._bridge.feed(body)
        elif self._for_bridge is not None:
            self._for_bridge.append(body)
            if len(self._for_bridge) == _MAX_WAITING_FOR_BRIDGE:
                self.connection.pause()
        else:
            self._for_bridge = [body]
            self.server.spawn(self._build_bridge())

    async def _build_bridge(self) -> None:
        try:
            bridge = await self.server.make_bridge(self)
        except Exception:
            self.connection.close()  # otherwise the client would wait for a response forever
            raise
        waiting, self._for_bridge = self._for_bridge or [], None
        if self.connection.closing:
            bridge.close()
            return
        self._bridge = bridge
        for body in waiting:
            bridge.feed(body)
        if len(waiting) >= _MAX_WAITING_FOR_BRIDGE:
            self._read_throttle.hold()  # reading resumes when no other reason to pause is left

    def answered(self) -> None:
        """A request has received its response, or will not receive one."""
        self._read_throttle.answered()

    # --- sending ---------------------------------------------------------------------------------------

    @property
    def queued_bytes(self) -> int:
        """The bytes in the client's send buffer."""
        return self.connection.queued_bytes

    @contextlib.contextmanager
    def progress(self, on_progress: Callable[[t.Progress], None]) -> Iterator[t.ProgressToken]:
        """Yield a token for a request to this client.

        Args:
            on_progress: Called with the progress that the client reports with the token.

        """
        token = f"summary-{next(self._tokens)}"
        self._progress_callbacks[token] = on_progress
        try:
            yield token
        finally:
            del self._progress_callbacks[token]

    @property
    def may_be_asked(self) -> bool:
        """Whether the client declared `summarize`, and is neither shut down nor closing."""
        return self.summarizes and not self._shut_down and not self.connection.closing

    def receives(self, notification: str) -> bool:
        """Return whether the client has not opted out of a notification."""
        return notification not in self._opt_out

    def send(self, body: bytes) -> None:
        """Queue an encoded message, and count its bytes among the send buffers of all clients."""
        self.connection.send_body(body)
        self.server.send_buffers.sent(len(body))

    def send_parts(self, parts: list[bytes]) -> None:
        """Queue an encoded message in parts, without joining them, and count its bytes."""
        self.connection.send_parts(parts)
        self.server.send_buffers.sent(sum(map(len, parts)))

    def hold(self) -> None:
        """Stop reading from this client until one of its requests is answered."""
        self._read_throttle.hold_until_an_answer()

    def lag(self) -> None:
        """Cancel the client's subscriptions, and send `session/lagged` for each."""
        for live in self.hub.sessions.all():
            live.subscribers.lag(self.client_id)

    @contextlib.asynccontextmanager
    async def reserve(self, size: int) -> AsyncIterator[None]:
        """Hold `size` bytes of the memory budget for responses during the block."""
        async with self.server.memory_budget.answers.reserve(size):
            yield

    async def drained(self) -> None:
        """Wait until little is queued or the client has disconnected."""
        if self.connection.queued_bytes > min(LOW_QUEUE_BYTES, self.server.fair_send_buffer):
            try:
                await self.connection.drain()
            except ConnectionClosed:
                return
        else:
            await asyncio.sleep(0)

    def info(self) -> t.ClientInfo:
        """Return this client's row in `server/clients`."""
        sessions = self.hub.sessions.all()
        held = [live.session_id for live in sessions if self.client_id in live.holders]
        subscribed = [live.session_id for live in sessions if self.client_id in live.subscribers]
        return t.ClientInfo(
            client_id=self.client_id, name=self.name, version=self.version, connected_at=self.connected_at,
            framing=self._framing or self.connection.mode,
            session_ids=held[:_MAX_IDS], session_count=len(held),
            subscribed_session_ids=subscribed[:_MAX_IDS], subscription_count=len(subscribed),
            queued_bytes=self.queued_bytes, terminal=self.terminal, summarizes=self.summarizes,
        )  # fmt: skip
