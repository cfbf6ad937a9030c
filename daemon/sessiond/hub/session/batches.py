"""An append before it is in the log: its states, and the queued batches."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

import msgspec

from sessiond.hub.session.blobs import SessionBlobs
from sessiond.hub.session.entry_placement import Placement, Prepared
from sessiond.protocol import types as t
from sessiond.session.state import updates
from sessiond.session.tree.steps import Steps
from sessiond.session.tree.tree import NewRow
from sessiond.store.base import Durability

Done = Callable[["Outcome | Exception"], None]

LARGE_BATCH: Final = 200
"""A batch with more entries than this is prepared in slices."""
LARGE_BATCH_BYTES: Final = 256 * 1024
"""A batch with more bytes than this is prepared in slices."""


NOTHING: Final = Prepared([], [], (), None, None)
"""No entries."""

OutcomeOf = Callable[[Prepared], "Outcome | Exception"]
"""Returns the outcome of a request, from its entries."""


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """A committed batch."""

    prepared: Prepared
    seqs: list[int]
    leaf_id: str | None
    log_id: str
    seq: int


class PlainRequests(Protocol):
    """Consecutive requests of one client. Each appends one new entry at the leaf, and changes nothing else.

    They are one unit until the reply: their rows are queued, committed and announced together, and only the
    responses are separate.

    Attributes:
        rows: The entries, one for each request.
        origin: The origin that notifications name.
        durability: The durability that the client asks for.
    """

    rows: list[NewRow]
    origin: t.Origin
    durability: Durability

    def committed(self, log_id: str, first: int) -> None:
        """The entries are committed as the lines from `first` on."""

    def settle(self, outcome_of: OutcomeOf, /) -> None:
        """Answer each request after a failure, or after another program wrote between the entries."""


State: TypeAlias = Literal["unread", "withBlobs", "ready", "queued", "moved"]


class Append:
    """One append of a client, from its arrival to its answer.

    | state | means | the next state |
    |---|---|---|
    | `unread` | a large batch, whose drafts are in the frame of the client | `withBlobs` or `ready`, by `read_drafts` |
    | `withBlobs` | the blobs that its drafts name must become durable first | `ready`, when the session stores them |
    | `ready` | the drafts can be placed, a large batch in slices | `queued`, by `PendingBatches.submit` |
    | `queued` | its lines are in the queue of the log | none: it is committed, or fails; or `moved` |
    | `moved` | a log of several daemons may not have stored it where it was placed | `queued`, at another place |

    In each state it may be answered with an error instead: `done` is called once. In the states before `queued`, and
    while it has moved, it waits in the `AppendQueue`, unless it can be queued at once.

    Attributes:
        raw: The drafts.
        placement: The place that the client requests.
        durability: The durability that the client asks for.
        origin: The origin that notifications name.
        done: Called once, with the outcome or the error.
        size: The bytes of the drafts.
        is_large: Whether the drafts are read and placed in slices.
        state: See the table.
        prepared: Its entries as they were placed last; `NOTHING` before that.
        rows: The rows of these entries.
        lines: The joined lines of a large batch that was placed in slices.
        placed_at: The state of the tree for which a large batch was placed in slices.
    """

    __slots__ = (
        "done", "durability", "is_large", "lines", "origin", "placed_at", "placement", "prepared", "raw", "rows",
        "size", "state",
    )  # fmt: skip

    def __init__(
        self,
        raw: Sequence[bytes],
        placement: Placement,
        durability: Durability,
        origin: t.Origin,
        done: Done,
        size: int,
        *,
        is_large: bool = False,
    ) -> None:
        self.raw = raw
        self.placement = placement
        self.durability = durability
        self.origin = origin
        self.done = done
        self.size = size
        self.is_large = is_large
        self.state: State = "unread" if is_large else "ready"
        self.prepared = NOTHING
        self.rows = NOTHING.rows
        self.lines: bytes | None = None
        self.placed_at: object = None

    @property
    def can_be_queued(self) -> bool:
        """Whether it can be queued without further preparation."""
        return self.state == "ready" and (not self.is_large or self.placed_at is not None)

    def place(self, prepared: Prepared) -> None:
        """Set the entries."""
        self.prepared, self.rows = prepared, prepared.rows

    def committed(self, log_id: str, first: int) -> None:
        """Answer a plain append, whose entry is the line `first`. See `PlainRequests`."""
        self.done(Outcome(self.prepared, [first], self.prepared.leaf, log_id, first))

    def settle(self, outcome_of: OutcomeOf) -> None:
        """Answer the append. See `PlainRequests`."""
        self.done(outcome_of(self.prepared))


@dataclass(slots=True)
class Batch:
    """Appends whose lines are queued at the log together: one append, or consecutive plain ones.

    Attributes:
        requests: The appends, in log order.
        leaf_id: The leaf after them.
        count: The number of their lines.
        size: The bytes of their lines.
        durability: The durability of the plain appends that may join; None if the append is not plain.
        future: Set when the lines have their durability.
    """

    requests: list[Append | PlainRequests]
    leaf_id: str | None
    count: int
    size: int
    durability: Durability | None
    future: asyncio.Future[bool]


def read_drafts(append: Append, blobs: SessionBlobs) -> Steps[None]:
    """Copy the drafts of a large batch out of their frame, and determine whether they concern blobs."""
    drafts: list[bytes] = []
    has_blobs = False
    since = 0
    for raw in append.raw:
        draft = bytes(raw)
        drafts.append(draft)
        has_blobs = has_blobs or blobs.needed_by([draft])
        since += len(draft)
        if since > LARGE_BATCH_BYTES:
            since = 0
            yield
    append.raw, append.state = drafts, "withBlobs" if has_blobs else "ready"


def makes_session(row: NewRow) -> bool:
    """Whether an entry promotes a draft session: an answer, or a working state without an answer (decision 0012)."""
    if row.role == "assistant":
        return True
    return row.type == "custom" and not row.sets_no_property and updates.sets_state(row.line)
