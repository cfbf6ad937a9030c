"""Appending to an open session: batches are placed, queued at the log, committed in log order, and announced.

Invariant: no code awaits between choosing a parent and joining the log's queue. Appends that must wait (for loading,
another program's lines, a torn line, a migration or a promotion) wait under one lock, first come, first served, and
choose the parent afterwards. A batch becomes visible as a whole.
"""

import asyncio
from abc import abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sessiond.hub.errors import NamesALine, Overloaded
from sessiond.hub.session import changes, entry_placement
from sessiond.hub.session.batches import (
    LARGE_BATCH,
    LARGE_BATCH_BYTES,
    Batch,
    Done,
    Outcome,
    PreparedAt,
    QueuedAppend,
    look_at,
    makes_session,
)
from sessiond.hub.session.blobs import SessionBlobs
from sessiond.hub.session.entry_placement import Placement, Prepared
from sessiond.hub.session.maintained import TendedSession
from sessiond.hub.session.write_block import RESTS_ON_LINES, as_committed
from sessiond.protocol import types as t
from sessiond.store.base import Durability, Log
from sessiond.store.errors import LogReplaced, StorageFailed

SETTLE_AT_ONCE: Final = 100
"""The number of batches that are queued, or committed, in one turn of the event loop."""
THROTTLE_UNWRITTEN_BYTES: Final = 64 * 1024 * 1024
"""If more bytes wait to be written to a log, reading from the clients that append to it pauses (decision 0026)."""
MAX_UNWRITTEN_BYTES: Final = 2 * THROTTLE_UNWRITTEN_BYTES
"""If more bytes would wait to be written, an append is refused, unless no other append is pending."""


class AppendedSession(TendedSession):
    """A session that lines are appended to. `LiveSession` implements the notifications."""

    def __init__(self, log: Log, blobs: SessionBlobs) -> None:
        super().__init__(log)
        self.blobs = blobs
        self.unwritten_bytes = 0  # of pending appends
        self.write_block: t.WriteBlock | None = None
        """Why the session accepts no writes, as last announced; None if it accepts writes."""
        self.just_promoted = False  # the draft is promoted, which is not announced yet
        self._batches: deque[Batch] = deque()
        self._waiting: deque[QueuedAppend] = deque()
        self._serving: asyncio.Task[None] | None = None
        self._drifted = False
        self._undone = 0
        """How many times pending rows were rolled back."""
        self._watched: asyncio.Future[bool] | None = None
        self._idle = asyncio.Event()
        self._idle.set()

    @abstractmethod
    def note_refusal(self) -> None:
        """Check whether the session accepts writes, and announce a change once."""

    @abstractmethod
    def _begin_to_append(self) -> None:
        """Called before each append."""

    @abstractmethod
    def _tell_of_ours(self, batch: Batch, first: int, before: changes.SessionBefore | None) -> None:
        """Announce a committed batch whose rows begin at `first`.

        `before` is None if the batch cannot have changed more than the leaf.
        """

    @abstractmethod
    def _tell_of_read(self, before: changes.SessionBefore, ours: Mapping[str, t.Origin]) -> None:
        """Announce lines that were read from the log. `ours` maps ids of entries that clients sent to their origins."""

    @property
    def pending(self) -> bool:
        """Whether any append is not committed yet."""
        return bool(self._batches or self._waiting)

    def append(
        self,
        raw: Sequence[bytes],
        placement: Placement,
        durability: Durability,
        origin: t.Origin,
        done: Done,
    ) -> None:
        """Append a batch.

        If the session must be prepared first (a torn line, another program's lines), or the batch is large or has
        blobs, the append waits. Later appends wait behind it.

        Args:
            raw: The drafts, as JSON.
            placement: Where the batch goes.
            durability: The durability at which the batch is committed.
            origin: The origin that notifications name.
            done: Called once, in log order, with the outcome or the error; before this method returns, or later.
        """
        if self.ended is not None:
            done(self.ended)
            return
        self._begin_to_append()
        size = sum(memoryview(draft).nbytes for draft in raw)
        if self.unwritten_bytes + size > MAX_UNWRITTEN_BYTES and self.pending:
            done(Overloaded(f"{self.unwritten_bytes:,} bytes wait to be written to this session"))
            return
        if len(raw) > LARGE_BATCH or size > LARGE_BATCH_BYTES:
            waiting = QueuedAppend(
                raw, placement, durability, origin, done, size,
                concerns_blobs=True, is_large=True, is_looked_at=False,
            )  # fmt: skip
        else:
            drafts = [bytes(draft) for draft in raw]
            concerned = self.blobs.concern(drafts)
            if not (concerned or self._waiting) and self._take(drafts, placement, durability, origin, done):
                return
            waiting = QueuedAppend(
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
        ready: PreparedAt | None = None,
    ) -> bool:
        """Queue or refuse an append. Returns False if the session must be prepared first."""
        try:
            if not self._ready_to_write():
                return False
            lines: bytes | None = None
            if ready is not None and ready.state == self._state_to_place_in():
                prepared, lines = ready.prepared, ready.lines
            else:
                prepared = entry_placement.prepare(self.tree, raw, placement, self.read)
            if self._promotes(prepared):
                return False
        except Exception as refusal:  # noqa: BLE001 - the caller answers; appends behind it must not be blocked
            self._refuse(refusal, origin, done)
        else:
            self._submit(prepared, durability, origin, done, lines)
        return True

    def _refuse(self, refusal: Exception, origin: t.Origin, done: Done) -> None:
        """Answer with an error.

        If the error depends on pending lines, it is answered after they are committed. If their write fails, that
        failure is answered instead.
        """
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
        """Serve the waiting appends: prepare the session for the first, then queue all that are ready, and repeat."""
        try:
            while self._waiting:
                async with self._lock:
                    first = self._waiting[0]
                    try:
                        await self._see_to(first)
                    except Exception as refusal:  # noqa: BLE001 - the caller answers; nothing awaits this task
                        self.unwritten_bytes -= self._waiting.popleft().size
                        self._refuse(refusal, first.origin, first.done)
                        continue
                    self._take_waiting()
                await asyncio.sleep(0)
        finally:
            self._serving = None

    def _take_waiting(self) -> None:
        """Queue the waiting appends in order, up to the first that must be prepared."""
        for _ in range(SETTLE_AT_ONCE):
            if not self._waiting or not self._waiting[0].may_be_taken:
                break
            it = self._waiting[0]
            if not self._take(it.raw, it.placement, it.durability, it.origin, it.done, it.prepared):
                break
            self.unwritten_bytes -= self._waiting.popleft().size

    async def _see_to(self, waiting: QueuedAppend) -> None:
        """Do what must be done before this append can be queued."""
        if not self._ready_to_write():
            await self._make_writable()
        if not waiting.is_looked_at:
            await self.drive(look_at(waiting, self.blobs))
        if waiting.concerns_blobs:
            # `waiting.raw` names the blobs before they are stored: blob collection reads waiting drafts, too.
            waiting.raw, new = await self.blobs.take_out(waiting.raw)
            await self.blobs.keep(new, waiting.raw)
            waiting.concerns_blobs = False
        if await self._promotes_when_prepared(waiting):
            await self.log.promote()
            self.just_promoted = True

    async def _promotes_when_prepared(self, waiting: QueuedAppend) -> bool:
        """Prepare a large batch in slices. Returns whether the batch promotes the draft session.

        Appends wait behind it meanwhile, so rows change only by a failed write or by another program. In that case,
        the batch is prepared again.
        """
        if not waiting.is_large:
            return self._promotes(
                entry_placement.prepare(self.tree, waiting.raw, waiting.placement, self.read)
            )
        state = self._state_to_place_in()
        prepared = await self.drive(
            entry_placement.prepare_in_steps(self.tree, waiting.raw, waiting.placement, self.read)
        )
        # In a thread, because joining this many bytes releases the interpreter lock.
        lines = await asyncio.to_thread(b"".join, [row.line for row in prepared.rows])
        waiting.prepared = PreparedAt(prepared, lines, state)
        return self._promotes(prepared)

    def _state_to_place_in(self) -> object:
        """Return what a prepared batch depends on: the rows of the tree, including pending ones, and the leaf."""
        tree = self.tree
        return id(tree), len(tree), tree.pending_leaf_id, self._undone

    def unwritten(self) -> Iterator[bytes]:
        """Yield what is not in the log yet: waiting drafts and pending lines."""
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
        # Without pending batches, another program may have written. With pending batches, the log checks this.
        return bool(self._batches) or not self.log.foreign_bytes()

    def _promotes(self, prepared: Prepared) -> bool:
        return self.log.draft and any(map(makes_session, prepared.rows))

    async def _until_idle(self) -> None:
        while self._batches:
            await self._idle.wait()

    def _submit(
        self,
        prepared: Prepared,
        durability: Durability,
        origin: t.Origin,
        done: Done,
        lines: bytes | None = None,
    ) -> None:
        """Queue a batch. `lines` holds the joined lines of its rows if they are joined already."""
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
        self._batches.append(Batch(prepared, size, future, origin, done))
        if len(self._batches) == 1:
            self._idle.clear()
            self._watch()

    async def _barrier(self, durability: Durability) -> bool:
        """Wait until the entries that a retry repeats have the requested durability. A retry adds no lines."""
        if durability == "synced":
            await self.log.flush()
        return False

    # --- committing ------------------------------------------------------------------------------------

    def _settle(self, _future: object = None) -> None:
        """Commit the batches that the log has finished, in log order."""
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

    def _commit(self, batch: Batch) -> None:
        """Make a batch visible, answer its request, then announce it."""
        self.unwritten_bytes -= batch.size
        prepared, tree = batch.prepared, self.tree
        rows, first = prepared.rows, tree.committed
        tells_more = bool(rows) and (self.just_promoted or not prepared.is_turn)
        before = changes.facts(tree) if tells_more else None
        tree.commit(len(rows), leaf=prepared.leaf)
        if self.write_block is not None:
            self.note_refusal()
        if prepared.is_turn:
            outcome = Outcome(prepared, [first], prepared.leaf, self.log.log_id, first)
        else:
            outcome = self._outcome(prepared)
        batch.done(outcome)
        if rows:
            self._tell_of_ours(batch, first, before)

    def _watch(self) -> None:
        """Call `_settle` when the next batch is done. The log finishes batches in order, so one callback is enough."""
        waiting = next((batch.future for batch in self._batches if not batch.future.done()), None)
        if waiting is not None and waiting is not self._watched:
            waiting.add_done_callback(self._settle)
        self._watched = waiting

    def _outcome(self, prepared: Prepared) -> Outcome:
        seqs = [self.tree.row(name) or 0 for name in prepared.ids]
        return Outcome(prepared, seqs, self.tree.leaf_id, self.log.log_id, self.tree.seq)

    def _fail_all(self) -> None:
        """Roll back all queued batches: the log has removed a failed batch and the batches behind it."""
        failed = self._take_all_batches()
        self._undone += 1
        self.tree.roll_back()
        refusal: Exception = StorageFailed("the write was given up", path=self.log.path)
        for batch in failed:
            if not batch.future.done():
                # It fails for the same reason, or its rows depend on the failed ones.
                batch.future.add_done_callback(_consume)
            elif isinstance(error := batch.future.exception(), Exception):
                refusal = error
            batch.done(refusal)
        self._idle.set()
        self.note_refusal()

    def _take_all_batches(self) -> list[Batch]:
        batches = list(self._batches)
        self._batches.clear()
        self.unwritten_bytes -= sum(batch.size for batch in batches)
        return batches

    def _resync(self) -> None:
        """Read the lines of another program that were written between ours, then answer the queued batches."""
        batches = self._take_all_batches()
        self._drifted = False
        self._undone += 1
        self.tree.roll_back()
        before = changes.facts(self.tree)
        unread: Exception | None = None
        try:
            self._read_rest()
        except (StorageFailed, LogReplaced) as error:
            # The content of the log is unknown, so the tree may be wrong. The session must be opened again.
            unread = error
            self.log.distrust()
        for batch in batches:
            refusal = batch.future.exception() or unread or self._refusal_of_unread(batch.prepared)
            batch.done(refusal if isinstance(refusal, Exception) else self._outcome(batch.prepared))
        origins = {name: batch.origin for batch in batches for name in batch.prepared.created}
        self._tell_of_read(before, origins)
        self._writable = not self.tree.tail and not self.tree.tail_is_entry
        self._idle.set()
        self.note_refusal()

    def _refusal_of_unread(self, prepared: Prepared) -> StorageFailed | None:
        """Return the error of a batch if one of its lines is no longer in the file; None if all are there."""
        missing = [name for name in prepared.ids if self.tree.row(name) is None]
        if not missing:
            return None
        return StorageFailed(
            f"{self.log.ref}: entry {missing[0]} is not where it was written; another program has changed the file",
            path=self.log.path,
        )


def _consume(future: asyncio.Future[Any]) -> None:
    """Retrieve a result that no task awaits, so that asyncio does not log it."""
    if not future.cancelled():
        future.exception()
