"""A request that waits for a summary: its answer, its progress, and its cancellation."""

from collections.abc import Callable

from sessiond.hub.summaries.jobs import StopWaiting
from sessiond.protocol import types as t
from sessiond.server.connection.client import Client
from sessiond.server.connection.deferred import Pending
from sessiond.server.connection.progress import ProgressReporter
from sessiond.server.errors import Canceled


class SummaryWaiter:
    """One request that waits. `pending` is its answer. It receives progress if it has a token."""

    def __init__(self, client: Client, token: t.ProgressToken | None, title: str) -> None:
        self.pending = Pending()
        self._progress = ProgressReporter(client, token)
        self._progress.begin(title)

    def wait(self, start: Callable[[], StopWaiting]) -> Pending:
        """Begin the work and return its answer.

        Canceling the request stops the waiting, as long as that is possible.

        Args:
            start: Begins the work and returns the function that stops the waiting. That returns False if it is too
                late.

        """
        try:
            stop_waiting = start()
        except Exception as refusal:  # noqa: BLE001 - it becomes the answer, after the end of the progress
            self.done(refusal)
            return self.pending

        def cancel() -> None:
            if stop_waiting():
                self.done(Canceled())

        self.pending.on_cancel = cancel
        return self.pending

    def progress(self, step: t.Progress) -> None:
        """Send the step to the client if the request has a progress token."""
        self._progress.report(step)

    def done(self, outcome: t.Wire | Exception) -> None:
        """End the progress, then answer the request with the result or the error."""
        self._progress.end()
        self.pending.resolve(outcome)
