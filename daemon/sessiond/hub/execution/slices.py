"""Long work on the event loop, in slices: one scheduler for all clients.

Work is a generator that yields whenever it may be interrupted (`session/tree/steps.py`). In one turn of the event
loop, the scheduler runs steps of all pending work for at most `TICK_SECONDS`, however many requests there are. Then
the loop reads from sockets and serves short requests, and the next turn continues the work. The scheduler is fair:
each step belongs to the next client, so a client with a hundred long requests delays another client's long request by
one step. The jobs of one client alternate, too.

Work that cannot be divided into steps does not belong here: use `child_process` for computations, and threads for the
disk.
"""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Generator
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")

TICK_SECONDS: Final = 0.002
"""The time for long work in one turn of the event loop. The last step may exceed it."""

_client: ContextVar[object] = ContextVar("client", default=None)
"""The client that a task works for, which may be any object; None for work of the daemon itself."""


def context_of(client: object) -> Context:
    """Return a context for tasks whose long work is done for `client`."""
    context = copy_context()
    context.run(_client.set, client)
    return context


async def run_in_slices(work: Generator[None, None, T]) -> T:
    """Run work to its end, and return its value or raise its exception. Canceling closes the generator."""
    return await _scheduler().run(work)


class TurnBudget:
    """The time that one kind of work may take in one turn of the event loop, apart from long work.

    Any amount of this work does not make a client wait longer for other work.

    Args:
        seconds: The time. The last piece of work may exceed it.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._spent: WeakKeyDictionary[asyncio.AbstractEventLoop, float] = WeakKeyDictionary()

    @property
    def is_used_up(self) -> bool:
        """Whether the work is to continue in the next turn."""
        return self._spent.get(asyncio.get_running_loop(), 0.0) >= self._seconds

    def spend(self, seconds: float) -> None:
        """Add the time that a piece of work took."""
        loop = asyncio.get_running_loop()
        if loop not in self._spent:
            loop.call_soon(self._spent.pop, loop)
        self._spent[loop] = self._spent.get(loop, 0.0) + seconds


@dataclass(slots=True)
class _Job:
    work: Generator[None, None, Any]
    result: asyncio.Future[Any]


class _Scheduler:
    """The long work of one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._call_soon = loop.call_soon
        self._create_future = loop.create_future
        self._jobs: OrderedDict[object, deque[_Job]] = OrderedDict()
        """The jobs of each client, in the order of the clients' turns."""
        self._spent = 0.0
        """Seconds used in this turn of the event loop."""
        self._tick_is_due = False

    async def run(self, work: Generator[None, None, T]) -> T:
        """See `run_in_slices`. Without other jobs, steps that fit into the rest of this turn run immediately."""
        if not self._jobs:
            while self._spent < TICK_SECONDS:
                began = time.perf_counter()
                try:
                    next(work)
                except StopIteration as end:
                    value: T = end.value
                    return value
                finally:
                    self._spend(time.perf_counter() - began)
        job = _Job(work, self._create_future())
        self._jobs.setdefault(_client.get(), deque()).append(job)
        self._spend(0.0)
        try:
            result: T = await job.result
        except asyncio.CancelledError:
            work.close()
            raise
        return result

    def _spend(self, seconds: float) -> None:
        self._spent += seconds
        if not self._tick_is_due:
            self._tick_is_due = True
            self._call_soon(self._tick)

    def _tick(self) -> None:
        """Run steps, one for each client in turn, until the time of this turn of the event loop is used up."""
        self._spent = 0.0
        self._tick_is_due = False
        until = time.perf_counter() + TICK_SECONDS
        while self._jobs:
            client, jobs = self._jobs.popitem(last=False)
            job = jobs.popleft()
            if _step(job):
                jobs.append(job)
            if jobs:
                self._jobs[client] = jobs
            if time.perf_counter() > until:
                break
        if self._jobs:
            self._spend(TICK_SECONDS)


def _step(job: _Job) -> bool:
    """Run a step of a job. Returns whether there are more."""
    if job.result.done():  # canceled
        return False
    try:
        next(job.work)
    except StopIteration as end:
        job.result.set_result(end.value)
        return False
    except Exception as error:  # noqa: BLE001 - it is raised where the work is awaited
        job.result.set_exception(error)
        return False
    return True


_schedulers: WeakKeyDictionary[asyncio.AbstractEventLoop, _Scheduler] = WeakKeyDictionary()


def _scheduler() -> _Scheduler:
    loop = asyncio.get_running_loop()
    found = _schedulers.get(loop)
    if found is None:
        found = _schedulers[loop] = _Scheduler(loop)
    return found
