"""Which sessions the living terminals hold, so that no other terminal is given one of them.

A hold belongs to a terminal and a folder. It ends with the first process of the terminal, and with nothing else: the
store keeps a copy that the next daemon reads.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import Final

from sessiond.hub.discovery.processes import is_running, running_process
from sessiond.protocol import types as t
from sessiond.store.base import Store
from sessiond.store.errors import StorageFailed
from sessiond.store.records import Hold, Process

log = logging.getLogger(__name__)

BREADCRUMB_SECONDS: Final = 90 * 24 * 3600.0
"""Breadcrumbs of a terminal that does not run are removed when none was written for this long."""
SWEEP_SECONDS: Final = 60.0
MAX_FOLDERS: Final = 200
"""Folders in which one terminal holds a session; the one that was used longest ago is let go."""


class Terminals:
    """The holds of all terminals, in memory and in `store`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._held: dict[str, Hold] = {}
        self._is_loaded = False
        self._loading = asyncio.Lock()
        self._swept_at: float | None = None

    async def process_of(self, terminal: t.Terminal) -> Process | None:
        """Return the process that a terminal lives as long as; None when its client named none that runs here."""
        if terminal.pid is None or terminal.pid >= 2**31:
            return None
        return await asyncio.to_thread(running_process, terminal.pid, terminal.start_time)

    async def refresh(self) -> None:
        """Load what another daemon has left behind, and end the holds of terminals that have ended."""
        await self._load()
        held = list(self._held.values())
        for hold in await asyncio.to_thread(_ended, held):
            if self._held.get(hold.terminal_id) is hold:
                del self._held[hold.terminal_id]
                await self._forget(hold)

    async def sweep(self) -> None:
        """Do what is to be done now and then: end holds, and remove old breadcrumbs."""
        now = time.monotonic()
        if self._swept_at is not None and now - self._swept_at < SWEEP_SECONDS:
            return
        self._swept_at = now
        await self.refresh()
        try:
            removed = await self._store.remove_old_breadcrumbs(BREADCRUMB_SECONDS, list(self._held))
        except StorageFailed as error:
            log.warning("old breadcrumbs could not be removed: %s", error)
        else:
            if removed:
                log.info("breadcrumbs of %d terminals were removed: not used for 90 days", removed)

    def held_by_others(self, terminal_id: str | None) -> dict[str, str]:
        """Return the ids of held sessions with the terminal, other than this one, that holds each.

        Only `refresh` knows which terminals have ended.
        """
        return {
            session_id: hold.terminal_id
            for hold in self._held.values()
            if hold.terminal_id != terminal_id
            for session_id in hold.sessions.values()
        }

    def take(self, terminal: t.Terminal, process: Process | None, cwd: str, session_id: str) -> None:
        """Let a terminal hold a session in a folder, at once; `store` makes that durable. After `refresh`.

        A terminal without a process of its own holds nothing, unless it has named one before that still runs.
        """
        former = self._held.get(terminal.id)
        process = process if former is None else _eldest(former.process, process)
        if process is None:
            return
        sessions = {} if former is None else dict(former.sessions)
        sessions.pop(cwd, None)
        sessions[cwd] = session_id
        kept = dict(list(sessions.items())[-MAX_FOLDERS:])
        self._held[terminal.id] = Hold(terminal.id, terminal.kind, process, kept)

    async def store(self, terminal_id: str) -> None:
        """Make the hold of a terminal durable. Where the disk refuses, this daemon still knows it."""
        hold = self._held.get(terminal_id)
        if hold is None:
            return
        try:
            await self._store.write_hold(hold)
        except StorageFailed as error:
            log.warning("what a terminal holds could not be noted: %s", error)

    async def _load(self) -> None:
        if self._is_loaded:
            return
        async with self._loading:
            if not self._is_loaded:
                for hold in await self._store.read_holds():
                    self._held.setdefault(hold.terminal_id, hold)
                self._is_loaded = True

    async def _forget(self, hold: Hold) -> None:
        try:
            await self._store.remove_hold(hold.terminal_id)
            if hold.terminal_id.startswith(
                "tty:"
            ):  # it holds the start of the process, so it never comes again
                await self._store.remove_breadcrumbs(hold.terminal_id)
        except StorageFailed as error:
            log.warning("the hold of a terminal that has ended could not be removed: %s", error)


def _ended(holds: Sequence[Hold]) -> list[Hold]:
    return [it for it in holds if not is_running(it.process)]


def _eldest(known: Process, named: Process | None) -> Process:
    """Return the process that was there first: a command that runs in a terminal is younger than the terminal."""
    return known if named is None or known.start_time <= named.start_time else named
