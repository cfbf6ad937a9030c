"""A proxy in front of a PostgreSQL server that cuts the connection at a chosen message, in either direction."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Literal

Moment = Literal["before", "after"]
"""Whether the connection is cut before or after a statement reaches the server; "after": the answer is lost."""


class CuttingProxy:
    """Passes bytes on. `cut_at` chooses one of the next statements, at which its connection ends.

    Attributes:
        statements: the number of messages with a statement that reached the proxy.
    """

    def __init__(self, target: Path) -> None:
        self.statements = 0
        self._target = target
        self._writers: set[asyncio.StreamWriter] = set()
        self._cut_at: int | None = None
        self._moment: Moment = "before"
        self._cut = asyncio.Event()
        self._is_down = False
        self._speaks = asyncio.Event()
        self._speaks.set()

    def cut_at(self, number: int, moment: Moment) -> asyncio.Event:
        """Cut the connection at a statement, counted from 0 from now on. The event is set after the cut."""
        self._cut_at, self._moment, self._cut = self.statements + number, moment, asyncio.Event()
        return self._cut

    def go_down(self) -> None:
        """End all connections, and accept no others."""
        self._is_down = True
        for writer in list(self._writers):
            writer.transport.abort()

    def come_up(self) -> None:
        """Accept connections again."""
        self._is_down = False

    def fall_silent(self) -> None:
        """Keep all connections, accept others, and pass nothing on, as if the network lost all packets."""
        self._speaks.clear()

    def speak_again(self) -> None:
        """Pass on the waiting bytes and all later bytes."""
        self._speaks.set()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_down:
            writer.transport.abort()
            return
        to_server = await asyncio.open_unix_connection(str(self._target))
        self._writers |= {writer, to_server[1]}
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._forward(reader, to_server[1], writer))
                tasks.create_task(self._back(to_server[0], writer))
        except* (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            for each in (writer, to_server[1]):
                self._writers.discard(each)
                each.transport.abort()

    async def _forward(
        self, reader: asyncio.StreamReader, server: asyncio.StreamWriter, client: asyncio.StreamWriter
    ) -> None:
        while data := await reader.read(2**20):
            await self._speaks.wait()
            number = self.statements
            self.statements += 1
            is_cut = self._cut_at == number
            if is_cut and self._moment == "before":
                client.transport.abort()
                self._cut.set()
                raise ConnectionResetError
            if is_cut:
                client.transport.abort()
            server.write(data)
            await server.drain()
            if is_cut:
                # The server has the statement, but its answer cannot be delivered.
                self._cut.set()
                await asyncio.sleep(0.02)
                raise ConnectionResetError
        raise ConnectionResetError

    async def _back(self, server: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        while data := await server.read(2**20):
            await self._speaks.wait()
            with suppress(OSError):
                client.write(data)
                await client.drain()
        raise ConnectionResetError


@asynccontextmanager
async def cutting_proxy(url: str, folder: Path) -> AsyncIterator[tuple[CuttingProxy, str]]:
    """A proxy in front of the server of a URL, and the URL of the proxy."""
    behind, _, rest = url.partition("?host=")
    target, _, port = rest.partition("&port=")
    proxy = CuttingProxy(Path(target) / f".s.PGSQL.{port}")
    listener = await asyncio.start_unix_server(proxy.accept, str(folder / f".s.PGSQL.{port}"))
    try:
        yield proxy, f"{behind}?host={folder}&port={port}"
    finally:
        proxy.go_down()
        proxy.speak_again()
        listener.close()
        await listener.wait_closed()
