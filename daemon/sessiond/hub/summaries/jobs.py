"""Jobs that wait for a summary and then append an entry; several requests can wait for one job.

A job is canceled when its last waiter leaves. Once it has started to write, it is always finished. The waiters
receive the result in the loop tick in which the line is committed.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeAlias

import msgspec

from sessiond.hub.errors import Draining, LeafConflict, WouldBreakTree
from sessiond.hub.session.batches import Outcome
from sessiond.hub.session.entry_placement import AT_THE_LEAF, Placement
from sessiond.hub.session.live import LiveSession
from sessiond.protocol import types as t
from sessiond.session.tree.command_ids import CommandRecord
from sessiond.session.tree.entries import JoinedCommand

Result: TypeAlias = Callable[[Outcome], t.Wire]
"""Makes the result from the outcome of the append."""

StopWaiting: TypeAlias = Callable[[], bool]
"""Stops waiting. Returns False if the job is writing or has ended."""


Work: TypeAlias = Callable[["Job"], Coroutine[Any, Any, None]]
"""The work of a job."""


class Waiter(Protocol):
    """Waits for the outcome of a job."""

    def progress(self, step: t.Progress) -> None:
        """Report progress."""

    def done(self, outcome: t.Wire | Exception) -> None:
        """Receive the result, or the error. Called once, unless the waiter has stopped waiting."""


class Job:
    """One piece of work, run in its own task: canceling one waiter does not cancel the others."""

    def __init__(self, work: Work) -> None:
        self.open = True
        """True until the outcome is known or the job is canceled; further waiters can join."""
        self.commands: list[CommandRecord] = []
        """The commands that the appended line records."""
        self.answer: dict[str, Any] = {}
        """The data that the line stores to answer a repeated request."""
        self._waiters: list[Waiter] = []
        self._writing = False
        self._stopping = False
        self._task = asyncio.get_running_loop().create_task(self._do(work))

    @property
    def writing(self) -> bool:
        """True while the line is being written: it can record no further command."""
        return self._writing

    def when_ended(self, call: Callable[[], None]) -> None:
        """Call `call` when the job has ended with any outcome."""
        self._task.add_done_callback(lambda _task: call())

    def join(self, waiter: Waiter) -> StopWaiting:
        """Add a waiter. Returns a function that removes it; the job is canceled when the last waiter is removed."""
        self._waiters.append(waiter)

        def stop_waiting() -> bool:
            if self._writing or waiter not in self._waiters:
                return False
            self._waiters.remove(waiter)
            if not self._waiters:
                self.open = False
                self._task.cancel()
            return True

        return stop_waiting

    def report_progress(self, step: t.Progress) -> None:
        """Report progress to all waiters."""
        for waiter in list(self._waiters):
            waiter.progress(step)

    async def append(
        self, live: LiveSession, draft: bytes, placement: Placement, origin: t.Origin, result: Result
    ) -> LeafConflict | WouldBreakTree | None:
        """Append an entry durably, and pass the result to the waiters, in log order.

        Args:
            live: The session.
            draft: The entry.
            placement: Where it is placed. The commands of the job are added.
            origin: The origin of the entry.
            result: Makes the result from the outcome of the append.

        Returns:
            None after the outcome was passed to the waiters. A `LeafConflict` or `WouldBreakTree` is returned
            instead, so that the work can retry.

        Raises:
            Draining: The entry was refused with one of these errors, and the daemon is shutting down.
        """
        ended: asyncio.Future[LeafConflict | WouldBreakTree | None] = (
            asyncio.get_running_loop().create_future()
        )

        def done(outcome: Outcome | Exception) -> None:
            self._writing = False
            refusal = outcome if isinstance(outcome, LeafConflict | WouldBreakTree) else None
            if refusal is None:
                self.finish(outcome if isinstance(outcome, Exception) else result(outcome))
            if not ended.done():
                ended.set_result(refusal)

        self._writing = True
        placement = msgspec.structs.replace(placement, command=self._command())
        live.append([draft], placement, "synced", origin, done)
        refusal = await ended
        if refusal is not None and self._stopping:
            raise Draining
        return refusal

    async def stop(self) -> None:
        """End the job: a write in progress is finished, anything else is canceled. Returns when the task has ended."""
        self._stopping = True
        if not self._writing:
            self._task.cancel()
        await asyncio.wait([self._task])

    def _command(self) -> CommandRecord | None:
        """Return the first command, with the others recorded in it as joined; None if there is none."""
        if not self.commands:
            return None
        first, *others = self.commands
        joined = tuple(JoinedCommand(id=record.id, digest=record.digest) for record in others)
        return msgspec.structs.replace(first, answer=self.answer, joined=joined)

    def finish(self, outcome: t.Wire | Exception) -> None:
        """Pass the outcome to all waiters."""
        self.open = False
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter.done(outcome)

    async def _do(self, work: Work) -> None:
        try:
            await work(self)
        except asyncio.CancelledError:
            self.finish(Draining())  # waiters are left only if the daemon is shutting down
        except Exception as error:  # noqa: BLE001 - the waiters receive it; nobody awaits the task
            self.finish(error)


class Jobs:
    """All jobs of this process. A session with a job stays loaded."""

    def __init__(self) -> None:
        self._all: set[Job] = set()

    def begin(self, live: LiveSession, work: Work) -> Job:
        """Start a job. Its work begins on the next loop tick."""

        async def engaged(job: Job) -> None:
            live.appending_jobs += 1
            try:
                await work(job)
            finally:
                live.appending_jobs -= 1

        job = Job(engaged)
        self._all.add(job)
        job.when_ended(lambda: self._all.discard(job))
        return job

    async def close(self) -> None:
        """End all jobs: writes in progress are finished, the other jobs are canceled."""
        await asyncio.gather(*(job.stop() for job in list(self._all)))


async def until_stored(live: LiveSession, origin: t.Origin) -> None:
    """Wait until all earlier appends to the session are in its log.

    Raises the error that an append would fail with now, so that a summary is requested only if it can be stored.
    """
    ended: asyncio.Future[Outcome | Exception] = asyncio.get_running_loop().create_future()

    def done(outcome: Outcome | Exception) -> None:
        if not ended.done():
            ended.set_result(outcome)

    live.append([], AT_THE_LEAF, "written", origin, done)
    outcome = await ended
    if isinstance(outcome, Exception):
        try:
            raise outcome
        finally:
            del outcome, ended  # the error would hold its own frames until a garbage collection
