"""Asking again while daemons leave or have too much to do: for what may be sent any number of times."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from sessiond.client.wire import Disconnected, RpcError

T = TypeVar("T")

_PATIENCE: Final = 15.0
"""Seconds after which somebody should hear of it."""
_PAUSE: Final = 0.1


async def patiently(ask: Callable[[], Awaitable[T]]) -> T:
    """The answer to something that may be asked again for ever, over daemons that leave or are about to."""
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
