"""Limits how long an append waits for another program that has written half a line."""

from typing import Final

STILL_SECONDS: Final = 0.3
"""Seconds. A line that has not grown for this time is abandoned."""
LONGEST_SECONDS: Final = 1.0
"""Seconds. The limit of the wait for a line, even if it grows."""


class HalfLine:
    """The unfinished line at the end of a log, as seen at several checks."""

    def __init__(self) -> None:
        self._size = -1
        self._since = 0.0
        self._first_seen = 0.0

    def is_abandoned(self, size: int, now: float) -> bool:
        """Record that the line ends at byte `size` at the time `now`, in seconds. Return whether to stop waiting."""
        if self._size < 0:
            self._first_seen = now
        if size != self._size:
            self._size, self._since = size, now
        return now - self._since >= STILL_SECONDS or now - self._first_seen >= LONGEST_SECONDS

    def forget(self) -> None:
        """Reset, for the next line."""
        self._size = -1
