"""Maintenance of open sessions: ingests lines of other programs and closes idle sessions."""

import asyncio
import contextlib
import logging
import time
from typing import Final

from sessiond.hub.discovery.terminals import Terminals
from sessiond.hub.disk_space import DiskSpaceMonitor
from sessiond.hub.index.updating import START_SECONDS
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.observers import GrowthObservers
from sessiond.hub.session.registry import OpenSessions
from sessiond.store.base import Store
from sessiond.store.errors import LogReplaced, StorageFailed

log = logging.getLogger(__name__)

IDLE_SECONDS: Final = 15 * 60
"""A session that is not in use is closed after this time."""
MAX_IDLE_SESSIONS: Final = 64
"""The number of sessions not in use that stay open, so that the next request finds them loaded."""
LEAST_IDLE_SECONDS: Final = 2.0
"""The minimum time that a session stays open after a request."""
SWEPT_TOGETHER: Final = 50
"""The number of sessions that are checked in one turn of the event loop."""


class Upkeep:
    """Maintains the open sessions of one store.

    Args:
        files: The store whose files are watched.
        open_sessions: The sessions to maintain.
        observers: Are notified of the same files.
        disk_space: Checks the free disk space at each sweep.
        terminals: Drops the data of terminals that have ended, at each sweep.
    """

    def __init__(
        self,
        files: Store,
        open_sessions: OpenSessions,
        observers: GrowthObservers[LiveSession],
        disk_space: DiskSpaceMonitor,
        terminals: Terminals,
    ) -> None:
        self._files = files
        self._open = open_sessions
        self._observers = observers
        self._disk_space = disk_space
        self._terminals = terminals

    async def sweep(self) -> None:
        """Check the disk, the terminals and every open session.

        Ingests the lines of other programs, retries sessions that accept no writes, and closes sessions that are not
        in use.
        """
        await self._disk_space.check()
        await self._terminals.sweep()
        for number, live in enumerate(self._open.all(), 1):
            if number % SWEPT_TOGETHER == 0:
                await asyncio.sleep(0)
            if live.write_block is not None or live.log.write_error is not None:
                await live.retry()
            if self._open.has(live) and await self._ingest(live):
                live.drop_unused()
                if time.monotonic() - live.used_at > IDLE_SECONDS and not live.is_in_use:
                    await self._open.close_session(live)
        await self._close_least_recently_used()

    async def _close_least_recently_used(self) -> None:
        """Close sessions that are not in use, beyond `MAX_IDLE_SESSIONS`, the least recently used first.

        Each open session holds its tree in memory.
        """
        latest = time.monotonic() - LEAST_IDLE_SECONDS
        idle = sorted(
            (session for session in self._open.all() if not session.is_in_use),
            key=lambda session: session.used_at,
        )
        for live in idle[: max(0, len(idle) - MAX_IDLE_SESSIONS)]:
            if live.used_at > latest:
                return
            await self._open.close_unless_in_use(live)

    async def follow_files(self) -> None:
        """Ingest the lines that other programs write as soon as the watch reports them. Runs until canceled.

        `sweep` finds the changes that the watch does not report.
        """
        if self._files.local:
            await asyncio.sleep(START_SECONDS)
        loop, changed = asyncio.get_running_loop(), asyncio.Queue[set[str]]()

        def report(refs: set[str]) -> None:
            with contextlib.suppress(RuntimeError):  # the event loop closed before the watch did
                loop.call_soon_threadsafe(changed.put_nowait, refs)

        watch = self._files.watch(report)
        try:
            while True:
                refs = await changed.get()
                for live in self._open.all():
                    if live.log.ref in refs:
                        refs.discard(live.log.ref)
                        await self._ingest(live)
                if refs:
                    self._observers.written(refs)
        finally:
            watch.close()

    async def _ingest(self, live: LiveSession) -> bool:
        """Ingest the lines of other programs in an open session. Returns False if the session cannot be maintained."""
        try:
            if live.log.foreign_bytes() or live.tree.tail_may_be_entry:
                await live.ingest()
        except LogReplaced:
            # On a store of several daemons another one has trashed or rewritten it: the next request finds out which.
            if not self._files.local or not (live.holders or live.pending):
                await self._open.close_session(live)
            return False
        except StorageFailed as error:
            log.warning("session %s cannot be maintained: %s", live.session_id, error)
            return False
        live.update_write_block()
        return True

    async def reopen_replaced(self, live: LiveSession) -> LiveSession:
        """Return the session to open for a client. If its file was truncated or replaced, close and load it again.

        Subscribers of the closed session receive `session/lagged`.
        """
        try:
            live.log.foreign_bytes()
        except LogReplaced:
            await self._open.close_session(live)
            return await self._open.at_path(live.log.ref)
        return live
