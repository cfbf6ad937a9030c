"""The index of all sessions, as the rest of the hub asks it. Everything but the asking is done on one thread.

It is never the truth: an answer is given after a look at the files, open sessions answer for themselves, and a
file of the index that is damaged, deleted or of another version is made anew, with the same answers.
"""

import asyncio
import contextlib
import functools
import logging
import sqlite3
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeAlias, TypeVar

import msgspec

from sessiond.hub import catalogue
from sessiond.hub.errors import Draining
from sessiond.hub.index import listing, searching
from sessiond.hub.index.database import Database
from sessiond.hub.index.facts import TAIL
from sessiond.hub.index.files import Files
from sessiond.hub.index.fill import Fed, Filler, title_of
from sessiond.hub.loaded import LoadedSession
from sessiond.protocol import types as t
from sessiond.session import steps
from sessiond.store.base import StorageFailed, Store

log = logging.getLogger(__name__)
T = TypeVar("T")

START_SECONDS: Final = 1.0
"""How long a new daemon is left alone before its index is brought up to date in the background."""
QUIET_SECONDS: Final = 10.0
WAIT_SECONDS: Final = 2.0
"""How long a search waits for texts that are not in the index yet."""
_FEED_BYTES: Final = 256 * 1024
_PAUSE: Final = 1.0
"""The background rests for so many times as long as it worked, and gives way to every question."""


Open: TypeAlias = Mapping[str, tuple[LoadedSession, t.SessionInfo]]
"""Open sessions by ref, and what the wire says of each."""


class Index:
    """The index of a store. `path` None: it lasts as long as this object.

    `open_now` answers for the sessions that are open here, those that live in memory only left out.
    """

    def __init__(self, store: Store, path: str | None, open_now: Callable[[], Open]) -> None:
        self._open_now = open_now
        self._database = Database(path)
        self._files = Files(store, self._database)
        self._filler = Filler(store, self._database, self._files)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sessiond-index")
        self._hints: set[str] = set()
        self._poked = asyncio.Event()
        self._closed = False
        self._made = 0
        """How often the file was opened or made anew."""

    async def page(self, params: t.ListParams) -> t.ListResult:
        """A page of the list. Raises `CursorExpired`, `StorageFailed`."""
        return await self._fresh(lambda live: listing.page(self._database.connection, params, live))

    async def everything(self, *, cwd: str | None = None) -> list[t.ListedSession]:
        """All sessions on disk, drafts included, or those of one folder. Raises `StorageFailed`."""
        return await self._fresh(lambda live: listing.everything(self._database.connection, live, cwd=cwd))

    async def near(self, beginning: str, *, shortest: int) -> listing.Near:
        """Which sessions on disk an id may mean. Raises `StorageFailed`."""
        return await self._fresh(
            lambda _: listing.near(self._database.connection, beginning, shortest=shortest)
        )  # fmt: skip

    async def search(self, params: t.SearchParams, ref: str | None) -> t.SearchResult:
        """A page of hits; `ref` is where the session lies that `sessionId` names.

        Raises `InvalidRequest`, `CursorExpired`, `StorageFailed`.
        """
        made = -1
        while made != self._made:  # an index that turns out to be damaged is empty at first
            await self._catch_up(time.monotonic() + WAIT_SECONDS)
            made = self._made
            open_now = self._open_now()
            found, waiting = await self._run(functools.partial(self._find, params, ref, open_now))
        paths: dict[str, frozenset[int]] = {}
        hits: list[t.Hit] = []
        for place, hit in zip(found.refs, found.hits, strict=True):
            live = open_now[place][0] if place in open_now else None
            if live is None:
                hits.append(hit)
            elif hit.seq < live.tree.committed:
                if place not in paths:
                    paths[place] = frozenset(await live.drive(steps.path(live.tree, live.tree.leaf)))
                on_path = not hit.seq or hit.seq in paths[place]
                hits.append(msgspec.structs.replace(hit, on_path=on_path))
        return t.SearchResult(hits=hits, next_cursor=found.next_cursor, unsearched=waiting)

    def changed(self, places: Collection[str]) -> None:
        """Somebody saw these files or folders change: look at them soon."""
        self._hints.update(places)
        self._poked.set()

    async def keep_up(self) -> None:
        """Bring the index up to date in the background, for ever."""
        await asyncio.sleep(START_SECONDS)
        with contextlib.suppress(Draining):
            while True:
                self._poked.clear()
                try:
                    await self._bring_up()
                except StorageFailed as error:
                    log.warning("the index cannot be brought up to date: %s", error)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(QUIET_SECONDS):
                        await self._poked.wait()

    async def close(self) -> None:
        """Finish what is under way. Nothing may be asked any more."""
        if not self._closed:
            self._closed = True
            await asyncio.get_running_loop().run_in_executor(self._thread, self._database.close)
            self._thread.shutdown(wait=False)

    # --- on the loop -----------------------------------------------------------------------------------

    async def _fresh(self, ask: Callable[[Mapping[str, t.ListedSession]], T]) -> T:
        """Look at the files, then ask, given what lists show of the open sessions."""
        while True:
            open_now = self._open_now()
            live = {
                ref: catalogue.standing_of(session, it.tree, it.read_rows)
                for ref, (it, session) in open_now.items()
            }
            hints, self._hints = self._hints, set()
            answer = await self._run(functools.partial(self._look_and_ask, hints, live, ask))
            if all(
                it.log.ref == ref for ref, (it, _) in open_now.items()
            ):  # else one was there twice, or not
                return answer

    async def _look(self) -> None:
        hints, self._hints = self._hints, set()
        open_refs = set(self._open_now())
        await self._run(lambda: self._refresh(hints, open_refs))

    async def _bring_up(self) -> None:
        await self._look()
        await self._feed(None)
        while True:
            began = time.monotonic()
            if not await self._step():
                return
            await asyncio.sleep((time.monotonic() - began) * _PAUSE)

    async def _catch_up(self, until: float) -> None:
        await self._look()
        await self._feed(until)
        while await self._step() and time.monotonic() < until:
            pass

    async def _step(self) -> bool:
        open_refs = set(self._open_now())
        return await self._run(lambda: self._filler.step(open_refs))

    async def _feed(self, until: float | None) -> None:
        """Hand in what was committed to open sessions since the last time."""
        open_now = self._open_now()
        rows = await self._run(lambda: {ref: self._filler.rows(ref) for ref in open_now})
        for ref, (live, _) in open_now.items():
            try:
                await self._feed_one(ref, live, rows[ref], until)
            except StorageFailed as error:
                log.warning("session %s cannot be read for the index: %s", live.log.session_id, error)

    async def _feed_one(self, ref: str, live: LoadedSession, rows: int | None, until: float | None) -> None:
        while rows is not None and rows != live.tree.committed:
            if live.log.ref != ref or (until is not None and time.monotonic() > until):
                return
            fed = _fed(live, min(rows, live.tree.committed))
            before, rows = rows, await self._run(functools.partial(self._filler.feed, ref, fed))
            if rows == before:
                return
        if rows is not None:
            await self._run(functools.partial(self._filler.fed, ref))

    async def _run(self, work: Callable[[], T]) -> T:
        if self._closed:
            raise Draining
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._do, work)

    # --- on the thread ---------------------------------------------------------------------------------

    def _do(self, work: Callable[[], T]) -> T:
        if not self._database.is_open:
            self._begin()
        elif not self._database.in_place():
            log.warning("the index was taken away; it is made anew")
            self._make_anew()
        try:
            return work()
        except sqlite3.Error as error:
            log.warning("the index is damaged; it is made anew: %s", error)
            self._make_anew()
            return work()

    def _begin(self) -> None:
        self._made += 1
        self._database.open()
        self._files.load()

    def _make_anew(self) -> None:
        self._filler.stop()
        self._database.throw_away()
        self._begin()

    def _look_and_ask(
        self,
        hints: Collection[str],
        live: Mapping[str, t.ListedSession],
        ask: Callable[[Mapping[str, t.ListedSession]], T],
    ) -> T:
        self._refresh(hints, live.keys())
        return ask(live)

    def _find(self, params: t.SearchParams, ref: str | None, open_now: Open) -> tuple[searching.Hits, int]:
        views = {place: _view(live, session, params.label) for place, (live, session) in open_now.items()}
        found = searching.search(self._database.connection, params, views, ref)
        return found, self._filler.waiting()

    def _refresh(self, hints: Collection[str], open_refs: Collection[str]) -> None:
        if self._files.refresh(hints, open_refs):
            self._filler.stop()


def _view(live: LoadedSession, session: t.SessionInfo, label: str | None) -> searching.LiveView:
    labelled = {name for name, mark in live.tree.labels.items() if label is not None and mark.text == label}
    return searching.LiveView(session, frozenset(labelled))


def _fed(live: LoadedSession, first: int) -> Fed:
    """The next committed entries of an open session."""
    tree = live.tree
    entries, seqs = live.page(max(first, 1), _FEED_BYTES)
    rows = seqs[-1] + 1 if seqs else tree.committed
    end = tree.span(rows - 1)[1]
    return Fed(
        first, list(zip(seqs, entries, strict=True)), rows, end, live.log.read(max(0, end - TAIL), end),
        None if first else title_of(tree),
    )  # fmt: skip
