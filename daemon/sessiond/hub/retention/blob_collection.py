"""Collects unreferenced blobs: marks all referenced blobs, then moves the others to the trash.

Appends are accepted while the logs are read. A blob that is stored or referenced in the meantime is not collected:
`SessionBlobs.store` updates its modification time before the line is queued, and only blobs that were last modified
before the collection started are moved. If a log cannot be read, nothing is collected, because the log may reference
any blob.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from sessiond.hub import clock
from sessiond.hub.execution.progress import ReportPercentage
from sessiond.hub.execution.threads import step_through
from sessiond.hub.session.live import LiveSession
from sessiond.protocol import types as t
from sessiond.session.content import blobs
from sessiond.store.base import Store
from sessiond.store.blobs import BlobAbsent, StoredBlob
from sessiond.store.errors import LogNotFound
from sessiond.store.files import paths

MOVED_AT_ONCE: Final = 100
"""Blobs that are moved to the trash in one step."""
_OVERLAP: Final = (
    blobs.REFERENCE_BYTES
)  # a reference may span two slices, and the byte after it shows its end


@dataclass(slots=True)
class _Marks:
    """The marked blobs."""

    named: set[str] = field(default_factory=set)  # all referenced hashes
    by_log: dict[str, set[str]] = field(
        default_factory=dict
    )  # the hashes that each log of the store references
    seen: set[str] = field(default_factory=set)  # the refs of the logs that were read
    has_moved: bool = False  # a log was not found at its ref

    def mark(self, slices: Iterator[bytes], log: str | None = None) -> Iterator[None]:
        """Mark the blobs that a log references, one slice of its bytes in each step.

        Args:
            slices: The bytes of the log.
            log: Its ref, if missing blobs are reported for it.
        """
        before = b""
        for data in slices:
            before = before[-_OVERLAP:] + data
            if found := blobs.referenced_hashes(before):
                self.named.update(found)
                if log is not None:
                    self.by_log.setdefault(log, set()).update(found)
            yield


async def collect(
    store: Store,
    open_sessions: Callable[[], Sequence[LiveSession]],
    *,
    grace: float | None,
    dry_run: bool,
    report: ReportPercentage,
    refuse_when_closing: Callable[[], None],
) -> t.BlobCollectResult:
    """Move the unreferenced blobs of a store to the trash.

    Args:
        store: The store.
        open_sessions: Returns the open sessions.
        grace: Blobs younger than this many seconds are not collected; None for no blob.
        dry_run: Return the blobs that would be moved, and move none.
        report: Receives progress.
        refuse_when_closing: Raises if the store is about to be closed. It is called between steps.

    Raises:
        StorageFailed: A log cannot be read.
    """
    older_than = 0 if grace is None else time.time_ns() - int(grace * 1e9)
    marks = _Marks()
    for live in open_sessions():
        for line in live.unwritten():
            marks.named.update(blobs.referenced_hashes(line))
    for live in open_sessions():
        if live.ephemeral:
            await step_through(marks.mark(live.log.scan()))
    await _mark_all(store, open_sessions, marks, report, refuse_when_closing)
    refuse_when_closing()
    retained: list[StoredBlob] = []
    unreferenced: list[StoredBlob] = []
    for blob in await store.blobs.list():
        is_old = blob.modified_ns < older_than
        (unreferenced if is_old and blob.hash not in marks.named else retained).append(blob)
    folder = f"blobs-{paths.timestamp_in_names(clock.timestamp())}"
    removed = (
        unreferenced
        if dry_run
        else await _move(store, unreferenced, older_than, folder, report, refuse_when_closing)
    )
    retained += set(unreferenced) - set(removed)
    missing = await asyncio.to_thread(_missing, store, marks)
    return t.BlobCollectResult(
        removed=[
            t.BlobInfo(hash=blob.hash, size_bytes=blob.size, modified_at=clock.iso(blob.modified_ns))
            for blob in removed[: t.MAX_REPORTED]
        ],
        removed_count=len(removed),
        removed_bytes=sum(blob.size for blob in removed),
        kept_count=len(retained),
        kept_bytes=sum(blob.size for blob in retained),
        missing=missing[: t.MAX_REPORTED],
        missing_count=len(missing),
        truncated=max(len(removed), len(missing)) > t.MAX_REPORTED,
        trash_path=store.blobs.trash_folder(folder) if removed and not dry_run else None,
        dry_run=dry_run,
    )


async def _mark_all(
    store: Store,
    open_sessions: Callable[[], Sequence[LiveSession]],
    marks: _Marks,
    report: ReportPercentage,
    refuse_when_closing: Callable[[], None],
) -> None:
    """Mark the blobs that logs, their remains and open sessions reference. Repeats if a log moved during a pass."""
    while True:
        marks.has_moved = False
        refuse_when_closing()
        before = await store.remains()  # a log may move from or to the trash while the logs are listed
        refs = [stored.ref for stored in await store.list()]
        refs += [live.log.ref for live in open_sessions() if not live.ephemeral]
        logs = {ref: store.keeps(ref) for ref in refs}
        refuse_when_closing()
        logs |= dict.fromkeys([*before, *await store.remains()], False)
        unseen = [ref for ref in logs if ref not in marks.seen]
        for count, ref in enumerate(unseen):
            refuse_when_closing()
            report("Finding the blobs in use", 90 * count // len(unseen))
            marks.seen.add(ref)
            try:
                await step_through(marks.mark(store.scan(ref), ref if logs[ref] else None))
            except LogNotFound:
                marks.has_moved = True
        if not marks.has_moved:
            return


async def _move(
    store: Store,
    unreferenced: Sequence[StoredBlob],
    older_than: int,
    folder: str,
    report: ReportPercentage,
    refuse_when_closing: Callable[[], None],
) -> list[StoredBlob]:
    moved: set[str] = set()
    for start in range(0, len(unreferenced), MOVED_AT_ONCE):
        refuse_when_closing()
        report("Moving to the trash", 90 + 10 * start // len(unreferenced))
        some = [blob.hash for blob in unreferenced[start : start + MOVED_AT_ONCE]]
        moved.update(
            await store.blobs.trash(
                some, older_than_ns=older_than, folder=folder, reason="no session names them"
            )
        )
    return [blob for blob in unreferenced if blob.hash in moved]


def _missing(store: Store, marks: _Marks) -> list[t.MissingBlob]:
    absent = {digest for digest in set().union(*marks.by_log.values()) if not _is_there(store, digest)}
    return [
        t.MissingBlob(hash=digest, session_path=log)
        for log, named in sorted(marks.by_log.items())
        for digest in sorted(named & absent)
    ]


def _is_there(store: Store, digest: str) -> bool:
    try:
        store.blobs.size(digest)
    except BlobAbsent:
        return False
    return True
