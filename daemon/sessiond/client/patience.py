"""Retries for idempotent requests while daemons end or are overloaded."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from sessiond.client.wire import Disconnected, RpcError

T = TypeVar("T")

_PATIENCE: Final = 15.0
"""Seconds after which the error is raised."""
_PAUSE: Final = 0.1


async def patiently(ask: Callable[[], Awaitable[T]]) -> T:
    """Return the result of `ask`, which is repeated while daemons end or are overloaded, for 15 seconds at most."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + _PATIENCE
    while True:
        try:
            return await ask()
        except Disconnected:
            if clock() > deadline:
                raise
        except RpcError as error:
            if error.kind not in ("draining", "overloaded") or clock() > deadline:
                raise
        await asyncio.sleep(_PAUSE)
