"""Long blocking work in a thread, in parts, so that it can be canceled between two parts."""

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Final

STEP_SECONDS: Final = 0.1
"""The approximate duration of one part."""


async def step_through(work: Iterator[None], then: Callable[[], None] | None = None) -> None:
    """Run all of the work in threads; `then` is called on the event loop between two parts."""
    while await asyncio.to_thread(_some, work):
        if then is not None:
            then()


def _some(work: Iterator[None]) -> bool:
    """Run one part of the work. Returns whether there is more."""
    until = time.monotonic() + STEP_SECONDS
    return any(time.monotonic() > until for _ in work)
