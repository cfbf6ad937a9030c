"""Whether the disk that sessions lie on fills up: looked at now and then, warned of once."""

import logging
import time
from typing import Final

from sessiond.store.base import Store

LOW_BYTES: Final = 256 * 1024 * 1024
"""Less than this is low (decision 0005); it counts as enough again when there is a quarter more."""
_LOOK_SECONDS: Final = 10.0

log = logging.getLogger(__name__)


class DiskSpaceMonitor:
    """How much may still be written, as of the last look."""

    def __init__(self, files: Store) -> None:
        self.free_bytes: int | None = None
        """None until the first look, and where nobody knows."""
        self.is_low = False
        self._files = files
        self._looked_at = -_LOOK_SECONDS

    async def look(self) -> None:
        """Look again, unless that was done a moment ago."""
        if time.monotonic() - self._looked_at < _LOOK_SECONDS:
            return
        self._looked_at = time.monotonic()
        free = self.free_bytes = await self._files.free_bytes()
        if free is None or free > LOW_BYTES * 5 // 4:
            self.is_low = False
        elif free < LOW_BYTES and not self.is_low:
            self.is_low = True
            log.warning(
                "only %d MiB are free where sessions lie; writes are refused when there is nothing left",
                free // (1024 * 1024),
            )
