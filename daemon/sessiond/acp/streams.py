"""The two ends of a connection of lines: standard input and output, the pipes of a process, or a socket."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import AsyncIterator
from typing import Final

from sessiond.acp.errors import LineTooLong
from sessiond.client import forward

MAX_LINE_BYTES: Final = 64 * 1024 * 1024
"""Limit of one line. ACP has no limit; images and files of editors are much smaller."""
READ_BYTES: Final = 256 * 1024
"""Bytes of one read. A stream holds twice as many before its sender has to wait."""
_LAST_SECONDS: Final = 2.0
MAX_UNREAD_BYTES: Final = 1024 * 1024
"""The maximum number of bytes that wait for a peer to read them. Above it, the sending program is not read."""


class LinePeer:
    """A peer that sends and receives lines.

    Args:
        name: The peer in messages for people.
        reader: The stream of its lines.
        writer: The stream to it.
    """

    def __init__(self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.name = name
        self._reader = reader
        self._writer = writer
        self._unread = bytearray()
        writer.transport.set_write_buffer_limits(high=MAX_UNREAD_BYTES)

    async def read(self) -> bytes | None:
        """Return the next line with its newline; None at the end. Raises `LineTooLong`."""
        searched = 0
        while (end := self._unread.find(b"\n", searched)) < 0:
            searched = len(self._unread)
            if searched > MAX_LINE_BYTES:
                raise LineTooLong(self.name, MAX_LINE_BYTES >> 20)
            try:
                more = await self._reader.read(READ_BYTES)
            except OSError:
                more = b""
            if not more:
                rest = bytes(self._unread)
                self._unread.clear()
                return rest + b"\n" if rest.strip() else None
            self._unread += more
        line = bytes(self._unread[: end + 1])
        del self._unread[: end + 1]
        return line

    def send(self, line: bytes) -> None:
        """Send a line. A line to a closed peer is dropped."""
        if not self._writer.is_closing():
            self._writer.write(line)

    async def drained(self) -> None:
        """Wait until the peer has read enough that more may be sent."""
        with contextlib.suppress(OSError):
            await self._writer.drain()

    @property
    def unread_bytes(self) -> int:
        """The bytes that wait for the peer."""
        return self._writer.transport.get_write_buffer_size()

    def close(self) -> None:
        """End the connection after the sent lines are written."""
        with contextlib.suppress(OSError):
            self._writer.close()


@contextlib.asynccontextmanager
async def standard_streams() -> AsyncIterator[LinePeer]:
    """Connect standard input and output as the editor. At the end, sent lines are written if the editor still reads.

    A thread copies, so that files, pipes and terminals work alike.
    """
    ours, theirs = socket.socketpair()
    pump = threading.Thread(target=_pump, args=(ours,), name="stdio", daemon=True)
    pump.start()
    reader, writer = await asyncio.open_connection(sock=theirs, limit=READ_BYTES)
    try:
        yield LinePeer("The editor", reader, writer)
    finally:
        writer.close()
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(_LAST_SECONDS):
                await writer.wait_closed()
        writer.transport.abort()
        await asyncio.to_thread(pump.join, _LAST_SECONDS)


def _pump(ours: socket.socket) -> None:
    with ours:
        forward.pump(0, 1, ours)
