"""The records of the terminals of this machine: breadcrumbs and holds, as files in the state folder."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import TypeVar

from sessiond.store.files import breadcrumbs, holds
from sessiond.store.files.syscalls import Syscalls
from sessiond.store.records import Breadcrumb, Hold

_T = TypeVar("_T")


class TerminalFiles:
    """The part of a `base.Store` that is about terminals.

    Args:
        state: The state folder (`terminal-sessions/`, `terminal-holds/`).
        pool: The threads where the disk is accessed.
        calls: The system calls that access it.
    """

    def __init__(self, state: Path, pool: Executor, calls: Syscalls) -> None:
        self._terminals = state / "terminal-sessions"
        self._holds = state / "terminal-holds"
        self._pool = pool
        self._calls = calls
        self._writing_terminals = asyncio.Lock()

    async def read_breadcrumbs(self, terminal_id: str) -> Sequence[Breadcrumb]:
        """Return the breadcrumbs in the terminal's file; none if it is missing or unreadable."""
        return await self._in_pool(partial(breadcrumbs.read_breadcrumbs, self._terminals, terminal_id))

    async def write_breadcrumb(self, terminal_id: str, crumb: Breadcrumb) -> None:
        """Write the breadcrumb into the terminal's file, durable on return. One file is changed at a time."""
        async with self._writing_terminals:  # the file is read, then written with the new record
            await self._in_pool(
                partial(breadcrumbs.write_breadcrumb, self._terminals, terminal_id, crumb, self._calls)
            )

    async def remove_breadcrumbs(self, terminal_id: str) -> None:
        """Remove the terminal's file, if there is one."""
        async with self._writing_terminals:
            await self._in_pool(partial(breadcrumbs.remove_breadcrumbs, self._terminals, terminal_id))

    async def remove_old_breadcrumbs(self, max_age: float, living: Collection[str]) -> int:
        """Remove the files that were not written for `max_age` seconds, except those of terminals in `living`."""
        async with self._writing_terminals:
            remove = partial(breadcrumbs.remove_old_breadcrumbs, self._terminals, max_age, living)
            return await self._in_pool(remove)

    async def read_holds(self) -> Sequence[Hold]:
        """Return the valid holds in `terminal-holds/`. A file that is not a valid hold is logged and unchanged."""
        return await self._in_pool(partial(holds.read_holds, self._holds))

    async def write_hold(self, hold: Hold) -> None:
        """Replace the terminal's file, durable on return. A file that is not a valid hold is moved aside."""
        async with self._writing_terminals:
            await self._in_pool(partial(holds.write_hold, self._holds, hold, self._calls))

    async def remove_hold(self, terminal_id: str) -> None:
        """Remove the terminal's file. A file that is not a valid hold stays."""
        async with self._writing_terminals:
            await self._in_pool(partial(holds.remove_hold, self._holds, terminal_id, self._calls))

    async def _in_pool(self, call: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, call)
