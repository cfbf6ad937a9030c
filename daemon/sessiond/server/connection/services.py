"""The interface of the server for clients and handlers, independent of the class that implements it."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from sessiond.config import Config
from sessiond.hub.hub import Hub
from sessiond.hub.index.watches import Watches
from sessiond.hub.session.live import LiveSession
from sessiond.paths import Locations
from sessiond.protocol import methods as m, types as t
from sessiond.rpc.message import RequestId
from sessiond.server.connection.deferred import Pending
from sessiond.server.connection.memory_budget import MemoryBudget
from sessiond.server.connection.route import Route
from sessiond.server.connection.send_buffers import SendBuffers
from sessiond.server.lasting_tasks import LastingTasks
from sessiond.server.resource_usage import ResourceUsage

C = TypeVar("C")
"""The client. It is a type variable because the class of clients refers to `Services`."""

Arrival: TypeAlias = tuple[C, t.AppendParams, Pending]
"""An append to a session that is being opened: its client, its params, and its pending answer."""


class Bridge(Protocol):
    """The LSP side of a client. See `server.lsp.bridge`."""

    def feed(self, body: bytes) -> None:
        """Pass a message to pygls."""

    def feed_response(self, id: RequestId | None, body: bytes) -> None:
        """Pass a response to pygls if it answers a request of pygls."""

    def close(self) -> None:
        """Release the resources of the LSP side, because the client has disconnected."""


class Identity(Protocol):
    """The process of the daemon, as `server/status` reports it."""

    locations: Locations
    home: str
    socket: str | None
    tcp: str | None
    server_id: str
    """Identifies the home of the daemon. Durable."""
    epoch: str
    """Unique for each process."""
    started: float
    """The start time of the process, in seconds of the monotonic clock."""
    started_at: str
    """The time of the start, ISO 8601 in UTC."""
    usage: ResourceUsage
    lsp_loaded: bool


class Notifier(Protocol):
    """Notifies all clients that use sessions."""

    def notify_all(self, notification: m.Notification[Any], note: t.Wire) -> None:
        """Notify these clients now."""

    def notify_all_soon(self, notification: m.Notification[Any], note: t.Wire) -> None:
        """Notify these clients after the response to the request that is being handled."""

    def notify_created_soon(self, live: LiveSession, origin: t.Origin) -> None:
        """Notify these clients of a new session, as `notify_all_soon` does."""

    def notify_deleted_soon(self, gone: t.DeleteResult, note: str | None, origin: t.Origin) -> None:
        """Notify these clients that a session was moved to the trash, as `notify_all_soon` does."""


class Tasks(Protocol):
    """Runs coroutines in the background, applies another configuration, and ends the process."""

    ending: bool
    """Whether every request is refused with `draining`."""

    def configure(self, config: Config) -> list[str]:
        """Apply another configuration. Returns the changed tables that take effect only after a restart."""

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run `work` in the background. It is canceled with the server."""

    def spawn_write(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run work that completes even if its client disconnects. Until then the daemon is busy."""

    def stop_soon(self) -> None:
        """Stop after the response to the request that is being handled."""

    def drain(self, within: float, note: str | None) -> None:
        """Refuse further writes, and stop when no request is in flight, or after `within` seconds."""


class Services(Identity, Notifier, Tasks, Protocol, Generic[C]):
    """The interface of the server for its clients, which have the type `C`."""

    hub: Hub
    config: Config
    clients: dict[str, C]
    """The attached clients by their ids."""
    max_clients: int
    memory_budget: MemoryBudget
    send_buffers: SendBuffers
    watches: Watches
    lasting: LastingTasks
    routes: dict[str, Route[C]]
    arriving: dict[str, list[Arrival[C]]]
    """Appends to sessions that are being opened, by session id, in the order of their arrival."""

    def attached(self, client: C) -> None:
        """Add a client that can now receive messages."""

    def rename(self, client: C, client_id: str) -> None:
        """Give a client the id that it asks for, with a suffix if another client has that id."""

    def detached(self, client: C) -> None:
        """Remove a client that has disconnected."""

    async def make_bridge(self, client: C) -> Bridge:
        """Return the LSP side of a client. The first call imports pygls, in a thread."""

    @property
    def fair_send_buffer(self) -> int:
        """Bytes that may be queued for one client if the same number is queued for all."""
