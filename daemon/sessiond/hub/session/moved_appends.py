"""Appends that a log of several daemons did not store, or may not have stored, where they were placed.

Their rows are rolled back, and they wait before all other appends of the session. They are placed again under the lock
of the log, after the lines that came first: retries, conflicts and unsafe compactions are those of that place. An
append that was refused for a reason that lines of other daemons may have removed is placed again, too.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from sessiond.hub.errors import EntryNotFound, LeafConflict, WouldBreakTree
from sessiond.hub.session.batches import Append, Batch, PlainRequests
from sessiond.hub.session.entry_placement import Prepared
from sessiond.hub.session.log_reader import LogReader
from sessiond.store.errors import LogReplaced, OutcomeUnknown, StorageFailed, StoreUnreachable

MAY_BE_OUTDATED: Final = (EntryNotFound, LeafConflict, WouldBreakTree)
"""Errors of an append that may be due to lines of other daemons that have not arrived yet."""
RESOLVE_SECONDS: Final = 10.0
"""Seconds for which an append waits for a store that moved it or was lost. Then its request fails."""
RETRY_SECONDS: Final = 0.1
"""The interval between two attempts to reach the store."""


@dataclass(slots=True)
class Moves:
    """The moved appends of one session.

    Attributes:
        since: When the first of them moved, on the monotonic clock; None if there are none.
        error: The last error of the log; None if there are none.
        sent: The appends that were sent to the store and may be stored, with their entries, by the id and the line of
            each entry. An attempt may arrive late, after the next one, which has another time or parent.
    """

    since: float | None = None
    error: Exception | None = None
    sent: dict[str, dict[bytes, tuple[Append | PlainRequests, Prepared | None]]] = field(default_factory=dict)

    def add(self, batches: Sequence[Batch], error: Exception) -> list[Append | PlainRequests]:
        """Record the batches that failed with an error. Return their appends, in their order."""
        if self.since is None:
            self.since = time.monotonic()
        self.error = error
        moved = [request for batch in batches for request in batch.requests]
        for requests in moved:
            prepared = None
            if isinstance(requests, Append):
                requests.state, prepared = "moved", requests.prepared
            for row in requests.rows if isinstance(error, OutcomeUnknown) else ():
                self.sent.setdefault(row.id, {})[row.line] = requests, prepared
        return moved

    @property
    def is_overdue(self) -> bool:
        """Whether the appends have waited for as long as they may."""
        return self.since is not None and time.monotonic() - self.since > RESOLVE_SECONDS

    def end(self) -> None:
        """Forget the appends, because all of them are answered."""
        self.since = self.error = None
        self.sent.clear()

    def is_stored(self, requests: Append | PlainRequests, reader: LogReader) -> bool:
        """Whether the log has the lines of an attempt: all or none. If it has, they become the lines of the append."""
        attempts = self.sent.get(requests.rows[0].id) if requests.rows else None
        row = None if attempts is None else reader.tree.row(requests.rows[0].id)
        if attempts is None or row is None:
            return False
        try:
            line = reader.read_bytes(*reader.tree.span(row)).rstrip(b"\n") + b"\n"
        except (StorageFailed, LogReplaced):
            return False
        _, prepared = attempts.get(line, (None, None))
        if isinstance(requests, Append) and prepared is not None:
            requests.place(prepared)
        return line in attempts

    def error_of(self, refusal: Exception, prepared: Prepared) -> Exception:
        """Return the error of an abandoned request: its outcome is unknown if it was sent."""
        if self.sent.keys().isdisjoint(prepared.ids):
            # Only the outcome of a sent append can be unknown.
            return StoreUnreachable(refusal.reason) if isinstance(refusal, OutcomeUnknown) else refusal
        return OutcomeUnknown(getattr(refusal, "reason", str(refusal)), entry_ids=prepared.ids)
