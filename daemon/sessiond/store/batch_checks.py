"""The checks of a batch that every log makes before it queues one."""

import asyncio

from sessiond.store.errors import LogReadOnly


def refused_batch(data: bytes, read_only: str | None) -> "asyncio.Future[bool] | None":
    """Return a future that has failed if the log is read-only; None if the batch may be queued.

    Args:
        data: The lines of the batch.
        read_only: Why nothing can be appended, or None.

    Raises:
        ValueError: `data` does not end with a newline.
    """
    if not data.endswith(b"\n"):
        raise ValueError("a batch is whole lines, each with its newline")
    if read_only is None:
        return None
    refused: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    refused.set_exception(LogReadOnly(read_only))
    return refused
