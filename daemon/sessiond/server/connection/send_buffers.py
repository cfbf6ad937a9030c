"""Limits send buffers: cancels subscriptions of slow clients, disconnects stuck ones, bounds the total."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final, Protocol

from sessiond.rpc.connection import Connection

QUEUE_HARD: Final = 32 * 1024 * 1024
"""Unread bytes above which a client that reads nothing for `STUCK_SECONDS` is disconnected (decision 0026)."""
STUCK_SECONDS: Final = 10.0
STALLED_SECONDS: Final = 2.0
"""If all send buffers together are too large, clients that have read nothing for this long are disconnected first."""
FRAME_SECONDS: Final = 30.0
"""Limit of the time in which a client sends one frame."""
LOOK_AFTER: Final = 8 * 1024 * 1024
"""Bytes sent between two checks of the total."""

log = logging.getLogger(__name__)


class BufferedClient(Protocol):
    """The interface of a client that the limits of send buffers use."""

    client_id: str
    connection: Connection
    least_queued: int
    """The minimum number of queued bytes since the client last read any."""
    stalled_since: float | None
    """The loop time since which the client has read none of the queued bytes; None if nothing is queued."""

    def lag(self) -> None:
        """Cancel the client's subscriptions, and send `session/lagged` for each."""


class SendBuffers:
    """The send buffers of all clients.

    Args:
        clients: Returns the attached clients.
        max_bytes: The limit of all send buffers together, in bytes.

    """

    def __init__(self, clients: Callable[[], Iterable[BufferedClient]], max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._clients = clients
        self._loop = asyncio.get_running_loop()
        self._since_a_look = 0
        self._look_is_due = False

    def sent(self, size: int) -> None:
        """Count `size` bytes sent to a client. Cheap enough for every notification."""
        self._since_a_look += size
        if self._since_a_look > LOOK_AFTER and not self._look_is_due:
            self._look_is_due = True
            self._loop.call_soon(self._make_room)

    def sweep(self) -> None:
        """Disconnect clients that have left, read nothing, or never finish a frame. Called about once a second."""
        for client in list(self._clients()):
            self._note_progress(client)
            self._check(client)
        self._make_room()

    @property
    def total(self) -> int:
        """Bytes in all send buffers."""
        return sum(client.connection.queued_bytes for client in self._clients())

    def _note_progress(self, client: BufferedClient) -> None:
        queued = client.connection.queued_bytes
        if not queued:
            client.least_queued, client.stalled_since = 0, None
        elif client.stalled_since is None or queued < client.least_queued:
            client.least_queued, client.stalled_since = queued, self._loop.time()

    def _stalled_for(self, client: BufferedClient) -> float:
        return 0.0 if client.stalled_since is None else self._loop.time() - client.stalled_since

    def _check(self, client: BufferedClient) -> None:
        connection = client.connection
        if connection.is_deserted:
            connection.abort()
        elif connection.queued_bytes > QUEUE_HARD and self._stalled_for(client) > STUCK_SECONDS:
            self._disconnect(client, "it stopped reading")
        elif connection.frame_seconds > FRAME_SECONDS:
            self._disconnect(client, f"it did not finish a message in {FRAME_SECONDS:.0f} s")

    def _make_room(self) -> None:
        """Reduce the total to half the limit, beginning with stalled clients and the largest buffers.

        While the total is above the limit, a client is disconnected. Otherwise its subscriptions are canceled.
        """
        self._look_is_due = False
        self._since_a_look = 0
        total = self.total
        if total <= self.max_bytes // 2:
            return

        def by_need(client: BufferedClient) -> tuple[bool, int]:
            return self._stalled_for(client) > STALLED_SECONDS, client.connection.queued_bytes

        for client in sorted(self._clients(), key=by_need, reverse=True):
            queued = client.connection.queued_bytes
            if total > self.max_bytes:
                self._disconnect(client, "the unread output of all clients exceeds the limit")
            else:
                client.lag()
            total -= queued
            if total <= self.max_bytes // 2:
                return

    def _disconnect(self, client: BufferedClient, reason: str) -> None:
        log.warning(
            "DisconnectedError client %s with %d unread bytes: %s",
            client.client_id, client.connection.queued_bytes, reason,
        )  # fmt: skip
        client.connection.abort()
