"""Subscription to one session: returns every entry exactly once in log order, even if the connection is lost."""

import asyncio
from collections import deque
from typing import Self

from sessiond.client.link import DaemonLink
from sessiond.client.receiver import NotificationParams
from sessiond.client.results import AppendedBatch, Entries, Entry
from sessiond.client.wire import DisconnectedError, RpcError
from sessiond.protocol import methods as m, types as t

MAX_BUFFERED = 10_000
"""Limit of notifications that wait for a slow reader. Above it they are dropped and read again from the log."""

_PAGE = 500


class Subscription:
    """The entries of a session after a position, as an endless asynchronous iterator of dicts.

    `seq` is the line of the last returned entry in the log `log_id`. A later process can continue after `position`.
    All three may be None until the subscription has begun, at the first entry or on entering the context manager.
    After `session/lagged` and after a restart of the daemon, the subscription waits for the daemon and subscribes
    again after `position`. If another program has replaced the log, `log_id` changes, and the entries of the new log
    follow from its first. The iterator ends when it or its `Daemon` is closed. It raises `RpcError` when the session
    no longer exists.
    """

    def __init__(self, link: DaemonLink, session_id: str, after: t.After | int | None) -> None:
        self.session_id = session_id
        self.seq = after.seq if isinstance(after, t.After) else after
        self.log_id = after.log_id if isinstance(after, t.After) else None
        self._link = link
        self._inbox: deque[AppendedBatch] = deque()
        self._ready: deque[tuple[int, Entry]] = deque()
        self._subscribed = False
        self._closed = False
        self._replayed_up_to = 0  # live entries up to this seq are in the replay as well
        self._read_up_to = 0  # entries up to this seq are too many for a replay and are read page by page
        self._wake = asyncio.Event()

    @property
    def position(self) -> t.After | None:
        """The position of the last entry that the iterator returned; None before `start`.

        A later process can continue after it: `Daemon.subscribe(session_id, after=position)`.
        """
        if self.seq is None or self.log_id is None:
            return None
        return t.After(log_id=self.log_id, seq=self.seq)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Entry:
        while True:
            if self._closed or self._link.is_closed:
                raise StopAsyncIteration
            if self._ready:
                self.seq, entry = self._ready.popleft()
                return entry
            if not self._subscribed:
                await self.start()
            elif (self.seq or 0) < self._read_up_to:
                await self._read_page()
            elif self._inbox:
                self._receive_batch(self._inbox.popleft())
            else:
                self._wake.clear()
                await self._wake.wait()

    async def start(self) -> None:
        """Subscribe after `seq`, or at the end of the log if that is None. The iterator does this at the first entry.

        Waits for the daemon if it does not run.

        Raises:
            RpcError: The daemon refused the request; `kind` is for example `sessionNotFound`.
        """
        self._link.observers.add(self)
        while not self._subscribed:
            try:
                await self._link.wait_connected()
                self._subscribed = True
                self._inbox.clear()
                params = t.SubscribeParams(session_id=self.session_id, after=self.position)
                raw = await self._link.request_connected(m.SUBSCRIBE.name, params)
            except DisconnectedError:
                self._subscribed = False
                if self._link.is_closed:
                    return
                await asyncio.sleep(
                    0
                )  # lets the link notice that its connection is closed, or this would not end
                continue
            except BaseException:
                self._subscribed = False
                raise
            gap = self._link.decode(m.SUBSCRIBE.name, raw, t.SubscribeResult)
            if self.log_id is not None and gap.log_id != self.log_id:
                self.seq = 0
            self.log_id = gap.log_id
            if self.seq is None:
                self.seq = gap.to_seq
            self._replayed_up_to = gap.to_seq
            self._read_up_to = gap.to_seq if gap.mode == "snapshot" else 0

    async def aclose(self) -> None:
        """End the subscription. Other subscriptions of this client to the same session continue.

        Raises:
            RpcError: The daemon refused the request.
        """
        if self._closed:
            return
        self._closed = True
        self._wake.set()
        self._link.observers.discard(self)
        if self._subscribed and self._link.is_connected and not self._has_sibling():
            params = t.UnsubscribeParams(session_id=self.session_id)
            try:
                await self._link.request_connected(m.UNSUBSCRIBE.name, params)
            except DisconnectedError:
                return  # the subscription ended with the connection

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def notified(self, method: str, note: NotificationParams) -> None:
        """Receive a notification of the connection (called by `DaemonLink`)."""
        if isinstance(note, AppendedBatch) and note.session_id == self.session_id and self._subscribed:
            self._inbox.append(note)
            if len(self._inbox) > MAX_BUFFERED:
                self._mark_unsubscribed()
        elif isinstance(note, t.LaggedNote) and note.session_id == self.session_id:
            self._mark_unsubscribed()
        self._wake.set()

    def disconnected(self) -> None:
        """Handle the end of the connection (called by `DaemonLink`)."""
        self._mark_unsubscribed()
        self._wake.set()

    def _mark_unsubscribed(self) -> None:
        self._subscribed = False
        self._inbox.clear()

    async def _read_page(self) -> None:
        params = t.EntriesParams(session_id=self.session_id, after=self.position, limit=_PAGE)
        try:
            raw = await self._link.request_connected(m.ENTRIES.name, params)
        except DisconnectedError:
            await asyncio.sleep(0)  # the link calls `disconnected` when it notices the end, perhaps only now
            return
        except RpcError as error:
            if error.kind != "cursorExpired":
                raise
            self._mark_unsubscribed()  # the log was replaced meanwhile
            return
        page = self._link.decode(m.ENTRIES.name, raw, Entries)
        if not page.items:
            self.seq = self._read_up_to
        self._ready.extend((entry.seq, entry.entry) for entry in page.items)

    def _receive_batch(self, note: AppendedBatch) -> None:
        if not note.replay and note.to_seq <= self._replayed_up_to:
            return  # the replay contains this live entry too; here it would be out of order
        self.log_id = note.log_id
        known = self.seq or 0
        self._ready.extend((entry.seq, entry.entry) for entry in note.items if entry.seq > known)

    def _has_sibling(self) -> bool:
        return any(
            isinstance(other, Subscription) and other.session_id == self.session_id
            for other in self._link.observers
        )
