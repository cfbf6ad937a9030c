"""Telling a client how far its request is: `$/progress` with the token that it brought, as LSP has it."""

import contextlib
from collections.abc import Callable, Iterator

from sessiond.protocol import methods as m, types as t
from sessiond.rpc.message import encode_notification
from sessiond.server.connection.client import LOW_QUEUE_BYTES, Client


class ProgressReporter:
    """What one client hears of one piece of work that it may cancel; without a token it hears nothing."""

    def __init__(self, client: Client, token: t.ProgressToken | None) -> None:
        self._client = client
        self._token = token
        self._last: t.Progress | None = None

    def begin(self, title: str, *, percentage: int | None = None) -> None:
        """The first step; `percentage` is 0 where later ones will have a number, too."""
        self._send(t.Progress(kind="begin", title=title, cancellable=True, percentage=percentage))

    def report(self, step: t.Progress) -> None:
        """A further step, if it says anything new. Who does not read has no use for each of them."""
        if step != self._last and self._client.queued_bytes < LOW_QUEUE_BYTES:
            self._last = step
            self._send(step)

    def end(self) -> None:
        """The last step: a token ends before its request is answered."""
        self._send(t.Progress(kind="end"))

    def _send(self, step: t.Progress) -> None:
        if self._token is not None:
            self._client.send(encode_notification(m.PROGRESS, t.ProgressNote(token=self._token, value=step)))


@contextlib.contextmanager
def progress(
    client: Client, token: t.ProgressToken | None, title: str
) -> Iterator[Callable[[t.Progress], None]]:
    """The steps of what is done within this block, in percent."""
    steps = ProgressReporter(client, token)
    steps.begin(title, percentage=0)
    try:
        yield steps.report
    finally:
        steps.end()


@contextlib.contextmanager
def progress_in_percent(
    client: Client, token: t.ProgressToken | None, title: str
) -> Iterator[Callable[[str, int], None]]:
    """The same for work that says what it does, and how many of a hundred parts are done."""
    with progress(client, token, title) as report:
        yield lambda message, percentage: report(
            t.Progress(kind="report", message=message, percentage=percentage)
        )
