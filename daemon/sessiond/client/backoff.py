"""Pauses between attempts: exponential backoff with jitter and a limit."""

from __future__ import annotations

import random

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def pauses(first: float = 0.05, longest: float = 1.0) -> Iterator[float]:
    """Yield pauses in seconds without end. Each is between half and all of the current maximum, which doubles.

    The jitter keeps clients that lost the same daemon at the same moment from returning at the same moment.

    Args:
        first: The first maximum, in seconds.
        longest: The limit of the maximum, in seconds.
    """
    pause = first
    while True:
        yield pause * random.uniform(0.5, 1.0)
        pause = min(pause * 2, longest)
