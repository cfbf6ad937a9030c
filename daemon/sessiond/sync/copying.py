"""Copies lines of a session from one daemon to another, and the blobs that they reference before them."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from sessiond.client.wire import RpcError
from sessiond.error_text import TemplatedError
from sessiond.protocol import methods as m, types as t
from sessiond.session.content.blobs import referenced_hashes
from sessiond.session.union.comparable import LineSum, is_json, lines_in
from sessiond.sync.counterpart import Counterpart
from sessiond.sync.folders import FolderMap
from sessiond.sync.peer_link import PeerDaemon, WrongAnswerError
from sessiond.sync.report import SessionProblem, SyncReport, Transferred

PAGE_BYTES: Final = 4 * 1024 * 1024
"""Bytes of lines that one request reads."""
BATCH_BYTES: Final = 8 * 1024 * 1024
"""Bytes of lines that one request adds: they are present after a crash as a whole, or not at all."""
_HASHES_AT_ONCE: Final = 1_000
_BLOBS_AT_ONCE: Final = 8
_NO_JSON: Final = "a line that is not JSON stays where it is"
_OTHER_LINES: Final = "it has other lines than its digest says"
_SEQS_AT_ONCE: Final = 20_000


@dataclass(slots=True)
class SyncSide:
    """A daemon or a bundle that receives lines.

    Attributes:
        daemon: The daemon or bundle.
        folders: Maps the folders of the other side to those of this one.
        moved: Counts what it receives.
        is_target: Whether this sync may change it.
        known_blobs: The blobs that it has for certain.
    """

    daemon: Counterpart
    folders: FolderMap
    moved: Transferred
    is_target: bool = True
    known_blobs: set[str] = field(default_factory=set)


class SessionChangedError(TemplatedError):
    """Raised when a put meets other lines than those that were compared. The sync compares again."""

    sentence = "A session was written to while it was synchronized. Run the sync again."


class Copying:
    """Copies between two sides. Nothing is written in a dry run."""

    def __init__(self, report: SyncReport) -> None:
        self._report = report

    async def whole(self, source: SyncSide, target: SyncSide, position: t.SyncPosition) -> None:
        """Copy a session that the target does not have, page by page. It may be in the trash of the source."""
        session_id, after, is_first = position.session_id, 0, True
        received = LineSum()
        if self._report.is_dry_run:
            self._count(target, position.line_count, 0, is_new=True)
            return
        while True:
            page = await source.daemon.call(
                m.SYNC_LINES,
                t.SyncLinesParams(
                    session_id=session_id, trash_id=position.trash_id, after=after, limit_bytes=PAGE_BYTES
                ),
            )
            data = page.lines
            await asyncio.to_thread(lambda lines: received.add(lines_in(lines)), data)
            if page.next_after is None and not _is_whole(received, position):
                self._doubt(source, session_id)
                return
            await self._copy_blobs(source, target, data, session_id)
            params = t.SyncPutParams(session_id=session_id, lines=page.lines)
            if is_first:
                cwd = target.folders.target_of(position.cwd or "/")
                params = t.SyncPutParams(
                    session_id=session_id, lines=page.lines, head=page.head, is_draft=position.is_draft,
                    cwd=cwd if cwd != position.cwd and cwd.startswith("/") else None,
                )  # fmt: skip
            put = await target.daemon.call(m.SYNC_PUT, params)
            self._take(session_id, put)
            if is_first and not (put.is_new or put.added_count or put.duplicate_count):
                return  # the target refused the session as a whole
            self._count(target, put.added_count, len(data), is_new=put.is_new)
            is_first = False
            if page.next_after is None:
                return
            after = page.next_after

    async def read(
        self, source: Counterpart, session_id: str, seqs: Sequence[int], trash_id: str | None = None
    ) -> list[bytes]:
        """Return lines of a session by their seqs, ascending."""
        lines: list[bytes] = []
        for start in range(0, len(seqs), _SEQS_AT_ONCE):
            some = list(seqs[start : start + _SEQS_AT_ONCE])
            after: int | None = 0
            while after is not None:
                page = await source.call(
                    m.SYNC_LINES,
                    t.SyncLinesParams(
                        session_id=session_id,
                        trash_id=trash_id,
                        seqs=some,
                        after=after,
                        limit_bytes=PAGE_BYTES,
                    ),
                )
                lines += lines_in(page.lines)
                after = page.next_after
        taken = await asyncio.to_thread(lambda: list(filter(is_json, lines)))
        if len(taken) < len(lines):
            self._report.problems.append(SessionProblem(session_id, _NO_JSON))
        return taken

    def _doubt(self, source: SyncSide, session_id: str) -> None:
        """Report that a session has other lines than its digest says. Of another machine, nothing more is taken."""
        if isinstance(source.daemon, PeerDaemon):
            raise WrongAnswerError(
                f"it sent other lines of the session {session_id:.128} than its digest says"
            )
        self._report.problems.append(SessionProblem(session_id, _OTHER_LINES))

    async def add(
        self, source: SyncSide, target: SyncSide, session_id: str, lines: Sequence[bytes], at: t.After,
        superseding: Sequence[str],
    ) -> None:  # fmt: skip
        """Add lines to a session that the target has, if it is still at a position.

        Raises `SessionChangedError`.
        """
        if self._report.is_dry_run or not lines:
            self._count(target, len(lines), sum(map(len, lines)))
            return
        for batch in _batches(lines):
            data = b"".join(line + b"\n" for line in batch)
            await self._copy_blobs(source, target, data, session_id)
            put = await target.daemon.call(
                m.SYNC_PUT,
                t.SyncPutParams(
                    session_id=session_id, lines=data, expected=at, superseding=list(superseding) or None,
                ),
            )  # fmt: skip
            if put.is_outdated:
                raise SessionChangedError
            self._take(session_id, put)
            self._count(target, put.added_count, len(data))
            at = t.After(log_id=at.log_id, seq=at.seq + put.added_count)

    def _count(self, target: SyncSide, lines: int, size: int, *, is_new: bool = False) -> None:
        target.moved.line_count += lines
        target.moved.byte_count += size
        target.moved.session_count += is_new

    def _take(self, session_id: str, put: t.SyncPutResult) -> None:
        for line in put.refused:
            what = f"entry {line.id}: {line.message}" if line.id else line.message
            self._report.problems.append(SessionProblem(session_id, what, line.id or None))

    async def _copy_blobs(self, source: SyncSide, target: SyncSide, data: bytes, session_id: str) -> None:
        hashes = [
            digest for digest in dict.fromkeys(referenced_hashes(data)) if digest not in target.known_blobs
        ]
        for some in _portions(hashes, _HASHES_AT_ONCE):
            missing = (await target.daemon.call(m.BLOB_MISSING, t.BlobMissingParams(hashes=some))).hashes
            for few in _portions(missing, _BLOBS_AT_ONCE):
                await asyncio.gather(*(self._copy_blob(source, target, digest, session_id) for digest in few))
            target.known_blobs.update(some)

    async def _copy_blob(self, source: SyncSide, target: SyncSide, digest: str, session_id: str) -> None:
        try:
            data = await source.daemon.get_blob(digest)
        except RpcError as error:
            if error.kind not in ("blobNotFound", "blobDamaged"):
                raise
            self._report.problems.append(SessionProblem(session_id, error.message))
            return
        put = await target.daemon.put_blob(data)
        target.moved.blob_count += put.created
        target.moved.byte_count += len(data)


def _is_whole(received: LineSum, position: t.SyncPosition) -> bool:
    """Return whether the lines of a session are those of its position, or more: it may have grown meanwhile."""
    if received.count == position.line_count:
        return received.digest == position.digest
    return received.count > position.line_count


def _portions(items: Sequence[str], size: int) -> Iterator[list[str]]:
    for start in range(0, len(items), size):
        yield list(items[start : start + size])


def _batches(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield runs of lines of at most `BATCH_BYTES`, or one longer line."""
    batch: list[bytes] = []
    size = 0
    for line in lines:
        if batch and size + len(line) > BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += len(line) + 1
    if batch:
        yield batch
