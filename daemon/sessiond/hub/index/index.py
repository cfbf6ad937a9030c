"""The index of all sessions, as the rest of the hub asks it. Everything but the asking is done on one thread.

It is never the truth: an answer is given after a look at the files, open sessions answer for themselves, and a
file of the index that is damaged, deleted or of another version is made again, with the same answers (decision 0027).
"""

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from sessiond.hub.errors import Draining
from sessiond.hub.index.handed import fed_from
from sessiond.hub.index.tracker import OpenChanges, OpenTracker
from sessiond.hub.session.readable import LoadedSession
from sessiond.protocol import types as t
from sessiond.session.tree import steps
from sessiond.session.tree.tree import Tree
from sessiond.store.base import Store
from sessiond.store.errors import LogReplaced, StorageFailed

if TYPE_CHECKING:
    from sessiond.hub.index.listing import Near
    from sessiond.hub.index.worker import Worker
    from sessiond.hub.session.live import LiveSession

log = logging.getLogger(__name__)
T = TypeVar("T")

START_SECONDS: Final = 1.0
"""How long a new daemon is left alone before its index is brought up to date in the background."""
QUIET_SECONDS: Final = 10.0
GATHER_SECONDS: Final = 0.2
"""How long the background waits for more after it heard of a change."""
WAIT_SECONDS: Final = 2.0
"""How long a search waits for texts that are not in the index yet."""
_TRIES: Final = 3
"""How often a question is asked while sessions change at that very moment."""
_PAUSE: Final = 1.0
"""The background rests for so many times as long as it worked, and gives way to every question."""
_LONG_PAUSE: Final = 19.0
"""The same while the loop is busy: what the thread computes, the loop must wait for (there is one lock)."""
_BUSY: Final = 0.25
"""Part of the time from which on the loop counts as busy."""


class Index:
    """The index of a store. `path` None: it lasts as long as this object.

    `open_sessions` are those that are open here and may be other than in their files. `describe` says what the wire
    says of one.
    """

    def __init__(
        self,
        store: Store,
        path: str | None,
        open_sessions: "Callable[[], Iterable[LiveSession]]",
        describe: "Callable[[LiveSession], t.SessionInfo]",
    ) -> None:
        self._store = store
        self._path = path
        self._tracker = OpenTracker(open_sessions, describe, store.lists)
        self._telling = asyncio.Lock()  # what has changed is told in the order in which it was noted
        self._news: deque[tuple[OpenChanges, set[str]]] = deque()
        """What the thread is to be told before the next question: changes of open sessions, and hints."""
        self._fed: dict[LiveSession, tuple[Tree, int]] = {}
        self._fed_made = 0
        self._worker: Worker | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sessiond-index")
        self._hints: set[str] = set()
        self._poked = asyncio.Event()
        self._closed = False

    async def page(self, params: t.ListParams) -> t.ListResult:
        """A page of the list. Raises `CursorExpired`, `StorageFailed`."""
        return await self._fresh(lambda it: it.page(params))

    async def everything(self, *, cwd: str | None = None) -> list[t.ListedSession]:
        """All sessions on disk, drafts included, or those of one folder. Raises `StorageFailed`."""
        return await self._fresh(lambda it: it.everything(cwd))

    async def near(self, beginning: str, *, shortest: int) -> "Near":
        """Which sessions on disk an id may mean. Raises `StorageFailed`."""
        return await self._fresh(lambda it: it.near(beginning, shortest))

    async def beginning(self, query: str, *, shortest: int, most: int) -> list[t.ListedSession]:
        """Up to `most` sessions on disk whose id begins so. Raises `StorageFailed`."""
        return await self._fresh(lambda it: it.beginning(query, shortest, most))

    async def search(self, params: t.SearchParams, ref: str | None) -> t.SearchResult:
        """A page of hits; `ref` is where the session lies that `sessionId` names.

        Raises `IncompatibleParams`, `CursorExpired`, `StorageFailed`.
        """
        while True:  # an index that turns out to be damaged is empty at first
            made = await self._catch_up(time.monotonic() + WAIT_SECONDS)
            open_now = self._tracker.told()
            found, waiting = await self._run(lambda it: it.search(params, ref))
            if await self._run(lambda it: it.made) == made:
                break
        paths: dict[str, frozenset[int]] = {}
        hits: list[t.Hit] = []
        for place, hit in zip(found.refs, found.hits, strict=True):
            if place not in open_now:
                hits.append(hit)
                continue
            tree = open_now[place].tree
            if hit.seq < tree.committed:
                if place not in paths:
                    walk = open_now[place].drive(steps.path(tree, tree.leaf))
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

    async def _fresh(self, ask: "Callable[[Worker], T]") -> T:
        """Ask what looks at the files first, and have it told what has changed in open sessions."""
        for _ in range(_TRIES):
            answer = await self._told(ask)
            if (
                self._tracker.holds()
            ):  # else one was there twice, or not, or with lines that nobody may see yet
                break
        return answer

    async def _told(self, ask: "Callable[[Worker], T]") -> T:
        """Ask behind all that is new.

        The news wait for the thread apart from the question: if the question is given up before the thread comes
        to it, the thread hears the news with the next one.
        """

        def listen_and_answer(worker: "Worker") -> T:
            while self._news:
                worker.tell(*self._news.popleft())
            return ask(worker)

        async with self._telling:
            changes = await self._tracker.changes()
            self._news.append((changes, self._hints))
            self._hints = set()
            answer = self._begin(listen_and_answer)
        return await answer

    async def _bring_up(self) -> None:
        await self._feed(await self._look(), None)
        while True:
            work = _Work()
            if not await self._step():
                return
            await work.rest()

    async def _catch_up(self, until: float) -> int:
        """The same, with a limit; answers how often the index was made."""
        made = await self._look()
        await self._feed(made, until)
        while await self._step() and time.monotonic() < until:
            pass
        return made

    async def _look(self) -> int:
        return await self._told(lambda it: it.look())

    async def _step(self) -> bool:
        return await self._told(lambda it: it.step())

    async def _feed(self, made: int, until: float | None) -> None:
        """Hand in what was committed to open sessions since the last time."""
        told = self._tracker.told()
        before = self._fed if made == self._fed_made else {}
        self._fed_made = made
        self._fed = {live: before[live] for live in told.values() if live in before}
        behind = {ref: live for ref, live in told.items() if self._fed.get(live) != _extent(live)}
        if not behind:
            return
        rows = await self._run(lambda it: it.rows(behind.keys()))
        fed: dict[str, tuple[LiveSession, tuple[Tree, int]]] = {}
        for ref, live in behind.items():
            try:
                extent = await self._feed_one(ref, live, rows[ref], until)
                if extent is not None:
                    fed[ref] = live, extent
            except (StorageFailed, LogReplaced) as error:
                if live not in self._tracker.open_sessions():
                    continue  # it was closed meanwhile: the next look finds its file
                log.warning("session %s cannot be read for the index: %s", live.log.session_id, error)
        if fed:
            await self._run(lambda it: it.fed(fed.keys()))
            self._fed |= dict(fed.values())

    async def _feed_one(
        self, ref: str, live: LoadedSession, rows: int | None, until: float | None
    ) -> tuple[Tree, int] | None:
        """Hand in all of a session; how far it went, None when the index does not have all of that."""
        while rows is not None and rows != live.tree.committed:
            if live.log.ref != ref or (until is not None and time.monotonic() > until):
                return None
            work = _Work()
            fed = fed_from(live, min(rows, live.tree.committed))
            before, rows = rows, await self._run(lambda it, fed=fed: it.feed(ref, fed))  # type: ignore[misc]
            if rows == before:
                return None
            if until is None:
                await work.rest()
        return None if rows is None else _extent(live)

    async def _run(self, work: "Callable[[Worker], T]") -> T:
        return await self._begin(work)

    def _begin(self, work: "Callable[[Worker], T]") -> "asyncio.Future[T]":
        if self._closed:
            raise Draining
        return asyncio.get_running_loop().run_in_executor(self._thread, self._do, work)

    def _do(self, work: "Callable[[Worker], T]") -> T:
        """On the thread. What it needs is loaded there too, so that a daemon is ready before."""
        if self._worker is None:
            from sessiond.hub.index.worker import Worker

            self._worker = Worker(self._store, self._path)
        return work(self._worker)


def _extent(live: LoadedSession) -> tuple[Tree, int]:
    """How far a session goes: a tree that was made again begins anew."""
    return live.tree, live.tree.committed


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
