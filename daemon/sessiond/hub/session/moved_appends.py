"""Appends that a log of several daemons did not store where they were placed, or of which it is not known.

Their rows are rolled back, and they wait before all other appends of the session. They are placed again under the lock
of the log, behind the lines that came first: retries, conflicts and unsafe compactions are those of that place. An
append that was refused for a reason that lines of other daemons may have removed is placed again, too.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from sessiond.hub.errors import EntryNotFound, LeafConflict, WouldBreakTree
from sessiond.hub.session.batches import (
    LARGE_BATCH,
    LARGE_BATCH_BYTES,
    Batch,
    PlainRequests,
    QueuedAppend,
    QueuedRequest,
)
from sessiond.hub.session.entry_placement import AT_THE_LEAF, Prepared
from sessiond.hub.session.log_reader import LogReader
from sessiond.store.base import Durability
from sessiond.store.errors import LogReplaced, OutcomeUnknown, StorageFailed, StoreUnreachable

MAY_BE_OUTDATED: Final = (EntryNotFound, LeafConflict, WouldBreakTree)
"""Errors of an append that may be due to lines of other daemons that have not arrived yet."""
RESOLVE_SECONDS: Final = 10.0
"""How long an append waits for a store that moved it or was lost, before its request is answered with an error."""
RETRY_SECONDS: Final = 0.1
"""The interval between two attempts to reach the store."""


@dataclass(slots=True)
class Moves:
    """The moved appends of one session.

    Attributes:
        since: When the first of them moved, on the monotonic clock; None if there are none.
        error: The last error of the log; None if there are none.
        sent: The requests that were sent to the store and may be stored, by the id and the line of each entry. An
            attempt may arrive late, after the next one, which has another time or parent.
    """

    since: float | None = None
    error: Exception | None = None
    sent: dict[str, dict[bytes, QueuedRequest | PlainRequests]] = field(default_factory=dict)

    def add(self, batches: Sequence[Batch], error: Exception) -> list[QueuedAppend]:
        """Record the batches that failed with an error. Return their requests as appends that wait, in their order."""
        if self.since is None:
            self.since = time.monotonic()
        self.error = error
        requests = [(request, batch.durability) for batch in batches for request in batch.requests]
        if isinstance(error, OutcomeUnknown):
            for request, _ in requests:
                for row in request.rows:
                    self.sent.setdefault(row.id, {})[row.line] = request
        return [moved_append(request, durability or "written") for request, durability in requests]

    @property
    def is_overdue(self) -> bool:
        """Whether the appends have waited for as long as they may."""
        return self.since is not None and time.monotonic() - self.since > RESOLVE_SECONDS

    def end(self) -> None:
        """Forget the appends, because all of them are answered."""
        self.since = self.error = None
        self.sent.clear()

    def stored(
        self, request: QueuedRequest | PlainRequests, reader: LogReader
    ) -> QueuedRequest | PlainRequests | None:
        """Return the attempt of a request whose lines the log has; None if it has none. It never has only some."""
        attempts = self.sent.get(request.rows[0].id) if request.rows else None
        row = None if attempts is None else reader.tree.row(request.rows[0].id)
        if attempts is None or row is None:
            return None
        try:
            return attempts.get(reader.log.read(*reader.tree.span(row)).rstrip(b"\n") + b"\n")
        except (StorageFailed, LogReplaced):
            return None

    def error_of(self, refusal: Exception, prepared: Prepared) -> Exception:
        """Return the error of a request that is given up: its outcome is unknown if it was sent."""
        if self.sent.keys().isdisjoint(prepared.ids):
            # Only what was sent can be unknown.
            return StoreUnreachable(refusal.reason) if isinstance(refusal, OutcomeUnknown) else refusal
        return OutcomeUnknown(getattr(refusal, "reason", str(refusal)), entry_ids=prepared.ids)


def moved_append(request: QueuedRequest | PlainRequests, durability: Durability) -> QueuedAppend:
    """Return a request as an append that waits. `durability` is that of plain requests."""
    size = sum(len(row.line) for row in request.rows)
    if isinstance(request, QueuedRequest):
        raw, placement, durability, done = request.source
    else:
        raw, placement, done = [row.line for row in request.rows], AT_THE_LEAF, _answer_nothing
    return QueuedAppend(
        raw, placement, durability, request.origin, done, size,
        has_blobs=False, is_large=len(raw) > LARGE_BATCH or size > LARGE_BATCH_BYTES, is_scanned=True, moved=request,
    )  # fmt: skip


def _answer_nothing(_outcome: object) -> None:
    """Do nothing: plain requests are answered one by one."""
