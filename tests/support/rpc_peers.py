"""Handlers for tests of connections, and a wait that is bounded instead of a sleep."""

import asyncio
from collections.abc import Callable

import msgspec

from sessiond.rpc.connection import Connection
from sessiond.rpc.handler import Handler
from sessiond.rpc.message import BadMessage, Head, RequestId
from support.patience import BOUND

PATIENCE = BOUND
"""Seconds after which an expected event counts as missing."""


class Recorder(Handler[Connection]):
    """Records all events of its connection and answers only invalid requests."""

    def __init__(self) -> None:
        self.opens = 0
        self.bodies: list[bytes] = []
        self.requests: list[RequestId] = []
        self.notifications: list[str] = []
        self.complaints: list[BadMessage] = []
        self.strays: list[bytes] = []
        self.ends: list[Exception | None] = []

    def opened(self, connection: Connection) -> None:
        self.opens += 1

    def received(self, connection: Connection, head: Head, body: bytes) -> None:
        assert isinstance(head.method, str)
        self.bodies.append(body)
        if isinstance(head.id, int | str):
            self.requests.append(head.id)
        else:
            self.notifications.append(head.method)

    def broken(self, connection: Connection, error: BadMessage) -> None:
        self.complaints.append(error)
        connection.fail(error.id, error.code, error.message)

    def strayed(self, connection: Connection, head: Head, body: bytes) -> None:
        self.strays.append(body)

    def closed(self, connection: Connection, reason: Exception | None) -> None:
        self.ends.append(reason)


class Echo(Recorder):
    """A recorder that answers every request with its params at once."""

    def received(self, connection: Connection, head: Head, body: bytes) -> None:
        super().received(connection, head, body)
        if isinstance(head.id, int | str):
            connection.reply(head.id, None if head.params is msgspec.UNSET else head.params)


async def until(happened: Callable[[], object]) -> None:
    """Run the loop until `happened()` is true. Raises TimeoutError after PATIENCE."""
    async with asyncio.timeout(PATIENCE):
        while not happened():  # noqa: ASYNC110 - any state may be asked for, so there is no event to wait on
            await asyncio.sleep(0)
