"""The tickets of requests and the queues of sessions, from which the program order is built."""

from collections import deque
from collections.abc import Callable
from typing import Final, Literal, Protocol, TypeAlias

Effect: TypeAlias = Literal["append", "change", "read", "scan", "job", "survey", "overhaul"]
"""The moment at which a request takes effect. It decides which requests wait for this one.

`append`: enters the queue of the log when it starts. Further appends may start before it is answered.
`change`: takes effect at some time before its answer. Later requests wait for the answer.
`read`: reads the session when it begins. Later writes wait only until then.
`scan`: reads the session until it is answered. Later writes wait for the answer.
`job`: begins now and takes effect when a summary is available. Later requests do not wait for that.
`survey`: reads all sessions. It waits for earlier writes, and nothing waits for it.
`overhaul`: a survey that also writes, so that later surveys wait for it.
"""

WRITES: Final = frozenset(("append", "change", "overhaul"))
"""Effects of requests that later surveys wait for."""
READS: Final = frozenset(("read", "scan", "job"))
"""Effects of requests that read one session when they begin. A `scan` reads until it is answered."""


class TicketOrder(Protocol):
    """The order of the tickets of one connection. Tickets report to it. See `program_order.Order`."""

    def started(self, ticket: "Ticket") -> None:
        """A read has read its data."""

    def ended(self, ticket: "Ticket") -> None:
        """A request was answered, or will not be."""

    def on_canceled(self, ticket: "Ticket") -> None:
        """A request was canceled before it started."""

    def append_ended(self, queue: "SessionQueue", serial: int) -> None:
        """An append that did not have to wait was answered."""


class Ticket:
    """The place of one request in the order of its connection.

    Args:
        effect: When the request takes effect.
        name: The id of the session, if the request names it by id.
        path: The session's file, if the request names it by path.
        start: Called once with the ticket, when the request may start. It must not raise.

    """

    __slots__ = (
        "effect", "has_begun", "is_over", "is_waiting", "name", "order", "path", "queue", "serial", "start"
    )  # fmt: skip

    def __init__(
        self, effect: Effect, name: str | None, path: str | None, start: "Callable[[Ticket], None]"
    ) -> None:
        self.effect: Effect = effect
        self.name = name
        self.path = path
        self.start = start
        self.serial = 0
        self.order: TicketOrder
        self.queue: SessionQueue | None = None
        self.is_waiting = True
        self.has_begun = False
        self.is_over = False

    @property
    def writes(self) -> bool:
        """Whether the request changes something."""
        return self.effect in WRITES

    def started(self) -> None:
        """The handler was called: a read has read its data."""
        if self.effect == "job":
            self.ended()
        elif self.effect == "read" and not self.has_begun:
            self.has_begun = True
            self.order.started(self)

    def ended(self) -> None:
        """The request was answered, or will not be. Further calls have no effect."""
        if not self.is_over:
            self.is_over = True
            self.order.ended(self)

    def cancel(self) -> bool:
        """Remove a request that has not started from the order. Returns False if it has started or ended."""
        if not self.is_waiting or self.is_over:
            return False
        self.is_over = True
        self.order.on_canceled(self)
        return True


class StartedAppend:
    """The ticket of an append that did not have to wait. It is minimal because this is the most frequent write."""

    __slots__ = ("_order", "_queue", "_serial")

    def __init__(self, order: TicketOrder, queue: "SessionQueue", serial: int) -> None:
        self._order = order
        self._queue: SessionQueue | None = queue
        self._serial = serial

    def started(self) -> None:
        """See `Ticket.started`. Nothing waits for it."""

    def ended(self) -> None:
        """See `Ticket.ended`."""
        queue, self._queue = self._queue, None
        if queue is not None:
            self._order.append_ended(queue, self._serial)


AnyTicket: TypeAlias = Ticket | StartedAppend


class SessionQueue:
    """The requests of one connection about one session: those in progress are counted, those that wait are queued."""

    __slots__ = ("beginning", "changing", "is_due", "name", "reading", "waiting", "writing")

    def __init__(self, name: str) -> None:
        self.name = name
        self.writing = 0  # appends and changes that have started
        self.changing = 0  # changes among them
        self.reading = 0  # reads and scans that have started
        self.beginning = 0  # reads and jobs that have not begun, scans that are not answered
        self.waiting: deque[Ticket] = deque()
        self.is_due = False  # a call of `_resume` is scheduled

    def admits(self, effect: Effect) -> bool:
        """Return whether a request with this effect may start now if nothing waits before it."""
        if effect == "append":
            return not (self.changing or self.beginning)
        if effect == "change":
            return not (self.writing or self.reading or self.beginning)
        return not self.writing

    @property
    def is_idle(self) -> bool:
        """Whether no request is in progress or waits."""
        return not (self.writing or self.reading or self.beginning or self.waiting)
