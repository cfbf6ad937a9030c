"""Room in the daemon's memory, shared by all clients: who needs more than is left waits in line, or is not read.

Knows no client and no message: it counts bytes, and says when there are too many.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator
from typing import Final

MAX_REQUESTS: Final = 16_384
"""Requests of all clients in work, above which those that have many of them are not read (decision 0026)."""


class ByteSemaphore:
    """So many bytes of room, given in the order of asking. What is larger than all of it is let in alone."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.taken = 0
        self._line: deque[tuple[int, asyncio.Future[None]]] = deque()

    @property
    def waiting(self) -> int:
        """How many wait in line."""
        return len(self._line)

    def enter_now(self, size: int) -> bool:
        """Take room if there is some and nobody waits for it."""
        if self._line or not self._fits(size):
            return False
        self.taken += size
        return True

    async def enter(self, size: int) -> None:
        """Take room, after waiting for it if need be; who is cancelled meanwhile has taken none."""
        if self.enter_now(size):
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.append((size, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it was let in on the very tick
                self.leave(size)
            else:
                self._let_in()
            raise

    def leave(self, size: int) -> None:
        """Give room back."""
        self.taken -= size
        if self._line:
            self._let_in()

    def resize(self, size: int, actual: int) -> None:
        """What took `size` has turned out to need another one."""
        self.leave(size - actual)

    @contextlib.asynccontextmanager
    async def place(self, size: int) -> AsyncIterator[None]:
        """Room for the time of the block."""
        await self.enter(size)
        try:
            yield
        finally:
            self.leave(size)

    def _fits(self, size: int) -> bool:
        return self.taken + size <= self.size or not self.taken

    def _let_in(self) -> None:
        while self._line:
            size, turn = self._line[0]
            if not turn.done():
                if not self._fits(size):
                    return
                self.taken += size
                turn.set_result(None)
            self._line.popleft()


class MemoryBudget:
    """What all clients together have in memory; `held` bytes may come in, and as many be on their way out.

    Of these a quarter is for what is large, so that it alone never makes the outboxes too large.
    """

    def __init__(self, held: int) -> None:
        self.incoming = ByteSemaphore(held)
        """Large frames that are not complete, and the bodies of requests in work."""
        self.answers = ByteSemaphore(held // 4)
        """Large answers that are being made or read, and large lines that subscribers are told of."""
        self.requests = 0
        """Requests in work."""

    def grow(self, held: int) -> None:
        """Hold so much from now on; who has more already keeps it."""
        self.incoming.size, self.answers.size = held, held // 4
        self.incoming.leave(0)
        self.answers.leave(0)

    @property
    def is_short(self) -> bool:
        """Whether who has much in work should not be read for now."""
        return self.requests > MAX_REQUESTS or self.incoming.taken > self.incoming.size

    def began(self, size: int) -> None:
        """A request is in work whose body has `size` bytes. What has come is never refused for lack of room."""
        self.requests += 1
        self.incoming.taken += size

    def ended(self, size: int) -> None:
        """It is answered."""
        self.requests -= 1
        self.incoming.leave(size)
