"""The requests of one client that could not be answered at once, running or waiting.

Each is answered exactly once, also when it is canceled. The client encodes the answers.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final, TypeAlias

from sessiond.hub.errors import Overloaded
from sessiond.hub.execution.slices import context_of, run_in_slices
from sessiond.protocol import types as t
from sessiond.rpc.message import EncodedResult, RequestId
from sessiond.server import errors
from sessiond.server.connection.deferred import Pending
from sessiond.server.connection.encoding import encode_in_steps, is_large
from sessiond.server.connection.execution import Execution
from sessiond.server.connection.memory_budget import MemoryBudget
from sessiond.server.connection.read_throttle import ReadThrottle
from sessiond.server.connection.tickets import AnyTicket, StartedAppend

MAX_WAITING: Final = 64
"""Limit of requests of one client that wait for a summary. They do not pause reading, because only time ends them."""
TAKING_SECONDS: Final = 10.0
"""Limit of the time in which a client reads a large answer while others wait for memory."""

Work = Coroutine[Any, Any, "t.Wire | Pending"]
AnyExecution: TypeAlias = Execution[*tuple[Any, ...], Any]


class Requests:
    """Answers requests later, from a task or a `Pending`.

    Args:
        answer: Sends a result or an exception.
        read_throttle: Counts the requests.
        memory_budget: The memory budget of all clients.
        spawn: Runs a coroutine in the background.
        spawn_write: Runs a coroutine that must not be canceled.

    """

    def __init__(
        self,
        answer: Callable[[RequestId, object], None],
        read_throttle: ReadThrottle,
        memory_budget: MemoryBudget,
        spawn: Callable[[Coroutine[Any, Any, Any]], object],
        spawn_write: Callable[[Coroutine[Any, Any, Any]], object],
    ) -> None:
        self._answer = answer
        self._read_throttle = read_throttle
        self._memory_budget = memory_budget
        self._spawn = spawn
        self._spawn_write = spawn_write
        self._context = context_of(self)  # long work alternates between clients
        self._gone = False
        self._waits: dict[RequestId, Pending] = {}  # requests that can be canceled
        self._tasks: dict[RequestId, asyncio.Task[Any]] = {}
        self._turn = asyncio.Lock()

    def began(self, size: int, count: int) -> None:
        """Count requests that could not be answered at once, and the bytes of their bodies. `ended` must follow."""
        self._read_throttle.began(size, count)

    def ended(self, size: int, count: int, ticket: StartedAppend) -> None:
        """Stop counting requests that were answered, and end their ticket."""
        self._read_throttle.ended(size, count)
        ticket.ended()

    def answer_when_there(
        self, request_id: RequestId, size: int, pending: Pending, ticket: AnyTicket | None
    ) -> None:
        """Answer a request when `pending` has its answer, and end its ticket. `size`: Bytes of its body."""
        self._read_throttle.began(size)
        if pending.on_cancel is not None or self._gone:
            self._wait(request_id, size, pending, ticket)
        else:
            pending.then(partial(self._end, request_id, size, ticket))

    def answer_later(
        self, request_id: RequestId, size: int, work: Work, execution: AnyExecution, ticket: AnyTicket | None
    ) -> None:
        """Answer a request with the outcome of `work`, and end its ticket. `size`: Bytes of its body."""
        self._read_throttle.began(size)
        answering = self._answered(request_id, size, work, execution, ticket)
        if execution.is_finished:
            # Work that has begun completes, even if it is canceled. A copy, since this may be called within a task
            # of the same context.
            self._context.copy().run(self._spawn_write, answering)
            return

        def ended(task: asyncio.Task[None]) -> None:
            self._tasks.pop(request_id, None)
            if task.cancelled():  # it was canceled before it began
                work.close()
                self._end(request_id, size, ticket, errors.Canceled())

        task = self._tasks[request_id] = asyncio.get_running_loop().create_task(
            answering, context=self._context
        )
        task.add_done_callback(ended)

    def refuse_more_waiting(self) -> None:
        """Raise `Overloaded` if `MAX_WAITING` requests of this client wait for a summary."""
        if len(self._waits) >= MAX_WAITING:
            raise Overloaded(f"{MAX_WAITING} requests of this client are already waiting for a summary")

    def cancel(self, request_id: RequestId) -> bool:
        """Cancel a request, if it can be canceled. Returns False if it is not one of these."""
        if (task := self._tasks.get(request_id)) is not None:
            task.cancel()
        elif (pending := self._waits.get(request_id)) is not None:
            _cancel(pending)
        else:
            return False
        return True

    def close(self) -> None:
        """Cancel every request that can be canceled, because the client has disconnected."""
        self._gone = True
        for task in list(self._tasks.values()):
            task.cancel()
        for pending in list(self._waits.values()):
            _cancel(pending)

    def _wait(self, request_id: RequestId, size: int, pending: Pending, ticket: AnyTicket | None) -> None:
        if pending.on_cancel is not None:
            self._waits[request_id] = pending
        pending.then(partial(self._end, request_id, size, ticket))
        if self._gone:
            _cancel(pending)

    def _end(self, request_id: RequestId, size: int, ticket: AnyTicket | None, answer: object) -> None:
        if self._waits:
            self._waits.pop(request_id, None)
        self._read_throttle.ended(size)
        self._answer(request_id, answer)
        if ticket is not None:
            ticket.ended()

    async def _answered(
        self, request_id: RequestId, size: int, work: Work, execution: AnyExecution, ticket: AnyTicket | None
    ) -> None:
        try:
            reserved = execution.answer_bytes
            answer: object = await (self._in_turn(work, reserved) if reserved else work)
        except asyncio.CancelledError:
            answer = errors.Canceled()
        except Exception as error:  # noqa: BLE001 - everything becomes an answer, as in `Client.received`
            answer = error
        if isinstance(answer, Pending):
            self._wait(request_id, size, answer, ticket)
        else:
            # On this tick, so that no notification of a new subscription precedes the response.
            self._end(request_id, size, ticket, answer)

    async def _in_turn(self, work: Work, reserved: int) -> t.Wire | Pending | EncodedResult:
        """Create large answers one at a time, when this client and the memory budget have room.

        The budget reserves `reserved` bytes while the answer is created, then the bytes that the client has not read.
        """
        try:
            async with self._turn:
                await self._read_throttle.until_room()
                await self._memory_budget.answers.enter(reserved)
                try:
                    answer = await work
                    if not isinstance(answer, Pending) and is_large(answer):
                        return EncodedResult(await run_in_slices(encode_in_steps(answer)))
                    return answer
                finally:
                    # On the next tick the answer is queued.
                    asyncio.get_running_loop().call_soon(self._leave_when_taken, reserved)
        finally:
            work.close()

    def _leave_when_taken(self, reserved: int) -> None:
        untaken = self._read_throttle.untaken_bytes
        self._memory_budget.large_answers += 1
        self._memory_budget.answers.resize(reserved, untaken)
        if untaken:
            self._spawn(self._until_taken(untaken))

    async def _until_taken(self, untaken: int) -> None:
        try:
            await self._read_throttle.until_taken(TAKING_SECONDS)
        finally:
            self._memory_budget.answers.leave(untaken)


def _cancel(pending: Pending) -> None:
    if pending.on_cancel is not None:
        pending.on_cancel()
