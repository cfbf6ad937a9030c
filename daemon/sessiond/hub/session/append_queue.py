"""Appends to an open session: places batches, and queues them at the log.

Invariant: no code awaits between choosing a parent and joining the log's queue. Appends that must wait (for loading,
another program's lines, a torn line, a migration or a promotion) wait under one lock, in order of arrival, and choose
the parent afterwards. `pending_batches` commits the batches. `moved_appends` places those again that a log of several
daemons did not store where they were placed.
"""

import asyncio
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from sessiond.hub.errors import HubError, NamesALine, Overloaded
from sessiond.hub.session import entry_placement
from sessiond.hub.session.batches import (
    LARGE_BATCH,
    LARGE_BATCH_BYTES,
    NOTHING,
    Append,
    Batch,
    Done,
    Outcome,
    PlainRequests,
    makes_session,
    read_drafts,
)
from sessiond.hub.session.blobs import SessionBlobs
from sessiond.hub.session.drafts import NewMessage
from sessiond.hub.session.entry_placement import LONG_IDS, SHORT_IDS, NewIds, Placement, Prepared
from sessiond.hub.session.log_maintenance import LogMaintenance
from sessiond.hub.session.log_reader import LogReader
from sessiond.hub.session.moved_appends import MAY_BE_OUTDATED, RETRY_SECONDS, Moves
from sessiond.hub.session.pending_batches import PendingBatches
from sessiond.hub.session.publisher import Publisher
from sessiond.hub.session.write_block import RESTS_ON_LINES, WriteBlockMonitor, as_committed
from sessiond.protocol import types as t
from sessiond.store.base import Durability
from sessiond.store.errors import LogMoved, LogReplaced, OutcomeUnknown, StorageFailed, StoreUnreachable

QUEUE_AT_ONCE: Final = 100
"""The number of batches that are queued in one turn of the event loop."""
THROTTLE_UNWRITTEN_BYTES: Final = 64 * 1024 * 1024
"""If more bytes wait to be written to a log, reading from the clients that append to it pauses (decision 0026)."""
MAX_UNWRITTEN_BYTES: Final = 2 * THROTTLE_UNWRITTEN_BYTES
"""If more bytes would wait to be written, an append is refused, unless no other append is pending."""


class AppendQueue:
    """The appends to one session.

    Args:
        reader: The log.
        blobs: The blobs of the session.
        pending: The batches that are queued at the log.
        maintenance: Prepares the log for writes.
        write_block: Why the log takes no writes.
        publisher: Announces a promotion.
        is_shared: Whether other daemons may append to the log at the same time.
    """

    def __init__(
        self,
        reader: LogReader,
        blobs: SessionBlobs,
        pending: PendingBatches,
        maintenance: LogMaintenance,
        write_block: WriteBlockMonitor,
        publisher: Publisher[Any],
        *,
        is_shared: bool,
    ) -> None:
        self._reader = reader
        self._blobs = blobs
        self._pending = pending
        self._maintenance = maintenance
        self._write_block = write_block
        self._publisher = publisher
        self._is_shared = is_shared
        self._new_ids = LONG_IDS if is_shared else SHORT_IDS
        self._waiting: deque[Append | PlainRequests] = deque()  # plain requests are here only if they moved
        self._waiting_bytes = 0
        self._moves = Moves()
        self._is_placing_again = False
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
            if isinstance(waiting, Append):
                yield from map(bytes, waiting.raw)
            else:
                yield from (row.line for row in waiting.rows)
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
        new = Append(
            raw, placement, durability, origin, done, size,
            is_large=len(raw) > LARGE_BATCH or size > LARGE_BATCH_BYTES,
        )  # fmt: skip
        if not new.is_large:
            new.raw = [bytes(draft) for draft in raw]
            if self._blobs.needed_by(new.raw):
                new.state = "withBlobs"
            elif not self._waiting and self._queue(new):
                return
        self._waiting_bytes += size
        self._waiting.append(new)
        self._start_serving()

    def append_messages(self, messages: Sequence[NewMessage], requests: PlainRequests) -> bool:
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
        requests.rows = entry_placement.place_messages(reader.tree, messages, self._new_ids.length)
        pending.submit_plain(requests)
        return True

    def _queue(self, append: Append) -> bool:
        """Queue or refuse an append. Returns False if the session must be prepared first."""
        try:
            if not self._pending.accepts_batches():
                return False
            prepared = append.prepared
            if append.placed_at is None or append.placed_at != self._placement_state():
                append.lines = None
                reader, ids = self._reader, self._ids(append)
                prepared = entry_placement.prepare(
                    reader.tree, append.raw, append.placement, reader.read, ids
                )
            if self._promotes(prepared):
                return False
        except Exception as refusal:  # noqa: BLE001 - the caller answers; appends behind it must not be blocked
            self._refuse_or_ask(refusal, append)
        else:
            self._pending.submit(append, prepared)
        return True

    def _ids(self, append: Append) -> NewIds:
        """Return the ids for new entries. An append that has moved keeps its ids if they are free."""
        pinned = append.prepared.ids if append.state == "moved" else ()
        return NewIds(self._new_ids.length, pinned) if pinned else self._new_ids

    def _refuse(self, refusal: Exception, append: Append) -> None:
        """Answer with an error.

        If the error depends on pending lines, it is answered after they are committed. If their write fails, that
        failure is answered instead.
        """
        self._write_block.update()
        reader, done = self._reader, append.done
        if isinstance(refusal, NamesALine):
            refusal.log_id = reader.log.log_id
        if not self._pending or not isinstance(refusal, RESTS_ON_LINES):
            done(refusal)
            return

        def committed(outcome: Outcome | Exception) -> None:
            done(outcome if isinstance(outcome, Exception) else as_committed(refusal, reader.tree))

        leaf = reader.tree.pending_leaf_id
        barrier = Append((), append.placement, "written", append.origin, committed, 0)
        self._pending.submit(barrier, Prepared([], [], set(), leaf, leaf))

    def _refuse_or_ask(self, refusal: Exception, append: Append) -> None:
        """Refuse an append. If lines of other daemons may change that, it is placed under the lock of the log first."""
        if not (self._is_shared and isinstance(refusal, MAY_BE_OUTDATED)) or self._is_placing_again:
            self._refuse(refusal, append)
            return
        append.place(NOTHING)
        append.state = "moved"
        self._waiting.appendleft(append)
        self._waiting_bytes += append.size
        self._start_serving()

    def requeue(self, batches: Sequence[Batch], error: Exception) -> bool:
        """Let failed batches wait before all other appends, if they are to be placed again.

        Returns:
            False if the error is final, and their requests are to be answered with it.
        """
        moves = self._moves
        if not isinstance(error, LogMoved | OutcomeUnknown) and not moves.sent:
            return False
        moved = moves.add(batches, error)
        self._waiting.extendleft(reversed(moved))
        self._waiting_bytes += sum(map(_size, moved))
        if isinstance(error, LogMoved | OutcomeUnknown | StoreUnreachable):
            self._start_serving()
        else:
            self._give_up_moved(error)
        return True

    def settle_stored(self) -> Mapping[str, t.Origin]:
        """Answer the moved appends whose lines are in the log after all. Return the origins of these lines by id."""
        origins: dict[str, t.Origin] = {}
        for requests in list(self._waiting) if self._moves.sent else ():
            if _has_moved(requests) and self._moves.is_stored(requests, self._reader):
                self._remove(requests)
                origins.update({row.id: requests.origin for row in requests.rows})
                requests.settle(self._pending.outcome)
        return origins

    def _start_serving(self) -> None:
        if self._serving is None:
            self._serving = asyncio.get_running_loop().create_task(self._serve())

    async def _serve(self) -> None:
        """Serve the waiting appends: prepare the session for the first, then queue all that are ready, and repeat."""
        try:
            while self._waiting:
                async with self._maintenance.lock:
                    if not self._waiting:
                        break  # its lines have arrived while another daemon held the lock
                    first = self._waiting[0]
                    if not isinstance(first, Append) or first.state == "moved":
                        await self._place_again()
                        continue
                    try:
                        await self._prepare(first)
                    except Exception as refusal:  # noqa: BLE001 - the caller answers; nothing awaits this task
                        self._remove(first)
                        self._refuse_or_ask(refusal, first)
                        continue
                    self._queue_waiting()
                await asyncio.sleep(0)
        finally:
            self._serving = None

    async def _place_again(self) -> None:
        """Place the moved appends again, while other daemons can add no lines. The caller holds the lock."""
        log = self._reader.log
        while True:
            await self._pending.until_empty()
            try:
                if log.write_error is not None or self._moves.sent:
                    await log.retry()
                if isinstance(log.write_error, StoreUnreachable):
                    raise log.write_error
                async with log.locked():
                    await self._maintenance.prepare_for_writes()
                    await self._place_all_again()
                break
            except (StoreUnreachable, LogMoved) as refusal:
                # If no line was sent, nothing is stored.
                if (
                    not self._moves.sent
                    or self._moves.is_overdue
                    or self._maintenance.closing_error is not None
                ):
                    self._give_up_moved(refusal)
                    return
                await asyncio.sleep(RETRY_SECONDS)
            except Exception as refusal:  # noqa: BLE001 - the clients answer; nothing awaits this task
                self._give_up_moved(refusal)
                return
        await self._pending.until_empty()
        if self._first_moved() is None:
            self._moves.end()
        elif self._moves.is_overdue and self._moves.error is not None:
            self._give_up_moved(self._moves.error)

    async def _place_all_again(self) -> None:
        self._is_placing_again = True
        try:
            while (first := self._first_moved()) is not None:
                await self._place_one_again(first)
        finally:
            self._is_placing_again = False

    def _first_moved(self) -> Append | PlainRequests | None:
        """Return the first waiting append if it has moved. Moved appends come before all others."""
        return self._waiting[0] if self._waiting and _has_moved(self._waiting[0]) else None

    async def _place_one_again(self, moved: Append | PlainRequests) -> None:
        """Queue a moved append at the place that it has now, or refuse it."""
        if not isinstance(moved, Append):
            self._remove(moved)
            moved.rows = entry_placement.place_again(self._reader.tree, moved.rows, self._new_ids.length)
            self._pending.submit_plain(moved)
            return
        try:
            if await self._promotes_when_prepared(moved):
                await self._promote()
        except Exception as refusal:  # noqa: BLE001 - the caller answers; appends behind it must not be blocked
            self._remove(moved)
            self._refuse(refusal, moved)
        else:
            self._remove(moved)
            if not self._queue(moved):
                moved.done(LogMoved(self._reader.log.session_id))

    def _give_up_moved(self, refusal: Exception) -> None:
        """Answer all moved appends with an error."""
        moves = self._moves
        self._write_block.update()
        while (first := self._first_moved()) is not None:
            self._remove(first)
            first.settle(partial(moves.error_of, refusal))
        moves.end()

    def _queue_waiting(self) -> None:
        """Queue the waiting appends in order, up to the first that must be prepared."""
        for _ in range(QUEUE_AT_ONCE):
            requests = self._waiting[0] if self._waiting else None
            if not isinstance(requests, Append) or not requests.can_be_queued or not self._queue(requests):
                break
            self._remove(requests)

    def _remove(self, waiting: Append | PlainRequests) -> None:
        """Remove a waiting append, unless it is answered already."""
        for place, requests in enumerate(self._waiting):
            if requests is waiting:
                del self._waiting[place]
                self._waiting_bytes -= _size(waiting)
                return

    async def _prepare(self, append: Append) -> None:
        """Prepare the session and the drafts, so that this append can be queued."""
        if not self._pending.accepts_batches():
            await self._maintenance.prepare_for_writes()
        if append.state == "unread":
            await self._reader.drive(read_drafts(append, self._blobs))
        if append.state == "withBlobs":
            # `append.raw` names the blobs before they are stored: blob collection reads waiting drafts, too.
            append.raw, new = await self._blobs.extract(append.raw)
            await self._blobs.store(new, append.raw)
            append.state = "ready"
        if await self._promotes_when_prepared(append):
            await self._promote()

    async def _promote(self) -> None:
        try:
            await self._reader.log.promote()
        except OutcomeUnknown as error:
            # The append that promotes was not sent, and a session may be promoted twice.
            raise StoreUnreachable(error.reason) from None
        self._publisher.is_promotion_pending = True

    async def _promotes_when_prepared(self, append: Append) -> bool:
        """Place a large batch in slices. Returns whether the batch promotes the draft session.

        Later appends wait meanwhile, so rows change only by a failed write or by another program. In that case,
        the batch is placed again.
        """
        reader, ids = self._reader, self._ids(append)
        if not append.is_large:
            return self._promotes(
                entry_placement.prepare(reader.tree, append.raw, append.placement, reader.read, ids)
            )
        state = self._placement_state()
        prepared = await reader.drive(
            entry_placement.prepare_in_steps(reader.tree, append.raw, append.placement, reader.read, ids)
        )
        # In a thread, because joining this many bytes releases the interpreter lock.
        append.lines = await asyncio.to_thread(b"".join, [row.line for row in prepared.rows])
        append.place(prepared)
        append.placed_at = state
        return self._promotes(prepared)

    def _placement_state(self) -> object:
        """Return the state on which a prepared batch depends: the rows of the tree with pending ones, and the leaf."""
        tree = self._reader.tree
        return id(tree), len(tree), tree.pending_leaf_id, self._pending.rollbacks

    def _promotes(self, prepared: Prepared) -> bool:
        return self._reader.log.draft and any(map(makes_session, prepared.rows))


def _has_moved(waiting: Append | PlainRequests) -> bool:
    """Whether a waiting append has moved. Plain requests wait only then."""
    return not isinstance(waiting, Append) or waiting.state == "moved"


def _size(waiting: Append | PlainRequests) -> int:
    """Return the size in bytes of a waiting append."""
    return waiting.size if isinstance(waiting, Append) else sum(len(row.line) for row in waiting.rows)
