"""Notifications of the daemon as an asynchronous iterator. It may have gaps; `Subscription` has none."""

import asyncio
from collections import deque
from typing import Self

from sessiond.client.link import DaemonLink
from sessiond.client.receiver import NotificationParams
from sessiond.error_text import TemplatedError

MAX_BUFFERED = 10_000


class NotificationsMissedError(TemplatedError):
    """Raised when the iterator cannot give every notification."""

    sentence = "Some notifications were missed because too many arrived at once or the connection was lost."


class Notifications:
    """Notifications with one of the given names, or all, since this object was made. Ends with the `Daemon`.

    At a gap, the iterator raises `NotificationsMissedError` once; it can then be iterated further.
    """

    def __init__(self, link: DaemonLink, names: tuple[str, ...]) -> None:
        self._link = link
        self._names = names
        self._buffered: deque[NotificationParams] = deque()
        self._missed = False
        self._closed = False
        self._wake = asyncio.Event()
        link.observers.add(self)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> NotificationParams:
        while True:
            if self._buffered:
                return self._buffered.popleft()
            if self._closed or self._link.is_closed:
                raise StopAsyncIteration
            if self._missed:
                self._missed = False
                raise NotificationsMissedError
            self._wake.clear()
            await self._wake.wait()

    async def aclose(self) -> None:
        """End the iterator. Notifications that it has already received are still returned."""
        self._closed = True
        self._link.observers.discard(self)
        self._wake.set()

    def notified(self, method: str, note: NotificationParams) -> None:
        """Receive a notification of the connection (called by `DaemonLink`)."""
        if self._missed or (self._names and method not in self._names):
            return  # after a gap, notifications are dropped until the iterator has raised `NotificationsMissedError`
        if len(self._buffered) < MAX_BUFFERED:
            self._buffered.append(note)
        else:
            self._missed = True
        self._wake.set()

    def disconnected(self) -> None:
        """Handle the end of the connection (called by `DaemonLink`)."""
        self._missed = True
        self._wake.set()
