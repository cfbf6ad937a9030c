"""Monitors the free space of the disk that holds the sessions, and logs a warning when it gets low."""

import logging
import time
from typing import Final

from sessiond.store.base import Store

LOW_BYTES: Final = 256 * 1024 * 1024
"""Free space is low below this limit (decision 0005), and sufficient again above 1.25 times the limit."""
CHECK_SECONDS: Final = 10.0
"""The least time between two checks."""

log = logging.getLogger(__name__)


class DiskSpaceMonitor:
    """The free disk space as of the last check."""

    def __init__(self, files: Store) -> None:
        self.free_bytes: int | None = None
        """None before the first check, and if the store cannot report it."""
        self.is_low = False
        self._files = files
        self._checked_at = -CHECK_SECONDS

    async def check(self) -> None:
        """Check the free space, unless the last check is less than `CHECK_SECONDS` seconds ago."""
        if time.monotonic() - self._checked_at < CHECK_SECONDS:
            return
        self._checked_at = time.monotonic()
        free = self.free_bytes = await self._files.free_bytes()
        if free is None or free > LOW_BYTES * 5 // 4:
            self.is_low = False
        elif free < LOW_BYTES and not self.is_low:
            self.is_low = True
            log.warning(
                "Only %d MiB are free on the disk of the sessions; writes are refused when it is full",
                free // (1024 * 1024),
            )
