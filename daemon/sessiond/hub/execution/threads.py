"""Long blocking work, done in a thread a little at a time: whoever waits for it may give up in between."""

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Final

STEP_SECONDS: Final = 0.1
"""How long a thread works before whoever asked may give up, or be told how far it is."""


async def step_through(work: Iterator[None], then: Callable[[], None] | None = None) -> None:
    """Do all of the work; `then` is called between two parts of it, on the loop."""
    while await asyncio.to_thread(_some, work):
        if then is not None:
            then()


def _some(work: Iterator[None]) -> bool:
    """Do some of the work; whether there is more."""
    until = time.monotonic() + STEP_SECONDS
    return any(time.monotonic() > until for _ in work)
