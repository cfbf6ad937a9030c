"""Two connections joined in memory, with real framing and no socket, for tests and in-process use.

Back-pressure is that of a socket without a kernel buffer: each end buffers the bytes that the other end has not read.
"""

import asyncio

from sessiond.rpc.connection import Connection
from sessiond.rpc.framing import Mode
from sessiond.rpc.handler import Handler

_HIGH_WATER = 64 * 1024  # bytes; asyncio's own transports call pause_writing at the same size


def memory_pair(
    a: Handler[Connection], b: Handler[Connection], *, mode: Mode = "contentLength"
) -> tuple[Connection, Connection]:
    """Return the open connections of `a` and `b`. Bytes arrive on the next tick of the running loop."""
    connections = Connection(a, mode=mode), Connection(b, mode=mode)
    ends = _End(connections[0]), _End(connections[1])
    ends[0].peer, ends[1].peer = ends[1], ends[0]
    for connection, end in zip(connections, ends, strict=True):
        connection.connection_made(end)
    return connections


class _End(asyncio.Transport):
    """One end of the pair. It buffers the bytes that its protocol wrote until the other end reads them."""

    peer: "_End"

    def __init__(self, protocol: asyncio.Protocol) -> None:
        super().__init__()
        self.protocol = protocol
        self.reads = True
        self.closing = False
        self.gone = False
        self._loop = asyncio.get_running_loop()
        self._unread = bytearray()
        self._over_high_water = False
        self._peer_knows = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self.closing or self.peer.closing:
            if self.peer.gone:
                self._go(BrokenPipeError("The peer is gone."))
            return
        self._unread += data
        if len(self._unread) > _HIGH_WATER and not self._over_high_water:
            self._over_high_water = True
            self.protocol.pause_writing()
        self._loop.call_soon(self.pass_on)

    def get_write_buffer_size(self) -> int:
        return len(self._unread)

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True
        self._loop.call_soon(self.peer.pass_on)

    def is_reading(self) -> bool:
        return self.reads and not self.closing

    def is_closing(self) -> bool:
        return self.closing

    def close(self) -> None:
        self.closing = True
        self._loop.call_soon(self.pass_on)
        self._loop.call_soon(self.peer.pass_on)

    def abort(self) -> None:
        self._unread.clear()
        self._go(None)

    def pass_on(self) -> None:
        """Deliver the unread bytes, then the end of the stream, to the other end if it reads."""
        peer = self.peer
        if peer.closing:
            self._unread.clear()
        elif self._unread and peer.reads:
            data = bytes(self._unread)
            self._unread.clear()
            peer.protocol.data_received(data)
        if self._over_high_water and not self._unread:
            self._over_high_water = False
            self.protocol.resume_writing()
        if self.closing and not self._unread:
            self._go(None)
        if self.gone and not self._peer_knows and peer.is_reading():
            self._peer_knows = True
            if not peer.protocol.eof_received():
                peer.close()

    def _go(self, reason: Exception | None) -> None:
        if not self.gone:
            self.closing = self.gone = True
            self._loop.call_soon(self.protocol.connection_lost, reason)
            self._loop.call_soon(self.pass_on)
