"""Work beside the loops of the proxy, which ends with them."""

import asyncio
from collections.abc import Awaitable, Callable


class BackgroundWork:
    """The tasks of one proxy.

    Args:
        report: Receives a sentence for people if a task fails.
    """

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Awaitable[None]) -> None:
        """Run work in a task beside the loops."""

        async def run() -> None:
            await work

        task = asyncio.create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._report(f"A request was not answered: {error!r}")

    async def cancel(self) -> None:
        """End all tasks."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
