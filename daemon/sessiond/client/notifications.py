"""What the daemon tells by itself, as an asynchronous iterator. It may have gaps: `Subscription` has none."""

import asyncio
from collections import deque
from typing import Self

from sessiond.client.link import DaemonLink
from sessiond.client.receiver import Note
from sessiond.error_text import TemplatedError

MAX_WAITING = 10_000


class Missed(TemplatedError):
    """Raised when the iterator cannot give every notification."""

    sentence = "Some notifications were missed: they came too fast, or the connection was lost."


class Notifications:
    """Those with one of the given names, or all, from the moment this was made; ends with the `Daemon`.

    Raises `Missed` where there is a gap, once, and can be iterated further.
    """

    def __init__(self, link: DaemonLink, names: tuple[str, ...]) -> None:
        self._link = link
        self._names = names
        self._waiting: deque[Note] = deque()
        self._missed = False
        self._closed = False
        self._news = asyncio.Event()
        link.listeners.add(self)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Note:
        while True:
            if self._waiting:
                return self._waiting.popleft()
            if self._closed or self._link.ended:
                raise StopAsyncIteration
            if self._missed:
                self._missed = False
                raise Missed
            self._news.clear()
            await self._news.wait()

    async def aclose(self) -> None:
        """End the iterator. Notifications that it has received already are still returned."""
        self._closed = True
        self._link.listeners.discard(self)
        self._news.set()

    def notified(self, method: str, note: Note) -> None:
        """Take in a notification of the connection (for `DaemonLink`)."""
        if self._missed or (self._names and method not in self._names):
            return  # behind a gap nothing is kept until the reader knows of it
        if len(self._waiting) < MAX_WAITING:
            self._waiting.append(note)
        else:
            self._missed = True
        self._news.set()

    def disconnected(self) -> None:
        """Take in the end of the connection (for `DaemonLink`)."""
        self._missed = True
        self._news.set()
