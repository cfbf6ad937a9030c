"""Work that first waits, for a summary, and then writes: many may wait for its outcome, and leave again.

While it waits it can be given up, and is when the last one leaves; once it writes it is finished, whatever
becomes of those who wait. They are told on the tick on which the log has the lines.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeAlias

from sessiond.hub.errors import Draining, LeafConflict, WouldBreakTree
from sessiond.hub.live import Done, Outcome
from sessiond.protocol import types as t

Leave: TypeAlias = Callable[[], bool]
"""Waits no longer; False when it is too late for that, because the outcome is there or being written."""


class Waiter(Protocol):
    """Who waits for the outcome of a job."""

    def told(self, step: t.Progress) -> None:
        """How far the work is."""

    def done(self, outcome: t.Wire | Exception) -> None:
        """The result, or why there is none. Called once, unless it has left before."""


class Job:
    """One piece of work, a task of its own: nobody's cancellation is that of the others."""

    def __init__(self, work: Callable[["Job"], Coroutine[Any, Any, None]]) -> None:
        self.open = True
        """Whether the outcome is still to come, so that one may join."""
        self._waiters: list[Waiter] = []
        self._writing = False
        self._stopping = False
        self._task = asyncio.get_running_loop().create_task(self._do(work))

    def join(self, waiter: Waiter) -> Leave:
        """Let somebody wait for the outcome; answers how to leave."""
        self._waiters.append(waiter)

        def leave() -> bool:
            if self._writing or waiter not in self._waiters:
                return False
            self._waiters.remove(waiter)
            if not self._waiters:
                self._task.cancel()
            return True

        return leave

    def tell(self, step: t.Progress) -> None:
        """Say how far the work is."""
        for waiter in list(self._waiters):
            waiter.told(step)

    async def write(
        self, append: Callable[[Done], None], result: Callable[[Outcome], t.Wire]
    ) -> LeafConflict | WouldBreakTree | None:
        """Append lines, and tell everybody what came of it in the order of the log.

        Answers None then; or the refusal when the lines cannot stand where they were to, which nobody is told:
        the work decides. Any other failure is everybody's outcome, too.
        """
        ended: asyncio.Future[LeafConflict | WouldBreakTree | None] = (
            asyncio.get_running_loop().create_future()
        )

        def done(outcome: Outcome | Exception) -> None:
            self._writing = False
            refusal = outcome if isinstance(outcome, LeafConflict | WouldBreakTree) else None
            if refusal is None:
                self._finish(outcome if isinstance(outcome, Exception) else result(outcome))
            if not ended.done():
                ended.set_result(refusal)

        self._writing = True
        append(done)
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

    def _finish(self, outcome: t.Wire | Exception) -> None:
        self.open = False
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter.done(outcome)

    async def _do(self, work: Callable[["Job"], Coroutine[Any, Any, None]]) -> None:
        try:
            await work(self)
        except asyncio.CancelledError:
            self._finish(Draining())  # only then is there still somebody who waits
        except Exception as error:  # noqa: BLE001 - whoever waits is told; a task has nobody to tell
            self._finish(error)
