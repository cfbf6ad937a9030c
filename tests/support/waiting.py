"""Waits for a condition without a notification, with a time limit."""

import asyncio
from collections.abc import Callable

from support.patience import BOUND


async def until(holds: Callable[[], object]) -> None:
    """Return when `holds()` returns true. Raises TimeoutError after `BOUND` seconds."""
    async with asyncio.timeout(BOUND):
        while not holds():  # noqa: ASYNC110 - any state may be asked for, so there is no event to wait on
            await asyncio.sleep(0.002)
