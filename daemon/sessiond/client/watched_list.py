"""A list of sessions that stays current: first the whole list, then its changes, even if the connection is lost."""

import asyncio
from dataclasses import dataclass
from typing import Self

import msgspec

from sessiond.client.link import DaemonLink
from sessiond.client.receiver import NotificationParams
from sessiond.client.wire import DisconnectedError
from sessiond.protocol import methods as m, types as t

_PAGE = 500


@dataclass(frozen=True, slots=True)
class ListChange:
    """A change of a list.

    Attributes:
        sessions: The rows that changed, or all rows.
        removed: Ids of sessions that are not in the list any more. It may name sessions that were never there.
        is_whole: Whether `sessions` is the whole list. It replaces all earlier rows.
    """

    sessions: list[t.ListedSession]
    removed: list[str]
    is_whole: bool


class WatchedList:
    """The changes of a list of sessions, as an endless asynchronous iterator.

    The first item is the whole list. If the reader is slow, changes are combined: the memory depends on the number of
    sessions only. After a lost connection, the iterator waits for the daemon. The next item has the rows that
    changed meanwhile, or is the whole list again. The iterator ends when it or its `Daemon` is closed.
    """

    def __init__(self, link: DaemonLink, list_filter: t.ListFilter, interval_ms: int) -> None:
        self._link = link
        self._filter = list_filter
        self._interval_ms = interval_ms
        self._watch_id: str | None = None
        self._position: t.ListPosition | None = None
        self._is_read = False
        """Whether the reader has received the whole list as of `_position`."""
        self._early_notes: list[t.SessionsChangedNote] = []
        """Notifications that arrived before the id of the watch was known."""
        self._changed: dict[str, list[t.ListedSession]] = {}
        self._removed: dict[str, None] = {}
        self._closed = False
        self._wake = asyncio.Event()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ListChange:
        while not self._closed and not self._link.is_closed:
            self._wake.clear()
            if self._changed or self._removed:
                return self._combined_changes()
            if self._watch_id is None:
                whole = await self._watch()
                if whole is not None:
                    return whole
            else:
                await self._wake.wait()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """End the iterator.

        Raises:
            RpcError: The daemon refused the request.
        """
        self._closed = True
        self._wake.set()
        self._link.observers.discard(self)
        watch_id, self._watch_id = self._watch_id, None
        if watch_id is not None and self._link.is_connected:
            try:
                await self._link.request_connected(m.UNWATCH.name, t.UnwatchParams(watch_id=watch_id))
            except DisconnectedError:
                return  # the watch ended with the connection

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def notified(self, method: str, note: NotificationParams) -> None:
        """Receive a notification of the connection (called by `DaemonLink`)."""
        if isinstance(note, t.SessionsChangedNote):
            if self._watch_id is None:
                self._early_notes.append(note)
            else:
                self._apply(note)
        elif isinstance(note, t.WatchLapsedNote) and note.watch_id == self._watch_id:
            self._watch_id = None
        self._wake.set()

    def disconnected(self) -> None:
        """Handle the end of the connection (called by `DaemonLink`)."""
        self._watch_id = None
        self._wake.set()

    async def _watch(self) -> ListChange | None:
        """Watch after the known position. If that cannot be continued, read and return the whole list."""
        self._link.observers.add(self)
        after = self._position if self._is_read else None
        params = t.WatchParams(filter=self._filter, after=after, interval_ms=self._interval_ms)
        try:
            await self._link.wait_connected()
            result = await self._link.request_connected(m.WATCH.name, params)
            begun = self._link.decode(m.WATCH.name, result, t.WatchResult)
            if begun.mode == "snapshot":
                self._is_read = False
                self._changed, self._removed = {}, {}
                self._position = t.ListPosition(epoch=begun.epoch, position=begun.position)
            self._watch_id = begun.watch_id
            for note in self._early_notes:
                self._apply(note)
            rows = [] if self._is_read else await self._read()
        except DisconnectedError:
            return None
        finally:
            self._early_notes.clear()
        if self._is_read or self._watch_id != begun.watch_id:
            return None  # nothing to read, or the watch lapsed meanwhile
        self._is_read = True
        return ListChange(rows, [], is_whole=True)

    async def _read(self) -> list[t.ListedSession]:
        rows: dict[str, t.ListedSession] = {}
        cursor: str | None = None
        while True:
            params = t.ListParams(**msgspec.structs.asdict(self._filter), limit=_PAGE, cursor=cursor)
            result = await self._link.request_connected(m.LIST.name, params)
            page = self._link.decode(m.LIST.name, result, t.ListResult)
            rows |= {row.path or row.session_id: row for row in page.sessions}
            cursor = page.next_cursor
            if cursor is None:
                return list(rows.values())

    def _apply(self, note: t.SessionsChangedNote) -> None:
        if note.watch_id != self._watch_id:
            return
        self._position = t.ListPosition(epoch=note.epoch, position=note.position)
        for session_id in (*note.removed, *(row.session_id for row in note.changed)):
            self._changed.pop(session_id, None)
            self._removed.pop(session_id, None)
        self._removed |= dict.fromkeys(note.removed)
        for row in note.changed:
            self._changed.setdefault(row.session_id, []).append(row)

    def _combined_changes(self) -> ListChange:
        """Return the combined changes since the last item."""
        sessions = [row for rows in self._changed.values() for row in rows]
        change = ListChange(sessions, list(self._removed), is_whole=False)
        self._changed, self._removed = {}, {}
        return change
