"""Retries for idempotent requests while daemons end or are overloaded."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from sessiond.client.wire import DisconnectedError, RpcError

T = TypeVar("T")

_RETRY_SECONDS: Final = 15.0
"""Seconds after which the error is raised."""
_PAUSE_SECONDS: Final = 0.1


async def retry_while_unavailable(request: Callable[[], Awaitable[T]]) -> T:
    """Return the result of `request`, which is repeated while daemons end or are overloaded, for 15 seconds at most."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + _RETRY_SECONDS
    while True:
        try:
            return await request()
        except DisconnectedError:
            if clock() > deadline:
                raise
        except RpcError as error:
            if error.kind not in ("draining", "overloaded") or clock() > deadline:
                raise
        await asyncio.sleep(_PAUSE_SECONDS)
