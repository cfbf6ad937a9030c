"""Back-pressure of one client: who does not take its answers, or asks for too much at once, is not read meanwhile."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, Final

from sessiond.rpc.connection import Connection
from sessiond.rpc.errors import ConnectionClosed
from sessiond.server.connection.memory_budget import MemoryBudget

MAX_IN_FLIGHT: Final = 512
"""Requests of one client in work; above this its socket is not read (decision 0026)."""
FAIR_SHARE: Final = 8
"""Requests that a client may have in work even when all clients together have too many."""
QUEUE_SOFT: Final = 8 * 1024 * 1024
"""Bytes a client has not taken, above which it is not read either: it must take its answers first."""
LEAVING_SECONDS: Final = 10.0
"""How long `exit` waits for the answers to what was asked before it."""


class ReadThrottle:
    """Reads a connection only as fast as it is answered. `spawn` runs something in the background.

    `most` is how many bytes the bodies of its requests in work may have. Whatever stops the reading, one loop
    (`_let_go_on`) looks at all the reasons and starts it again.
    """

    def __init__(
        self,
        connection: Connection,
        room: MemoryBudget,
        spawn: Callable[[Coroutine[Any, Any, Any]], object],
        most: int,
    ) -> None:
        self.bytes = 0
        """Bodies of requests in work."""
        self._connection = connection
        self._room = room
        self._spawn = spawn
        self._most = most
        self._held = False
        self._owes_an_answer = False
        self._has_answered = asyncio.Event()
        self._needs = 0  # room for a large frame, not had yet
        self._place = 0  # room that such a frame has

    def look(self) -> None:
        """After each message: read no more of this client if it must take its answers first."""
        connection = self._connection
        if connection.unanswered > MAX_IN_FLIGHT or connection.holds_more_than(QUEUE_SOFT):
            self.hold()

    def hold(self) -> None:
        """Read no more of this client, until it and the daemon have got on."""
        if not self._held:
            self._held = True
            self._connection.pause()
            self._spawn(self._let_go_on())

    def hold_until_an_answer(self) -> None:
        """The same, and at least until one of its requests is answered."""
        self._owes_an_answer = True
        self.hold()

    def began(self, size: int) -> None:
        """A request could not be answered at once: it and its body of `size` bytes are in work."""
        self.bytes += size
        self._room.began(size)
        if self.bytes > self._most or (self._room.is_short and self._has_more_than_its_share):
            self.hold()

    def ended(self, size: int) -> None:
        """It is answered, or will never be."""
        self.bytes -= size
        self._room.ended(size)

    def answered(self) -> None:
        """A request has got its answer, or will never get one."""
        self._has_answered.set()

    def announced(self, size: int) -> None:
        """A large frame comes in: it is read when there is room for it."""
        if self._room.incoming.enter_now(size):
            self._place = size
        else:
            self._needs = size
            self.hold()

    def arrived(self) -> None:
        """The large frame is there, and counts as a request from now on."""
        place, self._place = self._place, 0
        if place:
            self._room.incoming.leave(place)

    def closed(self) -> None:
        """The connection is gone."""
        self.arrived()
        self.answered()

    async def until_room(self) -> None:
        """Wait until the client has taken enough for a large answer. Raises `ConnectionClosed`."""
        while self._connection.queued_bytes > QUEUE_SOFT:
            await self._connection.drain()

    @property
    def untaken_bytes(self) -> int:
        """What the client has to take before it counts as having read: 0 when that is little."""
        return self._connection.queued_bytes if self._connection.full else 0

    async def until_taken(self, seconds: float) -> None:
        """Wait until little is queued, the client is gone, or has had so many seconds."""
        with contextlib.suppress(TimeoutError, ConnectionClosed):
            async with asyncio.timeout(seconds):
                await self._connection.drain()

    async def leave(self) -> None:
        """Close, but not before what was asked until then is answered."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LEAVING_SECONDS):
                while self._connection.unanswered:
                    await self._next_answer()
        self._connection.close()

    @property
    def _has_more_than_its_share(self) -> bool:
        return self._connection.unanswered > FAIR_SHARE

    @property
    def _has_much_in_work(self) -> bool:
        if self._connection.unanswered > MAX_IN_FLIGHT // 2 or self.bytes > self._most // 2:
            return True
        return self._room.is_short and self._has_more_than_its_share

    async def _let_go_on(self) -> None:
        connection = self._connection
        try:
            while not connection.closing:
                if connection.queued_bytes > QUEUE_SOFT // 2:
                    await connection.drain()
                elif self._has_much_in_work:
                    await self._next_answer()
                elif self._owes_an_answer and connection.unanswered:
                    await self._next_answer()
                    self._owes_an_answer = False
                elif self._needs:
                    await self._take_place()
                else:
                    connection.resume()
                    break
        except ConnectionClosed:
            pass
        self._held = False

    async def _take_place(self) -> None:
        needs, self._needs = self._needs, 0
        await self._room.incoming.enter(needs)
        self._place = needs
        if self._connection.closing:
            self.arrived()

    async def _next_answer(self) -> None:
        self._has_answered.clear()
        await self._has_answered.wait()
