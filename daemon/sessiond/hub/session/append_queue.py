"""Appending to an open session: batches are placed, and queued at the log.

Invariant: no code awaits between choosing a parent and joining the log's queue. Appends that must wait (for loading,
another program's lines, a torn line, a migration or a promotion) wait under one lock, in order of arrival, and choose
the parent afterwards. `pending_batches` commits the batches.
"""

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

from sessiond.hub.errors import HubError, NamesALine, Overloaded
from sessiond.hub.session import entry_placement
from sessiond.hub.session.announcements import Announcements
from sessiond.hub.session.batches import (
    LARGE_BATCH,
    LARGE_BATCH_BYTES,
    Done,
    Outcome,
    PlainRequests,
    PreparedAt,
    QueuedAppend,
    makes_session,
    scan,
)
from sessiond.hub.session.blobs import SessionBlobs
from sessiond.hub.session.drafts import NewMessage
from sessiond.hub.session.entry_placement import Placement, Prepared
from sessiond.hub.session.log_maintenance import LogMaintenance
from sessiond.hub.session.log_reader import LogReader
from sessiond.hub.session.pending_batches import PendingBatches
from sessiond.hub.session.write_block import RESTS_ON_LINES, WriteBlockMonitor, as_committed
from sessiond.protocol import types as t
from sessiond.store.base import Durability
from sessiond.store.errors import LogReplaced, StorageFailed

QUEUE_AT_ONCE: Final = 100
"""The number of batches that are queued in one turn of the event loop."""
THROTTLE_UNWRITTEN_BYTES: Final = 64 * 1024 * 1024
"""If more bytes wait to be written to a log, reading from the clients that append to it pauses (decision 0026)."""
MAX_UNWRITTEN_BYTES: Final = 2 * THROTTLE_UNWRITTEN_BYTES
"""If more bytes would wait to be written, an append is refused, unless no other append is pending."""


class AppendQueue:
    """The appends to one session."""

    def __init__(
        self,
        reader: LogReader,
        blobs: SessionBlobs,
        pending: PendingBatches,
        maintenance: LogMaintenance,
        write_block: WriteBlockMonitor,
        announcements: Announcements,
    ) -> None:
        self._reader = reader
        self._blobs = blobs
        self._pending = pending
        self._maintenance = maintenance
        self._write_block = write_block
        self._announcements = announcements
        self._waiting: deque[QueuedAppend] = deque()
        self._waiting_bytes = 0
        self._serving: asyncio.Task[None] | None = None

    @property
    def is_pending(self) -> bool:
        """Whether any append is not committed yet."""
        return bool(self._pending or self._waiting)

    @property
    def unwritten_bytes(self) -> int:
        """The bytes of pending appends."""
        return self._waiting_bytes + self._pending.unwritten_bytes

    def unwritten(self) -> Iterator[bytes]:
        """Yield the data that is not in the log yet: waiting drafts and pending lines."""
        for waiting in self._waiting:
            yield from map(bytes, waiting.raw)
        yield from self._pending.lines()

    async def until_served(self) -> None:
        """Wait until no append waits for preparation."""
        while self._serving is not None:
            await asyncio.wait([self._serving])

    def append(
        self,
        raw: Sequence[bytes],
        placement: Placement,
        durability: Durability,
        origin: t.Origin,
        done: Done,
    ) -> None:
        """Append a batch: see `LiveSession.append`."""
        if self._maintenance.closing_error is not None:
            done(self._maintenance.closing_error)
            return
        size = sum(memoryview(draft).nbytes for draft in raw)
        if self.unwritten_bytes + size > MAX_UNWRITTEN_BYTES and self.is_pending:
            done(Overloaded(f"{self.unwritten_bytes:,} bytes wait to be written to this session"))
            return
        if len(raw) > LARGE_BATCH or size > LARGE_BATCH_BYTES:
            waiting = QueuedAppend(
                raw, placement, durability, origin, done, size,
                has_blobs=True, is_large=True, is_scanned=False,
            )  # fmt: skip
        else:
            drafts = [bytes(draft) for draft in raw]
            has_blobs = self._blobs.needed_by(drafts)
            if not (has_blobs or self._waiting) and self._queue(drafts, placement, durability, origin, done):
                return
            waiting = QueuedAppend(
                drafts, placement, durability, origin, done, size,
                has_blobs=has_blobs, is_large=False, is_scanned=True,
            )  # fmt: skip
        self._waiting_bytes += size
        self._waiting.append(waiting)
        if self._serving is None:
            self._serving = asyncio.get_running_loop().create_task(self._serve())

    def append_messages(
        self, messages: Sequence[NewMessage], durability: Durability, requests: PlainRequests
    ) -> bool:
        """Append new messages at the leaf: see `LiveSession.append_messages`."""
        reader, pending = self._reader, self._pending
        if self._waiting or reader.log.draft or self._maintenance.closing_error is not None:
            return False
        if self._blobs.needed_by([message.body for message in messages]):
            return False
        try:
            if not pending.accepts_batches() or pending.unwritten_bytes > THROTTLE_UNWRITTEN_BYTES:
                return False
        except (StorageFailed, LogReplaced, HubError):
            return False
        requests.rows = entry_placement.place_messages(reader.tree, messages)
        pending.submit_plain(requests, durability)
        return True

    def _queue(
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
            if not self._pending.accepts_batches():
                return False
            lines: bytes | None = None
            if ready is not None and ready.state == self._placement_state():
                prepared, lines = ready.prepared, ready.lines
            else:
                reader = self._reader
                prepared = entry_placement.prepare(reader.tree, raw, placement, reader.read)
            if self._promotes(prepared):
                return False
        except Exception as refusal:  # noqa: BLE001 - the caller answers; appends behind it must not be blocked
            self._refuse(refusal, origin, done)
        else:
            self._pending.submit(prepared, durability, origin, done, lines)
        return True

    def _refuse(self, refusal: Exception, origin: t.Origin, done: Done) -> None:
        """Answer with an error.

        If the error depends on pending lines, it is answered after they are committed. If their write fails, that
        failure is answered instead.
        """
        self._write_block.update()
        reader = self._reader
        if isinstance(refusal, NamesALine):
            refusal.log_id = reader.log.log_id
        if not self._pending or not isinstance(refusal, RESTS_ON_LINES):
            done(refusal)
            return

        def committed(outcome: Outcome | Exception) -> None:
            done(outcome if isinstance(outcome, Exception) else as_committed(refusal, reader.tree))

        leaf = reader.tree.pending_leaf_id
        self._pending.submit(Prepared([], [], set(), leaf, leaf), "written", origin, committed)

    async def _serve(self) -> None:
        """Serve the waiting appends: prepare the session for the first, then queue all that are ready, and repeat."""
        try:
            while self._waiting:
                async with self._maintenance.lock:
                    first = self._waiting[0]
                    try:
                        await self._prepare(first)
                    except Exception as refusal:  # noqa: BLE001 - the caller answers; nothing awaits this task
                        self._remove_first()
                        self._refuse(refusal, first.origin, first.done)
                        continue
                    self._queue_waiting()
                await asyncio.sleep(0)
        finally:
            self._serving = None

    def _queue_waiting(self) -> None:
        """Queue the waiting appends in order, up to the first that must be prepared."""
        for _ in range(QUEUE_AT_ONCE):
            if not self._waiting or not self._waiting[0].is_ready:
                break
            it = self._waiting[0]
            if not self._queue(it.raw, it.placement, it.durability, it.origin, it.done, it.prepared):
                break
            self._remove_first()

    def _remove_first(self) -> None:
        self._waiting_bytes -= self._waiting.popleft().size

    async def _prepare(self, waiting: QueuedAppend) -> None:
        """Prepare the session and the drafts, so that this append can be queued."""
        if not self._pending.accepts_batches():
            await self._maintenance.prepare_for_writes()
        if not waiting.is_scanned:
            await self._reader.drive(scan(waiting, self._blobs))
        if waiting.has_blobs:
            # `waiting.raw` names the blobs before they are stored: blob collection reads waiting drafts, too.
            waiting.raw, new = await self._blobs.extract(waiting.raw)
            await self._blobs.store(new, waiting.raw)
            waiting.has_blobs = False
        if await self._promotes_when_prepared(waiting):
            await self._reader.log.promote()
            self._announcements.is_promotion_pending = True

    async def _promotes_when_prepared(self, waiting: QueuedAppend) -> bool:
        """Prepare a large batch in slices. Returns whether the batch promotes the draft session.

        Later appends wait meanwhile, so rows change only by a failed write or by another program. In that case,
        the batch is prepared again.
        """
        reader = self._reader
        if not waiting.is_large:
            return self._promotes(
                entry_placement.prepare(reader.tree, waiting.raw, waiting.placement, reader.read)
            )
        state = self._placement_state()
        prepared = await reader.drive(
            entry_placement.prepare_in_steps(reader.tree, waiting.raw, waiting.placement, reader.read)
        )
        # In a thread, because joining this many bytes releases the interpreter lock.
        lines = await asyncio.to_thread(b"".join, [row.line for row in prepared.rows])
        waiting.prepared = PreparedAt(prepared, lines, state)
        return self._promotes(prepared)

    def _placement_state(self) -> object:
        """Return the state on which a prepared batch depends: the rows of the tree with pending ones, and the leaf."""
        tree = self._reader.tree
        return id(tree), len(tree), tree.pending_leaf_id, self._pending.rollbacks

    def _promotes(self, prepared: Prepared) -> bool:
        return self._reader.log.draft and any(map(makes_session, prepared.rows))
