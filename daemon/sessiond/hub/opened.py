"""The sessions that are open: found by id, prefix or path, and loaded once, whoever asks and however many at a time."""

import asyncio
import contextlib
import difflib
import hashlib
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from sessiond.hub.errors import Damaged, SessionNotFound
from sessiond.hub.live import LiveSession
from sessiond.store.base import Log, LogExists, LogNotFound, Store


class OpenSessions:
    """One `LiveSession` per log. A session that is slow to load holds up nobody who wants another one."""

    def __init__(self, files: Store) -> None:
        self._files = files
        self._by_id: dict[str, LiveSession] = {}
        self._finding: dict[str, asyncio.Task[LiveSession]] = {}
        self._loading: dict[str, asyncio.Task[LiveSession]] = {}

    def all(self) -> list[LiveSession]:
        return list(self._by_id.values())

    def cached(self, session_id: str) -> LiveSession | None:
        """The session if it is open under exactly this id."""
        live = self._by_id.get(session_id)
        if live is not None:
            live.used_at = time.monotonic()
        return live

    def at(self, ref: str) -> LiveSession | None:
        """The open session at a place. A log's place changes when its draft is promoted, so it is not a key."""
        return next((live for live in self._by_id.values() if live.log.ref == ref), None)

    async def session(self, session_id: str) -> LiveSession:
        """The session with this id or unique prefix, loaded. Raises `SessionNotFound`."""
        live = self.cached(session_id)
        # Those who wait for the same session go on in the order in which they came.
        return live or await _shared(self._finding, session_id, lambda: self._find(session_id))

    async def _find(self, session_id: str) -> LiveSession:
        try:
            log = await self._files.open(session_id)
        except (LogNotFound, ValueError):
            log = await self._files.open_ref(await self._ref_of_prefix(session_id))
        return await self.adopt(log)

    async def _ref_of_prefix(self, prefix: str) -> str:
        refs = {log.session_id: log.ref for log in await self._files.list()}
        refs |= {name: live.log.ref for name, live in self._by_id.items() if not live.ephemeral}
        near = sorted(name for name in refs if name.startswith(prefix)) if len(prefix) >= 4 else []
        if len(near) == 1:
            return refs[near[0]]
        raise SessionNotFound(
            prefix, did_you_mean=near[:5] or difflib.get_close_matches(prefix, refs, 3, 0.7)
        )

    async def at_path(self, path: str) -> LiveSession:
        """The session in a file. Raises `SessionNotFound`, `Damaged`, `LogExists` when its id is open elsewhere."""
        try:
            log = await self._files.open_ref(path)
        except LogNotFound:
            raise SessionNotFound(path) from None
        return await self.adopt(log)

    @contextlib.asynccontextmanager
    async def glance(self, path: str) -> AsyncIterator[LiveSession]:
        """The session in a file, only to be read now: a copy of a session that is open elsewhere will do, too."""
        log = await self._files.open_ref(path)
        known = self.at(log.ref)
        live = known or LiveSession(log, ephemeral=False)
        try:
            if known is None:
                await live.load()
            yield live
        finally:
            await log.close()

    async def adopt(self, log: Log, *, ephemeral: bool = False) -> LiveSession:
        """The session in an open log, which is closed again when the session is open already."""
        known = self.at(log.ref)
        if known is None and log.ref not in self._loading:
            return await _shared(self._loading, log.ref, lambda: self._load(log, ephemeral=ephemeral))
        await log.close()
        return known or await _shared(self._loading, log.ref, lambda: self._load(log, ephemeral=ephemeral))

    async def _load(self, log: Log, *, ephemeral: bool) -> LiveSession:
        live = LiveSession(log, ephemeral=ephemeral)
        try:
            await live.load()
            if live.tree.damaged:
                if not live.tree.count_entries():
                    raise Damaged(log.path or log.session_id, live.tree.problems[0])
                live.name(_damaged_id(log))
            if live.session_id in self._by_id:
                raise LogExists(live.session_id)
        except BaseException:
            await log.close()
            raise
        self._by_id[live.session_id] = live
        return live

    def forget(self, live: LiveSession) -> None:
        """The session is not open any more."""
        if self._by_id.get(live.session_id) is live:
            del self._by_id[live.session_id]


async def _shared(
    tasks: dict[str, asyncio.Task[LiveSession]],
    key: str,
    start: Callable[[], Coroutine[Any, Any, LiveSession]],
) -> LiveSession:
    """Await the work for a key, which is done once for all who want it; nobody's cancellation ends it."""
    task = tasks.get(key)
    if task is None:
        task = tasks[key] = asyncio.get_running_loop().create_task(start())
        task.add_done_callback(lambda done: _end(tasks, key, done))
    return await asyncio.shield(task)


def _end(tasks: dict[str, asyncio.Task[LiveSession]], key: str, task: asyncio.Task[LiveSession]) -> None:
    if tasks.get(key) is task:
        del tasks[key]
    if not task.cancelled():
        task.exception()  # taken, should nobody wait for it any more


def _damaged_id(log: Log) -> str:
    """An id for a file whose header has none: the same for every reader of the same place."""
    return "damaged-" + hashlib.sha256(log.ref.encode("utf-8", "surrogateescape")).hexdigest()[:12]
