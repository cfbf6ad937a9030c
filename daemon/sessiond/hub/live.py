"""One open session: its tree, its log, its queue of batches and its watchers.

Invariant: nothing is awaited between choosing a parent and joining the log's queue. Appends that must wait for
something (loading, a foreign writer's lines, a torn tail, a migration, a promotion) wait under one lock, first come first
served, and only then choose.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import msgspec


from sessiond.hub import drafts
from sessiond.hub.drafts import Placement, Prepared
from sessiond.hub.errors import EntryNotFound, HubError, ReadOnly, UnsupportedVersion
from sessiond.hub.watch import Watchers
from sessiond.protocol import types as t
from sessiond.session import entries, migrate
from sessiond.session import tree as trees
from sessiond.session.views import Outline
from sessiond.session.tree import Tree
from sessiond.store.base import Durability, Log, LogReadOnly, LogReplaced, StorageFailed

T = TypeVar("T")
Done = Callable[["Outcome | Exception"], None]

FOREIGN_SLICE: Final = 256 * 1024
STEP_SECONDS: Final = 0.002
"""How long one step of long work may hold the loop."""
SETTLE_AT_ONCE: Final = 100
"""Batches answered in one turn of the loop."""
SETTLE_SECONDS: Final = 0.3
"""How long a foreign program's half line must have stood still before it counts as torn."""


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """A committed batch."""

    prepared: Prepared
    seqs: list[int]
    leaf_id: str | None
    seq: int


@dataclass(slots=True)
class _Batch:
    prepared: Prepared
    future: asyncio.Future[bool]
    origin: t.Origin
    done: Done


class LiveSession:
    """An open session. Everything but the `async` methods is synchronous and belongs to the loop's thread."""

    def __init__(self, log: Log, *, ephemeral: bool) -> None:
        self.log = log
        self.ephemeral = ephemeral
        self.tree = Tree()
        self.outline = Outline()
        self.session_id = log.session_id
        self.holders: set[str] = set()
        self.known_info: tuple[object, t.SessionInfo] | None = None
        self.watchers = Watchers(self.session_id, self._rows, self.page, lambda: self.tree.leaf_id)
        self.used_at = time.monotonic()
        self._batches: deque[_Batch] = deque()
        self._lock = asyncio.Lock()
        self._waiting = 0
        self._writable = False  # tail, version and place have been seen to
        self._drifted = False
        self._watched: asyncio.Future[bool] | None = None
        self._idle = asyncio.Event()
        self._idle.set()

    # --- reading ---------------------------------------------------------------------------------------

    async def load(self) -> None:
        """Read the whole log, a slice at a time."""
        async with self._lock:
            await self._read_on()
            if self.tree.header is not None:
                self.name(self.tree.header.id)

    def name(self, session_id: str) -> None:
        """Go by this id: the header's, or one made for a file that has none."""
        self.session_id = self.watchers.session_id = session_id

    async def _read_on(self) -> None:
        began = time.perf_counter()
        for data in self.log.scan(self.tree.end):
            self.tree.read(data)
            if time.perf_counter() - began > STEP_SECONDS:
                await asyncio.sleep(0)
                began = time.perf_counter()
        self.tree.finish()

    def row(self, entry_id: str) -> int:
        """The committed row of an entry. Raises `EntryNotFound`."""
        row = self.tree.row(entry_id)
        if row is None:
            raise EntryNotFound(entry_id, did_you_mean=self._near(entry_id))
        return row

    def _near(self, entry_id: str) -> list[str]:
        """Ids that begin like a mistyped one; only looked for in a session small enough to look through."""
        if len(entry_id) < 3 or len(self.tree) > 20_000:
            return []
        names = (self.tree.id(row) for row in range(1, self.tree.committed))
        return [name for name in names if name is not None and name.startswith(entry_id)][:3]

    def read(self, row: int) -> bytes:
        """The entry of one row, pending ones too."""
        if row >= self.tree.committed:
            return self.tree.pending_line(row)
        return self.tree.entry(row, self.log.read(*self.tree.span(row)))

    def read_rows(self, rows: Sequence[int]) -> list[bytes]:
        """The entries of rows; neighbours in the log are read together."""
        found: list[bytes] = []
        tree, position = self.tree, 0
        while position < len(rows):
            last = position
            start, end = tree.span(rows[position])
            spans = [(start, end)]
            while last + 1 < len(rows) and rows[last + 1] == rows[last] + 1 and end - start < 1 << 20:
                last += 1
                spans.append(tree.span(rows[last]))
                end = spans[-1][1]
            block = self.log.read(start, end)
            found += (
                tree.entry(row, block[first - start : after - start])
                for row, (first, after) in zip(rows[position : last + 1], spans, strict=True)
            )
            position = last + 1
        return found

    def page(self, row: int, size: int, count: int = 10_000) -> tuple[list[bytes], list[int]]:
        """Entries and seqs from a row on: at most about `size` bytes and `count` entries, at least one."""
        tree = self.tree
        seqs: list[int] = []
        while row < tree.committed and len(seqs) < count and size > 0:
            if tree.kind(row) not in (trees.BAD, trees.HEADER):
                start, end = tree.span(row)
                size -= end - start
                seqs.append(row)
            row += 1
        return self.read_rows(seqs), seqs

    async def drive(self, work: Generator[None, None, T]) -> T:
        """Run long work of the core in steps, so that the loop breathes in between."""
        began = time.perf_counter()
        while True:
            try:
                next(work)
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return]
            if time.perf_counter() - began > STEP_SECONDS:
                await asyncio.sleep(0)
                began = time.perf_counter()

    def _rows(self) -> int:
        return self.tree.committed

    # --- writing ---------------------------------------------------------------------------------------

    @property
    def read_only(self) -> HubError | None:
        """Why nothing may be written here, or None."""
        if self.tree.damaged:
            return ReadOnly("it has no valid header; the file is left as it is", path=self.log.path)
        if self.tree.version > entries.CURRENT_VERSION or self.tree.version < 1:
            return UnsupportedVersion(self.tree.version)
        if self.log.read_only is not None:
            return ReadOnly(self.log.read_only, path=self.log.path)
        return None

    @property
    def pending(self) -> bool:
        """Whether batches are on their way to the disk."""
        return bool(self._batches)

    def append(
        self, raw: Sequence[bytes], placement: Placement, durability: Durability, origin: t.Origin, done: Done
    ) -> None:
        """Append a batch; `done` is called once, in log order, with its outcome or with why it was refused.

        `done` may be called before this returns (refused) or on a later tick. A session that needs to be seen to
        first (a torn tail, a foreign writer) takes the slow way, and everything behind it waits in line.
        """
        self.used_at = time.monotonic()
        try:
            ready = not self._waiting and self._ready_to_write()
        except LogReplaced as refusal:
            done(refusal)
            return
        if not ready:
            self._waiting += 1
            task = asyncio.get_running_loop().create_task(
                self._append_later(raw, placement, durability, origin, done)
            )
            task.add_done_callback(_consume)
            return
        try:
            prepared = drafts.prepare(self.tree, raw, placement, self.read)
            if self._promotes(prepared):
                self._writable = False
                self.append(raw, placement, durability, origin, done)
                return
        except (HubError, LogReadOnly) as refusal:
            done(refusal)
            return
        self._submit(prepared, durability, origin, done)

    async def commit(
        self,
        raw: Sequence[bytes],
        placement: Placement | None = None,
        *,
        origin: t.Origin,
        durability: Durability = "synced",
    ) -> Outcome:
        """`append`, awaited. Raises what it was refused with."""
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

        def done(outcome: Outcome | Exception) -> None:
            if future.cancelled():
                return
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)

        self.append(raw, placement or drafts.AT_THE_LEAF, durability, origin, done)
        return await future

    async def move_leaf(self, target_id: str | None, *, expected: object, origin: t.Origin) -> Outcome:
        """Write a `leaf` line. Raises `EntryNotFound`, `LeafConflict`."""
        raw = b'{"type":"leaf","targetId":%b}' % (
            b"null" if target_id is None else b'"%b"' % target_id.encode()
        )
        placement = Placement(parent_id=target_id, expected_leaf=expected)  # type: ignore[arg-type]
        return await self.commit([raw], placement, origin=origin)

    def _ready_to_write(self) -> bool:
        if self._batches and self._batches[0].future.done():
            self._settle()
        if not self._writable or self._drifted:
            return False
        # Between batches a foreign program may have written; while ours are under way the log itself looks.
        return bool(self._batches) or not self.log.foreign_bytes()

    async def _append_later(
        self, raw: Sequence[bytes], placement: Placement, durability: Durability, origin: t.Origin, done: Done
    ) -> None:
        try:
            async with self._lock:
                try:
                    await self._make_writable(raw, placement)
                    prepared = drafts.prepare(self.tree, raw, placement, self.read)
                except Exception as refusal:  # noqa: BLE001 - the caller answers; nothing may be lost in a task
                    done(refusal)
                else:
                    self._submit(prepared, durability, origin, done)
        finally:
            self._waiting -= 1

    async def _make_writable(self, raw: Sequence[bytes], placement: Placement) -> None:
        await self._idle.wait()
        await self._ingest()
        refusal = self.read_only
        if refusal is not None:
            raise refusal
        if self.tree.tail:
            await self._let_the_tail_settle()
        if self.tree.tail:
            await self.log.quarantine_tail(self.tree.end, len(self.tree))
            self.tree.drop_tail()
        elif self.tree.tail_is_entry:
            await self.log.complete_tail()
            self.tree.complete_tail()
        if self.tree.version < entries.CURRENT_VERSION:
            await self._migrate()
        if self._promotes(drafts.prepare(self.tree, raw, placement, self.read)):
            await self.log.promote()
        self._writable = True

    def _promotes(self, prepared: Prepared) -> bool:
        return self.log.draft and any(row.role == "assistant" for row in prepared.rows)

    async def _let_the_tail_settle(self) -> None:
        """A half line may be a foreign program's write that is under way: give it time before it counts as torn."""
        until = time.monotonic() + SETTLE_SECONDS
        while self.tree.tail and time.monotonic() < until:
            await asyncio.sleep(0.02)
            if self.log.foreign_bytes():
                await self._ingest()
                until = time.monotonic() + SETTLE_SECONDS

    async def _migrate(self) -> None:
        """Rewrite a v1 or v2 log as v3, the original kept; the rows and their seqs stay the same."""
        version = self.tree.version
        changed: list[bytes] = []
        for row in range(self.tree.committed):
            raw = self.log.read(*self.tree.span(row))
            if self.tree.kind(row) == trees.HEADER:
                changed.append(migrate.upgrade_header(raw) + b"\n")
            elif self.tree.kind(row) == trees.BAD:
                changed.append(raw)
            else:
                changed.append(self.tree.entry(row, raw) + b"\n")
            if row % 100 == 99:
                await asyncio.sleep(0)
        start = self.tree.span(0)[0]
        if start:
            changed.insert(0, self.log.read(0, start))
        await self.log.rewrite(b"".join(changed), version)
        self.tree, self.outline = Tree(), Outline()
        await self._read_on()

    def _submit(self, prepared: Prepared, durability: Durability, origin: t.Origin, done: Done) -> None:
        if prepared.rows:
            future = self.log.append(b"".join(row.line for row in prepared.rows), durability)
            self.tree.attach(prepared.rows, leaf=prepared.leaf)
        else:
            future = asyncio.get_running_loop().create_task(self._barrier(durability))
        self._batches.append(_Batch(prepared, future, origin, done))
        if len(self._batches) == 1:
            self._idle.clear()
            self._watch()

    async def _barrier(self, durability: Durability) -> bool:
        """A retry adds nothing, but is answered no sooner than what it repeats has its level."""
        if durability == "synced":
            await self.log.flush()
        return False

    # --- committing ------------------------------------------------------------------------------------

    def _settle(self, _future: object = None) -> None:
        """Take in what the log has finished, in its order."""
        batches = self._batches
        if self._drifted:
            self._watch()
            if self._watched is None:
                self._resync()
            return
        for _ in range(SETTLE_AT_ONCE):
            if not batches or not batches[0].future.done():
                break
            batch = batches[0]
            if batch.future.cancelled() or batch.future.exception() is not None:
                self._fail_all()
                return
            if batch.future.result():
                self._drifted = True
                self._settle()
                return
            batches.popleft()
            first = self.tree.committed
            self.tree.commit(len(batch.prepared.rows), leaf=batch.prepared.leaf)
            batch.done(self._outcome(batch.prepared))
            if len(self.watchers):
                self._publish(batch, first)
        if not batches:
            self._idle.set()
        elif batches[0].future.done():
            asyncio.get_running_loop().call_soon(self._settle)
        else:
            self._watch()

    def _watch(self) -> None:
        """Have `_settle` called when the next batch is done: the log finishes them in order, so one watch will do."""
        waiting = next((batch.future for batch in self._batches if not batch.future.done()), None)
        if waiting is not None and waiting is not self._watched:
            waiting.add_done_callback(self._settle)
        self._watched = waiting

    def _outcome(self, prepared: Prepared) -> Outcome:
        seqs = [self.tree.row(name) or 0 for name in prepared.ids]
        return Outcome(prepared, seqs, self.tree.leaf_id, self.tree.seq)

    def _publish(self, batch: _Batch, first: int) -> None:
        rows = batch.prepared.rows
        self.watchers.appended([row.line[:-1] for row in rows], range(first, first + len(rows)), batch.origin)

    def _fail_all(self) -> None:
        """The log has cut a batch away, and with it all that were queued behind: their rows go too."""
        failed = list(self._batches)
        self._batches.clear()
        self.tree.roll_back()
        for batch in failed:
            if not batch.future.done():
                batch.future.add_done_callback(_consume)
                batch.done(StorageFailed("a write before this one failed", path=self.log.path))
                continue
            error = batch.future.exception()
            batch.done(error if isinstance(error, Exception) else StorageFailed("the write was given up"))
        self._idle.set()

    def _resync(self) -> None:
        """Another program's lines got between ours: read what really stands there, then answer."""
        batches = list(self._batches)
        self._batches.clear()
        self._drifted = False
        self.tree.roll_back()
        first = self.tree.committed
        for data in self.log.scan(self.tree.end):
            self.tree.read(data)
        self.tree.finish()
        origins = {name: batch.origin for batch in batches for name in batch.prepared.created}
        for batch in batches:
            error = batch.future.exception()
            batch.done(error if isinstance(error, Exception) else self._outcome(batch.prepared))
        self._announce(first, origins)
        self._writable = not self.tree.tail and not self.tree.tail_is_entry
        self._idle.set()

    # --- foreign writers -------------------------------------------------------------------------------

    async def ingest(self) -> bool:
        """Take in what another program has added, and announce it; whether there was anything.

        Raises `LogReplaced` when the file was cut short or replaced.
        """
        async with self._lock:
            await self._idle.wait()
            return await self._ingest()

    async def _ingest(self) -> bool:
        foreign = self.log.foreign_bytes()
        if not foreign:
            return False
        first, previous = self.tree.committed, self.tree.leaf_id
        size, position = self.log.size + foreign, self.tree.end
        while position < size:
            data = self.log.read(position, min(position + FOREIGN_SLICE, size))
            position += len(data)
            self.tree.read(data)
            await asyncio.sleep(0)
        self.tree.finish()
        self.log.accept(size)
        self._writable = self._writable and not self.tree.tail and not self.tree.tail_is_entry
        self._announce(first, {})
        return self.tree.committed > first or self.tree.leaf_id != previous

    def _announce(self, first: int, origins: dict[str, t.Origin]) -> None:
        """Publish rows from `first` on, each run of one origin as one notification."""
        foreign = t.Origin(kind="foreign")
        run: list[int] = []
        run_origin = foreign
        for row in range(first, self.tree.committed):
            if self.tree.kind(row) in (trees.BAD, trees.HEADER):
                continue
            origin = origins.get(self.tree.id(row) or "", foreign)
            if run and origin != run_origin:
                self.watchers.appended(self.read_rows(run), run, run_origin)
                run = []
            run_origin = origin
            run.append(row)
        if run:
            self.watchers.appended(self.read_rows(run), run, run_origin)

    # --- the end ---------------------------------------------------------------------------------------

    async def flush(self) -> bool:
        """Wait until every line is synced; whether there was anything to do."""
        busy = not self._idle.is_set()
        await self._idle.wait()
        return await self.log.flush() or busy

    async def close(self) -> None:
        """Finish what is under way and let go of the log."""
        async with self._lock:
            await self._idle.wait()
            await self.log.close()


def _consume(future: asyncio.Future[Any]) -> None:
    """Take a result that nobody else awaits, so that asyncio has nothing to complain about."""
    if not future.cancelled():
        future.exception()
