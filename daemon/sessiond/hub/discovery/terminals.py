"""The holds of living terminals: a session that a terminal holds is not selected for another terminal.

A hold belongs to a terminal and a folder. It ends only when the first process of the terminal ends. The store has a
copy of each hold, which the next daemon reads.
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
"""The breadcrumbs of a terminal that has ended are removed if none was written for this many seconds."""
SWEEP_SECONDS: Final = 60.0
"""The shortest time between two sweeps, in seconds."""
MAX_FOLDERS: Final = 200
"""Limit of folders in which a terminal holds a session. The folder that was used longest ago is removed first."""


class Terminals:
    """The holds of all terminals, in memory and in `store`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._held: dict[str, Hold] = {}
        self._is_loaded = False
        self._loading = asyncio.Lock()
        self._swept_at: float | None = None

    async def process_of(self, terminal: t.Terminal) -> Process | None:
        """Return the process with which a terminal ends; None if the client named none that runs on this machine."""
        if terminal.pid is None or terminal.pid >= 2**31:
            return None
        return await asyncio.to_thread(running_process, terminal.pid, terminal.start_time)

    async def refresh(self) -> None:
        """Load the holds that an earlier daemon stored, and remove the holds of terminals that have ended."""
        await self._load()
        held = list(self._held.values())
        for hold in await asyncio.to_thread(_ended, held):
            if self._held.get(hold.terminal_id) is hold:
                del self._held[hold.terminal_id]
                await self._forget(hold)

    async def sweep(self) -> None:
        """Remove ended holds and old breadcrumbs, at most once in `SWEEP_SECONDS`."""
        now = time.monotonic()
        if self._swept_at is not None and now - self._swept_at < SWEEP_SECONDS:
            return
        self._swept_at = now
        await self.refresh()
        try:
            removed = await self._store.remove_old_breadcrumbs(BREADCRUMB_SECONDS, list(self._held))
        except StorageFailed as error:
            log.warning("Cannot remove old breadcrumbs: %s", error)
        else:
            if removed:
                log.info("Removed the breadcrumbs of %d terminals that were not used for 90 days", removed)

    def held_by_others(self, terminal_id: str | None) -> dict[str, str]:
        """Return the ids of the sessions that terminals other than this one hold, each with its terminal.

        Call `refresh` first: it removes the holds of terminals that have ended.
        """
        return {
            session_id: hold.terminal_id
            for hold in self._held.values()
            if hold.terminal_id != terminal_id
            for session_id in hold.sessions.values()
        }

    def take(self, terminal: t.Terminal, process: Process | None, cwd: str, session_id: str) -> None:
        """Let a terminal hold a session in a folder. Takes effect immediately; `store` makes it durable.

        Call `refresh` first. If a terminal names no process now and has no hold, it holds nothing.

        Args:
            terminal: The terminal.
            process: The process of the terminal; see `process_of`. If an earlier hold has another process, the older
                process is used.
            cwd: The folder. A hold of the terminal in this folder is replaced.
            session_id: The session.
        """
        former = self._held.get(terminal.id)
        process = process if former is None else _eldest(former.process, process)
        if process is None:
            return
        sessions = {} if former is None else dict(former.sessions)
        sessions.pop(cwd, None)
        sessions[cwd] = session_id
        retained = dict(list(sessions.items())[-MAX_FOLDERS:])
        self._held[terminal.id] = Hold(terminal.id, terminal.kind, process, retained)

    async def store(self, terminal_id: str) -> None:
        """Make the hold of a terminal durable. If the disk refuses, this daemon keeps it in memory."""
        hold = self._held.get(terminal_id)
        if hold is None:
            return
        try:
            await self._store.write_hold(hold)
        except StorageFailed as error:
            log.warning("Cannot write the holds of a terminal: %s", error)

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
            ):  # the id includes the start time of the process, so it does not occur again
                await self._store.remove_breadcrumbs(hold.terminal_id)
        except StorageFailed as error:
            log.warning("Cannot remove the holds of an ended terminal: %s", error)


def _ended(holds: Sequence[Hold]) -> list[Hold]:
    return [hold for hold in holds if not is_running(hold.process)]


def _eldest(known: Process, named: Process | None) -> Process:
    """Return the process that started first. A command that runs in a terminal is younger than the terminal."""
    return known if named is None or known.start_time <= named.start_time else named
