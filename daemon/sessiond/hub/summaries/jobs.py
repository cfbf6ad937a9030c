"""Work that first waits, for a summary, and then writes: many may wait for its outcome, and leave again.

While it waits it can be given up, and is when the last one leaves; once it writes it is finished, whatever
becomes of those who wait. They are told on the tick on which the log has the lines.
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
"""Makes the answer of what was committed."""

Leave: TypeAlias = Callable[[], bool]
"""Waits no longer; False when it is too late for that, because the outcome is there or being written."""


Work: TypeAlias = Callable[["Job"], Coroutine[Any, Any, None]]
"""What a job does."""


class Waiter(Protocol):
    """Who waits for the outcome of a job."""

    def told(self, step: t.Progress) -> None:
        """How far the work is."""

    def done(self, outcome: t.Wire | Exception) -> None:
        """The result, or why there is none. Called once, unless it has left before."""


class Job:
    """One piece of work, a task of its own: nobody's cancellation is that of the others."""

    def __init__(self, work: Work) -> None:
        self.open = True
        """Whether the outcome is still to come, so that one may join."""
        self.commands: list[CommandRecord] = []
        """The commands that the line which this job appends carries out."""
        self.answer: dict[str, Any] = {}
        """What that line notes for the answer to a repeat."""
        self._waiters: list[Waiter] = []
        self._writing = False
        self._stopping = False
        self._task = asyncio.get_running_loop().create_task(self._do(work))

    @property
    def writing(self) -> bool:
        """Whether its line is on the way to the disk: it can carry out no further command."""
        return self._writing

    def when_ended(self, call: Callable[[], None]) -> None:
        """Call something when all is done, whatever came of it."""
        self._task.add_done_callback(lambda _task: call())

    def join(self, waiter: Waiter) -> Leave:
        """Let somebody wait for the outcome; answers how to leave."""
        self._waiters.append(waiter)

        def leave() -> bool:
            if self._writing or waiter not in self._waiters:
                return False
            self._waiters.remove(waiter)
            if not self._waiters:
                self.open = False
                self._task.cancel()
            return True

        return leave

    def tell(self, step: t.Progress) -> None:
        """Say how far the work is."""
        for waiter in list(self._waiters):
            waiter.told(step)

    async def append(
        self, live: LiveSession, draft: bytes, placement: Placement, origin: t.Origin, result: Result
    ) -> LeafConflict | WouldBreakTree | None:
        """Append an entry, and tell everybody what came of it in the order of the log.

        Answers None then; or the refusal when the entry cannot stand where it was to, which nobody is told: the
        work decides. Any other failure is everybody's outcome, too.
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
        """The daemon ends: what is being written is finished, anything else is given up."""
        self._stopping = True
        if not self._writing:
            self._task.cancel()
        await asyncio.wait([self._task])

    def _command(self) -> CommandRecord | None:
        """The first command, which says of the others that its line has carried them out, too."""
        if not self.commands:
            return None
        first, *others = self.commands
        joined = tuple(JoinedCommand(id=it.id, digest=it.digest) for it in others)
        return msgspec.structs.replace(first, answer=self.answer, joined=joined)

    def finish(self, outcome: t.Wire | Exception) -> None:
        """Tell everybody what came of it."""
        self.open = False
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter.done(outcome)

    async def _do(self, work: Work) -> None:
        try:
            await work(self)
        except asyncio.CancelledError:
            self.finish(Draining())  # only then is there still somebody who waits
        except Exception as error:  # noqa: BLE001 - whoever waits is told; a task has nobody to tell
            self.finish(error)


class Jobs:
    """All jobs of this process. A session that one of them will append to is not let go of meanwhile."""

    def __init__(self) -> None:
        self._all: set[Job] = set()

    def begin(self, live: LiveSession, work: Work) -> Job:
        """Begin a job; its work starts on the next tick."""

        async def engaged(job: Job) -> None:
            live.engaged += 1
            try:
                await work(job)
            finally:
                live.engaged -= 1

        job = Job(engaged)
        self._all.add(job)
        job.when_ended(lambda: self._all.discard(job))
        return job

    async def close(self) -> None:
        """Finish what is being written, give up what only waits."""
        await asyncio.gather(*(job.stop() for job in list(self._all)))


async def until_stored(live: LiveSession, origin: t.Origin) -> None:
    """Wait until all that was sent before is in the log.

    Raises what a write would be refused with now: better before somebody writes a summary for nothing.
    """
    ended: asyncio.Future[Outcome | Exception] = asyncio.get_running_loop().create_future()

    def done(outcome: Outcome | Exception) -> None:
        if not ended.done():
            ended.set_result(outcome)

    live.append([], AT_THE_LEAF, "written", origin, done)
    outcome = await ended
    if isinstance(outcome, Exception):
        raise outcome
