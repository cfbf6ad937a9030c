"""One open session: its tree, its log, its queue of batches and its watchers.

Invariant: nothing is awaited between choosing a parent and joining the log's queue. Appends that must wait
for something (loading, a foreign writer's lines, a torn tail, a migration, a promotion) wait under one lock,
first come first served, and only then choose.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from sessiond.hub import clock, meaning, placing
from sessiond.hub.blobs import NO_BLOBS, SessionBlobs
from sessiond.hub.errors import NamesALine, Overloaded
from sessiond.hub.events import NOBODY, Follower, Listener
from sessiond.hub.placing import Placement, Prepared
from sessiond.hub.refusing import RESTS_ON_LINES, as_committed, refusal_of
from sessiond.hub.telling import tell_of_lines, tell_of_meaning
from sessiond.hub.tended import TendedSession
from sessiond.hub.watch import LARGE, Watchers
from sessiond.protocol import types as t
from sessiond.session import updates
from sessiond.session.header_title import title_change
from sessiond.session.steps import Steps
from sessiond.session.tree import NewRow, Tree
from sessiond.store.base import Durability, Log, LogReplaced, StorageFailed

log = logging.getLogger(__name__)

Done = Callable[["Outcome | Exception"], None]

SETTLE_AT_ONCE: Final = 100
"""Batches taken, or answered, in one turn of the loop."""
MUCH_UNWRITTEN: Final = 64 * 1024 * 1024
"""Bytes on their way to one log above which those who append to it are not read meanwhile (fact: daemons B5)."""
MOST_UNWRITTEN: Final = 2 * MUCH_UNWRITTEN
"""And above which an append is refused, unless it is the only one."""
LARGE_BATCH: Final = 200
"""Entries of a batch above which it is prepared in slices."""
LARGE_BATCH_BYTES: Final = 256 * 1024
"""And its bytes."""
HEAD_BYTES: Final = 64 * 1024
"""Bytes at the start of a log in which its header is looked for to write the title there."""
RETRY_SECONDS: Final = 5.0
"""How often it is looked whether a session that takes no writes can be written again (facts: daemons C7)."""
_BY_ITSELF: Final = t.Origin(kind="daemon")


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """A committed batch."""

    prepared: Prepared
    seqs: list[int]
    leaf_id: str | None
    log_id: str
    seq: int


@dataclass(slots=True)
class _Batch:
    prepared: Prepared
    size: int
    future: asyncio.Future[bool]
    origin: t.Origin
    done: Done


@dataclass(slots=True)
class _Waiting:
    raw: Sequence[bytes]
    placement: Placement
    durability: Durability
    origin: t.Origin
    done: Done
    size: int
    concerns_blobs: bool  # what it names must be durable first
    is_large: bool  # it is looked at and prepared in slices
    is_looked_at: bool  # its drafts are copies, not parts of a frame, and `concerns_blobs` is known
    prepared: "_PreparedAt | None" = None

    @property
    def may_be_taken(self) -> bool:
        """Whether it can be queued without being seen to first."""
        return not self.concerns_blobs and (not self.is_large or self.prepared is not None)


@dataclass(frozen=True, slots=True)
class _PreparedAt:
    """A large batch that is ready to be queued, and the state of the tree for which it is."""

    prepared: Prepared
    lines: bytes
    state: object


class LiveSession(TendedSession):
    """An open session. Everything but the `async` methods is synchronous, on the loop's thread."""

    def __init__(
        self,
        log: Log,
        *,
        ephemeral: bool,
        blobs: SessionBlobs = NO_BLOBS,
        listener: Listener = NOBODY,
        follower: Follower = NOBODY,
        diverges: "Callable[[LiveSession], None] | None" = None,
    ) -> None:
        """`diverges` is called once, before other readers of the file may see the session differently."""
        super().__init__(log)
        self._diverges = diverges
        self.blobs = blobs
        self.ephemeral = ephemeral
        self.session_id = log.session_id
        self.holders: set[str] = set()
        self.awaits_holder = False
        """Whether it was created for a client that does not hold it yet: until then nobody takes it away."""
        self.known_info: tuple[object, t.SessionInfo] | None = None
        self.loaded_tree: Tree | None = None
        self.loaded_rows = 0
        """The tree and its committed rows as they were loaded; no tree if other readers see the file differently."""
        self.watchers = Watchers(
            self.session_id,
            self._rows,
            self.page_rows,
            self.read_rows,
            lambda: self.tree.leaf_id,
            lambda: self.log.log_id,
        )
        self.used_at = time.monotonic()
        self.changing = asyncio.Lock()  # held from looking at tags or settings to having changed them
        self.listener, self.follower = listener, follower
        self.engaged = 0  # pieces of work that will append here when they are done
        self._batches: deque[_Batch] = deque()
        self._waiting: deque[_Waiting] = deque()
        self.unwritten_bytes = 0  # on their way to the log
        self._serving: asyncio.Task[None] | None = None
        self.refuses: t.Refuses | None = None
        """Why it takes no writes, as it was last told."""
        self._retried_at = time.monotonic()
        self.just_promoted = False  # the draft has moved, and nobody has been told yet
        self._drifted = False
        self._undone = 0
        """How often pending rows were taken away again."""
        self._watched: asyncio.Future[bool] | None = None
        self._titling: asyncio.Task[None] | None = None  # writes the title where oh-my-pi reads it
        self._idle = asyncio.Event()
        self._idle.set()

    async def load(self) -> None:
        """Read the whole log, a slice at a time."""
        await super().load()
        if self.tree.header is not None:
            self.name(self.tree.header.id)
        self.refuses = refusal_of(self, time.time_ns())
        if self.refuses is None and not self.tree.problems:
            self.loaded_tree, self.loaded_rows = self.tree, self.tree.committed
        else:
            self._diverge()

    def _diverge(self) -> None:
        """Say once that the session may be another one than its file says: see `is_as_in_file`."""
        diverges, self._diverges = self._diverges, None
        if diverges is not None:
            diverges(self)

    @property
    def is_as_in_file(self) -> bool:
        """Whether other readers of its file see the same session: nothing was written since it was loaded."""
        tree = self.tree
        return (
            tree is self.loaded_tree
            and tree.committed == self.loaded_rows
            and not self.unwritten_bytes
            and self.refuses is None
        )

    def facts_key(self) -> object:
        """What changes with anything that the wire says of the session, lines that are on their way left out."""
        tree, log = self.tree, self.log
        return (
            tree, tree.committed, tree.leaf, tree.end, tree.tail,
            log.draft, log.ref, log.log_id, log.trouble, self.refuses,
        )  # fmt: skip

    def name(self, session_id: str) -> None:
        """Go by this id: the header's, or one made for a file that has none."""
        self.session_id = self.watchers.session_id = session_id

    def _rows(self) -> int:
        return self.tree.committed

    @property
    def wanted(self) -> bool:
        """Whether anybody has it open, watches it or waits for it; one in memory is wanted to the end."""
        is_held = bool(self.holders or len(self.watchers) or self.awaits_holder)
        return is_held or self.pending or bool(self.engaged or self.works) or self.ephemeral

    @property
    def is_draft(self) -> bool:
        """Whether nobody has answered here yet; a foreign program may have, in a file among the drafts."""
        return self.log.draft and not self.tree.has_assistant()

    def note_refusal(self) -> None:
        """See whether the session takes writes, and say so once when that has changed."""
        before, now = self.refuses, refusal_of(self, time.time_ns())
        if (before and before.reason) == (now and now.reason):
            return
        self.refuses = now
        self._diverge()
        if now is not None:
            log.warning("session %s takes no writes: %s", self.session_id, now.message)
        else:
            log.info("session %s takes writes again", self.session_id)
        self.listener.changed(self, ["refuses"], _BY_ITSELF)

    def _entries(self, rows: Sequence[int], lines: Sequence[bytes]) -> list[bytes]:
        try:
            return super()._entries(rows, lines)
        except LogReplaced:
            self.note_refusal()
            raise

    def _bytes(self, start: int, end: int) -> bytes:
        try:
            return super()._bytes(start, end)
        except LogReplaced:
            self.note_refusal()
            raise

    async def retry(self) -> None:
        """Now and then see whether a session that takes no writes can be written again."""
        if not self.pending and time.monotonic() - self._retried_at > RETRY_SECONDS:
            self._retried_at = time.monotonic()
            async with self._lock:
                await self.log.retry()
        self.note_refusal()

    # --- writing ---------------------------------------------------------------------------------------

    @property
    def pending(self) -> bool:
        """Whether batches are on their way to the disk, or wait to be."""
        return bool(self._batches or self._waiting)

    def append(
        self,
        raw: Sequence[bytes],
        placement: Placement,
        durability: Durability,
        origin: t.Origin,
        done: Done,
    ) -> None:
        """Append a batch; `done` is called once, in log order, with its outcome or with why it was refused.

        `done` may be called before this returns (refused) or on a later tick. A session that needs to be seen
        to first (a torn tail, a foreign writer) is, and so is a batch with blobs; everything behind the first
        append that waits, waits in line.
        """
        if self.ended is not None:
            done(self.ended)
            return
        self.used_at = time.monotonic()
        self._diverge()
        size = sum(memoryview(draft).nbytes for draft in raw)
        if self.unwritten_bytes + size > MOST_UNWRITTEN and self.pending:
            done(Overloaded(f"{self.unwritten_bytes:,} bytes wait to be written to this session"))
            return
        if len(raw) > LARGE_BATCH or size > LARGE_BATCH_BYTES:
            waiting = _Waiting(
                raw, placement, durability, origin, done, size,
                concerns_blobs=True, is_large=True, is_looked_at=False,
            )  # fmt: skip
        else:
            drafts = [bytes(draft) for draft in raw]
            concerned = self.blobs.concern(drafts)
            if not (concerned or self._waiting) and self._take(drafts, placement, durability, origin, done):
                return
            waiting = _Waiting(
                drafts, placement, durability, origin, done, size,
                concerns_blobs=concerned, is_large=False, is_looked_at=True,
            )  # fmt: skip
        self.unwritten_bytes += size
        self._waiting.append(waiting)
        if self._serving is None:
            self._serving = asyncio.get_running_loop().create_task(self._serve())

    def _take(
        self,
        raw: Sequence[bytes],
        placement: Placement,
        durability: Durability,
        origin: t.Origin,
        done: Done,
        ready: _PreparedAt | None = None,
    ) -> bool:
        """Queue or refuse an append; False when something must be seen to first."""
        try:
            if not self._ready_to_write():
                return False
            lines: bytes | None = None
            if ready is not None and ready.state == self._state_to_place_in():
                prepared, lines = ready.prepared, ready.lines
            else:
                prepared = placing.prepare(self.tree, raw, placement, self.read)
            if self._promotes(prepared):
                return False
        except Exception as refusal:  # noqa: BLE001 - the caller answers; nobody behind it may be held up
            self._refuse(refusal, origin, done)
        else:
            self._submit(prepared, durability, origin, done, lines)
        return True

    def _refuse(self, refusal: Exception, origin: t.Origin, done: Done) -> None:
        """Answer a refusal: after the lines that it rests on are committed, and if they fail, with their failure."""
        self.note_refusal()
        if isinstance(refusal, NamesALine):
            refusal.log_id = self.log.log_id
        if not self._batches or not isinstance(refusal, RESTS_ON_LINES):
            done(refusal)
            return

        def committed(outcome: Outcome | Exception) -> None:
            done(outcome if isinstance(outcome, Exception) else as_committed(refusal, self.tree))

        leaf = self.tree.pending_leaf_id
        self._submit(Prepared([], [], set(), leaf, leaf), "written", origin, committed)

    async def _serve(self) -> None:
        """Append what had to wait: see to what must be, then take all that are in line, then look again."""
        try:
            while self._waiting:
                async with self._lock:
                    first = self._waiting[0]
                    try:
                        await self._see_to(first)
                    except Exception as refusal:  # noqa: BLE001 - the caller answers; a task has nobody to tell
                        self.unwritten_bytes -= self._waiting.popleft().size
                        self._refuse(refusal, first.origin, first.done)
                        continue
                    self._take_waiting()
                await asyncio.sleep(0)
        finally:
            self._serving = None

    def _take_waiting(self) -> None:
        """Queue those who wait, in order, up to the first that must be seen to."""
        for _ in range(SETTLE_AT_ONCE):
            if not self._waiting or not self._waiting[0].may_be_taken:
                break
            it = self._waiting[0]
            if not self._take(it.raw, it.placement, it.durability, it.origin, it.done, it.prepared):
                break
            self.unwritten_bytes -= self._waiting.popleft().size

    async def _see_to(self, waiting: _Waiting) -> None:
        """Do what must be done before this batch can be queued."""
        if not self._ready_to_write():
            await self._make_writable()
        if not waiting.is_looked_at:
            await self.drive(self._look_at(waiting))
        if waiting.concerns_blobs:
            # What it names is known before it is kept: whoever collects blobs looks at the drafts, too.
            waiting.raw, new = await self.blobs.take_out(waiting.raw)
            await self.blobs.keep(new, waiting.raw)
            waiting.concerns_blobs = False
        if await self._promotes_when_prepared(waiting):
            await self.log.promote()
            self.just_promoted = True

    def _look_at(self, waiting: _Waiting) -> Steps[None]:
        """Copy the drafts of a large batch out of the frame that they came in, and see whether they concern blobs."""
        drafts: list[bytes] = []
        concerned = False
        looked_at = 0
        for raw in waiting.raw:
            draft = bytes(raw)
            drafts.append(draft)
            concerned = concerned or self.blobs.concern([draft])
            looked_at += len(draft)
            if looked_at > LARGE_BATCH_BYTES:
                looked_at = 0
                yield
        waiting.raw, waiting.concerns_blobs, waiting.is_looked_at = drafts, concerned, True

    async def _promotes_when_prepared(self, waiting: _Waiting) -> bool:
        """Prepare a large batch in slices; whether this batch makes a session of a draft.

        What is appended meanwhile waits behind it, so that rows are added or taken away by a failed write or by
        another program only. Then it is prepared again.
        """
        if not waiting.is_large:
            return self._promotes(placing.prepare(self.tree, waiting.raw, waiting.placement, self.read))
        state = self._state_to_place_in()
        prepared = await self.drive(
            placing.prepare_in_steps(self.tree, waiting.raw, waiting.placement, self.read)
        )
        # In a thread: a join of so much lets go of the interpreter lock.
        lines = await asyncio.to_thread(b"".join, [row.line for row in prepared.rows])
        waiting.prepared = _PreparedAt(prepared, lines, state)
        return self._promotes(prepared)

    def _state_to_place_in(self) -> object:
        """What a prepared batch depends on: the rows of the tree, pending ones included, and where its leaf is."""
        tree = self.tree
        return id(tree), len(tree), tree.pending_leaf_id, self._undone

    def unwritten(self) -> Iterator[bytes]:
        """What is not in the log yet: drafts that wait, and lines that are on their way."""
        for waiting in self._waiting:
            yield from map(bytes, waiting.raw)
        for batch in self._batches:
            for row in batch.prepared.rows:
                yield row.line

    def _ready_to_write(self) -> bool:
        if self._batches and self._batches[0].future.done():
            self._settle()
        if not self._writable or self._drifted:
            return False
        # Between batches a foreign program may have written; while ours are under way the log itself looks.
        return bool(self._batches) or not self.log.foreign_bytes()

    def _promotes(self, prepared: Prepared) -> bool:
        return self.log.draft and any(
            row.role == "assistant" or (not row.is_silent and _sets_state(row)) for row in prepared.rows
        )

    async def _until_idle(self) -> None:
        while self._batches:
            await self._idle.wait()

    def _tell_of_others(self, before: meaning.Facts) -> None:
        self._diverge()
        tell_of_lines(self, before, {})

    async def move(self, cwd: str, origin: t.Origin) -> None:
        """Let the session belong to another working directory."""
        self._diverge()
        await self._move(cwd)
        self.listener.changed(self, ["path", "cwd"], origin)

    def _submit(
        self,
        prepared: Prepared,
        durability: Durability,
        origin: t.Origin,
        done: Done,
        lines: bytes | None = None,
    ) -> None:
        """Queue a batch; `lines` are those of its rows, if they have been joined already."""
        size = 0
        if prepared.rows:
            if lines is None:
                lines = b"".join([row.line for row in prepared.rows])
            size = len(lines)
            self.unwritten_bytes += size
            future = self.log.append(lines, durability)
            self.tree.attach(prepared.rows, leaf=prepared.leaf)
        else:
            future = asyncio.get_running_loop().create_task(self._barrier(durability))
        self._batches.append(_Batch(prepared, size, future, origin, done))
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
            self._commit(batch)
        if not batches:
            self._idle.set()
        elif batches[0].future.done():
            asyncio.get_running_loop().call_soon(self._settle)
        else:
            self._watch()

    def _commit(self, batch: _Batch) -> None:
        """Make a batch visible, answer it, then tell of it."""
        self.unwritten_bytes -= batch.size
        prepared, tree = batch.prepared, self.tree
        rows, first = prepared.rows, tree.committed
        tells_more = bool(rows) and (self.just_promoted or not prepared.is_turn)
        before = meaning.facts(tree) if tells_more else None
        tree.commit(len(rows), leaf=prepared.leaf)
        if self.refuses is not None:
            self.note_refusal()
        if prepared.is_turn:
            outcome = Outcome(prepared, [first], prepared.leaf, self.log.log_id, first)
        else:
            outcome = self._outcome(prepared)
        batch.done(outcome)
        if rows and batch.size > LARGE:
            self.watchers.catch_up()
        elif rows and len(self.watchers):
            self.watchers.appended(
                [row.line[:-1] for row in rows], range(first, first + len(rows)), batch.origin
            )
        if before is not None:
            tell_of_meaning(self, before, batch.origin)
        if rows:
            self.follower.grew(self, first)

    def _watch(self) -> None:
        """Have `_settle` called when the next batch is done. The log finishes them in order: one will do."""
        waiting = next((batch.future for batch in self._batches if not batch.future.done()), None)
        if waiting is not None and waiting is not self._watched:
            waiting.add_done_callback(self._settle)
        self._watched = waiting

    def _outcome(self, prepared: Prepared) -> Outcome:
        seqs = [self.tree.row(name) or 0 for name in prepared.ids]
        return Outcome(prepared, seqs, self.tree.leaf_id, self.log.log_id, self.tree.seq)

    def _fail_all(self) -> None:
        """The log has cut a batch away, and with it all that were queued behind: their rows go too."""
        failed = self._take_all_batches()
        self._undone += 1
        self.tree.roll_back()
        refusal: Exception = StorageFailed("the write was given up", path=self.log.path)
        for batch in failed:
            if not batch.future.done():
                # It fails for the same reason, or was built on what did.
                batch.future.add_done_callback(_consume)
            elif isinstance(error := batch.future.exception(), Exception):
                refusal = error
            batch.done(refusal)
        self._idle.set()
        self.note_refusal()

    def _take_all_batches(self) -> list[_Batch]:
        batches = list(self._batches)
        self._batches.clear()
        self.unwritten_bytes -= sum(batch.size for batch in batches)
        return batches

    def _resync(self) -> None:
        """Another program's lines got between ours: read what really stands there, then answer."""
        batches = self._take_all_batches()
        self._drifted = False
        self._undone += 1
        self.tree.roll_back()
        before = meaning.facts(self.tree)
        unread: Exception | None = None
        try:
            self._read_rest()
        except (StorageFailed, LogReplaced) as error:
            # What lies there cannot be known, so nothing here is sure any more: it must be opened anew.
            unread = error
            self.log.distrust()
        for batch in batches:
            refusal = batch.future.exception() or unread or self._refusal_of_unread(batch.prepared)
            batch.done(refusal if isinstance(refusal, Exception) else self._outcome(batch.prepared))
        origins = {name: batch.origin for batch in batches for name in batch.prepared.created}
        try:
            tell_of_lines(self, before, origins)
        except (StorageFailed, LogReplaced) as error:
            log.warning("session %s cannot be told of: %s", self.session_id, error)
            self.watchers.cut_off()
        self._writable = not self.tree.tail and not self.tree.tail_is_entry
        self._idle.set()
        self.note_refusal()

    def _refusal_of_unread(self, prepared: Prepared) -> StorageFailed | None:
        """Why a batch cannot be acknowledged: a line of it is not in the file any more. None when all are there."""
        missing = [name for name in prepared.ids if self.tree.row(name) is None]
        if not missing:
            return None
        return StorageFailed(
            f"{self.log.ref}: entry {missing[0]} is not where it was written; another program has changed the file",
            path=self.log.path,
        )

    # --- the title -------------------------------------------------------------------------------------

    def title_changed(self) -> None:
        """Write the title in the background to where oh-my-pi reads it."""
        if self._titling is None:
            self._titling = asyncio.get_running_loop().create_task(self._write_title())

    async def _write_title(self) -> None:
        try:
            async with self._lock:
                await self._until_idle()
                self._titling = None  # a title that comes from now on needs another look
                if self.ended is None and self.read_only is None:
                    head = self.log.read(0, min(self.log.size, HEAD_BYTES))
                    change = title_change(head, self.tree.title, clock.timestamp())
                    if change is not None:
                        await self.log.overwrite(*change)
        except (LogReplaced, StorageFailed) as error:
            log.warning("session %s: the title is not in the header: %s", self.session_id, error)

    async def _until_titled(self) -> None:
        if self._titling is not None:
            await asyncio.wait([self._titling])

    # --- the end ---------------------------------------------------------------------------------------

    async def flush(self) -> bool:
        """Wait until every line is synced; whether there was anything to do."""
        busy = self.pending
        await self._until_served()
        await self._until_idle()
        await self._until_titled()
        return await self.log.flush() or busy

    async def close(self) -> None:
        """Finish what is under way and let go of the log."""
        await self._until_served()
        await self._until_titled()
        async with self._lock:
            await self._until_idle()
            await self.log.close()

    async def _until_served(self) -> None:
        while self._serving is not None:
            await asyncio.wait([self._serving])


def _consume(future: asyncio.Future[Any]) -> None:
    """Take a result that nobody else awaits, so that asyncio has nothing to complain about."""
    if not future.cancelled():
        future.exception()


def _sets_state(row: NewRow) -> bool:
    """Whether an entry sets the working state, which makes a session worth keeping without an answer (seed: NOVA)."""
    return row.type == "custom" and updates.sets_state(row.line)
