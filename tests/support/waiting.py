"""Waiting for something that nobody tells of: bounded, and over as soon as it is there."""

import asyncio
from collections.abc import Callable

from support.patience import BOUND


async def until(holds: Callable[[], object]) -> None:
    """Return when `holds()` does; TimeoutError after `BOUND` seconds."""
    async with asyncio.timeout(BOUND):
        while not holds():  # noqa: ASYNC110 - any state may be asked for, so there is no event to wait on
            await asyncio.sleep(0.002)
