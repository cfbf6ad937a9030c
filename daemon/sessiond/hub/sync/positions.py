"""The positions of all sessions on disk. Only logs that have changed since the last request are read."""

import asyncio
import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sessiond.agents.recognition import foreign_program_of
from sessiond.hub.execution.slices import run_in_slices
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.log_reader import LogRewritten, bytes_of_present_tree
from sessiond.hub.session.registry import OpenSessions
from sessiond.hub.sync.records import RecordedPosition, SyncRecords
from sessiond.hub.trash import InTrash, Trash
from sessiond.session.union.log_position import LogPosition, position_of, read_position
from sessiond.store.base import Store
from sessiond.store.errors import LogNotFound, LogReplaced, StorageFailed
from sessiond.store.files import paths
from sessiond.store.records import AddedLog, Stored

_READ_TOGETHER: Final = 4
"""Logs that are in memory at the same time while they are read."""
_TRIES: Final = 3
"""Times that all sessions are listed again because one of them is no longer where it was."""


@dataclass(frozen=True, slots=True)
class StoredSession:
    """The position of a session, and the log that it belongs to.

    Attributes:
        position: The position.
        ref: The ref of the log; "" for a purged session.
        is_draft: Whether it is a draft session.
        trash_id: Its id in the trash; None outside of it.
    """

    position: LogPosition
    ref: str
    is_draft: bool = False
    trash_id: str | None = None


@dataclass(frozen=True, slots=True)
class StoredSessions:
    """All sessions by id. A session is in the first of these groups in which it is found.

    `left_out` has the reason for each log, by ref, that is in no group.
    """

    stored: dict[str, StoredSession]
    trashed: dict[str, StoredSession]
    purged: dict[str, StoredSession]
    left_out: dict[str, str]


class Positions:
    """Reads the positions of the sessions of one store.

    Args:
        files: The store.
        open_sessions: The open sessions.
        trash: The trash.
        records: The positions of earlier requests.
    """

    def __init__(self, files: Store, open_sessions: OpenSessions, trash: Trash, records: SyncRecords) -> None:
        self._files = files
        self._sessions = open_sessions
        self._trash = trash
        self._records = records
        self._reading = asyncio.Semaphore(_READ_TOGETHER)
        self._added: dict[str, RecordedPosition] = {}
        """Positions of logs that a sync has created, by ref, until they are recorded."""

    def added(self, log: AddedLog, position: LogPosition) -> None:
        """Take the position of a log that was just created, so that the log is not read for it."""
        self._added[log.ref] = RecordedPosition(repr(log.stamp), position)

    async def read(self) -> StoredSessions:
        """Return the positions of all sessions. Raises `StorageFailed`."""
        known = await asyncio.to_thread(self._records.positions)
        await self._record_added(known)
        for _ in range(_TRIES):
            with contextlib.suppress(LogNotFound):  # it was moved, deleted or restored after it was listed
                return await self._read(known, leave_out_gone=False)
        return await self._read(known, leave_out_gone=True)

    async def _read(self, known: dict[str, RecordedPosition], *, leave_out_gone: bool) -> StoredSessions:
        before = {live.log.ref for live in self._sessions.all()}
        stored = await self._files.list()
        in_trash = [trashed for trashed in await self._trash.list() if trashed.store is self._files]
        opened = {live.log.ref: live for live in self._sessions.all() if not live.ephemeral}
        unlisted = opened.keys() - before - {log.ref for log in stored}
        if unlisted and not leave_out_gone:  # they moved into a folder that had been listed already
            raise LogNotFound(min(unlisted))
        found = await self._all_stored(stored, opened, known, leave_out_gone=leave_out_gone)
        trashed = await asyncio.gather(*(self._trashed(deleted, known) for deleted in in_trash))
        new = {result.ref: result for result in (*found, *trashed) if result is not None}
        await self._remember(known, new)
        live = _by_id([(log, new.get(log.ref)) for log in stored], opened)
        gone: dict[str, StoredSession] = {}
        for deleted, read in zip(in_trash, trashed, strict=True):
            if read is not None:
                position = read.recorded.position
                gone.setdefault(
                    position.session_id,
                    StoredSession(position, deleted.log.ref, deleted.log.draft, deleted.log.trash_id),
                )
        purged = {
            purged.session_id: StoredSession(purged, "")
            for purged in await asyncio.to_thread(self._records.purged)
        }
        trashed_only = {name: session for name, session in gone.items() if name not in live}
        purged_only = {
            name: session for name, session in purged.items() if name not in live and name not in trashed_only
        }
        left_out = {log.ref: _why_left_out(new.get(log.ref)) for log in stored}
        for session in live.values():
            del left_out[session.ref]
        return StoredSessions(live, trashed_only, purged_only, left_out)

    async def of_trashed(self, found: InTrash) -> LogPosition | None:
        """Return the position of a log in the trash; None if it cannot be read."""
        read = await self._trashed(found, {})
        return None if read is None else read.recorded.position

    async def _all_stored(
        self,
        stored: Sequence[Stored],
        opened: Mapping[str, LiveSession],
        known: dict[str, RecordedPosition],
        *,
        leave_out_gone: bool,
    ) -> "list[_Read | None]":
        """Return the positions of logs in their order. Most are recorded, and need no task.

        Raises `LogNotFound` for a log that is not there, unless such logs are left out. The others are recorded then,
        so that they are not read again.
        """
        found: list[_Read | None] = []
        unknown: list[int] = []
        for place, log in enumerate(stored):
            recorded, live = known.get(log.ref), opened.get(log.ref)
            if (
                recorded is not None
                and recorded.stamp == repr(log.stamp)
                and (live is None or not live.pending)
            ):
                found.append(_Read(log.ref, recorded, is_new=False))
            else:
                other = None if live is not None else known.get(paths.other_name(log.ref))
                found.append(
                    None if other is None else await asyncio.to_thread(self._if_only_packed, log, other)
                )
                if found[-1] is None:
                    unknown.append(place)
        read = await asyncio.gather(
            *(self._stored(stored[place], opened.get(stored[place].ref)) for place in unknown),
            return_exceptions=True,
        )
        gone: LogNotFound | None = None
        for place, position in zip(unknown, read, strict=True):
            if isinstance(position, LogNotFound):
                gone = position
            elif isinstance(position, BaseException):
                raise position
            else:
                found[place] = position
        if gone is not None and not leave_out_gone:
            new = _to_record(found)
            await asyncio.to_thread(self._records.put_positions, new, ())
            known.update(new)
            raise gone
        return found

    def _if_only_packed(self, log: Stored, recorded: RecordedPosition) -> "_Read | None":
        """Return the recorded position of a log whose file was packed or unpacked, and has the same time. Blocks."""
        with contextlib.suppress(LogNotFound, StorageFailed, ValueError):
            *_, size, modified_ns, _changed_ns = recorded.stamp.strip("()").split(", ")
            if modified_ns != str(log.modified_ns):
                return None
            if not paths.is_packed(log.ref) or size == str(self._files.measured(log).size):
                return _Read(log.ref, RecordedPosition(repr(log.stamp), recorded.position))
        return None

    async def _stored(self, stored: Stored, live: LiveSession | None) -> "_Read | None":
        stamp = repr(stored.stamp)
        if live is not None:
            return await self._open(stored, live, stamp)
        return await self._closed(stored.ref, stamp)

    async def _open(self, stored: Stored, live: LiveSession, stamp: str) -> "_Read | None":
        while True:
            tree = live.tree
            end = tree.span(tree.committed - 1)[1]
            try:
                position = await live.drive(position_of(tree, end, bytes_of_present_tree(live)))
            except LogRewritten:
                continue
            except (StorageFailed, LogReplaced):
                return None
            with contextlib.suppress(LogNotFound, StorageFailed):
                stored = await asyncio.to_thread(self._files.measured, stored)
            # A stamp belongs to a position only if the log ended at that position.
            return _Read(stored.ref, RecordedPosition(stamp if end == stored.size else "", position))

    async def _trashed(self, found: InTrash, known: dict[str, RecordedPosition]) -> "_Read | None":
        recorded = known.get(found.log.ref)
        if recorded is not None and recorded.stamp == found.log.trash_id:
            return _Read(found.log.ref, recorded, is_new=False)
        with contextlib.suppress(LogNotFound):
            return await self._closed(found.log.ref, found.log.trash_id)
        return None

    async def _closed(self, ref: str, stamp: str) -> "_Read | None":
        """Return the position of a log that is not open; None if it cannot be read. Raises `LogNotFound`."""
        async with self._reading:
            with contextlib.suppress(StorageFailed):
                data = await asyncio.to_thread(lambda: b"".join(self._files.scan(ref)))
                if foreign_program_of(lambda size: data[:size]) is not None:
                    return _Read(
                        ref, RecordedPosition(stamp, LogPosition("", problem="another program wrote it"))
                    )
                return _Read(ref, RecordedPosition(stamp, await run_in_slices(read_position(data))))
        return None

    async def _record_added(self, known: dict[str, RecordedPosition]) -> None:
        added, self._added = self._added, {}
        if added:
            await asyncio.to_thread(self._records.put_positions, added, ())
            known.update(added)

    async def _remember(self, known: dict[str, RecordedPosition], read: dict[str, "_Read"]) -> None:
        gone = known.keys() - read.keys()
        await asyncio.to_thread(self._records.put_positions, _to_record(read.values()), gone)


@dataclass(frozen=True, slots=True)
class _Read:
    ref: str
    recorded: RecordedPosition
    is_new: bool = True


def _to_record(read: "Iterable[_Read | None]") -> dict[str, RecordedPosition]:
    return {
        result.ref: result.recorded for result in read if result and result.is_new and result.recorded.stamp
    }


def _why_left_out(read: _Read | None) -> str:
    if read is None:
        return "it cannot be read"
    return read.recorded.position.problem or "another file has a newer session with the same id"


def _by_id(found: Sequence[tuple[Stored, _Read | None]], opened: Collection[str]) -> dict[str, StoredSession]:
    """Return sessions by the id in the header. Of several files with one id, the open one counts, else the newest."""
    sessions: dict[str, StoredSession] = {}
    newest_last = sorted(found, key=lambda pair: (pair[0].ref in opened, pair[0].modified_ns))
    for stored, read in newest_last:
        if read is None or not read.recorded.position.session_id:
            continue
        position = read.recorded.position
        is_draft = stored.draft and not position.has_assistant
        sessions[position.session_id] = StoredSession(position, stored.ref, is_draft)
    return sessions
