"""One session as the rows of a page, kept up to date from the daemon: what there is now, then what comes."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import msgspec

from sessiond.client.daemon import Daemon
from sessiond.protocol import types as t

Tell: TypeAlias = Callable[[Callable[[], dict[str, Any]]], None]
"""Makes a change while nobody looks, and says what it answers (`LivePage.tell`)."""

_QUIET = 0.02
"""Seconds without an entry after which what has come is shown: bursts are shown as one."""


class Followed:
    """A session, as `LivePage` wants it.

    `page` and what is given to `tell` look at the rows, and may be called from any thread, but one at a time: `tell`
    sees to that.
    """

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._session: t.PageSession | None = None
        self._rows: list[t.PageRow] = []
        self._places: dict[str, int] = {}
        self._marks: dict[
            str, tuple[int, t.PageMark]
        ] = {}  # the last of each row, and how many rows there were
        self._position: t.After | None = None

    def page(self, known: int) -> dict[str, Any]:
        """What a page is to be told that has so many rows already."""
        marks = [mark for rows, mark in self._marks.values() if rows >= known]
        return {"session": self._session, "first": known, "rows": self._rows[known:], "marks": marks}

    async def follow(self, daemon: Daemon, session_id: str, ready: Callable[[], None]) -> None:
        """Take in every entry, for ever; `ready` is called when those that were there are in.

        Raises `RpcError` when the session is gone, or has another log.
        """
        come = asyncio.Event()
        # From now on whatever is appended is heard of, so that nothing falls between the first rows and the next.
        async with daemon.subscribe(session_id) as entries:
            listening = asyncio.create_task(_told(entries, come))
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
        """Read all parts that there are."""
        while True:
            part = await daemon.page(session_id, after=self._position)
            await asyncio.to_thread(self._tell, partial(self._take, part))
            if part.through >= part.seq:
                return

    def _take(self, part: t.PageResult) -> dict[str, Any]:
        """Take in a part; the answer is what is new."""
        first = len(self._rows)
        for place, row in enumerate(part.rows, first):
            self._places.setdefault(row.id, place)
        self._rows += part.rows
        for mark in part.marks:
            place = self._places[mark.id]
            self._rows[place] = msgspec.structs.replace(self._rows[place], label=mark.label, shown=mark.shown)
            self._marks[mark.id] = first, mark
        self._session, self._position = part.session, t.After(log_id=part.log_id, seq=part.through)
        return {"session": part.session, "first": first, "rows": part.rows, "marks": part.marks}


async def _told(entries: Any, come: asyncio.Event) -> None:
    try:
        async for _ in entries:
            come.set()
    finally:
        come.set()
