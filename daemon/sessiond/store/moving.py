"""Copies everything from one store to another: sessions with their lines byte for byte, the trash, blobs.

The source is only read. Each copy is read back and compared. An interrupted move is completed by the next one:
what the target has already is compared, too, and lines that the source has got since are added.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice
from typing import NamedTuple

import msgspec

from sessiond.error_text import TemplatedError
from sessiond.session.tree.tree import Tree
from sessiond.store.base import Store
from sessiond.store.errors import LogNotFound
from sessiond.store.records import Stored, Trashed

Progress = Callable[[int, int], None]


class CopyDiffers(TemplatedError):
    """Raised when what was read back from the target is not what was written to it."""

    sentence = "The copy of session {session_id} differs from the original."
    advice = "The original is unchanged. Examine the disk or the database of the target."

    def __init__(self, session_id: str) -> None:
        super().__init__(session_id=session_id)


class StoresInUse(TemplatedError):
    """Raised when other daemons write to the store that is to be moved."""

    sentence = "{count} other daemons use the sessions that are to be moved."
    advice = "Stop them first (sessiond stop, on each machine): what they write meanwhile would be missing."

    def __init__(self, count: int) -> None:
        super().__init__(count=count)


class UnmovedSession(msgspec.Struct, rename="camel"):
    """A session that was not copied, because the target has another one with its id. Both are unchanged."""

    session_id: str
    message: str


class MoveReport(msgspec.Struct, rename="camel"):
    """The result of a move from one store to another.

    Attributes:
        session_count: The sessions of the source, drafts included.
        copied_count: The number of those that were copied now.
        extended_count: The number of sessions that the target had in part, and to which lines were added.
        unchanged_count: The number of those that the target had already.
        trashed_count: The sessions that were copied to the target's trash now.
        blob_count: The blobs that were copied now.
        byte_count: The bytes of all that was copied now.
        remains_count: Torn lines, and originals before a rewrite. They stay in the source.
        problems: Sessions that were not copied.
        is_dry_run: Whether nothing was written.
    """

    session_count: int = 0
    copied_count: int = 0
    extended_count: int = 0
    unchanged_count: int = 0
    trashed_count: int = 0
    blob_count: int = 0
    byte_count: int = 0
    remains_count: int = 0
    problems: list[UnmovedSession] = msgspec.field(default_factory=list)
    is_dry_run: bool = False


class _Place(NamedTuple):
    """The values that determine the folder and the name of a session in files."""

    cwd: str
    timestamp: str


async def move_store(
    source: Store, target: Store, *, is_dry_run: bool = False, progress: Progress | None = None
) -> MoveReport:
    """Copy everything that the target lacks.

    Args:
        source: The store that is read.
        target: The store that is written to.
        is_dry_run: Only report what would be copied.
        progress: Called with the number of sessions that are done, and of all.

    Raises:
        StoresInUse: Other daemons use the source.
        CopyDiffers: A copy is not what was written.
        StorageFailed: A store cannot be read or written. The copies stay.
        OutcomeUnknown: The connection to the database was lost. The next move finds what was stored.
    """
    if others := await source.count_other_daemons():
        raise StoresInUse(others)
    move = _Move(source, target, MoveReport(is_dry_run=is_dry_run))
    await move.copy_blobs()
    await move.copy_trash()
    sessions = [stored for stored in await source.list() if source.keeps(stored.ref)]
    # The oldest first, so that an interrupted move leaves the order of lists as it is.
    sessions.sort(key=lambda session: session.modified_ns)
    present = {stored.session_id: stored for stored in await target.list()}
    for done, stored in enumerate(sessions):
        if progress is not None:
            progress(done, len(sessions))
        await move.copy_session(stored, present.get(stored.session_id))
    return move.report


class _Move:
    def __init__(self, source: Store, target: Store, report: MoveReport) -> None:
        self.report = report
        self._source = source
        self._target = target

    async def copy_blobs(self) -> None:
        """Copy the blobs first: no session in the target ever names one that is missing."""
        present = {blob.hash for blob in await self._target.blobs.list()}
        for blob in await self._source.blobs.list():
            if blob.hash in present:
                continue
            if not self.report.is_dry_run:
                data = await asyncio.to_thread(self._source.blobs.read, blob.hash)
                await self._target.blobs.put(data)
            self.report.blob_count += 1
            self.report.byte_count += blob.size

    async def copy_trash(self) -> None:
        present = {log.trash_id for log in await self._target.trashed()}
        trashed = await self._source.trashed()
        self.report.remains_count = len(await self._source.remains()) - len(trashed)
        for log in reversed(trashed):  # the first that was trashed is the first again
            if log.trash_id in present:
                continue
            data = await _content(self._source, log.ref)
            if not self.report.is_dry_run:
                await self._add_trashed(log, data)
            self.report.trashed_count += 1
            self.report.byte_count += len(data)

    async def _add_trashed(self, trashed: Trashed, data: bytes) -> None:
        place = _place_of(data, trashed.trashed_at)
        await self._target.add_trashed(trashed, cwd=place.cwd, timestamp=place.timestamp, lines=data)
        found = [log for log in await self._target.trashed() if log.trash_id == trashed.trash_id]
        if not found or await _digest(self._target, found[0].ref) != sha256(data).digest():
            raise CopyDiffers(trashed.session_id)

    async def copy_session(self, stored: Stored, present: Stored | None) -> None:
        """Copy one session, or compare it with the one of its id that the target has."""
        self.report.session_count += 1
        data = await _content(self._source, stored.ref)
        if present is not None:
            await self._compare(stored, present, data)
            return
        if not self.report.is_dry_run:
            place = _place_of(data, _iso(stored.modified_ns))
            added = await self._target.add(
                stored.session_id, cwd=place.cwd, timestamp=place.timestamp, lines=data, draft=stored.draft,
                modified_ns=stored.modified_ns,
            )  # fmt: skip
            if await _digest(self._target, added.ref) != sha256(data).digest():
                raise CopyDiffers(stored.session_id)
        self.report.copied_count += 1
        self.report.byte_count += len(data)

    async def _compare(self, stored: Stored, present: Stored, data: bytes) -> None:
        there = await _content(self._target, present.ref)
        if there.startswith(data) and (len(there) == len(data) or data.endswith(b"\n")):
            self.report.unchanged_count += 1  # the target may have been used since
        elif data.startswith(there) and there.endswith(b"\n") and data.endswith(b"\n"):
            if not self.report.is_dry_run:
                await self._extend(present, data, len(there))
            self.report.extended_count += 1
            self.report.byte_count += len(data) - len(there)
        else:
            message = "the target has another session with this id"
            self.report.problems.append(UnmovedSession(stored.session_id, message))

    async def _extend(self, present: Stored, data: bytes, start: int) -> None:
        log = await self._target.open_ref(present.ref)
        try:
            await log.append(data[start:], "synced")
            copied = b"".join(log.scan())
        finally:
            await log.close()
        if copied != data:
            raise CopyDiffers(present.session_id)


async def _content(store: Store, ref: str) -> bytes:
    return await asyncio.to_thread(lambda: b"".join(store.scan(ref)))


async def _digest(store: Store, ref: str) -> bytes:
    def read() -> bytes:
        digest = sha256()
        for piece in store.scan(ref):
            digest.update(piece)
        return digest.digest()

    try:
        return await asyncio.to_thread(read)
    except LogNotFound:
        return b""


def _place_of(data: bytes, otherwise: str) -> _Place:
    """Return the folder and the time in the header of a log. `otherwise` is the time if no header is readable."""
    tree = Tree()
    tree.read(b"".join(line + b"\n" for line in islice(data.split(b"\n", 2), 2)))
    header = tree.header
    if header is None:
        return _Place("/", otherwise)
    try:
        datetime.fromisoformat(header.timestamp)
    except ValueError:
        return _Place(header.cwd or "/", otherwise)
    return _Place(header.cwd or "/", header.timestamp)


def _iso(modified_ns: int) -> str:
    moment = datetime.fromtimestamp(modified_ns / 1e9, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
