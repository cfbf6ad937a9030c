"""A list of sessions as a client keeps it: read once, and then changed by the daemon's notifications."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from support.daemons import Peer
from support.patience import BOUND

Row = dict[str, Any]


@dataclass
class WatchedList:
    """The rows of one watch of a client, by session id."""

    peer: Peer
    filter: dict[str, Any]
    watch_id: str = ""
    position: dict[str, Any] = field(default_factory=dict)
    rows: dict[str, list[Row]] = field(default_factory=dict)
    _taken: int = 0

    async def read(self) -> None:
        """Read the whole list."""
        self.rows, cursor = {}, None
        while True:
            page = await self.peer.call("session/list", **self.filter, limit=3, cursor=cursor)
            if cursor is None:
                self.position = {"epoch": page["epoch"], "position": page["position"]}
            for row in page["sessions"]:
                self.rows[row["sessionId"]] = [row]
            cursor = page["nextCursor"]
            if cursor is None:
                return

    async def watch(self, **params: Any) -> dict[str, Any]:
        """Watch after the position that is known. Returns the response."""
        after = self.position or None
        begun: dict[str, Any] = await self.peer.call(
            "server/watch", filter=self.filter, after=after, **params
        )
        self.watch_id = begun["watchId"]
        self._taken = 0
        if begun["mode"] == "snapshot":
            await self.read()
        return begun

    def take(self) -> list[dict[str, Any]]:
        """Apply the notifications that have come since the last call, and return them."""
        return [self._apply(note) for note in self._notes()[self._taken :]]

    def _notes(self) -> list[dict[str, Any]]:
        return [item for item in self.peer.told("server/sessionsChanged") if item["watchId"] == self.watch_id]

    def _apply(self, note: dict[str, Any]) -> dict[str, Any]:
        assert note["epoch"] == self.position["epoch"]
        assert note["position"] > self.position["position"]
        self._taken += 1
        self.position = {"epoch": note["epoch"], "position": note["position"]}
        for session_id in (*note["removed"], *(row["sessionId"] for row in note["changed"])):
            self.rows.pop(session_id, None)
        for row in note["changed"]:
            self.rows.setdefault(row["sessionId"], []).append(row)
        return note

    async def until(self, enough: Callable[["WatchedList"], bool]) -> None:
        """Apply notifications until `enough` is true. Sends no request: the daemon has to send them without one."""

        def holds(_peer: Peer) -> bool:
            self.take()
            return enough(self)

        await self.peer.until(holds)

    async def until_current(self) -> None:
        """Wait until the rows are those that `session/list` returns now."""
        truth = WatchedList(self.peer, self.filter)
        for _ in range(round(BOUND)):
            await truth.read()  # read again, because the daemon may still be writing a title or moving a file
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1):
                    return await self.until(lambda watched: watched.rows == truth.rows)
        raise AssertionError(f"the rows stay\n{self.rows}\nthe list is\n{truth.rows}")

    async def next(self) -> dict[str, Any]:
        """Wait for the next notification, apply it and return it."""
        await self.peer.until(lambda _: len(self._notes()) > self._taken)
        return self._apply(self._notes()[self._taken])


async def watching(peer: Peer, *, interval: int = 20, **filter_: Any) -> WatchedList:
    """A list that a client has read and watches."""
    found = WatchedList(peer, filter_)
    await found.read()
    assert (await found.watch(intervalMs=interval))["mode"] == "replay"
    return found
