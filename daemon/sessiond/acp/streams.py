"""The two ends of a connection of lines: standard input and output, the pipes of a process, or a socket."""

import asyncio
import contextlib
import sys
from collections.abc import Awaitable
from typing import IO, Final, TypeVar

from sessiond.acp.errors import LineTooLong, NoPipe

T = TypeVar("T")

MAX_LINE_BYTES: Final = 64 * 1024 * 1024
"""Limit of one line. ACP has none; images and files of editors are well below."""
READ_BYTES: Final = 256 * 1024
"""Bytes that are read at once, and half of those that a stream holds before its sender has to wait."""
MAX_UNREAD_BYTES: Final = 1024 * 1024
"""Bytes that wait for a peer to read them, above which the sender of more is not read from."""


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
        """Send a line. A peer that has gone receives nothing."""
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
        """End the connection after what was sent."""
        with contextlib.suppress(OSError):
            self._writer.close()


async def standard_streams() -> LinePeer:
    """Return the editor, on standard input and output. Raises `NoPipe`."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=READ_BYTES)
    reading = loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await _connected(reading, sys.stdin)
    flow = asyncio.StreamReaderProtocol(
        asyncio.StreamReader()
    )  # only for the flow control of what is written
    transport, protocol = await _connected(loop.connect_write_pipe(lambda: flow, sys.stdout), sys.stdout)
    return LinePeer("The editor", reader, asyncio.StreamWriter(transport, protocol, None, loop))


async def _connected(connecting: Awaitable[T], stream: IO[str]) -> T:
    try:
        return await connecting
    except ValueError:
        raise NoPipe(stream.name.strip("<>")) from None
