"""Program order: requests of one connection about one session take effect in the order in which they were sent.

Each request has a `Ticket`. `Order` starts it when its effect cannot overtake, or be overtaken by, that of another
request of the same connection about the same session. Requests about different sessions do not wait for each other.
The module knows neither the wire nor the hub: it receives names and calls back.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from sessiond.server.connection.tickets import WRITES, SessionQueue, StartedAppend, Ticket

_TURN_SECONDS: Final = 0.002
"""Limit of the time in which waiting requests are started in one turn of the event loop."""


class Order:
    """The program order of one connection.

    Args:
        identify: Returns the id of the session in a file, or None if there is none.
        spawn: Runs a coroutine in the background.

    """

    def __init__(
        self,
        identify: Callable[[str], Awaitable[str | None]],
        spawn: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self._identify = identify
        self._spawn = spawn
        self._loop = asyncio.get_running_loop()
        self._last_serial = 0
        self.entered = 0
        """Number of requests that are in progress or wait."""
        self._queues: dict[str, SessionQueue] = {}
        self._writes: dict[int, None] = {}  # serials of unanswered writes, the oldest first
        self._surveys: deque[Ticket] = deque()
        self._naming: Ticket | None = None  # the request whose session is being identified
        self._held: deque[Ticket] = deque()  # the requests that entered after `_naming`
        self._until_idle: asyncio.Future[None] | None = None

    def enter(self, ticket: Ticket) -> None:
        """Start a request now or when its turn comes, after all requests that entered before it."""
        ticket.order = self
        self.entered += 1
        if self._naming is not None or self._held:
            self._held.append(ticket)
        else:
            self._admit(ticket)

    def join(self, ticket: Ticket) -> None:
        """Enter a read that was started while the order was idle, and is not answered yet."""
        ticket.order = self
        self.entered += 1
        ticket.is_waiting = False
        ticket.queue = self._queue_of(ticket.name or "")
        self._count(ticket.queue, ticket)

    def try_append(self, name: str) -> StartedAppend | None:
        """Start an append now. Returns None if it must wait; the caller then calls `enter`."""
        if self._naming is not None or self._held:
            return None
        queue = self._queues.get(name)
        if queue is None:
            queue = self._queues[name] = SessionQueue(name)
        elif queue.waiting or queue.changing or queue.beginning:
            return None
        self.entered += 1
        queue.writing += 1
        self._last_serial += 1
        self._writes[self._last_serial] = None
        return StartedAppend(self, queue, self._last_serial)

    def append_ended(self, queue: SessionQueue, serial: int) -> None:
        """An append is answered. See `StartedAppend`."""
        self.entered -= 1
        del self._writes[serial]
        queue.writing -= 1
        if not queue.writing:
            self._look_at(queue)
        if self._surveys or self._until_idle is not None:
            self._look_at_surveys()

    async def until_written(self) -> None:
        """Wait until every write that has entered is answered."""
        written: asyncio.Future[None] = self._loop.create_future()

        def start(ticket: Ticket) -> None:
            ticket.ended()
            if not written.done():
                written.set_result(None)

        self.enter(Ticket("survey", None, None, start))
        await written

    def _admit(self, ticket: Ticket) -> None:
        """Assign a serial to a request, and start or queue it.

        If its session is not identified yet, later requests are held.
        """
        self._last_serial += 1
        ticket.serial = self._last_serial
        if ticket.effect in WRITES:
            self._writes[ticket.serial] = None
        if ticket.name is None:
            if ticket.path is not None:
                self._naming = ticket
                self._spawn(self._name(ticket, ticket.path))
            elif ticket.effect in ("survey", "overhaul"):
                self._surveys.append(ticket)
                self._look_at_surveys()
            else:
                self._start(ticket)  # no later request can name its session
        else:
            self._line_up(ticket)

    def _line_up(self, ticket: Ticket) -> None:
        queue = ticket.queue = self._queue_of(ticket.name or "")
        if queue.waiting or not queue.admits(ticket.effect):
            queue.waiting.append(ticket)
        else:
            self._start(ticket)

    def _queue_of(self, name: str) -> SessionQueue:
        queue = self._queues.get(name)
        if queue is None:
            queue = self._queues[name] = SessionQueue(name)
        return queue

    def _start(self, ticket: Ticket) -> None:
        ticket.is_waiting = False
        if ticket.queue is not None:
            self._count(ticket.queue, ticket)
        ticket.start(ticket)

    def _count(self, queue: SessionQueue, ticket: Ticket) -> None:
        effect = ticket.effect
        if effect == "append":
            queue.writing += 1
        elif effect == "change":
            queue.writing += 1
            queue.changing += 1
        else:
            queue.beginning += not ticket.has_begun
            queue.reading += effect != "job"

    def started(self, ticket: Ticket) -> None:
        """A read has read its data. See `Ticket.started`."""
        queue = ticket.queue
        if queue is not None:
            queue.beginning -= 1
            self._look_at(queue)

    def ended(self, ticket: Ticket) -> None:
        """A request is answered. See `Ticket.ended`."""
        self.entered -= 1
        effect, queue = ticket.effect, ticket.queue
        if effect in WRITES:
            self._writes.pop(ticket.serial, None)
        if queue is not None:
            if effect == "append":
                queue.writing -= 1
            elif effect == "change":
                queue.writing -= 1
                queue.changing -= 1
            else:
                queue.beginning -= not ticket.has_begun
                queue.reading -= effect != "job"
            self._look_at(queue)
        if self._surveys or self._until_idle is not None:
            self._look_at_surveys()

    def on_canceled(self, ticket: Ticket) -> None:
        """A request was canceled before it started. See `Ticket.cancel`."""
        self.entered -= 1
        self._writes.pop(ticket.serial, None)
        if ticket.queue is not None:
            self._look_at(ticket.queue)
        self._look_at_surveys()

    # --- starting waiting requests -----------------------------------------------------------------------

    def _look_at(self, queue: SessionQueue) -> None:
        """A request of this session has ended: schedule the start of waiting ones for a later tick."""
        if queue.waiting:
            if not queue.is_due:
                queue.is_due = True
                # Not now: a commit notifies its subscribers first, and the next request must not read before that.
                self._loop.call_soon(self._resume, queue)
        elif queue.is_idle and self._queues.get(queue.name) is queue:
            del self._queues[queue.name]

    def _resume(self, queue: SessionQueue) -> None:
        queue.is_due = False
        waiting, until = queue.waiting, self._loop.time() + _TURN_SECONDS
        while waiting:
            if waiting[0].is_over:
                waiting.popleft()
            elif not queue.admits(waiting[0].effect):
                return
            elif self._loop.time() > until:
                break
            else:
                self._start(waiting.popleft())
        self._look_at(queue)
        self._look_at_surveys()

    def _look_at_surveys(self) -> None:
        while self._surveys:
            first = self._surveys[0]
            if not first.is_over and next(iter(self._writes), first.serial) < first.serial:
                break
            self._surveys.popleft()
            if not first.is_over:
                self._start(first)
        idle = self._until_idle
        if idle is not None and not idle.done() and self._is_idle_but_for_naming():
            idle.set_result(None)

    # --- sessions that are not named by their id ---------------------------------------------------------

    async def _name(self, ticket: Ticket, path: str) -> None:
        """Identify the session at a path. If there is none, try again when everything in progress has ended."""
        ticket.name = await self._identify(path)
        if ticket.name is None and not self._is_idle_but_for_naming():
            await self._idle()
            ticket.name = await self._identify(path)
        self._named(ticket)

    def _named(self, ticket: Ticket) -> None:
        self._naming = None
        if not ticket.is_over:
            if ticket.name is None:
                self._start(ticket)
            else:
                self._line_up(ticket)
        self._admit_held()

    def _admit_held(self) -> None:
        until = self._loop.time() + _TURN_SECONDS
        while self._held and self._naming is None:
            if self._loop.time() > until:
                self._loop.call_soon(self._admit_held)
                return
            ticket = self._held.popleft()
            if not ticket.is_over:
                self._admit(ticket)

    async def _idle(self) -> None:
        if not self._is_idle_but_for_naming():
            self._until_idle = self._loop.create_future()
            await self._until_idle
            self._until_idle = None

    def _is_idle_but_for_naming(self) -> bool:
        """Return whether nothing is in progress except the request whose session is being identified."""
        naming = self._naming
        own = 1 if naming is not None and naming.serial in self._writes else 0
        return not self._queues and len(self._writes) == own
