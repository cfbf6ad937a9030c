"""The memory budget that all clients share. A client that exceeds it waits in line, or is not read.

The module counts bytes. It knows neither clients nor messages.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator
from typing import Final

MAX_REQUESTS: Final = 16_384
"""Limit of requests in flight of all clients. Above it, reading from clients with many pauses (decision 0026)."""


class ByteSemaphore:
    """A semaphore that counts bytes and serves waiters in order. A size above the whole limit is admitted alone."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.taken = 0
        self._line: deque[tuple[int, asyncio.Future[None]]] = deque()

    @property
    def waiting(self) -> int:
        """Number of waiters."""
        return len(self._line)

    def enter_now(self, size: int) -> bool:
        """Acquire `size` bytes if they are free and nothing waits. Returns whether they were acquired."""
        if self._line or not self._fits(size):
            return False
        self.taken += size
        return True

    async def enter(self, size: int) -> None:
        """Acquire `size` bytes, and wait for them if necessary. A canceled waiter has acquired nothing."""
        if self.enter_now(size):
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.append((size, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # the bytes were acquired on the tick of the cancellation
                self.leave(size)
            else:
                self._let_in()
            raise

    def leave(self, size: int) -> None:
        """Release `size` bytes."""
        self.taken -= size
        if self._line:
            self._let_in()

    def resize(self, size: int, actual: int) -> None:
        """Change an acquired `size` to the `actual` number of bytes."""
        self.leave(size - actual)

    @contextlib.asynccontextmanager
    async def reserve(self, size: int) -> AsyncIterator[None]:
        """Hold `size` bytes during the block."""
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
    """The memory of all clients together, in bytes.

    Large answers get a quarter of `held`, so that they alone never exceed the limit of the send buffers.

    Args:
        held: The limit of incoming bytes. The send buffers have a separate limit of the same size.

    """

    def __init__(self, held: int) -> None:
        self.incoming = ByteSemaphore(held)
        """Incomplete large frames, and the bodies of requests in flight."""
        self.answers = ByteSemaphore(held // 4)
        """Large answers that are being created or read, and large lines that subscribers are notified of."""
        self.requests = 0
        """Number of requests in flight."""
        self.large_answers = 0
        """Number of large answers that were created so far."""

    def grow(self, held: int) -> None:
        """Change the limit to `held` bytes. Memory that is already in use beyond it stays in use."""
        self.incoming.size, self.answers.size = held, held // 4
        self.incoming.leave(0)
        self.answers.leave(0)

    @property
    def is_short(self) -> bool:
        """Whether clients with many requests in flight should not be read."""
        return self.requests > MAX_REQUESTS or self.incoming.taken > self.incoming.size

    def began(self, size: int, count: int = 1) -> None:
        """Count requests in flight whose bodies have `size` bytes.

        A received request is never refused for lack of memory.
        """
        self.requests += count
        self.incoming.taken += size

    def ended(self, size: int, count: int = 1) -> None:
        """Stop counting requests that are answered."""
        self.requests -= count
        self.incoming.leave(size)
