"""Queues outgoing bytes of a connection: joins small messages into few writes and writes large ones in pieces."""

import asyncio
from typing import Final

from sessiond.rpc.errors import ConnectionClosed
from sessiond.rpc.framing import Mode, encode_frame, encode_frame_of_parts

_PIECE_BYTES: Final = 512 * 1024
"""If more bytes than this are queued, they are sent in pieces of this size."""


class SendQueue:
    """Combines the frames of one tick of the event loop, or until the next `flush`, into one write."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.transport: asyncio.Transport
        """Set before the first frame is queued."""
        self.is_full = False
        """Whether the transport has paused writing."""
        self._loop = loop
        self._frames: list[bytes | memoryview] = []
        self.unflushed_bytes = 0
        """Bytes that were not passed to the transport."""
        self._flush_is_due = False
        self._drained: list[asyncio.Future[None]] = []

    def put(self, body: bytes, mode: Mode) -> None:
        """Queue a body as a frame, and flush by the next tick. A large body is not copied."""
        if len(body) > _PIECE_BYTES:
            self.put_parts(encode_frame_of_parts([body], mode))
            return
        frame = encode_frame(body, mode)
        self._frames.append(frame)
        self.unflushed_bytes += len(frame)
        if not self._flush_is_due:
            self._flush_is_due = True
            self._loop.call_soon(self.flush)

    def put_parts(self, frame: list[bytes]) -> None:
        """Queue a frame that is given in parts, and flush by the next tick."""
        self._frames += frame
        self.unflushed_bytes += sum(map(len, frame))
        if not self._flush_is_due:
            self._flush_is_due = True
            self._loop.call_soon(self.flush)

    def expect_flush(self) -> None:
        """Stop scheduling flushes. The caller flushes before it returns to the event loop."""
        self._flush_is_due = True

    def flush(self, *, everything: bool = False) -> None:
        """Write the queued bytes.

        Args:
            everything: Write all of it. Otherwise pieces are written only until the transport pauses writing.

        """
        self._flush_is_due = False
        frames = self._frames
        while self.unflushed_bytes > _PIECE_BYTES and not everything:
            if self.is_full:
                return  # `resume` continues
            self.transport.write(self._take_piece())
        if frames:
            data = frames[0] if len(frames) == 1 else b"".join(frames)
            frames.clear()
            self.unflushed_bytes = 0
            self.transport.write(data)

    def clear(self) -> None:
        """Drop the bytes that were not written to the transport."""
        self._frames.clear()
        self.unflushed_bytes = 0

    @property
    def queued_bytes(self) -> int:
        """Bytes that the operating system has not accepted yet."""
        return self.unflushed_bytes + self.transport.get_write_buffer_size()

    async def drained(self) -> None:
        """Wait until the transport accepts more. Raises `ConnectionClosed` if the connection ends before that."""
        if self.is_full:
            waiter: asyncio.Future[None] = self._loop.create_future()
            self._drained.append(waiter)
            await waiter

    def pause(self) -> None:
        """Stop writing pieces: the transport's buffer is full."""
        self.is_full = True

    def resume(self) -> None:
        """Continue writing: the transport accepts more."""
        self.is_full = False
        # Not immediately: the transport calls this within a write, and ends twice if a nested write fails.
        self._loop.call_soon(self._continue)

    def _continue(self) -> None:
        self.flush()
        if self.is_full:
            return
        for waiter in self._drained:
            if not waiter.done():
                waiter.set_result(None)
        self._drained.clear()

    def fail_waiters(self, reason: Exception | None) -> None:
        """Raise `ConnectionClosed` with `reason` from every pending `drained`."""
        for waiter in self._drained:
            if not waiter.done():
                waiter.set_exception(ConnectionClosed(reason))
        self._drained.clear()

    def _take_piece(self) -> bytes | memoryview:
        """Remove and return the first bytes, at most `_PIECE_BYTES`."""
        frames = self._frames
        first = frames[0]
        if len(first) > _PIECE_BYTES:
            view = memoryview(first)
            data: bytes | memoryview = view[:_PIECE_BYTES]
            frames[0] = view[_PIECE_BYTES:]
        else:
            size = count = 0
            while count < len(frames) and size + len(frames[count]) <= _PIECE_BYTES:
                size += len(frames[count])
                count += 1
            data = b"".join(frames[:count])
            del frames[:count]
        self.unflushed_bytes -= len(data)
        return data
