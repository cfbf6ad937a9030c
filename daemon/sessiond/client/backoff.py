"""How long to wait before trying again: longer each time, up to a bound, and never as long as everybody else."""

from __future__ import annotations

import random

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def pauses(first: float = 0.05, longest: float = 1.0) -> Iterator[float]:
    """Pauses in seconds, without an end. Each is between half and all of what it could be.

    Fifty clients that lost the same daemon at the same moment shall not come back at the same moment.
    """
    pause = first
    while True:
        yield pause * random.uniform(0.5, 1.0)
        pause = min(pause * 2, longest)
