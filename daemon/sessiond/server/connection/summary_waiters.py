"""A client that waits for a summary: its answer, its progress, and how it gives up."""

from collections.abc import Callable

from sessiond.hub.summaries.jobs import Leave
from sessiond.protocol import types as t
from sessiond.server.connection.client import Client
from sessiond.server.connection.deferred import Pending
from sessiond.server.connection.progress import ProgressReporter
from sessiond.server.errors import Cancelled


class SummaryWaiter:
    """One request that waits; `pending` is its answer. It hears of progress if it brought a token."""

    def __init__(self, client: Client, token: t.ProgressToken | None, title: str) -> None:
        self.pending = Pending()
        self._progress = ProgressReporter(client, token)
        self._progress.begin(title)

    def for_what(self, begin: Callable[[], Leave]) -> Pending:
        """Begin the work; cancelling the request gives up the waiting, as long as that can be given up."""
        try:
            leave = begin()
        except Exception as refusal:  # noqa: BLE001 - answered like any refusal, after the end of the progress
            self.done(refusal)
            return self.pending

        def give_up() -> None:
            if leave():
                self.done(Cancelled())

        self.pending.give_up = give_up
        return self.pending

    def told(self, step: t.Progress) -> None:
        self._progress.report(step)

    def done(self, outcome: t.Wire | Exception) -> None:
        self._progress.end()
        self.pending.resolve(outcome)
