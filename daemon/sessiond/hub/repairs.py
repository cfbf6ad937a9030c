"""Repairs logs that are not open: trashes unanswered drafts and empty logs, quarantines torn lines."""

import asyncio
import time
from collections.abc import Callable

from sessiond.hub.errors import ForeignDialect
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.log_reader import LogReader
from sessiond.hub.session.registry import OpenSessions
from sessiond.store.base import Store
from sessiond.store.errors import DamagedPackedLog, LogNotFound


class LogRepairs:
    """Repairs the logs of one store. An open log is repaired by its session.

    Args:
        files: The store.
        open_sessions: The registry of open logs; it blocks opening a log during its repair.
    """

    def __init__(self, files: Store, open_sessions: OpenSessions) -> None:
        self._files = files
        self._open = open_sessions

    async def trash_old_drafts(self, max_age: float) -> int:
        """Trash unanswered drafts older than `max_age` seconds. Returns their number."""
        oldest = time.time_ns() - int(max_age * 1e9)
        old = [
            stored.ref for stored in await self._files.list() if stored.draft and stored.modified_ns < oldest
        ]
        return sum([await self.trash_draft(ref) is not None for ref in old])

    async def trash_draft(self, ref: str) -> str | None:
        """Trash an unanswered draft unless it is open. Returns its ref in the trash, or None."""
        # Only another program can leave an answered session in the folder of drafts.
        return await self._trash_if(ref, lambda draft: not draft.tree.has_assistant(), "never answered")

    async def trash_empty(self, ref: str) -> str | None:
        """Trash a log without a header and entries, if it is still empty. Returns its ref in the trash, or None."""
        return await self._trash_if(ref, lambda found: found.tree.is_blank, "nothing was in it")

    async def fix_tail(self, ref: str) -> str | None:
        """Quarantine the torn line of a log, open or not. Returns its new place, or None if there is none."""
        live = self._open.at(ref)
        if live is not None:
            return await live.fix_tail()
        if not self._open.may_leave(ref):
            return None
        async with self._open.leaving(ref):
            # It is not registered as open, because it may be a copy of a session that is open.
            live = LiveSession(await self._files.open_ref(ref), ephemeral=False)
            try:
                await live.load()
                return await live.fix_tail()
            finally:
                await live.close()

    async def unpack_damaged(self, ref: str, save: Callable[[], object]) -> None:
        """Unpack a damaged log that is not open. If it cannot be opened at all, call `save` in a thread instead."""
        if not self._open.may_leave(ref):
            return
        async with self._open.leaving(ref):
            try:
                log = await self._files.open_ref(ref)
            except DamagedPackedLog:
                await asyncio.to_thread(save)
                return
            try:
                await log.unpack()
            finally:
                await log.close()

    async def _trash_if(self, ref: str, may_go: Callable[[LogReader], bool], reason: str) -> str | None:
        if self._open.at(ref) is not None or not self._open.may_leave(ref):
            return None
        async with self._open.leaving(ref):
            if await self._files.held_elsewhere([ref]):
                return None
            try:
                found = LogReader(await self._files.open_ref(ref))
            except LogNotFound:
                return None
            try:
                await found.load()
                return (await self._files.trash(found.log, reason)).ref if may_go(found) else None
            except ForeignDialect:
                return None
            finally:
                await found.log.close()
