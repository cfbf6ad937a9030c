"""Notifications of the daemon as an asynchronous iterator. It may have gaps; `Subscription` has none."""

import asyncio
from collections import deque
from typing import Self

from sessiond.client.link import DaemonLink
from sessiond.client.receiver import Note
from sessiond.error_text import TemplatedError

MAX_WAITING = 10_000


class Missed(TemplatedError):
    """Raised when the iterator cannot give every notification."""

    sentence = "Some notifications were missed because too many arrived at once or the connection was lost."


class Notifications:
    """Notifications with one of the given names, or all, since this object was made. Ends with the `Daemon`.

    At a gap, the iterator raises `Missed` once; it can then be iterated further.
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
        """End the iterator. Notifications that it has already received are still returned."""
        self._closed = True
        self._link.listeners.discard(self)
        self._news.set()

    def notified(self, method: str, note: Note) -> None:
        """Receive a notification of the connection (called by `DaemonLink`)."""
        if self._missed or (self._names and method not in self._names):
            return  # after a gap, notifications are dropped until the iterator has raised `Missed`
        if len(self._waiting) < MAX_WAITING:
            self._waiting.append(note)
        else:
            self._missed = True
        self._news.set()

    def disconnected(self) -> None:
        """Handle the end of the connection (called by `DaemonLink`)."""
        self._missed = True
        self._news.set()
