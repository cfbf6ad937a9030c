"""Reports the progress of a request to its client: `$/progress` with the client's token, as in LSP."""

import contextlib
from collections.abc import Callable, Iterator

from sessiond.protocol import methods as m, types as t
from sessiond.rpc.message import encode_notification
from sessiond.server.connection.client import LOW_QUEUE_BYTES, Client


class ProgressReporter:
    """Sends the progress of one cancellable piece of work to one client. Without a token it sends nothing."""

    def __init__(self, client: Client, token: t.ProgressToken | None) -> None:
        self._client = client
        self._token = token
        self._last: t.Progress | None = None

    def begin(self, title: str, *, percentage: int | None = None) -> None:
        """Send the first step. `percentage` is 0 if later steps have a percentage."""
        self._send(t.Progress(kind="begin", title=title, cancellable=True, percentage=percentage))

    def report(self, step: t.Progress) -> None:
        """Send a further step if it differs from the last one and the client's send buffer is nearly empty."""
        if step != self._last and self._client.queued_bytes < LOW_QUEUE_BYTES:
            self._last = step
            self._send(step)

    def end(self) -> None:
        """Send the last step. It precedes the response to the request."""
        self._send(t.Progress(kind="end"))

    def _send(self, step: t.Progress) -> None:
        if self._token is not None:
            self._client.send(encode_notification(m.PROGRESS, t.ProgressNote(token=self._token, value=step)))


@contextlib.contextmanager
def progress(
    client: Client, token: t.ProgressToken | None, title: str
) -> Iterator[Callable[[t.Progress], None]]:
    """Report the steps of the work in this block, in percent. Yields the function that reports a step."""
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
    """Report progress as `progress` does, for work that reports a message and a percentage."""
    with progress(client, token, title) as report:
        yield lambda message, percentage: report(
            t.Progress(kind="report", message=message, percentage=percentage)
        )
