"""Several daemons in this process on one store, and a client of each."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from sessiond.config import Config
from sessiond.hub.hub import Hub
from sessiond.rpc.memory import memory_pair
from sessiond.server.connection.client import Client
from sessiond.server.server import Server as Daemon
from sessiond.store.memory import MemoryStore
from support.daemons import Peer
from support.shared_store import Link, Server, SharedStore


@dataclass
class Member:
    """One of the daemons."""

    store: SharedStore
    daemon: Daemon
    peer: Peer

    async def attach(self) -> Peer:
        """A further client."""
        peer = Peer()
        memory_pair(peer, Client(self.daemon, framing="memory"))
        return peer


@contextlib.asynccontextmanager
async def several_daemons(
    folder: Path, count: int = 2, *, seed: int = 0, config: Config | None = None
) -> AsyncIterator[list[Member]]:
    """Daemons on one store without sessions, until the block ends."""
    server, members = Server(), list[Member]()
    try:
        for number in range(count):
            home = folder / f"daemon-{number}"
            home.mkdir(parents=True, exist_ok=True)
            store = SharedStore(server, Link(seed * count + number))
            hub = Hub(store, MemoryStore(), config, index_path=str(home / "index.db"))
            member = Member(store, Daemon(hub, home=str(home), socket_path=None, config=config), Peer())
            memory_pair(member.peer, Client(member.daemon, framing="memory"))
            members.append(member)
        yield members
    finally:
        for member in members:
            member.store.join()
            member.peer.connection.close()
            await member.peer.connection.wait_closed()
            await member.daemon.close()
