"""The batches of a session that are queued at its log: committed in log order, and announced.

A batch becomes visible as a whole. If a write fails, the batch and all later batches are rolled back. If another
program wrote between them, their lines are read from the log again.

Most requests append one message at the leaf. While the last batch waits for its write, such plain requests join it:
they share one future, one commit and one notification for each client. So many clients that append at the same time
cost little more than one that sends the same lines in one request.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import takewhile
from typing import Any, Final

from sessiond.hub.execution.slices import TurnBudget
from sessiond.hub.session import changes
from sessiond.hub.session.batches import Append, Batch, Outcome, PlainRequests
from sessiond.hub.session.entry_placement import Prepared
from sessiond.hub.session.log_reader import LogReader
from sessiond.hub.session.publisher import Publisher
from sessiond.hub.session.write_block import WriteBlockMonitor
from sessiond.protocol import types as t
from sessiond.store.base import Durability
from sessiond.store.errors import LogReplaced, StorageFailed

COMMIT_AT_ONCE: Final = 100
"""The number of requests after which the commits of one turn of the event loop end."""
MAX_JOINED: Final = 64
"""The number of requests that join one batch. They are committed in one turn of the event loop."""
MAX_JOINED_BYTES: Final = 64 * 1024
"""The size in bytes from which no further request joins a batch, so that one notification stays small."""

telling_budget: Final = TurnBudget(0.005)
"""The total time for commits of sessions with subscribers. Commits of sessions without subscribers come first."""


class PendingBatches:
    """The queued batches of one session.

    Args:
        reader: The log.
        write_block: Is updated when a write fails, and when it succeeds again.
        publisher: Announces the committed batches.
        moved: Receives the batches that failed, rolled back, with the error. Returns whether it answers their requests.
            A log of several daemons may have stored them elsewhere, or may store them in another place.

    Attributes:
        is_log_prepared: Whether batches may be queued: the end, the version and the place of the log are prepared.
        unwritten_bytes: The bytes of the queued batches.
        rollbacks: How many times pending rows were rolled back.
    """

    def __init__(
        self,
        reader: LogReader,
        write_block: WriteBlockMonitor,
        publisher: Publisher[Any],
        moved: Callable[[Sequence[Batch], Exception], bool],
    ) -> None:
        self.is_log_prepared = False
        self.unwritten_bytes = 0
        self.rollbacks = 0
        self._reader = reader
        self._write_block = write_block
        self._publisher = publisher
        self._moved = moved
        self._batches: deque[Batch] = deque()
        self._has_drifted = False
        self._watched: asyncio.Future[bool] | None = None
        self._empty = asyncio.Event()
        self._empty.set()

    def __len__(self) -> int:
        return len(self._batches)

    async def until_empty(self) -> None:
        """Wait until no batch is queued."""
        while self._batches:
            await self._empty.wait()

    def accepts_batches(self) -> bool:
        """Whether a batch can be queued now. Finished batches are committed first.

        Batches of sessions with subscribers may also be committed later, unless the log has refused or moved one.
        """
        batches = self._batches
        if batches and batches[0].future.done() and not self._can_wait():
            self._commit_and_count()
        if not self.is_log_prepared or self._has_drifted:
            return False
        # Without queued batches, another program may have written. With queued batches, the log checks this.
        return bool(batches) or not self._reader.log.foreign_bytes()

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the queued batches."""
        for batch in self._batches:
            for request in batch.requests:
                for row in request.rows:
                    yield row.line

    def submit(self, append: Append, prepared: Prepared) -> None:
        """Queue an append with the entries that were placed."""
        append.place(prepared)
        append.state = "queued"
        if prepared.is_plain:
            self.submit_plain(append)
            return
        rows, size = prepared.rows, 0
        if rows:
            lines = append.lines if append.lines is not None else b"".join([row.line for row in rows])
            size = len(lines)
            self.unwritten_bytes += size
            future = self._reader.log.append(lines, append.durability, [row.id for row in rows])
            self._reader.tree.attach(rows, leaf=prepared.leaf)
        else:
            future = asyncio.get_running_loop().create_task(self._barrier(append.durability))
        append.lines = append.placed_at = None
        self._add(Batch([append], prepared.leaf, len(rows), size, None, future))

    def submit_plain(self, requests: Append | PlainRequests) -> None:
        """Queue plain appends: they join the last batch, if that takes plain ones and waits for its write."""
        batches, reader, rows, durability = self._batches, self._reader, requests.rows, requests.durability
        ids = [row.id for row in rows]
        count, leaf_id = len(rows), ids[-1]
        lines = rows[0].line if count == 1 else b"".join([row.line for row in rows])
        size = len(lines)
        self.unwritten_bytes += size
        last = batches[-1] if batches else None
        if last is not None and last.durability == durability:
            has_room = last.count + count <= MAX_JOINED and last.size < MAX_JOINED_BYTES
            if has_room and reader.log.extend(last.future, lines, ids):
                reader.tree.attach_at_leaf(rows)
                last.requests.append(requests)
                last.leaf_id = leaf_id
                last.count += count
                last.size += size
                return
        future = reader.log.append(lines, durability, ids)
        reader.tree.attach_at_leaf(rows)
        self._add(Batch([requests], leaf_id, count, size, durability, future))

    def _add(self, batch: Batch) -> None:
        self._batches.append(batch)
        if len(self._batches) == 1:
            self._empty.clear()
            self._watch()

    async def _barrier(self, durability: Durability) -> bool:
        """Wait until the entries that a retry repeats have the requested durability. A retry adds no lines."""
        if durability == "synced":
            await self._reader.log.flush()
        return False

    def _watch(self) -> None:
        """Await the next batch with a callback. The log finishes batches in order, so one callback is enough."""
        waiting = next((batch.future for batch in self._batches if not batch.future.done()), None)
        if waiting is not None and waiting is not self._watched:
            waiting.add_done_callback(self._commit_in_turn)
        self._watched = waiting

    def _commit_in_turn(self, _future: object = None) -> None:
        """Commit the finished batches, in the next turn of the event loop if this one has notified enough."""
        if self._can_wait():
            asyncio.get_running_loop().call_soon(self._commit_in_turn)
        else:
            self._commit_and_count()

    def _can_wait(self) -> bool:
        """Whether the finished batches can, and should, be committed in the next turn of the event loop."""
        if not (telling_budget.is_used_up and self._publisher.has_subscribers):
            return False
        finished = (batch.future for batch in takewhile(lambda batch: batch.future.done(), self._batches))
        return not any(
            future.cancelled() or future.exception() is not None or future.result() for future in finished
        )

    def _commit_and_count(self) -> None:
        began = time.perf_counter()
        self._commit_finished()
        if self._publisher.has_subscribers:
            telling_budget.spend(time.perf_counter() - began)

    def _commit_finished(self) -> None:
        """Commit the batches that the log has finished, in log order."""
        batches = self._batches
        if self._has_drifted:
            self._watch()
            if self._watched is None:
                self._resync()
            return
        committed = 0
        while committed < COMMIT_AT_ONCE and batches and batches[0].future.done():
            batch = batches[0]
            if batch.future.cancelled() or batch.future.exception() is not None:
                self._fail_all()
                return
            if batch.future.result():
                self._has_drifted = True
                self._commit_finished()
                return
            batches.popleft()
            self._commit(batch)
            committed += batch.count
        if not batches:
            self._empty.set()
        elif batches[0].future.done():
            asyncio.get_running_loop().call_soon(self._commit_in_turn)
        else:
            self._watch()

    def _commit(self, batch: Batch) -> None:
        """Make a batch visible, answer its requests, then announce it."""
        self.unwritten_bytes -= batch.size
        tree, is_plain = self._reader.tree, batch.durability is not None
        first = tree.committed
        may_change_more = batch.count and (not is_plain or self._publisher.is_promotion_pending)
        before = changes.facts(tree) if may_change_more else None
        tree.commit(batch.count, leaf=batch.leaf_id)
        if self._write_block.current is not None:
            self._write_block.update()
        if is_plain:
            log_id, seq = self._reader.log.log_id, first
            for request in batch.requests:
                request.committed(log_id, seq)
                seq += len(request.rows)
        else:
            batch.requests[0].settle(self.outcome)
        if batch.count:
            self._publisher.committed(batch, first, before)

    def outcome(self, prepared: Prepared) -> Outcome:
        """Return the outcome of a request whose entries are in the log."""
        tree = self._reader.tree
        seqs = [tree.row(name) or 0 for name in prepared.ids]
        return Outcome(prepared, seqs, tree.leaf_id, self._reader.log.log_id, tree.seq)

    def _fail_all(self) -> None:
        """Roll back all queued batches: the log has removed a failed batch and all later ones, or never stored them."""
        failed = self._take_all()
        self.rollbacks += 1
        self._reader.tree.roll_back()
        refusal: Exception = StorageFailed("the write was given up", path=self._reader.log.path)
        for batch in failed:
            if not batch.future.done():
                # It fails for the same reason, or its rows depend on the failed ones.
                batch.future.add_done_callback(_consume)
            elif isinstance(error := batch.future.exception(), Exception):
                refusal = error
        if not self._moved(failed, refusal):
            for batch in failed:
                for request in batch.requests:
                    request.settle(partial(_as_outcome, refusal))
        self._empty.set()
        self._write_block.update()

    def _take_all(self) -> list[Batch]:
        batches = list(self._batches)
        self._batches.clear()
        self.unwritten_bytes -= sum(batch.size for batch in batches)
        return batches

    def _resync(self) -> None:
        """Read the lines of another program that were written between ours, then answer the queued batches."""
        batches, reader = self._take_all(), self._reader
        self._has_drifted = False
        self.rollbacks += 1
        reader.tree.roll_back()
        before = changes.facts(reader.tree)
        unread: Exception | None = None
        try:
            reader.read_new_lines()
        except (StorageFailed, LogReplaced) as error:
            # The content of the log is unknown, so the tree may be wrong. The session must be opened again.
            unread = error
            reader.log.distrust()
        origins: dict[str, t.Origin] = {}
        for batch in batches:
            refusal = batch.future.exception() or unread
            for request in batch.requests:
                request.settle(partial(self._outcome_if_stored, refusal))
                origins.update({row.id: request.origin for row in request.rows})
        self._publisher.read_again(before, origins)
        self.is_log_prepared = not reader.tree.tail and not reader.tree.tail_is_entry
        self._empty.set()
        self._write_block.update()

    def _outcome_if_stored(self, refusal: BaseException | None, prepared: Prepared) -> Outcome | Exception:
        if refusal is None:
            refusal = self._error_if_missing(prepared)
        return refusal if isinstance(refusal, Exception) else self.outcome(prepared)

    def _error_if_missing(self, prepared: Prepared) -> StorageFailed | None:
        """Return the error of a batch if one of its lines is no longer in the file; None if all are there."""
        log = self._reader.log
        missing = [name for name in prepared.ids if self._reader.tree.row(name) is None]
        if not missing:
            return None
        return StorageFailed(
            f"{log.ref}: entry {missing[0]} is not where it was written; another program has changed the file",
            path=log.path,
        )


def _as_outcome(refusal: Exception, _prepared: Prepared) -> Exception:
    return refusal


def _consume(future: asyncio.Future[Any]) -> None:
    """Retrieve a result that no task awaits, so that asyncio does not log it."""
    if not future.cancelled():
        future.exception()
