"""A client that waits for a summary: its answer, its progress, and how it gives up."""

from collections.abc import Callable

from sessiond.hub.jobs import Leave
from sessiond.protocol import methods as m, types as t
from sessiond.rpc.message import encode_notification
from sessiond.server.answers import Pending
from sessiond.server.client import QUEUE_LITTLE, Client
from sessiond.server.errors import Cancelled


class Waiting:
    """One request that waits; `pending` is its answer. It hears of progress if it brought a token."""

    def __init__(self, client: Client, token: t.ProgressToken | None, title: str) -> None:
        self.pending = Pending()
        self._client = client
        self._token = token
        self._tell(t.Progress(kind="begin", title=title, cancellable=True))

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
        if self._client.queued_bytes < QUEUE_LITTLE:  # who does not read has no use for each step
            self._tell(step)

    def done(self, outcome: t.Wire | Exception) -> None:
        self._tell(t.Progress(kind="end"))  # LSP: a token ends before its request is answered
        self.pending.resolve(outcome)

    def _tell(self, step: t.Progress) -> None:
        if self._token is not None:
            self._client.send(encode_notification(m.PROGRESS, t.ProgressNote(token=self._token, value=step)))
