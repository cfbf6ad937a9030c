"""The store of ephemeral sessions and tests: everything is in memory, and nothing outlives the process."""

import asyncio
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from sessiond.store.base import Log
from sessiond.store.blobs import BlobSource
from sessiond.store.errors import LogExists, LogNotFound
from sessiond.store.memory_blobs import MemoryBlobs
from sessiond.store.memory_log import MemoryContent, MemoryLog, slices_of
from sessiond.store.records import (
    UNKNOWN,
    AddedLog,
    Breadcrumb,
    Changes,
    Hold,
    Packed,
    Stored,
    Trashed,
    TrashNote,
    TrashPlace,
)
from sessiond.store.sole_daemon import SoleDaemon


class MemoryStore(SoleDaemon):
    """Stores logs until `forget` or `purge` deletes them. A `ref` is the session's id.

    The remains of a log (a torn tail, an original before a rewrite, a trashed log) are under the ref that the call
    returned, where `scan` finds them.
    """

    def __init__(self) -> None:
        self._contents: dict[str, MemoryContent] = {}
        self._remains: dict[str, bytes] = {}
        self._trashed: dict[str, Trashed] = {}
        self._trashed_ids: dict[str, str] = {}
        self._breadcrumbs: dict[str, list[Breadcrumb]] = {}
        self._holds: dict[str, Hold] = {}
        self.blobs = MemoryBlobs(self._remains)

    def keeps(self, ref: str) -> bool:
        """Return whether there is a session with this id that is not in the trash."""
        return ref in self._contents

    def holds(self, ref: str) -> bool:
        """Return False: no path is inside this store."""
        return False

    def blobs_beside(self, ref: str) -> BlobSource | None:
        """Return None, since no other program has blobs for these logs."""
        return None

    async def create(self, session_id: str, *, cwd: str, timestamp: str, lines: bytes, draft: bool) -> Log:
        """Create a log from its lines. The working directory and the timestamp are not used."""
        if session_id in self._contents:
            raise LogExists(session_id)
        content = MemoryContent(session_id, bytearray(lines), draft)
        self._contents[session_id] = content
        return MemoryLog(content, self._remains)

    async def add(
        self,
        session_id: str,
        *,
        cwd: str,
        timestamp: str,
        lines: bytes,
        draft: bool,
        modified_ns: int | None = None,
    ) -> AddedLog:
        """Create a log from its lines without opening it."""
        await self.create(session_id, cwd=cwd, timestamp=timestamp, lines=lines, draft=draft)
        if modified_ns is not None:
            self._contents[session_id].modified_ns = modified_ns
        return AddedLog(session_id, None, (self._contents[session_id].changes,))

    async def add_file(
        self, session_id: str, *, cwd: str, timestamp: str, path: str, draft: bool
    ) -> AddedLog:
        """Create a log from the lines in a file."""
        lines = await asyncio.to_thread(Path(path).read_bytes)
        return await self.add(session_id, cwd=cwd, timestamp=timestamp, lines=lines, draft=draft)

    async def open(self, session_id: str) -> Log:
        """Open the log of a session. Logs of the same session share their content. Raises `LogNotFound`."""
        if session_id not in self._contents:
            raise LogNotFound(session_id)
        return MemoryLog(self._contents[session_id], self._remains)

    async def open_ref(self, ref: str) -> Log:
        """Open the log of a session by its id, as `open` does."""
        return await self.open(ref)

    async def list(self) -> list[Stored]:
        """Return every log that is not in the trash."""
        return list(self._listed())

    def census(self) -> "MemoryCensus":
        """Return a census that compares the whole list at each call."""
        return MemoryCensus(self._listed)

    def watch(self, changed: Callable[[set[str]], None]) -> "MemoryWatch":
        """Return a watch that never reports."""
        return MemoryWatch()

    def lists(self, ref: str) -> bool:
        """Return True for any ref."""
        return True

    def _listed(self) -> Sequence[Stored]:
        return [
            Stored(
                ref=content.session_id,
                session_id=content.session_id,
                draft=content.draft,
                size=len(content.data),
                modified_ns=content.modified_ns,
                stamp=(content.changes,),
                identity=(id(content),),
            )
            for content in list(self._contents.values())
        ]

    async def remains(self) -> Sequence[str]:
        """Return the refs of torn tails, originals, trashed logs, and trashed blobs with their notes."""
        return list(self._remains)

    def measured(self, stored: Stored) -> Stored:
        """Return the record itself."""
        return stored

    def may_pack(self, ref: str) -> bool:
        """Return False."""
        return False

    async def pack(self, ref: str, *, unused_since_ns: int | None = None) -> Packed | None:
        """Return None: what is in memory is not packed."""
        return None

    def read_ends(self, ref: str, first: int, last: int) -> tuple[bytes, bytes]:
        """Return the first and the last bytes of a log."""
        if ref not in self._contents:
            raise LogNotFound(ref)
        data = self._contents[ref].data
        return bytes(data[:first]), bytes(data[len(data) - last :])

    def scan(self, ref: str, start: int = 0) -> Iterator[bytes]:
        """Yield the bytes of a log or of its remains in slices."""
        if ref in self._contents:
            yield from slices_of(self._contents[ref].data, start)
        elif ref in self._remains:
            yield from slices_of(self._remains[ref], start)
        else:
            raise LogNotFound(ref)

    async def trash(self, log: Log, reason: str, about: TrashNote = UNKNOWN) -> TrashPlace:
        """Close a log and move its content to the trash."""
        await log.close()
        content = self._contents.pop(log.ref, None)
        if content is None:
            raise LogNotFound(log.ref)
        where = self._new_place(log.ref)
        self._remains[where] = bytes(content.data)
        self._trashed_ids[where] = content.log_id
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        place = TrashPlace(uuid.uuid4().hex, where)
        self._trashed[where] = Trashed(
            *place,
            session_id=about.session_id or log.ref,
            origin=log.ref,
            draft=content.draft,
            size=len(content.data),
            reason=reason,
            trashed_at=now,
            about=about,
        )
        return place

    def _new_place(self, session_id: str) -> str:
        where, number = f"trash/{session_id}", 1
        while where in self._remains:
            number += 1
            where = f"trash/{session_id}.{number}"
        return where

    async def add_trashed(self, trashed: Trashed, *, cwd: str, timestamp: str, lines: bytes) -> None:
        """Store a log in the trash. The working directory and the timestamp are not used."""
        if any(other.trash_id == trashed.trash_id for other in self._trashed.values()):
            return
        where = self._new_place(trashed.session_id)
        self._remains[where], self._trashed_ids[where] = lines, uuid.uuid4().hex
        self._trashed[where] = trashed._replace(
            ref=where, origin=trashed.session_id, size=len(lines), leftovers=()
        )

    async def trashed(self) -> Sequence[Trashed]:
        """Return every log in the trash, the most recently trashed first."""
        return sorted(
            (log._replace(leftovers=tuple(self._beside(log))) for log in self._trashed.values()),
            key=lambda log: (log.trashed_at, log.ref),
            reverse=True,
        )

    async def restore(self, ref: str) -> str:
        """Move a trashed log back under its session id, with its former log id."""
        found = self._trashed.get(ref)
        if found is None or found.origin is None:
            raise LogNotFound(ref)
        if found.origin in self._contents:
            raise LogExists(found.session_id)
        data = bytearray(self._remains.pop(ref))
        self._contents[found.origin] = MemoryContent(found.origin, data, found.draft)
        self._contents[found.origin].log_id = self._trashed_ids.pop(ref)
        del self._trashed[ref]
        return found.origin

    async def purge(self, ref: str) -> None:
        """Delete a trashed log. Its other remains stay if a session with its id exists again."""
        found = self._trashed.pop(ref, None)
        if found is None:
            raise LogNotFound(ref)
        self._trashed_ids.pop(ref, None)
        for name in (ref, *self._beside(found)):
            del self._remains[name]

    def _beside(self, found: Trashed) -> Iterator[str]:
        if found.origin not in self._contents:
            yield from [ref for ref in self._remains if ref.startswith(f"{found.origin}.")]

    def forget(self, session_id: str) -> None:
        """Delete a session and its remains permanently."""
        self._contents.pop(session_id, None)
        for ref in [
            ref for ref in self._remains if ref.removeprefix("trash/").split(".", 1)[0] == session_id
        ]:
            del self._remains[ref]
            self._trashed.pop(ref, None)
            self._trashed_ids.pop(ref, None)

    async def durability(self) -> str:
        """Return that nothing outlives the process."""
        return "sessions are in memory only, and end with the daemon"

    async def free_bytes(self) -> None:
        """Return None, since the free bytes are unknown."""

    async def read_breadcrumbs(self, terminal_id: str) -> Sequence[Breadcrumb]:
        """Return the breadcrumbs of a terminal, the most recent first."""
        return list(self._breadcrumbs.get(terminal_id, ()))

    async def write_breadcrumb(self, terminal_id: str, crumb: Breadcrumb) -> None:
        """Store a breadcrumb in place of the terminal's previous one for the same folder."""
        others = [
            breadcrumb for breadcrumb in self._breadcrumbs.get(terminal_id, ()) if breadcrumb.cwd != crumb.cwd
        ]
        self._breadcrumbs[terminal_id] = [crumb, *others]

    async def remove_breadcrumbs(self, terminal_id: str) -> None:
        """Remove the breadcrumbs of a terminal."""
        self._breadcrumbs.pop(terminal_id, None)

    async def remove_old_breadcrumbs(self, max_age: float, living: Collection[str]) -> int:
        """Return 0: nothing is removed."""
        return 0  # they end with the process

    async def read_holds(self) -> Sequence[Hold]:
        """Return all holds."""
        return list(self._holds.values())

    async def write_hold(self, hold: Hold) -> None:
        """Store a hold in place of the terminal's previous one."""
        self._holds[hold.terminal_id] = hold

    async def remove_hold(self, terminal_id: str) -> None:
        """Remove the hold of a terminal, if there is one."""
        self._holds.pop(terminal_id, None)

    async def close(self) -> None:
        """Do nothing. The logs live as long as the store."""


class MemoryWatch:
    """A watch that never reports: no other program writes to memory."""

    def close(self) -> None:
        """Do nothing."""


class MemoryCensus:
    """The census of a `MemoryStore`."""

    def __init__(self, listed: Callable[[], Sequence[Stored]]) -> None:
        self._listed = listed
        self._known: dict[str, Stored] = {}

    def poll(self, hints: Iterable[str] = ()) -> Changes:
        """Return the changes since the last call by comparing all logs. `hints` are not needed."""
        now = {stored.ref: stored for stored in self._listed()}
        before, self._known = self._known, now
        return Changes(
            [stored for ref, stored in now.items() if before.get(ref) != stored], list(before.keys() - now)
        )
