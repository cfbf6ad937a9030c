"""One session as the rows of a page, which is updated from the daemon as entries arrive."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import msgspec

from sessiond.client.daemon import Daemon
from sessiond.protocol import types as t

Publish: TypeAlias = Callable[[Callable[[], dict[str, Any]]], None]
"""Makes a change while no reader reads the data, and sends the returned value to the readers (`LivePage.publish`)."""

_QUIET = 0.02
"""Seconds without an entry after which new entries are shown, so that a burst is shown together."""


class Followed:
    """A session whose rows a `LivePage` serves.

    `page` and the functions given to `publish` access the rows. They may be called from any thread, one at a time;
    `publish` guarantees that.
    """

    def __init__(self, publish: Publish) -> None:
        self._publish = publish
        self._session: t.PageSession | None = None
        self._rows: list[t.PageRow] = []
        self._places: dict[str, int] = {}
        self._marks: dict[
            str, tuple[int, t.PageMark]
        ] = {}  # the last mark of each row, and how many rows there were then
        self._position: t.After | None = None

    def page(self, known: int) -> dict[str, Any]:
        """Return the data for a page that already has `known` rows."""
        marks = [mark for rows, mark in self._marks.values() if rows >= known]
        return {"session": self._session, "first": known, "rows": self._rows[known:], "marks": marks}

    async def follow(self, daemon: Daemon, session_id: str, ready: Callable[[], None]) -> None:
        """Read every entry, without end. `ready` is called when the existing entries have been read.

        Raises `RpcError` when the session no longer exists, or has another log.
        """
        come = asyncio.Event()
        # The subscription begins before the first read, so that no entry is missed between the two.
        async with daemon.subscribe(session_id) as entries:
            listening = asyncio.create_task(_wake_on_entry(entries, come))
            try:
                await self._catch_up(daemon, session_id)
                ready()
                while not listening.done():
                    await come.wait()
                    await asyncio.sleep(_QUIET)
                    come.clear()
                    await self._catch_up(daemon, session_id)
                await listening
            finally:
                listening.cancel()

    async def _catch_up(self, daemon: Daemon, session_id: str) -> None:
        """Read all available parts."""
        while True:
            part = await daemon.view_page(session_id, after=self._position)
            await asyncio.to_thread(self._publish, partial(self._take, part))
            if part.to_seq >= part.last_seq:
                return

    def _take(self, part: t.ViewPageResult) -> dict[str, Any]:
        """Add a part to the rows, and return the update for the readers."""
        first = len(self._rows)
        for place, row in enumerate(part.rows, first):
            self._places.setdefault(row.id, place)
        self._rows += part.rows
        for mark in part.marks:
            place = self._places[mark.id]
            self._rows[place] = msgspec.structs.replace(
                self._rows[place], label=mark.label, filter_mask=mark.filter_mask
            )
            self._marks[mark.id] = first, mark
        self._session, self._position = part.session, t.After(log_id=part.log_id, seq=part.to_seq)
        return {"session": part.session, "first": first, "rows": part.rows, "marks": part.marks}


async def _wake_on_entry(entries: Any, come: asyncio.Event) -> None:
    try:
        async for _ in entries:
            come.set()
    finally:
        come.set()
