"""A server that echoes: what tests of the life of a daemon need, without hub and protocol."""

import asyncio
import socket
import sys

from sessiond.config import Config
from sessiond.paths import Locations
from sessiond.server.process import main


class StandIn:
    """Sends every byte back."""

    def __init__(self) -> None:
        self.epoch = "5f0c2a52-6d3b-4b8e-9a33-5a8c6b1a7d10"
        self.stopping = asyncio.Event()
        self.configured: list[Config] = []
        self.dirty = False
        self.closed = False
        self.hangs_at_the_end = False
        self.clients: set[asyncio.Task[None]] = set()

    def attach(self, sock: socket.socket) -> None:
        task = asyncio.get_running_loop().create_task(self._echo(sock))
        self.clients.add(task)
        task.add_done_callback(self.clients.discard)

    @property
    def busy(self) -> bool:
        return bool(self.clients) or self.dirty

    def attach_authenticated(self, sock: socket.socket, received: bytes) -> None:
        raise NotImplementedError

    def listens_at(self, path: str, tcp: str | None) -> None:
        pass

    def configure(self, config: Config) -> list[str]:
        self.configured.append(config)
        return []

    async def close(self) -> None:
        if self.hangs_at_the_end:
            await asyncio.get_running_loop().create_future()
        for task in [*self.clients]:
            task.cancel()
        await asyncio.gather(*self.clients, return_exceptions=True)
        self.closed = True

    async def _echo(self, sock: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with sock:
            while data := await loop.sock_recv(sock, 65_536):
                if data == b"stop\n":
                    self.stopping.set()
                await loop.sock_sendall(sock, data)


async def build(locations: Locations, config: Config) -> StandIn:
    return StandIn()


if __name__ == "__main__":
    try:
        sys.exit(main.run(lambda stop: print("READY", flush=True), build=build))
    except main.CannotServe as error:
        print(error, flush=True)
        sys.exit(error.status)
