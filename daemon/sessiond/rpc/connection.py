"""One JSON-RPC 2.0 connection over an asyncio transport, the same at both ends.

Knows no method (but the cancellation it sends), starts no task, and sets no limit on what is queued: it
counts, and its owner decides. Everything here belongs to the thread of the event loop.
"""

import asyncio
from collections import deque
from typing import Final, Protocol, cast

import msgspec
from msgspec import UNSET, Raw

from sessiond.rpc.framing import (
    MAX_FRAME,
    Framer,
    FrameTooLarge,
    FramingError,
    Mode,
    encode_frame,
    encode_frame_of_parts,
)
from sessiond.rpc.large_texts import is_large_text
from sessiond.rpc.message import (
    INVALID_REQUEST,
    PARSE,
    BadMessage,
    EncodedResult,
    Head,
    RequestId,
    decode_message,
    encode_error,
    encode_notification,
    encode_parts,
    encode_request,
    encode_result,
)
from sessiond.rpc.peer import has_left

CANCEL: Final = "$/cancelRequest"
"""The notification {id} that a cancelled call sends (LSP's name; a peer may ignore it)."""

_TURN: Final = 256
"""Messages that one connection may deliver before the loop serves the others: about two milliseconds."""
_TURN_SECONDS: Final = 0.004
"""How long it may deliver messages that are more work than that."""
_LOOK_AT_THE_CLOCK: Final = 16
"""After how many messages: most reads hold fewer, and need not pay for it."""
_DISCARD_SECONDS: Final = 5.0
"""How long a body that was refused for its size is read and discarded before the connection closes."""
_WRITTEN_AT_ONCE: Final = 512 * 1024
"""Bytes that are written to the transport at once when there are more."""
LARGE_FRAME: Final = 1024 * 1024
"""Bytes of a frame above which its owner is asked for room before more of it is read."""


class RemoteError(Exception):
    """The peer answered with an error: its `code`, its `message`, its `data` as bytes, or None."""

    def __init__(self, code: int, message: str, data: Raw | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class ConnectionClosed(Exception):
    """The connection is closed."""

    def __init__(self, reason: Exception | None = None) -> None:
        super().__init__(
            "The connection is closed." if reason is None else f"The connection is closed: {reason}"
        )
        self.__cause__ = reason


class NotAwaited(Exception):
    """No request with this id awaits a reply: it was answered already, or never came."""

    def __init__(self, id: RequestId) -> None:
        super().__init__(f"No request {id!r} awaits a reply: it was answered already, or never came.")


class Handler(Protocol):
    """What the owner of a connection does with what comes in.

    The methods are called from the event loop, in the order of the wire, and must neither block nor raise.
    Inherit from this class to get those that may be left out.
    """

    def opened(self, connection: "Connection") -> None:
        """The transport is there: the connection can send."""

    def received(self, connection: "Connection", head: Head, body: bytes) -> None:
        """A request (head.id is an int or a str: owes one reply) or a notification (head.id is UNSET).

        `body` is the whole message, for passing on.
        """
        ...

    def broken(self, connection: "Connection", error: BadMessage) -> None:
        """A body that is no message. Owes `fail(error.id, …)`, which also takes the id None."""
        ...

    def unframed(self, connection: "Connection", error: FramingError) -> None:
        """Bytes that are no frames; the connection closes after this. May complain with `fail(None, …)`."""
        connection.fail(None, PARSE, str(error))

    def strayed(self, connection: "Connection", head: Head, body: bytes) -> None:
        """A response to no call of this connection: late, or to a request sent with `send_body`."""

    def announced(self, connection: "Connection", size: int) -> None:
        """A frame of about `size` bytes has begun, more than `LARGE_FRAME`. May `pause` until there is room."""
        return

    def arrived(self, connection: "Connection") -> None:
        """That frame is complete, and was received."""
        return

    def ended(self, connection: "Connection") -> None:
        """The peer sends no more, and may still read the answers that are owed to it. Called only if any are."""
        return

    def closed(self, connection: "Connection", reason: Exception | None) -> None:
        """The last call. `reason` is None when either end closed in good order."""
        ...


class Connection(asyncio.Protocol):
    """Frames, correlates and coalesces; symmetric: it has no server end and no client end.

    `mode` is how this end speaks: as given until the peer's first byte tells how it does.
    What is sent while a read is delivered, or else in one tick of the loop, goes out in one write, in order.
    After `close` or a loss, sending is silently dropped: `closed` has told, or will tell, the owner.
    """

    def __init__(
        self, handler: Handler, *, mode: Mode = "content-length", max_frame: int = MAX_FRAME
    ) -> None:
        self.mode: Mode = mode
        self.closing = False
        self._frame_began: float | None = None
        self._announced = False
        """Whether the unfinished frame is large and the handler knows of it."""
        self._handler = handler
        self._framer = Framer(max_frame)
        self._to_discard: int | None = None
        """Bytes of a refused body that are still to be read before the connection closes; None: it was not refused."""
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        self._lost = self._loop.create_future()
        self._reason: Exception | None = None
        self._complaint: RemoteError | None = None
        """The peer's last error without an id, which often says why it then closed."""

        self._undelivered: deque[bytes | tuple[Head, bytes]] = deque()
        """Bodies, and the first one decoded, if it is a large one."""
        self._paused = False
        self._ended = False
        """Whether nothing more will come in than what is undelivered."""
        self._end_is_told = False
        self._unanswered: set[RequestId] = set()

        self._calls: dict[RequestId, asyncio.Future[Raw]] = {}
        self._last_id = 0

        self._unsent: list[bytes | memoryview] = []
        self._unsent_bytes = 0
        self._flush_is_due = False
        self.full = False
        """Whether the transport has enough for now: see `queued_bytes`."""
        self._drained: list[asyncio.Future[None]] = []

    # Sending

    async def call(self, method: str, params: object = UNSET, *, timeout: float | None = None) -> Raw:
        """The result of one request to the peer. `timeout` is in seconds.

        Raises RemoteError, ConnectionClosed or TimeoutError. Cancelled or timed out, it tells the peer.
        """
        if self.closing or self._ended:
            raise self._closed()
        self._last_id += 1
        id = self._last_id
        self.send_body(encode_request(id, method, params))
        answer: asyncio.Future[Raw] = self._loop.create_future()
        self._calls[id] = answer
        try:
            async with asyncio.timeout(timeout):
                return await answer
        finally:
            if answer.cancelled():
                self.notify(CANCEL, {"id": id})
            self._calls.pop(id, None)

    def notify(self, method: str, params: object = UNSET) -> None:
        self.send_body(encode_notification(method, params))

    def reply(self, id: RequestId, result: object) -> None:
        """Answers a request. Raises NotAwaited on the second answer."""
        if isinstance(result, EncodedResult):
            self._reply(id, encode_frame_of_parts(encode_parts(id, result), self.mode))
        else:
            self.reply_body(id, encode_result(id, result))

    def fail(self, id: RequestId | None, code: int, message: str, data: object = UNSET) -> None:
        """Answers a request with an error; id None complains about something that had no readable id."""
        body = encode_error(id, code, message, data)
        if id is None:
            self.send_body(body)
        else:
            self.reply_body(id, body)

    def reply_body(self, id: RequestId, body: bytes) -> None:
        """Answers a request with a response that is already encoded."""
        self._reply(id, self._framed(body))

    def _reply(self, id: RequestId, frame: list[bytes]) -> None:
        if self.closing:
            return
        if id not in self._unanswered:
            raise NotAwaited(id)
        self._unanswered.remove(id)
        self._send(frame)
        if self._ended:
            self._wind_up()

    def send_body(self, body: bytes) -> None:
        """Sends a message that is already encoded: encode once, send to many."""
        if not self.closing:
            self._send(self._framed(body))

    def send_parts(self, parts: list[bytes]) -> None:
        """Sends a message that is already encoded, in parts that are not joined."""
        if not self.closing:
            self._send(encode_frame_of_parts(parts, self.mode))

    def _framed(self, body: bytes) -> list[bytes]:
        """The bytes that carry a body; one that is large is not copied."""
        if len(body) > _WRITTEN_AT_ONCE:
            return encode_frame_of_parts([body], self.mode)
        return [encode_frame(body, self.mode)]

    def _send(self, frame: list[bytes]) -> None:
        self._unsent += frame
        self._unsent_bytes += sum(map(len, frame))
        if not self._flush_is_due:
            self._flush_is_due = True
            self._loop.call_soon(self._flush)

    def holds_more_than(self, size: int) -> bool:
        """Whether more than `size` bytes are queued; cheaper than `queued_bytes`, for every message."""
        return self._unsent_bytes > size or (self.full and self.queued_bytes > size)

    @property
    def queued_bytes(self) -> int:
        """Bytes sent that the operating system has not taken yet."""
        return self._unsent_bytes + self._transport.get_write_buffer_size()

    async def drain(self) -> None:
        """Waits until the transport takes more. Raises ConnectionClosed when it never will."""
        self._flush()
        if self._lost.done():
            raise self._closed()
        if self.full:
            waiter: asyncio.Future[None] = self._loop.create_future()
            self._drained.append(waiter)
            await waiter

    # Receiving

    @property
    def unanswered(self) -> int:
        """Requests of the peer that have no reply yet."""
        return len(self._unanswered)

    @property
    def frame_seconds(self) -> float:
        """For how long the peer has been sending the frame that is still unfinished; not while this end pauses."""
        if self._frame_began is None or self._paused:
            return 0.0
        return self._loop.time() - self._frame_began

    @property
    def has_received(self) -> bool:
        """Whether the peer has ever sent anything."""
        return self._framer.mode is not None

    def skip_large_texts(self) -> None:
        """From now on leaves out texts of files that are too large for a frame, instead of refusing them.

        Editors send these in notifications that nobody can answer.
        """
        self._framer.skips = is_large_text

    def pause(self) -> None:
        """Stops reading, and delivering what was read, until `resume`."""
        self._paused = True
        self._transport.pause_reading()

    def resume(self) -> None:
        if self._paused:
            self._paused = False
            self._loop.call_soon(self._deliver_undelivered)

    # The end

    @property
    def is_deserted(self) -> bool:
        """Whether the peer has closed while replies are owed to it: by itself, this end sees only the last byte."""
        if not self._ended or self._undelivered or self.closing:
            return False
        sock = self._transport.get_extra_info("socket")
        return sock is not None and has_left(sock.fileno())

    def close(self) -> None:
        """Stops receiving; closes when the peer has taken all that was sent (if it never does: `abort`)."""
        if not self.closing:
            self._flush(everything=True)
            self._stop()
            self._transport.close()

    def abort(self) -> None:
        """Closes at once; what the operating system has not taken is lost."""
        self._stop()
        self._transport.abort()

    async def wait_closed(self) -> None:
        """Returns after the handler's `closed`."""
        await asyncio.shield(self._lost)

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._handler.opened(self)

    def data_received(self, data: bytes) -> None:
        if self._to_discard is not None:
            self._discard(len(data))
            return
        framer = self._framer
        try:
            bodies = framer.feed(data)
        except FramingError as error:
            self._end(error.bodies, error)
            return
        self.mode = framer.mode or self.mode
        if not framer.unfinished:
            self._frame_began = None
        elif bodies or self._frame_began is None:
            self._frame_began = self._loop.time()
        if bodies:
            self._deliver(bodies)
            # It was the first of them: while one is unfinished nothing else can come.
            if not (self._undelivered and _is_large(self._undelivered[0])):
                self._tell_of_arrival()
        if self._frame_began is not None and framer.expects > LARGE_FRAME and not self._announced:
            self._announced = True
            # How long a line will be, nobody knows.
            size = framer.expects if self.mode == "content-length" else framer.max_frame
            self._handler.announced(self, size)

    def eof_received(self) -> bool:
        if self._to_discard is not None:
            return False
        try:
            self._end(self._framer.eof(), None)
        except FramingError as error:
            self._end(error.bodies, error)
        # Requests that are in work keep the half that the peer still reads.
        return not self.closing

    def connection_lost(self, exc: Exception | None) -> None:
        self._reason = self._reason or exc
        self._stop()
        for waiter in self._drained:
            if not waiter.done():
                waiter.set_exception(self._closed())
        self._drained.clear()
        try:
            self._handler.closed(self, self._reason)
        finally:
            self._lost.set_result(None)

    def pause_writing(self) -> None:
        self.full = True

    def resume_writing(self) -> None:
        self.full = False
        self._flush()
        if self.full:
            return
        for waiter in self._drained:
            if not waiter.done():
                waiter.set_result(None)
        self._drained.clear()

    # Inside

    def _deliver(self, bodies: list[bytes]) -> None:
        """Hands `bodies`, behind those that wait, to the handler: one turn of them, while it wants them.

        To cut out, to decode and to take in a large one takes a turn of the event loop each.
        """
        undelivered = self._undelivered
        undelivered.extend(bodies)
        until: float | None = None
        self._flush_is_due = True  # by the end of this method: replies to one read go out in one write
        try:
            for count in range(_TURN):
                if not undelivered or self._paused or self.closing:
                    break
                if count >= _LOOK_AT_THE_CLOCK and not count % _LOOK_AT_THE_CLOCK:
                    now = self._loop.time()
                    if until is not None and now > until:
                        break
                    until = until or now + _TURN_SECONDS
                is_large = _is_large(undelivered[0])
                try:
                    opened = (
                        self._open_large(bodies)
                        if is_large
                        else decode_message(cast(bytes, undelivered.popleft()))
                    )
                except BadMessage as error:
                    self._deliver_broken(error)
                else:
                    if opened is None:
                        break
                    self._hand_over(*opened)
                if is_large:
                    self._tell_of_arrival()
        finally:
            self._flush()
        if undelivered and not self._paused and not self.closing:
            self._transport.pause_reading()
            self._loop.call_soon(self._deliver_undelivered)

    def _open_large(self, new: list[bytes]) -> tuple[Head, bytes] | None:
        """The large message that is first in line, decoded; None if that is for another turn of the event loop.

        `new` are the bodies that were cut out in this turn. Raises BadMessage.
        """
        undelivered = self._undelivered
        first = undelivered[0]
        if isinstance(first, tuple):
            undelivered.popleft()
            return first
        if not new:
            try:
                undelivered[0] = decode_message(first)
            except BadMessage:
                undelivered.popleft()
                raise
        return None

    def _hand_over(self, head: Head, body: bytes) -> None:
        id = head.id
        if head.method is UNSET:
            self._settle(head, body)
        elif id is UNSET:
            self._handler.received(self, head, body)
        elif id in self._unanswered:
            # Two replies with one id could not be told apart, so this one goes without.
            message = f"The id {id!r} is that of a request which is still in work."
            self._handler.broken(self, BadMessage(INVALID_REQUEST, message))
        else:
            self._unanswered.add(cast(RequestId, id))
            self._handler.received(self, head, body)

    def _tell_of_arrival(self) -> None:
        """Tells that the large body that was announced, if any was, has been delivered."""
        if self._announced:
            self._announced = False
            self._handler.arrived(self)

    def _deliver_broken(self, error: BadMessage) -> None:
        if error.id in self._unanswered:
            error.id = None
        elif error.id is not None:
            self._unanswered.add(error.id)
        self._handler.broken(self, error)

    def _deliver_undelivered(self) -> None:
        if self._frame_began is not None:
            self._frame_began = self._loop.time()  # the time of the pause is not the peer's
        self._deliver([])
        if self._ended:
            self._wind_up()
        elif not self._undelivered and not self._paused and not self.closing:
            self._transport.resume_reading()

    def _settle(self, head: Head, body: bytes) -> None:
        error = None if head.error is UNSET or bytes(head.error) == b"null" else _remote_error(head.error)
        answer = None if head.id is None or head.id is UNSET else self._calls.get(head.id)
        if head.id is None:
            self._complaint = error
        if answer is None or answer.done():
            self._handler.strayed(self, head, body)
        elif error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(_NULL if head.result is UNSET else head.result)

    def _end(self, bodies: list[bytes], reason: Exception | None) -> None:
        """Nothing more comes in than `bodies`."""
        self.mode = self._framer.mode or self.mode
        self._ended = True
        self._reason = reason
        self._deliver(bodies)
        self._wind_up()

    def _wind_up(self) -> None:
        """After the end of what comes in: closes once everything is delivered and answered."""
        if self._undelivered or self.closing:
            return
        self._fail_calls()
        if isinstance(self._reason, FramingError):
            self._handler.unframed(self, self._reason)
            if isinstance(self._reason, FrameTooLarge):
                self._close_after(self._reason)
            else:
                self.close()
        elif not self._unanswered:
            self.close()
        elif not self._end_is_told:
            self._end_is_told = True
            self._handler.ended(self)

    def _close_after(self, refused: FrameTooLarge) -> None:
        """Closes when the rest of a refused body has been read and discarded.

        A peer that is still sending would otherwise get a broken pipe instead of the error.
        """
        transport = self._transport
        if not refused.to_come and refused.actual is not None:
            self.close()
            return
        self._flush(everything=True)
        self._stop()
        self._to_discard = refused.to_come
        if transport.can_write_eof():
            transport.write_eof()
        transport.resume_reading()
        self._loop.call_later(_DISCARD_SECONDS, transport.close)

    def _discard(self, size: int) -> None:
        if self._to_discard:  # 0: the length is not known
            self._to_discard = max(self._to_discard - size, 0)
            if not self._to_discard:
                self._transport.close()

    def _flush(self, *, everything: bool = False) -> None:
        """Hands over what is unsent; of much, no more than the transport takes, unless it must be `everything`."""
        self._flush_is_due = False
        unsent = self._unsent
        while self._unsent_bytes > _WRITTEN_AT_ONCE and not everything:
            if self.full:
                return  # `resume_writing` goes on
            self._transport.write(self._take_unsent())
        if unsent:
            data = unsent[0] if len(unsent) == 1 else b"".join(unsent)
            unsent.clear()
            self._unsent_bytes = 0
            self._transport.write(data)

    def _take_unsent(self) -> bytes | memoryview:
        """The first bytes that are unsent, about `_WRITTEN_AT_ONCE`."""
        unsent = self._unsent
        first = unsent[0]
        if len(first) > _WRITTEN_AT_ONCE:
            view = memoryview(first)
            data: bytes | memoryview = view[:_WRITTEN_AT_ONCE]
            unsent[0] = view[_WRITTEN_AT_ONCE:]
        else:
            size = count = 0
            while count < len(unsent) and size + len(unsent[count]) <= _WRITTEN_AT_ONCE:
                size += len(unsent[count])
                count += 1
            data = b"".join(unsent[:count])
            del unsent[:count]
        self._unsent_bytes -= len(data)
        return data

    def _stop(self) -> None:
        self.closing = True
        self._unsent.clear()
        self._unsent_bytes = 0
        self._undelivered.clear()
        self._unanswered.clear()
        self._fail_calls()

    def _fail_calls(self) -> None:
        for answer in self._calls.values():
            if not answer.done():
                answer.set_exception(self._closed())
        self._calls.clear()

    def _closed(self) -> ConnectionClosed:
        return ConnectionClosed(self._reason or self._complaint)


def _is_large(item: bytes | tuple[Head, bytes]) -> bool:
    """Whether a body, decoded or not, is taken in over several turns of the event loop."""
    return isinstance(item, tuple) or len(item) > LARGE_FRAME


class _ErrorObject(msgspec.Struct, gc=False):
    code: int
    message: str
    data: Raw | msgspec.UnsetType = UNSET


_NULL = Raw(b"null")
_decode_error = msgspec.json.Decoder(_ErrorObject).decode


def _remote_error(raw: Raw) -> RemoteError:
    try:
        error = _decode_error(raw)
    except (msgspec.DecodeError, RecursionError):
        return RemoteError(INVALID_REQUEST, "The peer answered with an error that is no JSON-RPC error.", raw)
    return RemoteError(error.code, error.message, None if error.data is UNSET else error.data)
