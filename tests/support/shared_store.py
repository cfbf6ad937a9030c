"""A store that several daemons of one test use: in memory, on a server whose connection can be lost at any time.

`Server` has the logs. Each daemon has a separate `SharedStore`, with a `Link` to the server that tests cut, or let
lose answers. Lines of others arrive at a daemon some turns of the event loop after they are stored, or when it asks;
nothing arrives while it is cut off.
"""

import asyncio
import contextlib
import random
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import msgspec

from sessiond.store.base import Durability, Log
from sessiond.store.errors import (
    LogGone,
    LogMoved,
    LogNotFound,
    LogReadOnly,
    OutcomeUnknown,
    StoreUnreachable,
)
from sessiond.store.memory import MemoryStore
from sessiond.store.memory_log import MemoryContent, MemoryLog

Fault = Literal["lost before", "lost after", "late", "moved", "cut", "not sent"]
"""The fate of one write: the connection is lost before or after it takes effect, or it takes effect only after the
daemon has reconnected; or the daemon is informed that another daemon's lines came first; or it takes effect while the
link is cut; or it is not sent."""

_CUT = "the connection is cut"


class _Id(msgspec.Struct):
    id: str | None = None


@dataclass
class Server:
    """The state that all daemons share."""

    memory: MemoryStore = field(default_factory=MemoryStore)
    stores: "list[SharedStore]" = field(default_factory=list)
    locks: dict[str, asyncio.Lock] = field(default_factory=dict)
    ids: dict[str, set[str]] = field(default_factory=dict)
    holders: set[tuple[str, int]] = field(default_factory=set)
    claims: dict[tuple[str, str], int] = field(default_factory=dict)
    late: dict[str, list[Callable[[], object]]] = field(default_factory=dict)
    """Writes that take effect just before the next one to the same log."""
    conflicts: int = 0

    def lock_of(self, ref: str) -> asyncio.Lock:
        return self.locks.setdefault(ref, asyncio.Lock())

    def put(self, content: MemoryContent, expected: int, data: bytes) -> int | None:
        """Append lines if the log has the expected size and not their ids. Returns the size; None if refused."""
        new = [found for line in data.splitlines() if (found := msgspec.json.decode(line, type=_Id).id)]
        known = self.ids.setdefault(content.session_id, set())
        if len(content.data) != expected or not known.isdisjoint(new) or len(set(new)) < len(new):
            self.conflicts += 1
            return None
        known.update(new)
        content.put(data)
        self.tell(content.session_id)
        return len(content.data)

    def tell(self, ref: str) -> None:
        for store in self.stores:
            asyncio.get_running_loop().create_task(store.deliver(ref))


class Link:
    """The connection of one daemon to the server."""

    def __init__(self, seed: int = 0) -> None:
        self.is_up = True
        self.delivers = True
        """Whether lines of other daemons arrive without a request."""
        self.faults: deque[Fault | None] = deque()
        """The fates of the next writes, in their order; then all succeed."""
        self.turns = 3
        """The maximum number of turns of the event loop of a request."""
        self._random = random.Random(seed)

    async def travel(self) -> None:
        for _ in range(self._random.randint(0, self.turns)):
            await asyncio.sleep(0)

    def require(self) -> None:
        if not self.is_up:
            raise StoreUnreachable(_CUT)


class SharedStore(MemoryStore):
    """The store of one daemon. Logs, blobs and the trash belong to the server, terminals to this daemon."""

    def __init__(self, server: Server, link: Link | None = None) -> None:
        super().__init__()
        self.server = server
        self.link = link or Link()
        self._contents = server.memory._contents
        self._remains = server.memory._remains
        self._trashed = server.memory._trashed
        self._trashed_ids = server.memory._trashed_ids
        self.blobs = server.memory.blobs
        self._changed: list[Callable[[set[str]], None]] = []
        self._logs: list[SharedLog] = []
        server.stores.append(self)

    @property
    def local(self) -> bool:
        return False

    def cut(self) -> None:
        """Cut the connection to the server: nothing arrives, and nothing can be sent."""
        self.link.is_up = False

    def join(self) -> None:
        """Reach the server again."""
        self.link.is_up = True
        for log in self._logs:
            log.arrive()
        self.hear(set(self._contents))

    async def deliver(self, ref: str) -> None:
        """Let the lines of a log arrive, and report them."""
        await self.link.travel()
        if self.link.is_up and self.link.delivers:
            for log in self._logs:
                if log.ref == ref:
                    log.arrive()
            self.hear({ref})

    def hear(self, refs: set[str]) -> None:
        for changed in self._changed:
            changed(refs)

    async def create(self, session_id: str, *, cwd: str, timestamp: str, lines: bytes, draft: bool) -> Log:
        self.link.require()
        await super().create(session_id, cwd=cwd, timestamp=timestamp, lines=lines, draft=draft)
        return await self.open(session_id)

    async def open(self, session_id: str) -> Log:
        self.link.require()
        if session_id not in self._contents:
            raise LogNotFound(session_id)
        log = SharedLog(self, self._contents[session_id], self._remains)
        self._logs.append(log)
        return log

    def watch(self, changed: Callable[[set[str]], None]) -> "SharedWatch":  # type: ignore[override]
        self._changed.append(changed)
        return SharedWatch(self._changed, changed)

    async def hold(self, ref: str) -> None:
        self.server.holders.add((ref, id(self)))

    async def release(self, ref: str) -> bool:
        self.server.holders.discard((ref, id(self)))
        return bool(await self.held_elsewhere([ref]))

    async def held_elsewhere(self, refs: Collection[str]) -> set[str]:
        return {ref for ref, holder in self.server.holders if ref in refs and holder != id(self)}

    async def claim(self, ref: str, work: str) -> bool:
        return self.server.claims.setdefault((ref, work), id(self)) == id(self)

    async def end_claim(self, ref: str, work: str) -> None:
        if self.server.claims.get((ref, work)) == id(self):
            del self.server.claims[ref, work]


class SharedWatch:
    """A watch, until it is closed."""

    def __init__(
        self, watches: list[Callable[[set[str]], None]], changed: Callable[[set[str]], None]
    ) -> None:
        self._watches, self._changed = watches, changed

    def close(self) -> None:
        if self._changed in self._watches:
            self._watches.remove(self._changed)


class SharedLog(MemoryLog):
    """One log, as one daemon has it open."""

    def __init__(self, store: SharedStore, content: MemoryContent, remains: dict[str, bytes]) -> None:
        super().__init__(content, remains)
        self._store, self._link, self._server = store, store.link, store.server
        self._arrived = self._known = len(content.data)
        self._sending: asyncio.Task[None] | None = None
        self._is_locked = False

    def arrive(self) -> None:
        """All lines of the server are here, unless the link is cut."""
        if self._link.is_up:
            self._arrived = len(self._content.data)

    @property
    def size(self) -> int:
        return self._known

    @property
    def write_error(self) -> StoreUnreachable | None:  # type: ignore[override]
        return None if self._link.is_up else StoreUnreachable(_CUT)

    @property
    def stale(self) -> str | None:  # type: ignore[override]
        return None if self._link.is_up else _CUT

    async def retry(self) -> None:
        await self._link.travel()
        self.arrive()

    def read(self, start: int, end: int) -> bytes:
        return bytes(self._content.data[start : min(end, self._arrived)])

    def foreign_bytes(self) -> int:
        if self._link.is_up and self._server.memory._contents.get(self.session_id) is not self._content:
            raise LogGone(self.ref)
        return self._arrived - self._known

    def accept(self, size: int) -> None:
        if not self._known <= size <= self._arrived:
            raise ValueError(f"the log has {self._arrived} bytes, {self._known} of them known, not {size}")
        self._known = size

    def append(
        self, data: bytes, durability: Durability, ids: Sequence[str | None] = ()
    ) -> asyncio.Future[bool]:
        assert data.endswith(b"\n")
        assert ids == () or len(ids) == data.count(b"\n"), "each line has an id"
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        if self._closed:
            future.set_exception(LogReadOnly("it is closed"))
            return future
        self._queue.append(([data], future))
        self._start()
        return future

    def _start(self) -> None:
        if self._sending is None and not self._is_locked:
            self._sending = asyncio.get_running_loop().create_task(self._send_all())

    async def _send_all(self) -> None:
        while self._queue:
            await self._link.travel()
            async with self._server.lock_of(self.ref):
                await self._send()
        self._sending = None

    async def _send(self) -> None:
        """Send all queued batches as one write. The caller holds the lock of the log."""
        batches, self._queue = self._queue, []
        data = b"".join(part for parts, _ in batches for part in parts)
        try:
            self._link.require()
            fault = self._link.faults.popleft() if self._link.faults else None
            await self._take_effect(fault, data)
        except (StoreUnreachable, OutcomeUnknown, LogMoved) as error:
            await self._link.travel()
            batches, self._queue = [*batches, *self._queue], []
            for _, future in batches:
                if not future.done():
                    future.set_exception(error)
            return
        await self._link.travel()
        for _, future in batches:
            if not future.done():
                future.set_result(False)

    async def _take_effect(self, fault: Fault | None, data: bytes) -> None:
        expected = self._known
        if fault == "lost before":
            raise OutcomeUnknown(_CUT)
        if fault == "late":
            late = partial(self._server.put, self._content, expected, data)
            self._server.late.setdefault(self.ref, []).append(late)
            raise OutcomeUnknown(_CUT)
        if fault == "moved":
            raise LogMoved(self.ref)
        if fault == "not sent":
            raise StoreUnreachable(_CUT)
        if fault == "cut":
            self._store.cut()
        for write in self._server.late.pop(self.ref, []):
            write()
        size = self._server.put(self._content, expected, data)
        if fault == "cut":
            raise OutcomeUnknown(_CUT)
        if size is None:
            self.arrive()
            raise LogMoved(self.ref)
        if fault == "lost after":
            raise OutcomeUnknown(_CUT)
        self._known = self._arrived = size

    @contextlib.asynccontextmanager
    async def _lock(self) -> AsyncIterator[None]:
        while self._sending is not None:
            await asyncio.wait([self._sending])
        self._link.require()
        async with self._server.lock_of(self.ref):
            self._is_locked = True
            try:
                self.arrive()
                yield
            finally:
                self._is_locked = False
                if self._queue:
                    await self._send()

    def locked(self) -> contextlib.AbstractAsyncContextManager[None]:
        return self._lock()

    async def flush(self) -> bool:
        queued = bool(self._queue or self._sending)
        while self._sending is not None:
            await asyncio.wait([self._sending])
        return queued

    async def promote(self) -> None:
        self._link.require()
        self.draft = self._content.draft = False

    async def close(self) -> None:
        await self.flush()
        self._closed = True
