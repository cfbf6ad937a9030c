"""The background tasks that work as long as the daemon does. One that ends with an error begins again after a pause.

A task that ended without a word would be missed only when its work is: agents that are not followed, an index that
does not grow.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from sessiond.hub import clock
from sessiond.protocol import types as t
from sessiond.session.tree import lines

FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 300.0
"""The pauses in seconds before a task begins again: each is twice as long as the one before."""
CALM_SECONDS: Final = 600.0
"""A task that has worked for so long without an error counts as sound again."""
_MAX_MESSAGE: Final = 300

log = logging.getLogger(__name__)

_Spawn: TypeAlias = Callable[[Coroutine[Any, Any, None]], asyncio.Task[Any]]


@dataclass(slots=True)
class _Failure:
    """The last error of a task. `began_again` is a time of the monotonic clock; None during the pause."""

    message: str
    failed_at: str
    count: int = 0
    began_again: float | None = None

    @property
    def is_over(self) -> bool:
        return self.began_again is not None and time.monotonic() - self.began_again > CALM_SECONDS


def pause_after(failures: int) -> float:
    """Return the seconds of pause after a number of failures in a row."""
    return min(FIRST_PAUSE * 2.0 ** min(failures - 1, 30), LONGEST_PAUSE)


class LastingTasks:
    """The tasks by name. `spawn` runs a coroutine in the background until it ends or is canceled."""

    def __init__(self, spawn: _Spawn) -> None:
        self._spawn = spawn
        self._failures: dict[str, _Failure] = {}

    def begin(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[Any]:
        """Run `work` in the background until it returns or its task is canceled."""
        return self._spawn(self._keep_running(name, work))

    @property
    def failed(self) -> list[t.FailedTask]:
        """The tasks that ended with an error, unless that was long ago."""
        return [
            t.FailedTask(
                name=name, message=failure.message, failed_at=failure.failed_at, failure_count=failure.count,
                is_running=failure.began_again is not None,
            )
            for name, failure in self._failures.items()
            if not failure.is_over
        ]  # fmt: skip

    async def _keep_running(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        while True:
            try:
                await work()
            except asyncio.CancelledError as error:
                if (task := asyncio.current_task()) is None or task.cancelling():
                    raise
                failure = self._noted(name, error)  # something that it awaited was canceled, and not the task
            except Exception as error:  # noqa: BLE001 - whatever it is, the work goes on
                failure = self._noted(name, error)
            else:
                self._failures.pop(name, None)
                return
            await asyncio.sleep(pause_after(failure.count))
            failure.began_again = time.monotonic()

    def _noted(self, name: str, error: BaseException) -> _Failure:
        log.error("The background task %s ended with an error; it begins again soon", name, exc_info=error)
        before = self._failures.get(name)
        count = 1 if before is None or before.is_over else before.count + 1
        message = lines.valid_text(f"{type(error).__name__}: {error}"[:_MAX_MESSAGE])
        failure = self._failures[name] = _Failure(message, clock.iso(time.time_ns()), count)
        return failure
