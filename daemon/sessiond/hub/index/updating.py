"""Updates the index in the background and before searches: reads whole files, and indexes texts.

All work is done in small steps on the thread of the index, with pauses in between, so that the event loop is not held.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Collection
from typing import TYPE_CHECKING, Final

from sessiond.hub.errors import Draining
from sessiond.hub.index.committed_entries import CommittedEntries, next_entries
from sessiond.hub.index.index_thread import IndexThread
from sessiond.hub.index.tracker import OpenTracker
from sessiond.hub.session.log_reader import ReadableSession
from sessiond.protocol import types as t
from sessiond.session.tree.tree import Tree
from sessiond.store.errors import LogReplaced, StorageFailed

if TYPE_CHECKING:
    from sessiond.hub.session.live import LiveSession

log = logging.getLogger(__name__)

START_SECONDS: Final = 1.0
"""The delay after startup before the index is updated in the background."""
MAX_UPDATE_SECONDS: Final = 10.0
"""The maximum time between two background updates, if no change is reported or sessions grow all the time."""
GATHER_SECONDS: Final = 0.2
"""The time that the background update waits for further changes after a reported change."""
GROWTH_SECONDS: Final = 0.5
"""The background update begins when no session has grown for this time. A long one indexes open sessions this often."""
CHECK_SECONDS: Final = 1.0
"""The time after a check of the files from which on a reported change interrupts the indexing of a backlog."""
SMALL_BACKLOG_BYTES: Final = 64 * 1024
"""A search indexes a backlog of this size itself, which takes some milliseconds. It does not wait for a larger one."""
PAUSE_FACTOR: Final = 0.5
"""The background work pauses for this multiple of the time that it worked."""
BUSY_PAUSE_FACTOR: Final = 19.0
"""The multiple while the event loop or an import is busy, because both need the interpreter lock."""
_BUSY_FRACTION: Final = 0.25
"""The fraction of time from which on the event loop counts as busy."""


class IndexUpdater:
    """Updates the index.

    Args:
        thread: The thread of the index.
        tracker: The open sessions that differ from their files.
        on_change: Called after steps that may have changed rows.
        is_importing: Returns whether files of other programs are read at present.
    """

    def __init__(
        self,
        thread: IndexThread,
        tracker: OpenTracker,
        on_change: Callable[[], None],
        is_importing: Callable[[], bool],
    ) -> None:
        self._thread = thread
        self._tracker = tracker
        self._is_importing = is_importing
        self._on_change = on_change
        self._indexed_extents: dict[LiveSession, tuple[Tree, int]] = {}
        self._indexed_build_number = 0
        self._wake_up = asyncio.Event()
        self._must_check_files = True
        self._checked_at = 0.0
        self._has_grown = False

    def grew(self, *_: object) -> None:
        """Note that an open session has grown; see `hub.session.observers.ListObserver`."""
        self._has_grown = True
        self._wake_up.set()

    def written(self, refs: Collection[str]) -> None:
        """Check these logs soon, because another program has changed them."""
        self._thread.report_changes(refs)
        self.wake_up()

    def wake_up(self) -> None:
        """Check the files and complete provisional rows soon."""
        self._must_check_files = True
        self._wake_up.set()

    async def run(self) -> None:
        """Update the index in the background. Runs until canceled or closed."""
        await asyncio.sleep(START_SECONDS)
        with contextlib.suppress(Draining):
            while True:
                self._wake_up.clear()
                try:
                    await self._update()
                except StorageFailed as error:
                    self._must_check_files = True
                    log.warning("the index cannot be updated: %s", error)
                await self._wait_for_changes()

    async def check_files(self) -> int:
        """Check the files. Returns the build number of the index."""
        build_number = await self._thread.ask_with_changes(lambda index: index.check_files())
        self._on_change()
        return build_number

    async def prepare_search(self, until: float) -> tuple[int, t.UnsearchedTexts]:
        """Check the files and index what a search may wait for: a small backlog, or everything until a time.

        Args:
            until: A time of `time.monotonic`.

        Returns:
            The build number of the index, and the texts that are not indexed.
        """
        build_number = await self.check_files()
        unsearched = await self._unsearched()
        is_small = unsearched.size_bytes <= SMALL_BACKLOG_BYTES
        if unsearched.session_count and (is_small or time.monotonic() < until):
            limit = None if is_small else until
            await self._index_open_sessions(build_number, limit, rests=False)
            while await self._step() and (limit is None or time.monotonic() < limit):
                pass
            unsearched = await self._unsearched()
        return build_number, unsearched

    async def _update(self) -> None:
        self._has_grown = False
        is_due = time.monotonic() - self._checked_at >= MAX_UPDATE_SECONDS
        if not self._must_check_files and not is_due:
            build_number = await self._thread.ask_with_changes(lambda index: index.build_number)
            if await self._index_open_sessions(build_number):
                return
        self._must_check_files, self._checked_at = False, time.monotonic()
        build_number = await self.check_files()
        await self._index_open_sessions(build_number)
        indexed_at = time.monotonic()
        while True:
            work = _BackgroundWork()
            if not await self._step() and not await self._thread.ask(lambda index: index.erasure.step()):
                return
            self._on_change()
            await work.rest(gives_way=self._is_importing())
            if self._must_check_files and time.monotonic() - self._checked_at > CHECK_SECONDS:
                return  # a session that was written meanwhile is indexed before the rest
            if self._has_grown and time.monotonic() - indexed_at > GROWTH_SECONDS:
                self._has_grown = False
                await self._index_open_sessions(build_number)
                indexed_at = time.monotonic()

    async def _wait_for_changes(self) -> None:
        """Wait for a reported change, and then until no session grows; at most `MAX_UPDATE_SECONDS`."""
        try:
            async with asyncio.timeout(MAX_UPDATE_SECONDS):
                await self._wake_up.wait()
                await asyncio.sleep(GATHER_SECONDS)
                while self._has_grown:
                    self._has_grown = False
                    await asyncio.sleep(GROWTH_SECONDS)
        except TimeoutError:
            self._must_check_files = True

    async def _step(self) -> bool:
        """Read a part of a file whose row is provisional, or index some texts. Returns whether there is more to do."""
        return await self._thread.ask_with_changes(
            lambda index: index.files.complete_step() or index.texts.step()
        )

    async def _unsearched(self) -> t.UnsearchedTexts:
        ends = {ref: _end(live) for ref, live in self._tracker.overrides().items()}
        return await self._thread.ask(lambda index: index.texts.unsearched(ends))

    async def _index_open_sessions(
        self, build_number: int, until: float | None = None, *, rests: bool = True
    ) -> bool:
        """Index the entries that were committed to open sessions since the last call.

        Args:
            build_number: The build number of the index.
            until: A time of `time.monotonic` at which to stop; None for no limit.
            rests: Whether to pause after each step.

        Returns:
            Whether the index has a row for each of these sessions.
        """
        overriding = self._tracker.overrides()
        before = self._indexed_extents if build_number == self._indexed_build_number else {}
        self._indexed_build_number = build_number
        self._indexed_extents = {live: before[live] for live in overriding.values() if live in before}
        outdated = {
            ref: live for ref, live in overriding.items() if self._indexed_extents.get(live) != _extent(live)
        }
        if not outdated:
            return True
        rows = await self._thread.ask(lambda index: {ref: index.texts.indexed_rows(ref) for ref in outdated})
        indexed: dict[str, tuple[LiveSession, tuple[Tree, int]]] = {}
        for ref, live in outdated.items():
            try:
                extent = await self._index_open_session(ref, live, rows[ref], until, rests=rests)
                if extent is not None:
                    indexed[ref] = live, extent
            except (StorageFailed, LogReplaced) as error:
                if live not in self._tracker.open_sessions():
                    continue  # it was closed meanwhile: the next check reads its file
                log.warning("session %s cannot be read for the index: %s", live.log.session_id, error)
        if indexed:
            await self._thread.ask(lambda index: index.texts.mark_indexed(indexed.keys()))
            self._indexed_extents |= dict(indexed.values())
        return None not in rows.values()

    async def _index_open_session(
        self, ref: str, live: ReadableSession, rows: int | None, until: float | None, *, rests: bool
    ) -> tuple[Tree, int] | None:
        """Index the new entries of an open session up to its present end.

        Returns:
            The extent that is indexed; None if some of its entries are not.
        """
        tree, committed = _extent(live)
        while rows is not None and (rows < committed or rows > live.tree.committed):
            if live.log.ref != ref or (until is not None and time.monotonic() > until):
                return None
            work = _BackgroundWork()
            added = next_entries(live, min(rows, live.tree.committed))
            before, rows = rows, await self._add_committed(ref, added)
            if rows == before:
                return None
            if rests:
                await work.rest(gives_way=self._is_importing())
        return None if rows is None or live.tree is not tree else (tree, rows)

    def _add_committed(self, ref: str, added: CommittedEntries) -> Awaitable[int]:
        return self._thread.ask(lambda index: index.texts.add_committed(ref, added))


def _extent(live: ReadableSession) -> tuple[Tree, int]:
    """Return the extent of a session. A rebuilt tree is a new extent."""
    return live.tree, live.tree.committed


def _end(live: ReadableSession) -> int:
    """Return the offset after the last committed line of a session."""
    return live.tree.span(live.tree.committed - 1)[1] if live.tree.committed else 0


class _BackgroundWork:
    """A piece of background work that starts now."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._loop_began = time.thread_time()

    async def rest(self, *, gives_way: bool) -> None:
        """Pause after the work, for a longer time while the event loop is busy or if other work goes first.

        Two threads that compute at the same time change turns for the interpreter lock thousands of times a second,
        which nearly doubles the time of both.
        """
        worked = time.monotonic() - self._began
        busy = time.thread_time() - self._loop_began > worked * _BUSY_FRACTION
        await asyncio.sleep(worked * (BUSY_PAUSE_FACTOR if busy or gives_way else PAUSE_FACTOR))
