"""Tickets of requests, and the requests of one connection about one session: the parts of the program order."""

from collections import deque
from collections.abc import Callable
from typing import Final, Literal, Protocol, TypeAlias

Effect: TypeAlias = Literal["append", "change", "read", "scan", "job", "survey", "overhaul"]
"""When a request takes effect, which decides what waits for it.

`append`: joins the queue of the log when it starts; other appends may start before it is answered.
`change`: at some time before its answer; what follows waits for the answer.
`read`: sees the session as it is when it begins; writes that follow wait only until then.
`scan`: sees the session until it is answered; writes that follow wait for the answer.
`job`: begins now and takes effect when a summary is there; what follows does not wait for that.
`survey`: reads all sessions; waits for the writes before it, and nothing waits for it.
`overhaul`: a survey that also writes, so that later surveys wait for it.
"""

WRITES: Final = frozenset(("append", "change", "overhaul"))
"""Effects of requests that later surveys wait for."""
READS: Final = frozenset(("read", "scan", "job"))
"""Effects of requests that only look at one session when they begin."""


class TicketOrder(Protocol):
    """Keeps the tickets of one connection in order. Its tickets report to it; see `program_order.Order`."""

    def begun(self, ticket: "Ticket") -> None:
        """A read has seen all that it will see."""

    def ended(self, ticket: "Ticket") -> None:
        """A request has been answered, or never will be."""

    def cancelled(self, ticket: "Ticket") -> None:
        """A request that has not started is gone."""

    def append_ended(self, queue: "SessionQueue", serial: int) -> None:
        """An append that had to wait for nothing has been answered."""


class Ticket:
    """The place of one request in the order of its connection.

    Args:
        effect: When the request takes effect.
        name: The id of the session, as the request names it. None: it names none.
        path: The session's file, when the request names that instead.
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

    def begun(self) -> None:
        """The handler has been called: a read has seen all that it will see."""
        if self.effect == "job":
            self.ended()
        elif self.effect == "read" and not self.has_begun:
            self.has_begun = True
            self.order.begun(self)

    def ended(self) -> None:
        """The request has been answered, or never will be. Further calls do nothing."""
        if not self.is_over:
            self.is_over = True
            self.order.ended(self)

    def cancel(self) -> bool:
        """Take a request out of the order that has not started. Returns False when it is too late for that."""
        if not self.is_waiting or self.is_over:
            return False
        self.is_over = True
        self.order.cancelled(self)
        return True


class StartedAppend:
    """The ticket of an append that had to wait for nothing: the commonest write needs no more than this."""

    __slots__ = ("_order", "_queue", "_serial")

    def __init__(self, order: TicketOrder, queue: "SessionQueue", serial: int) -> None:
        self._order = order
        self._queue: SessionQueue | None = queue
        self._serial = serial

    def begun(self) -> None:
        """See `Ticket.begun`: nothing waits for that."""

    def ended(self) -> None:
        """See `Ticket.ended`."""
        queue, self._queue = self._queue, None
        if queue is not None:
            self._order.append_ended(queue, self._serial)


AnyTicket: TypeAlias = Ticket | StartedAppend


class SessionQueue:
    """What one connection has under way for one session, and what waits for it."""

    __slots__ = ("beginning", "changing", "is_due", "name", "reading", "waiting", "writing")

    def __init__(self, name: str) -> None:
        self.name = name
        self.writing = 0  # appends and changes that have started
        self.changing = 0  # changes among them
        self.reading = 0  # reads and scans that have started
        self.beginning = 0  # reads and jobs that have not begun yet, scans that are not answered yet
        self.waiting: deque[Ticket] = deque()
        self.is_due = False  # `_resume` is about to be called

    def admits(self, effect: Effect) -> bool:
        """Whether a request with this effect may start now, if nothing waits before it."""
        if effect == "append":
            return not (self.changing or self.beginning)
        if effect == "change":
            return not (self.writing or self.reading or self.beginning)
        return not self.writing

    @property
    def is_idle(self) -> bool:
        return not (self.writing or self.reading or self.beginning or self.waiting)
