"""The sessions in which an SDK's items are stored: made on the first append, and read again.

The connection is made on demand, once for each event loop, and survives restarts of the daemon.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, TypeVar

from sessiond.adapters.items import Entry, without_shown
from sessiond.client.daemon import Daemon, connect
from sessiond.client.results import Entries
from sessiond.client.retries import retry_while_unavailable
from sessiond.client.wire import RpcError
from sessiond.paths import Locations
from sessiond.protocol import types as t

T = TypeVar("T")

_ABSENT: Final = ("sessionNotFound", "sessionTrashed")
_MAX_ENTRIES: Final = 500
"""The maximum number of entries of one request."""
_MAX_CHARS: Final = 2_000_000
"""The size of the items in one request, in characters, at which no further item is added."""
_entry_index = re.compile(r"\$\.entries\[([0-9]+)\]").match


@dataclass(frozen=True, slots=True)
class SdkSession:
    """A session for items.

    Attributes:
        id: Its id.
        cwd: Its folder if it has to be made.
        tags: Its tags if it has to be made.
        parent_id: The session that it belongs to, if that exists.
        first: Its first entries if it has to be made, before all items.
    """

    id: str
    cwd: str
    tags: tuple[str, ...]
    parent_id: str | None = None
    first: tuple[Entry, ...] = ()


class SdkSessions:
    """The sessions of one SDK in the daemon of this user.

    Args:
        program: The name of this client in `sessiond clients`.
        custom_type: The type of custom entries for items that are not shown.
        locations: The folders of the daemon. Default: those of this user.
    """

    def __init__(self, program: str, custom_type: str, locations: Locations | None = None) -> None:
        self._program = program
        self._custom_type = custom_type
        self._locations = locations
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connecting = asyncio.Lock()
        self._connection: AbstractAsyncContextManager[Daemon] | None = None
        self._daemon: Daemon | None = None

    async def request(self, send: Callable[[Daemon], Awaitable[T]]) -> T:
        """Return the result of a request, which is sent again while the daemon is away.

        Args:
            send: Sends the request. A repetition of it must have no further effect.

        Raises:
            RpcError: The daemon refused the request.
            DaemonConnectionError: There is no daemon, and it cannot be started.
        """
        daemon = await self._connected()
        return await retry_while_unavailable(lambda: send(daemon))

    async def aclose(self) -> None:
        """End the connection. The next request makes another one."""
        connection, self._connection, self._daemon = self._connection, None, None
        if connection is not None and self._loop is asyncio.get_running_loop():
            await connection.__aexit__(None, None, None)

    async def append(self, session: SdkSession, items: Sequence[list[Entry]]) -> None:
        """Append items, each given as its entries, to a session, which is made if it does not exist.

        An item whose id the session already has is left out. If the daemon refuses what is shown of an item, the item
        is stored without that.

        Raises:
            RpcError: The daemon refused an item.
        """
        for portion in _portions(items):
            await self._append_portion(session, portion)

    async def entries(self, session_id: str) -> AsyncIterator[Entry]:
        """Yield the entries of a session in the order of its log; nothing if it does not exist or is in the trash."""

        def page(cursor: str | None) -> Callable[[Daemon], Awaitable[Entries]]:
            return lambda daemon: daemon.entries(session_id, cursor=cursor, limit=10_000, resolve_blobs=True)

        async for entry in self._pages(page):
            yield entry

    async def path(self, session_id: str) -> list[Entry]:
        """Return the entries from the root to the leaf of a session; empty if it does not exist or is in the trash."""

        def page(cursor: str | None) -> Callable[[Daemon], Awaitable[Entries]]:
            return lambda daemon: daemon.path(session_id, cursor=cursor, resolve_blobs=True)

        return [entry async for entry in self._pages(page)]

    async def listed(self, tag: str) -> list[t.ListedSession]:
        """Return the rows of all sessions with a tag, draft sessions included."""
        found: list[t.ListedSession] = []
        cursor: str | None = None
        while True:
            place = cursor
            page = await self.request(
                lambda daemon, place=place: daemon.list_sessions(  # type: ignore[misc]
                    tags=[tag], include_drafts=True, limit=1_000, cursor=place
                )
            )
            found += page.sessions
            cursor = page.next_cursor
            if cursor is None:
                return found

    async def delete(self, session_id: str) -> None:
        """Move a session to the trash, if it exists."""
        try:
            await self.request(lambda daemon: daemon.delete(session_id))
        except RpcError as error:
            if error.kind not in _ABSENT:
                raise

    # --- details

    async def _connected(self) -> Daemon:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # a connection belongs to the loop that made it
            self._loop, self._daemon, self._connection, self._connecting = loop, None, None, asyncio.Lock()
        async with self._connecting:
            if self._daemon is None:
                self._connection = connect(locations=self._locations, name=self._program)
                self._daemon = await self._connection.__aenter__()
            return self._daemon

    async def _append_portion(self, session: SdkSession, items: list[list[Entry]]) -> None:
        while items:
            flat = [entry for entries in items for entry in entries]
            try:
                await self._append_or_create(session, flat)
            except RpcError as error:
                refused = _refused(error, items)
                if refused is None:
                    raise
                less = without_shown(items[refused], custom_type=self._custom_type)
                if error.kind == "idReused":
                    del items[refused]
                elif less == items[refused]:
                    raise
                else:
                    items[refused] = less
            else:
                return

    async def _append_or_create(self, session: SdkSession, entries: list[Entry]) -> None:
        try:
            await self.request(lambda daemon: daemon.append(session.id, entries))
        except RpcError as error:
            if error.kind not in _ABSENT:
                raise
            await self._create(session, session.parent_id)
            await self.request(lambda daemon: daemon.append(session.id, [*session.first, *entries]))

    async def _create(self, session: SdkSession, parent_id: str | None) -> None:
        try:
            await self.request(
                lambda daemon: daemon.create(
                    session.cwd, id=session.id, tags=session.tags, parent_session_id=parent_id
                )
            )
        except RpcError as error:
            if error.kind in _ABSENT and parent_id is not None:
                await self._create(session, None)
            elif error.kind != "alreadyExists":  # another process made it at the same time
                raise

    async def _pages(
        self, page: Callable[[str | None], Callable[[Daemon], Awaitable[Entries]]]
    ) -> AsyncIterator[Entry]:
        cursor: str | None = None
        while True:
            try:
                found = await self.request(page(cursor))
            except RpcError as error:
                if error.kind in _ABSENT:
                    return
                raise
            for entry in found.entries:
                yield entry
            cursor = found.next_cursor
            if cursor is None:
                return


def _portions(items: Sequence[list[Entry]]) -> Iterator[list[list[Entry]]]:
    """Yield the items in portions that one request can have."""
    portion: list[list[Entry]] = []
    count = size = 0
    for entries in items:
        portion.append(entries)
        count += len(entries)
        size += sum(len(str(entry)) for entry in entries)
        if count >= _MAX_ENTRIES or size >= _MAX_CHARS:
            yield portion
            portion, count, size = [], 0, 0
    if portion:
        yield portion


def _refused(error: RpcError, items: Sequence[list[Entry]]) -> int | None:
    """Return the index of the item that caused the refusal of an append, or None."""
    if error.kind == "idReused":
        entry_id = error.details.get("entryId")
        return next(
            (at for at, item in enumerate(items) if any(entry["id"] == entry_id for entry in item)), None
        )
    found = _entry_index(str(error.details.get("path"))) if error.kind == "invalidEntry" else None
    if found is None:
        return None
    place, at = int(found[1]), 0
    for index, entries in enumerate(items):
        at += len(entries)
        if place < at:
            return index
    return None
