"""Packs the files of sessions that nobody has used for a while, in the background or for `storage/archive`.

How a file is packed and read is the matter of the store (`store.files.packing`). This module chooses the sessions.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sessiond.hub.errors import IncompatibleParams
from sessiond.hub.execution.progress import ReportPercentage
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.registry import OpenSessions
from sessiond.protocol import types as t
from sessiond.store.base import Store
from sessiond.store.errors import LogNotFound, StorageFailed, StorageFull
from sessiond.store.records import Stored

log = logging.getLogger(__name__)

SMALLEST: Final = 16 * 1024
"""Files with fewer bytes are not packed: they occupy hardly more on the disk than what they would become."""
_TOGETHER: Final = 16
"""Sessions that are packed together. Each has a few descriptors."""
_BUSY_SECONDS: Final = 10.0
"""Interval of the checks whether other work has ended."""
_IDLE_SHARE: Final = 0.1
"""The share of the time in which the background work runs."""
_DAY_SECONDS: Final = 86_400.0
_MAX_FAILED: Final = 20
"""After this many refusals of the disk, the rest waits for the next time."""


@dataclass(slots=True)
class PackedTotals:
    """The totals of packed sessions: their number, the size of their lines, and that of their files now, in bytes.

    `failed_count` is the number of sessions that the disk refused to pack.
    """

    session_count: int = 0
    size_bytes: int = 0
    packed_bytes: int = 0
    failed_count: int = 0


class Packing:
    """Packs sessions of one store.

    Args:
        files: The store.
        open_sessions: The open sessions, which are not packed.
        is_busy: Returns whether the daemon has work that comes first.
    """

    def __init__(self, files: Store, open_sessions: OpenSessions, is_busy: Callable[[], bool]) -> None:
        self._files = files
        self._open = open_sessions
        self._is_busy = is_busy
        self._lock = asyncio.Lock()

    async def candidates(self, unused_seconds: float) -> list[Stored]:
        """Return the sessions that would be packed, the oldest first. Raises `StorageFailed`.

        Args:
            unused_seconds: How long nobody has changed them.
        """
        latest = time.time_ns() - round(unused_seconds * 1e9)
        opened = {live.log.ref for live in self._open.all()}
        found = [
            stored
            for stored in await self._files.list()
            if stored.modified_ns <= latest
            and stored.size >= SMALLEST
            and not stored.draft
            and stored.ref not in opened
            and self._files.may_pack(stored.ref)
        ]
        return sorted(found, key=lambda stored: stored.modified_ns)

    async def archive(
        self, params: t.StorageArchiveParams, report: ReportPercentage
    ) -> t.StorageArchiveResult:
        """Pack unused sessions at once. `report` receives progress.

        Raises:
            IncompatibleParams: The sessions of this store are not in files.
            StorageFailed: The store cannot be listed.
        """
        if not self._files.local:
            raise IncompatibleParams("the sessions of this store are not in files")
        totals = await self.pack_unused(params.unused_days * _DAY_SECONDS, report=report)
        return t.StorageArchiveResult(
            session_count=totals.session_count, size_bytes=totals.size_bytes,
            packed_bytes=totals.packed_bytes, failed_count=totals.failed_count,
        )  # fmt: skip

    async def pack_unused(
        self, unused_seconds: float, *, in_background: bool = False, report: ReportPercentage | None = None
    ) -> PackedTotals:
        """Pack the sessions that were neither changed nor opened for some time. Raises `StorageFailed`.

        Args:
            unused_seconds: That time.
            in_background: Whether to pause, so that other work comes first.
            report: Receives progress.
        """
        totals = PackedTotals()
        chosen = await self.candidates(unused_seconds)
        since_ns = time.time_ns() - round(unused_seconds * 1e9)
        for start in range(0, len(chosen), _TOGETHER):
            while in_background and self._is_busy():  # noqa: ASYNC110 - nobody says when an import has ended
                await asyncio.sleep(_BUSY_SECONDS)
            if report is not None:
                report(f"{start:,} of {len(chosen):,} sessions", 100 * start // len(chosen))
            began = time.monotonic()
            async with self._lock:  # a request does not wait for the pauses of the background
                written = await asyncio.to_thread(_written_by_others)
                group = [stored for stored in chosen[start : start + _TOGETHER] if stored.ref not in written]
                await asyncio.gather(*(self._pack(stored, since_ns, totals) for stored in group))
            if self._open.draining or totals.failed_count >= _MAX_FAILED:
                break
            if in_background:
                await asyncio.sleep((time.monotonic() - began) * (1 / _IDLE_SHARE - 1))
        if totals.session_count:
            log.info(
                "%d sessions of %d bytes were packed into %d bytes",
                totals.session_count, totals.size_bytes, totals.packed_bytes,
            )  # fmt: skip
        return totals

    async def unpack(self, live: LiveSession, origin: t.Origin) -> None:
        """Replace the file of a session by the plain one if it is packed. Raises `ReadOnly`, `StorageFailed`."""
        was = live.log.ref
        await live.unpack(origin)
        if live.log.ref != was:
            self._open.log_moved(was)
            self._open.log_moved(live.log.ref)

    async def _pack(self, stored: Stored, since_ns: int, totals: PackedTotals) -> None:
        if self._open.draining or totals.failed_count >= _MAX_FAILED or self._open.at(stored.ref) is not None:
            return
        try:
            packed = await self._files.pack(stored.ref, unused_since_ns=since_ns)
        except LogNotFound:
            return
        except StorageFailed as error:
            log.warning("session file %s is not packed: %s", stored.ref, error.reason)
            totals.failed_count += _MAX_FAILED if isinstance(error, StorageFull) else 1
            return
        if packed is None:
            return
        totals.session_count += 1
        totals.size_bytes += packed.size
        totals.packed_bytes += packed.packed_size
        self._open.log_moved(stored.ref)
        self._open.log_moved(packed.ref)


def _written_by_others() -> set[str]:
    """Return the session files that other programs have open for writing, as far as the system tells it. Blocks."""
    from sessiond.hub.doctor.writers import files_open_elsewhere  # few daemons need it soon after their start

    return files_open_elsewhere()
