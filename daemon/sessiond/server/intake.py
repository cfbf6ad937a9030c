"""Back-pressure of one client: who does not take its answers, or asks for too much at once, is not read meanwhile."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, Final

from sessiond.rpc.connection import Connection, ConnectionClosed

MAX_IN_FLIGHT: Final = 512
"""Requests of one client in work; above this its socket is not read (fact: daemons B5)."""
QUEUE_SOFT: Final = 8 * 1024 * 1024
"""Bytes a client has not taken, above which it is not read either: it must take its answers first."""
LEAVING_SECONDS: Final = 10.0
"""How long `exit` waits for the answers to what was asked before it."""


class Intake:
    """Reads a connection only as fast as it is answered. `spawn` runs something in the background."""

    def __init__(self, connection: Connection, spawn: Callable[[Coroutine[Any, Any, Any]], object]) -> None:
        self._connection = connection
        self._spawn = spawn
        self._held = False
        self._has_answered = asyncio.Event()

    def look(self) -> None:
        """After each message: read no more of this client if it must take its answers first."""
        connection = self._connection
        over = connection.unanswered > MAX_IN_FLIGHT or connection.holds_more_than(QUEUE_SOFT)
        if over and not self._held:
            self._held = True
            connection.pause()
            self._spawn(self._let_go_on())

    def answered(self) -> None:
        """A request has got its answer, or will never get one."""
        self._has_answered.set()

    async def until_room(self) -> None:
        """Wait until the client has taken enough for a large answer. Raises `ConnectionClosed`."""
        while self._connection.queued_bytes > QUEUE_SOFT:
            await self._connection.drain()

    async def leave(self) -> None:
        """Close, but not before what was asked until then is answered."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LEAVING_SECONDS):
                while self._connection.unanswered:
                    await self._next_answer()
        self._connection.close()

    async def _let_go_on(self) -> None:
        connection = self._connection
        try:
            while not connection.closing:
                if connection.queued_bytes > QUEUE_SOFT // 2:
                    await connection.drain()
                elif connection.unanswered > MAX_IN_FLIGHT // 2:
                    await self._next_answer()
                else:
                    connection.resume()
                    break
        except ConnectionClosed:
            pass
        self._held = False

    async def _next_answer(self) -> None:
        self._has_answered.clear()
        await self._has_answered.wait()
