"""The bytes that a connection has sent and its transport has not: joined into few writes, large ones in pieces."""

import asyncio
from typing import Final

from sessiond.rpc.errors import ConnectionClosed
from sessiond.rpc.framing import Mode, encode_frame, encode_frame_of_parts

_PIECE_BYTES: Final = 512 * 1024
"""Bytes that are written to the transport at once when there are more."""


def framed(body: bytes, mode: Mode) -> list[bytes]:
    """Return the bytes that carry a body; one that is large is not copied."""
    if len(body) > _PIECE_BYTES:
        return encode_frame_of_parts([body], mode)
    return [encode_frame(body, mode)]


class SendQueue:
    """Writes what is put in one tick of the event loop, or before the next `flush`, with one call of the transport."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.transport: asyncio.Transport
        """Set before anything is put."""
        self.is_full = False
        """Whether the transport has enough for now."""
        self._loop = loop
        self._frames: list[bytes | memoryview] = []
        self._bytes = 0
        self._flush_is_due = False
        self._drained: list[asyncio.Future[None]] = []

    def put(self, frame: list[bytes]) -> None:
        """Queue a frame, and flush by the next tick."""
        self._frames += frame
        self._bytes += sum(map(len, frame))
        if not self._flush_is_due:
            self._flush_is_due = True
            self._loop.call_soon(self.flush)

    def expect_flush(self) -> None:
        """Schedule no flush for what is put from now on: the caller flushes before it returns to the event loop."""
        self._flush_is_due = True

    def flush(self, *, everything: bool = False) -> None:
        """Write what is queued.

        Args:
            everything: Write all of it. Otherwise of much only so many bytes are written as the transport takes.

        """
        self._flush_is_due = False
        frames = self._frames
        while self._bytes > _PIECE_BYTES and not everything:
            if self.is_full:
                return  # `resume` goes on
            self.transport.write(self._take_piece())
        if frames:
            data = frames[0] if len(frames) == 1 else b"".join(frames)
            frames.clear()
            self._bytes = 0
            self.transport.write(data)

    def clear(self) -> None:
        """Drop what the transport has not got yet."""
        self._frames.clear()
        self._bytes = 0

    def holds_more_than(self, size: int) -> bool:
        """Whether more than `size` bytes are queued; cheaper than `queued_bytes`."""
        return self._bytes > size or (self.is_full and self.queued_bytes > size)

    @property
    def queued_bytes(self) -> int:
        """Bytes that the operating system has not taken yet."""
        return self._bytes + self.transport.get_write_buffer_size()

    async def drained(self) -> None:
        """Wait until the transport takes more. Raises ConnectionClosed when it never will."""
        if self.is_full:
            waiter: asyncio.Future[None] = self._loop.create_future()
            self._drained.append(waiter)
            await waiter

    def pause(self) -> None:
        """The transport has enough."""
        self.is_full = True

    def resume(self) -> None:
        """The transport takes more."""
        self.is_full = False
        self.flush()
        if self.is_full:
            return
        for waiter in self._drained:
            if not waiter.done():
                waiter.set_result(None)
        self._drained.clear()

    def fail_waiters(self, reason: Exception | None) -> None:
        """Raise ConnectionClosed, for `reason`, from every `drained` that still waits."""
        for waiter in self._drained:
            if not waiter.done():
                waiter.set_exception(ConnectionClosed(reason))
        self._drained.clear()

    def _take_piece(self) -> bytes | memoryview:
        """Remove and return the first bytes, about `_PIECE_BYTES`."""
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
        self._bytes -= len(data)
        return data
