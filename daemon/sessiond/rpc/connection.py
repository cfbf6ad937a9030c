"""One JSON-RPC 2.0 connection over an asyncio transport, the same at both ends.

The module depends on no method except the cancellation that it sends. It starts no task. It counts the queued bytes
but does not limit them: the owner of the connection does. All of the code runs in the thread of the event loop.
"""

import asyncio
from collections.abc import Sequence
from typing import Final, cast

from msgspec import UNSET, Raw

from sessiond.rpc.calls import Calls
from sessiond.rpc.errors import ConnectionClosed, NotAwaited
from sessiond.rpc.framing import MAX_FRAME, Framer, FrameTooLarge, FramingError, Mode, encode_frame_of_parts
from sessiond.rpc.handler import Handler
from sessiond.rpc.large_texts import is_large_text
from sessiond.rpc.message import (
    INVALID_REQUEST,
    BadMessage,
    EncodedResult,
    Head,
    RequestId,
    encode_error,
    encode_notification,
    encode_parts,
    encode_request,
    encode_result,
)
from sessiond.rpc.peer import has_left
from sessiond.rpc.receive_queue import ReceiveQueue
from sessiond.rpc.refused_body import RefusedBody
from sessiond.rpc.send_queue import SendQueue
from sessiond.rpc.unfinished_frame import UnfinishedFrame

CANCEL: Final = "$/cancelRequest"
"""The notification `{id}` that a canceled `call` sends. The name is LSP's. A peer may ignore it."""


class Connection(asyncio.Protocol):
    """Frames messages, matches responses to requests, and combines writes. Both ends use this class.

    Messages sent during one delivery, or else during one tick of the event loop, are sent in order in one write. After
    `close` or a loss of the connection, messages to send are dropped without an error; the owner learns of it from
    `Handler.closed`.

    Args:
        handler: The owner of the connection. It receives the messages and events.
        mode: The framing of sent messages. The peer's first byte replaces it by the peer's framing.
        max_frame: The limit of one incoming body, in bytes.
        fixed_mode: Whether `mode` is the framing of received messages, too, regardless of the peer's first byte.

    """

    def __init__(
        self,
        handler: "Handler[Connection]",
        *,
        mode: Mode = "contentLength",
        max_frame: int = MAX_FRAME,
        fixed_mode: bool = False,
    ) -> None:
        self.mode: Mode = mode
        self.closing = False
        self._handler = handler
        self._framer = Framer(max_frame, mode=mode if fixed_mode else None)
        self._refused: RefusedBody | None = None
        """A body that is discarded before the connection closes."""
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        self._unfinished = UnfinishedFrame(self._framer, self._loop)
        self._lost = self._loop.create_future()
        self._reason: Exception | None = None
        self._receiving = ReceiveQueue(self._loop, self._tell_of_arrival)
        self._ended = False
        """Whether the incoming stream has ended. Messages that have arrived may still be undelivered."""
        self._end_is_told = False
        self._unanswered: set[RequestId] = set()

        self._calls = Calls(self._loop)
        self._sending = SendQueue(self._loop)

    # Sending

    async def call(self, method: str, params: object = UNSET, *, timeout: float | None = None) -> Raw:
        """Send a request and return its result.

        If the call is canceled or times out, the peer receives `CANCEL`.

        Args:
            method: The method of the request.
            params: The params of the request. UNSET: it has none.
            timeout: In seconds; None for no timeout.

        Raises:
            RemoteError: The peer responds with an error.
            ConnectionClosed: The connection is closed, or closes before the response.
            TimeoutError: No response arrives within `timeout`.

        """
        if self.closing or self._ended:
            raise self._closed()
        id, answer = self._calls.begin()
        try:
            self.send_body(encode_request(id, method, params))
            async with asyncio.timeout(timeout):
                return await answer
        finally:
            if answer.cancelled():
                self.notify(CANCEL, {"id": id})
            self._calls.end(id)

    def notify(self, method: str, params: object = UNSET) -> None:
        """Send a notification. With the params UNSET, it has none."""
        self.send_body(encode_notification(method, params))

    def reply(self, id: RequestId, result: object) -> None:
        """Respond to a request. Raises `NotAwaited` on the second response."""
        if self.closing:
            return
        if id not in self._unanswered:
            raise NotAwaited(id)
        if isinstance(result, EncodedResult):
            self._sending.put_parts(encode_frame_of_parts(encode_parts(id, result), self.mode))
        else:
            self._sending.put(encode_result(id, result), self.mode)
        self._unanswered.remove(id)
        if self._ended:
            self._wind_up()

    def answer_at_once(self, id: RequestId, result: object) -> int:
        """Respond to a request of `Handler.answered_at_once`. Returns the bytes of the response."""
        body = encode_result(id, result)
        if not self.closing:
            self._sending.put(body, self.mode)
        return len(body)

    def expect_answer(self, id: RequestId) -> None:
        """Count a request of `Handler.answered_at_once` as unanswered: its response comes with `reply` or `fail`."""
        self._unanswered.add(id)

    def reply_all(self, results: Sequence[tuple[RequestId, object]]) -> None:
        """Respond to several requests. Raises `NotAwaited` as `reply` does."""
        if self.closing:
            return
        unanswered, sending, mode = self._unanswered, self._sending, self.mode
        for id, result in results:
            if id not in unanswered:
                raise NotAwaited(id)
            sending.put(encode_result(id, result), mode)
            unanswered.remove(id)
        if self._ended:
            self._wind_up()

    def fail(self, id: RequestId | None, code: int, message: str, data: object = UNSET) -> None:
        """Respond to a request with an error. With the id None, report an error about a message without an id."""
        body = encode_error(id, code, message, data)
        if id is None:
            self.send_body(body)
        else:
            self.reply_body(id, body)

    def reply_body(self, id: RequestId, body: bytes) -> None:
        """Respond to a request with an encoded response."""
        if self.closing:
            return
        self._settle(id)
        self._sending.put(body, self.mode)
        if self._ended:
            self._wind_up()

    def withdraw(self, id: RequestId) -> None:
        """Send no response to a request, because the peer has canceled it. Raises `NotAwaited` after a response."""
        if not self.closing:
            self._settle(id)
            if self._ended:
                self._wind_up()

    def _settle(self, id: RequestId) -> None:
        try:
            self._unanswered.remove(id)
        except KeyError:
            raise NotAwaited(id) from None

    def send_body(self, body: bytes) -> None:
        """Send an encoded message. One encoded message can be sent to many connections."""
        if not self.closing:
            self._sending.put(body, self.mode)

    def send_parts(self, parts: list[bytes]) -> None:
        """Send an encoded message that is given in parts. The parts are not joined."""
        if not self.closing:
            self._sending.put_parts(encode_frame_of_parts(parts, self.mode))

    def exceeds(self, requests: int, size: int) -> bool:
        """Return whether more than these requests are unanswered, or more than `size` bytes are queued.

        It is cheap enough for every message, unlike `queued_bytes`.
        """
        sending = self._sending
        if len(self._unanswered) > requests or sending.unflushed_bytes > size:
            return True
        return sending.is_full and sending.queued_bytes > size

    @property
    def full(self) -> bool:
        """Whether the transport has paused writing. See `queued_bytes`."""
        return self._sending.is_full

    @property
    def queued_bytes(self) -> int:
        """Bytes sent that the operating system has not accepted yet."""
        return self._sending.unflushed_bytes + self._transport.get_write_buffer_size()

    async def drain(self) -> None:
        """Wait until the transport accepts more. Raises `ConnectionClosed` if the connection ends before that."""
        self._sending.flush()
        if self._lost.done():
            raise self._closed()
        await self._sending.drained()

    # Receiving

    @property
    def unanswered(self) -> int:
        """Number of the peer's requests that have no response yet."""
        return len(self._unanswered)

    @property
    def frame_seconds(self) -> float:
        """Seconds since the unfinished frame of the peer began. 0 while this end is paused."""
        return 0.0 if self._receiving.is_paused else self._unfinished.seconds

    def has_sent(self, id: RequestId | None) -> bool:
        """Return whether a `call` had this id."""
        return self._calls.has_begun(id)

    @property
    def reason(self) -> Exception | None:
        """The reason why the connection is closed; None if either end closed it normally."""
        return self._reason

    @property
    def has_received(self) -> bool:
        """Whether the peer has ever sent a byte."""
        return self._framer.mode is not None

    def skip_large_texts(self) -> None:
        """From now on, skip notifications with file texts larger than a frame instead of refusing them.

        Editors send these in notifications, which have no response.
        """
        self._framer.skips = is_large_text

    def pause(self) -> None:
        """Stop reading, and delivering messages that were read, until `resume`."""
        self._receiving.is_paused = True
        self._transport.pause_reading()

    def resume(self) -> None:
        """Deliver what was read before `pause`, then continue reading. Does nothing if the connection is not paused."""
        if self._receiving.is_paused:
            self._receiving.is_paused = False
            self._loop.call_soon(self._deliver_undelivered)

    # Closing

    @property
    def is_deserted(self) -> bool:
        """Whether the peer has closed the connection while responses are owed to it.

        After the end of the incoming stream, the event loop alone does not detect this.
        """
        if not self._ended or self._receiving or self.closing:
            return False
        sock = self._transport.get_extra_info("socket")
        return sock is not None and has_left(sock.fileno())

    def close(self, reason: Exception | None = None) -> None:
        """Stop receiving, and close after the peer has read all sent bytes.

        If the peer may never read it, use `abort`. The calls in flight raise `ConnectionClosed` with the reason.
        """
        if not self.closing:
            self._reason = self._reason or reason
            self._sending.flush(everything=True)
            self._stop()
            self._transport.close()

    def abort(self, reason: Exception | None = None) -> None:
        """Close immediately, with a reason as in `close`. Bytes that the system has not accepted are lost."""
        self._reason = self._reason or reason
        self._stop()
        self._transport.abort()

    async def wait_closed(self) -> None:
        """Wait until `Handler.closed` has been called."""
        await asyncio.shield(self._lost)

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport and call `Handler.opened`."""
        self._transport = self._sending.transport = cast(asyncio.Transport, transport)
        self._handler.opened(self)

    def data_received(self, data: bytes) -> None:
        """Deliver the messages that `data` completes. The rest of a refused body is discarded."""
        if self._refused is not None:
            self._refused.discard(len(data))
            return
        framer = self._framer
        try:
            bodies = framer.feed(data)
        except FramingError as error:
            self._end(error.bodies, error)
            return
        self.mode = framer.mode or self.mode
        self._unfinished.observe(has_cut=bool(bodies))
        if bodies:
            self._deliver(bodies)
            # The announced body was the first of them: no other frame can arrive while one is unfinished.
            if self._unfinished.is_announced and not self._receiving.begins_large:
                self._tell_of_arrival()
        size = self._unfinished.size_to_announce()
        if size is not None:
            self._handler.announced(self, size)

    def eof_received(self) -> bool:
        """End the incoming stream. Return whether the transport stays open for messages and responses that are due."""
        if self._refused is not None:
            return False
        try:
            self._end(self._framer.eof(), None)
        except FramingError as error:
            self._end(error.bodies, error)
        # While requests are in flight, the half of the connection that the peer still reads stays open.
        return not self.closing

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the requests in flight and the waiting `drain` calls, then call `Handler.closed`."""
        self._reason = self._reason or exc
        self._stop()
        self._sending.fail_waiters(self._reason or self._calls.complaint)
        try:
            self._handler.closed(self, self._reason)
        finally:
            self._lost.set_result(None)

    def pause_writing(self) -> None:
        """Hold back large output: the transport's buffer is full."""
        self._sending.pause()

    def resume_writing(self) -> None:
        """Continue writing: the transport accepts more."""
        self._sending.resume()

    # Internals

    def _deliver(self, bodies: list[bytes]) -> None:
        """Queue `bodies` and deliver the messages of one turn to the handler, until it pauses."""
        receiving = self._receiving
        if self.closing:
            receiving.put(bodies)
            return
        self._sending.expect_flush()  # responses to the requests of one read are sent in one write
        try:
            unanswered, received = self._unanswered, self._handler.received
            if bodies and not (unanswered or receiving or receiving.is_paused):
                del bodies[: self._handler.answered_at_once(self, bodies)]
            receiving.put(bodies)
            for message in receiving.turn(has_cut=bool(bodies)):
                if isinstance(message, BadMessage):
                    self._deliver_broken(message)
                    continue
                head, body = message
                id = head.id
                if id is None or id is UNSET or head.method is UNSET or id in unanswered:
                    self._deliver_other(head, body)
                else:
                    unanswered.add(id)
                    received(self, head, body)
        finally:
            self._handler.delivered(self)
            self._sending.flush()
        if receiving and not receiving.is_paused and not self.closing:
            self._transport.pause_reading()
            self._loop.call_soon(self._deliver_undelivered)

    def _deliver_other(self, head: Head, body: bytes) -> None:
        """Deliver a response, a notification, or a request whose id is in use."""
        if head.method is UNSET:
            if not self._calls.settle(head):
                self._handler.strayed(self, head, body)
        elif head.id is UNSET:
            self._handler.received(self, head, body)
        else:
            # Two responses with one id would be ambiguous, so this error has no id.
            message = f"The id {head.id!r} is that of a request that is not answered yet."
            self._handler.broken(self, BadMessage(INVALID_REQUEST, message))

    def _tell_of_arrival(self) -> None:
        """Report that the announced large body, if any, has been delivered."""
        if self._unfinished.is_announced:
            self._unfinished.is_announced = False
            self._handler.arrived(self)

    def _deliver_broken(self, error: BadMessage) -> None:
        if error.id in self._unanswered:
            error.id = None
        elif error.id is not None:
            self._unanswered.add(error.id)
        self._handler.broken(self, error)

    def _deliver_undelivered(self) -> None:
        self._unfinished.restart()
        self._deliver([])
        if self._ended:
            self._wind_up()
        elif not self._receiving and not self._receiving.is_paused and not self.closing:
            self._transport.resume_reading()

    def _end(self, bodies: list[bytes], reason: Exception | None) -> None:
        """End the incoming stream after `bodies`."""
        self.mode = self._framer.mode or self.mode
        self._ended = True
        self._reason = reason
        self._deliver(bodies)
        self._wind_up()

    def _wind_up(self) -> None:
        """After the end of the incoming stream, close once all messages are delivered and all requests answered."""
        if self._receiving or self.closing:
            return
        self._calls.fail_all(self._reason)
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
        """Close after the rest of a refused body has been read and discarded."""
        if not refused.to_come and refused.actual is not None:
            self.close()
            return
        self._sending.flush(everything=True)
        self._stop()
        self._refused = RefusedBody(self._transport, refused.to_come)

    def _stop(self) -> None:
        self.closing = True
        self._sending.clear()
        self._receiving.clear()
        self._unanswered.clear()
        self._calls.fail_all(self._reason)

    def _closed(self) -> ConnectionClosed:
        return ConnectionClosed(self._reason or self._calls.complaint)
