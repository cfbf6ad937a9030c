"""The states of an append on its way to the log: waiting, queued and committed."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

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


OutcomeOf = Callable[[Prepared], "Outcome | Exception"]
"""Returns what became of a request, from its entries."""


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """A committed batch."""

    prepared: Prepared
    seqs: list[int]
    leaf_id: str | None
    log_id: str
    seq: int


class PlainRequests(Protocol):
    """Requests of one client that follow each other. Each appends one new entry at the leaf, and changes nothing else.

    They are one unit from placing to reply: their rows are queued, committed and announced together, and only the
    responses are separate.

    Attributes:
        rows: The entries, one for each request.
        origin: The origin that notifications name.
    """

    rows: list[NewRow]
    origin: t.Origin

    def committed(self, log_id: str, first: int) -> None:
        """The entries are committed as the lines from `first` on."""

    def settle(self, outcome_of: OutcomeOf, /) -> None:
        """Answer each request after a failure, or after another program wrote between the entries."""


class SentAppend(NamedTuple):
    """The request of one append, from which the entries can be placed again."""

    raw: Sequence[bytes]
    placement: Placement
    durability: Durability
    done: Done


class QueuedRequest:
    """One append that is queued at the log.

    Attributes:
        prepared: Its entries.
        rows: The rows of the entries.
        origin: The origin that notifications name.
        done: Called once, with the outcome or the error.
        source: The request of the client.
    """

    __slots__ = ("done", "origin", "prepared", "rows", "source")

    def __init__(self, prepared: Prepared, origin: t.Origin, done: Done, source: SentAppend) -> None:
        self.prepared = prepared
        self.rows = prepared.rows
        self.origin = origin
        self.done = done
        self.source = source

    def committed(self, log_id: str, first: int) -> None:
        """Answer a plain request, whose entry is the line `first`. See `PlainRequests`."""
        self.done(Outcome(self.prepared, [first], self.prepared.leaf, log_id, first))

    def settle(self, outcome_of: OutcomeOf) -> None:
        """Answer the request. See `PlainRequests`."""
        self.done(outcome_of(self.prepared))


@dataclass(slots=True)
class Batch:
    """Requests whose lines are queued at the log as one: one request, or plain requests that follow each other.

    Attributes:
        requests: The requests, in log order.
        leaf_id: The leaf after them.
        count: The number of their lines.
        size: The bytes of their lines.
        durability: The durability of the plain requests that may join; None if the request is not plain.
        future: Set when the lines have their durability.
    """

    requests: "list[QueuedRequest | PlainRequests]"
    leaf_id: str | None
    count: int
    size: int
    durability: Durability | None
    future: asyncio.Future[bool]


@dataclass(slots=True)
class QueuedAppend:
    """A waiting append: its drafts, and the state of its preparation."""

    raw: Sequence[bytes]
    placement: Placement
    durability: Durability
    origin: t.Origin
    done: Done
    size: int
    has_blobs: bool  # the blobs that it names must become durable first
    is_large: bool  # it is scanned and prepared in slices
    is_scanned: bool  # its drafts are copied out of the frame, and `has_blobs` is known
    prepared: "PreparedAt | None" = None
    moved: "QueuedRequest | PlainRequests | None" = None  # as it was queued, if it must be placed again

    @property
    def is_ready(self) -> bool:
        """Whether it can be queued without further preparation."""
        return not self.has_blobs and (not self.is_large or self.prepared is not None)


@dataclass(frozen=True, slots=True)
class PreparedAt:
    """A large batch that is ready to be queued, and the state of the tree that it is prepared for."""

    prepared: Prepared
    lines: bytes
    state: object


def scan(waiting: QueuedAppend, blobs: SessionBlobs) -> Steps[None]:
    """Copy the drafts of a large batch out of their frame, and determine whether they concern blobs."""
    drafts: list[bytes] = []
    has_blobs = False
    scanned = 0
    for raw in waiting.raw:
        draft = bytes(raw)
        drafts.append(draft)
        has_blobs = has_blobs or blobs.needed_by([draft])
        scanned += len(draft)
        if scanned > LARGE_BATCH_BYTES:
            scanned = 0
            yield
    waiting.raw, waiting.has_blobs, waiting.is_scanned = drafts, has_blobs, True


def makes_session(row: NewRow) -> bool:
    """Whether an entry promotes a draft session: an answer, or a working state without one (decision 0012)."""
    if row.role == "assistant":
        return True
    return row.type == "custom" and not row.sets_no_property and updates.sets_state(row.line)
