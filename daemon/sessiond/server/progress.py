"""Telling a client how far its request is: `$/progress` with the token that it brought, as LSP has it."""

import contextlib
from collections.abc import Callable, Iterator

from sessiond.protocol import methods as m, types as t
from sessiond.rpc.message import encode_notification
from sessiond.server.client import QUEUE_LITTLE, Client


@contextlib.contextmanager
def progress(
    client: Client, token: t.ProgressToken | None, title: str
) -> Iterator[Callable[[str, int], None]]:
    """Within this block the client hears of work that it may cancel; without a token it hears nothing.

    Call what this gives with a message and a percentage; it is told when one of them is new.
    """
    last: tuple[str, int] | None = None

    def send(step: t.Progress) -> None:
        if token is not None:
            client.send(encode_notification(m.PROGRESS, t.ProgressNote(token=token, value=step)))

    def tell(message: str, percentage: int) -> None:
        nonlocal last
        # Who does not read has no use for each step.
        if last != (message, percentage) and client.queued_bytes < QUEUE_LITTLE:
            last = message, percentage
            send(t.Progress(kind="report", message=message, percentage=percentage))

    send(t.Progress(kind="begin", title=title, cancellable=True, percentage=0))
    try:
        yield tell
    finally:
        send(t.Progress(kind="end"))
