"""The index of all sessions, as the rest of the hub asks it. Everything but the asking is done on one thread.

It is never the truth: an answer is given after a look at the files, open sessions answer for themselves, and a
file of the index that is damaged, deleted or of another version is made anew, with the same answers.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from sessiond.hub import catalogue
from sessiond.hub.errors import Draining
from sessiond.hub.index.handed import Open, fed_from, views
from sessiond.hub.loaded import LoadedSession
from sessiond.protocol import types as t
from sessiond.session import steps
from sessiond.store.base import LogReplaced, StorageFailed, Store

if TYPE_CHECKING:
    from sessiond.hub.index.listing import Near
    from sessiond.hub.index.worker import Worker

log = logging.getLogger(__name__)
T = TypeVar("T")

START_SECONDS: Final = 1.0
"""How long a new daemon is left alone before its index is brought up to date in the background."""
QUIET_SECONDS: Final = 10.0
GATHER_SECONDS: Final = 0.2
"""How long the background waits for more after it heard of a change."""
WAIT_SECONDS: Final = 2.0
"""How long a search waits for texts that are not in the index yet."""
_PAUSE: Final = 1.0
"""The background rests for so many times as long as it worked, and gives way to every question."""
_LONG_PAUSE: Final = 19.0
"""The same while the loop is busy: what the thread computes, the loop must wait for (there is one lock)."""
_BUSY: Final = 0.25
"""Part of the time from which on the loop counts as busy."""


class Index:
    """The index of a store. `path` None: it lasts as long as this object.

    `open_now` answers for the sessions that are open here, those that live in memory only left out.
    """

    def __init__(self, store: Store, path: str | None, open_now: Callable[[], Open]) -> None:
        self._store = store
        self._path = path
        self._open_now = open_now
        self._worker: Worker | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sessiond-index")
        self._hints: set[str] = set()
        self._poked = asyncio.Event()
        self._closed = False

    async def page(self, params: t.ListParams) -> t.ListResult:
        """A page of the list. Raises `CursorExpired`, `StorageFailed`."""
        return await self._fresh(lambda it, hints, live: it.page(params, hints, live))

    async def everything(self, *, cwd: str | None = None) -> list[t.ListedSession]:
        """All sessions on disk, drafts included, or those of one folder. Raises `StorageFailed`."""
        return await self._fresh(lambda it, hints, live: it.everything(cwd, hints, live))

    async def near(self, beginning: str, *, shortest: int) -> "Near":
        """Which sessions on disk an id may mean. Raises `StorageFailed`."""
        return await self._fresh(lambda it, hints, live: it.near(beginning, shortest, hints, live))

    async def beginning(self, query: str, *, shortest: int, most: int) -> list[t.ListedSession]:
        """Up to `most` sessions on disk whose id begins so. Raises `StorageFailed`."""
        return await self._fresh(lambda it, hints, live: it.beginning(query, shortest, most, hints, live))

    async def search(self, params: t.SearchParams, ref: str | None) -> t.SearchResult:
        """A page of hits; `ref` is where the session lies that `sessionId` names.

        Raises `InvalidRequest`, `CursorExpired`, `StorageFailed`.
        """
        while True:  # an index that turns out to be damaged is empty at first
            made = await self._catch_up(time.monotonic() + WAIT_SECONDS)
            open_now = self._open_now()
            live = views(open_now, params.label)
            found, waiting = await self._run(lambda it, live=live: it.search(params, ref, live))  # type: ignore[misc]
            if await self._run(lambda it: it.made) == made:
                break
        paths: dict[str, frozenset[int]] = {}
        hits: list[t.Hit] = []
        for place, hit in zip(found.refs, found.hits, strict=True):
            if place not in open_now:
                hits.append(hit)
                continue
            tree = open_now[place][0].tree
            if hit.seq < tree.committed:
                if place not in paths:
                    walk = open_now[place][0].drive(steps.path(tree, tree.leaf))
                    paths[place] = frozenset(await walk)
                on_path = not hit.seq or hit.seq in paths[place]
                hits.append(msgspec.structs.replace(hit, on_path=on_path))
        return t.SearchResult(hits=hits, next_cursor=found.next_cursor, unsearched=waiting)

    def changed(self, places: Collection[str]) -> None:
        """Somebody saw these files change: look at them soon."""
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
                await asyncio.sleep(GATHER_SECONDS)

    async def close(self) -> None:
        """Finish what is under way. Nothing may be asked any more."""
        if not self._closed:
            self._closed = True
            if self._worker is not None:
                await asyncio.get_running_loop().run_in_executor(self._thread, self._worker.close)
            self._thread.shutdown(wait=False)

    async def _fresh(
        self, ask: "Callable[[Worker, Collection[str], dict[str, t.ListedSession]], T]"
    ) -> T:  # fmt: skip
        """Ask what looks at the files first, given what lists show of the open sessions."""
        while True:
            open_now = self._open_now()
            live = _standing(open_now)
            hints, self._hints = self._hints, set()
            answer = await self._run(lambda it, hints=hints, live=live: ask(it, hints, live))  # type: ignore[misc]
            if all(
                it.log.ref == ref for ref, (it, _) in open_now.items()
            ):  # else one was there twice, or not
                return answer

    async def _bring_up(self) -> None:
        await self._look()
        await self._feed(None)
        while True:
            work = _Work()
            if not await self._step():
                return
            await work.rest()

    async def _catch_up(self, until: float) -> int:
        """The same, with a limit; answers how often the index was made."""
        await self._look()
        made = await self._run(lambda it: it.made)
        await self._feed(until)
        while await self._step() and time.monotonic() < until:
            pass
        return made

    async def _look(self) -> None:
        hints, self._hints = self._hints, set()
        open_refs = set(self._open_now())
        await self._run(lambda it: it.look(hints, open_refs))

    async def _step(self) -> bool:
        open_refs = set(self._open_now())
        return await self._run(lambda it: it.step(open_refs))

    async def _feed(self, until: float | None) -> None:
        """Hand in what was committed to open sessions since the last time."""
        open_now = self._open_now()
        rows = await self._run(lambda it: it.rows(open_now.keys()))
        for ref, (live, _) in open_now.items():
            try:
                await self._feed_one(ref, live, rows[ref], until)
            except (StorageFailed, LogReplaced) as error:
                if ref not in self._open_now():
                    continue  # it was closed meanwhile: the next look finds its file
                log.warning("session %s cannot be read for the index: %s", live.log.session_id, error)

    async def _feed_one(self, ref: str, live: LoadedSession, rows: int | None, until: float | None) -> None:
        while rows is not None and rows != live.tree.committed:
            if live.log.ref != ref or (until is not None and time.monotonic() > until):
                return
            work = _Work()
            fed = fed_from(live, min(rows, live.tree.committed))
            before, rows = rows, await self._run(lambda it, fed=fed: it.feed(ref, fed))  # type: ignore[misc]
            if rows == before:
                return
            if until is None:
                await work.rest()
        if rows is not None:
            await self._run(lambda it: it.fed(ref))

    async def _run(self, work: "Callable[[Worker], T]") -> T:
        if self._closed:
            raise Draining
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._do, work)

    def _do(self, work: "Callable[[Worker], T]") -> T:
        """On the thread. What it needs is loaded there too, so that a daemon is ready before."""
        if self._worker is None:
            from sessiond.hub.index.worker import Worker

            self._worker = Worker(self._store, self._path)
        return work(self._worker)


def _standing(open_now: Open) -> dict[str, t.ListedSession]:
    """What lists show of the open sessions; any that cannot be read in memory is left to what its file says."""
    found: dict[str, t.ListedSession] = {}
    for ref, (live, session) in open_now.items():
        try:
            found[ref] = catalogue.standing_of(session, live.tree, live.read_rows)
        except (StorageFailed, LogReplaced):
            pass
        except Exception:
            log.exception("open session %s cannot be listed from memory", live.log.session_id)
    return found


class _Work:
    """A piece of work of the background, from now on."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._loop_began = time.thread_time()

    async def rest(self) -> None:
        """Leave the machine to others, for long while the loop has much to do."""
        worked = time.monotonic() - self._began
        busy = time.thread_time() - self._loop_began > worked * _BUSY
        await asyncio.sleep(worked * (_LONG_PAUSE if busy else _PAUSE))
