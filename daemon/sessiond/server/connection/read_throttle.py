"""Back-pressure: pauses reading from a client that has too many requests in flight or too much unread output."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, Final

from sessiond.rpc.connection import Connection
from sessiond.rpc.errors import ConnectionClosed
from sessiond.server.connection.memory_budget import MemoryBudget

MAX_IN_FLIGHT: Final = 512
"""Limit of requests in flight of one client. Above it, reading pauses (decision 0026)."""
FAIR_SHARE: Final = 8
"""Requests in flight that a client may have while all clients together have too many."""
QUEUE_SOFT: Final = 8 * 1024 * 1024
"""Reading pauses while more than this many bytes wait to be sent to the client."""
LEAVING_SECONDS: Final = 10.0
"""Limit of the time in which `exit` waits for the responses to earlier requests."""


class ReadThrottle:
    """Pauses and resumes reading from one client.

    One loop (`_let_go_on`) checks all reasons to pause. Nothing else resumes reading.

    Args:
        connection: The connection of the client.
        memory_budget: The memory budget of all clients.
        spawn: Runs a coroutine in the background.
        max_bytes: The limit of the bodies of requests in flight, in bytes.

    """

    def __init__(
        self,
        connection: Connection,
        memory_budget: MemoryBudget,
        spawn: Callable[[Coroutine[Any, Any, Any]], object],
        max_bytes: int,
    ) -> None:
        self.bytes = 0
        """Bytes of the bodies of requests in flight."""
        self._connection = connection
        self._memory_budget = memory_budget
        self._spawn = spawn
        self._max_bytes = max_bytes
        self._held = False
        self._owes_an_answer = False
        self._has_answered = asyncio.Event()
        self.awaits_answer = False
        """Whether `answered` must be called for the next answer."""
        self._needs = 0  # bytes of an announced large frame that are not acquired yet
        self._place = 0  # bytes acquired for an announced large frame

    def hold(self) -> None:
        """Pause reading until no reason to pause is left."""
        if not self._held:
            self._held = True
            self._connection.pause()
            self._spawn(self._let_go_on())

    def hold_until_an_answer(self) -> None:
        """Pause reading as `hold` does, and at least until one request of the client is answered."""
        self._owes_an_answer = True
        self.hold()

    def began(self, size: int, count: int = 1) -> None:
        """Count requests that could not be answered at once, and the `size` bytes of their bodies."""
        self.bytes += size
        self._memory_budget.began(size, count)
        if self.bytes > self._max_bytes or (self._memory_budget.is_short and self._has_more_than_its_share):
            self.hold()

    def ended(self, size: int, count: int = 1) -> None:
        """Stop counting requests whose bodies have `size` bytes."""
        self.bytes -= size
        self._memory_budget.ended(size, count)

    def answered(self) -> None:
        """A request has received its response, or will not receive one."""
        if self.awaits_answer:
            self.awaits_answer = False
            self._has_answered.set()

    def announced(self, size: int) -> None:
        """A large frame of `size` bytes has begun. It is read when the memory budget has room for it."""
        if self._memory_budget.incoming.enter_now(size):
            self._place = size
        else:
            self._needs = size
            self.hold()

    def arrived(self) -> None:
        """The large frame is complete. From now on it counts as a request."""
        place, self._place = self._place, 0
        if place:
            self._memory_budget.incoming.leave(place)

    def closed(self) -> None:
        """The connection is closed."""
        self.arrived()
        self.answered()

    async def until_room(self) -> None:
        """Wait until at most `QUEUE_SOFT` bytes are queued. Raises `ConnectionClosed`."""
        while self._connection.queued_bytes > QUEUE_SOFT:
            await self._connection.drain()

    @property
    def untaken_bytes(self) -> int:
        """Bytes that the client has not read. 0 if the transport's buffer is not full."""
        return self._connection.queued_bytes if self._connection.full else 0

    async def until_taken(self, seconds: float) -> None:
        """Wait until few bytes are queued, the connection is closed, or `seconds` have passed."""
        with contextlib.suppress(TimeoutError, ConnectionClosed):
            async with asyncio.timeout(seconds):
                await self._connection.drain()

    async def leave(self) -> None:
        """Close the connection after all requests are answered, or after `LEAVING_SECONDS`."""
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
        if self._connection.unanswered > MAX_IN_FLIGHT // 2 or self.bytes > self._max_bytes // 2:
            return True
        return self._memory_budget.is_short and self._has_more_than_its_share

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
        await self._memory_budget.incoming.enter(needs)
        self._place = needs
        if self._connection.closing:
            self.arrived()

    async def _next_answer(self) -> None:
        self.awaits_answer = True
        self._has_answered.clear()
        await self._has_answered.wait()
