"""Logs in memory: the store of ephemeral sessions and tests. Nothing outlives the process.

No other program can reach these bytes, so there is no drift, and nothing is replaced.
"""

import asyncio
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sessiond.store.base import Durability, Log
from sessiond.store.blobs import BlobSource
from sessiond.store.errors import LogExists, LogNotFound, LogReadOnly, LogReplaced
from sessiond.store.memory_blobs import MemoryBlobs
from sessiond.store.records import UNKNOWN, Breadcrumb, Changes, Hold, Stored, Trashed, TrashNote, TrashPlace

_SLICE = 64 * 1024


class MemoryStore:
    """Stores logs until `forget` or `purge` deletes them. A `ref` is the session's id.

    The remains of a log (a torn tail, an original before a rewrite, a trashed log) are under the ref that the call
    returned, where `scan` finds them.
    """

    def __init__(self) -> None:
        self._contents: dict[str, _Content] = {}
        self._kept: dict[str, bytes] = {}
        self._trashed: dict[str, Trashed] = {}
        self._trashed_ids: dict[str, str] = {}
        self._breadcrumbs: dict[str, list[Breadcrumb]] = {}
        self._holds: dict[str, Hold] = {}
        self.blobs = MemoryBlobs(self._kept)

    def keeps(self, ref: str) -> bool:
        """Return whether there is a session with this id that is not in the trash."""
        return ref in self._contents

    def holds(self, ref: str) -> bool:
        """Return False: no path is inside this store."""
        return False

    def blobs_beside(self, ref: str) -> BlobSource | None:
        """Return None: no other program has blobs for these logs."""
        return None

    async def create(self, session_id: str, *, cwd: str, timestamp: str, lines: bytes, draft: bool) -> Log:
        """Create a log from its lines. The working directory and the timestamp are not used."""
        if session_id in self._contents:
            raise LogExists(session_id)
        content = _Content(session_id, bytearray(lines), draft)
        self._contents[session_id] = content
        return MemoryLog(content, self._kept)

    async def open(self, session_id: str) -> Log:
        """Open the log of a session. Logs of the same session share their content. Raises `LogNotFound`."""
        if session_id not in self._contents:
            raise LogNotFound(session_id)
        return MemoryLog(self._contents[session_id], self._kept)

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
        return list(self._kept)

    def scan(self, ref: str, start: int = 0) -> Iterator[bytes]:
        """Yield the bytes of a log or of its remains in slices."""
        if ref in self._contents:
            yield from _slices(self._contents[ref].data, start)
        elif ref in self._kept:
            yield from _slices(self._kept[ref], start)
        else:
            raise LogNotFound(ref)

    async def trash(self, log: Log, reason: str, about: TrashNote = UNKNOWN) -> TrashPlace:
        """Close a log and move its content to the trash."""
        await log.close()
        content = self._contents.pop(log.ref, None)
        if content is None:
            raise LogNotFound(log.ref)
        where, number = f"trash/{log.ref}", 1
        while where in self._kept:
            number += 1
            where = f"trash/{log.ref}.{number}"
        self._kept[where] = bytes(content.data)
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

    async def trashed(self) -> Sequence[Trashed]:
        """Return every log in the trash, the most recently trashed first."""
        return sorted(
            (it._replace(leftovers=tuple(self._beside(it))) for it in self._trashed.values()),
            key=lambda it: (it.trashed_at, it.ref),
            reverse=True,
        )

    async def restore(self, ref: str) -> str:
        """Move a trashed log back under its session id, with its former log id."""
        found = self._trashed.get(ref)
        if found is None or found.origin is None:
            raise LogNotFound(ref)
        if found.origin in self._contents:
            raise LogExists(found.session_id)
        data = bytearray(self._kept.pop(ref))
        self._contents[found.origin] = _Content(found.origin, data, found.draft)
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
            del self._kept[name]

    def _beside(self, found: Trashed) -> Iterator[str]:
        if found.origin not in self._contents:
            yield from [ref for ref in self._kept if ref.startswith(f"{found.origin}.")]

    def forget(self, session_id: str) -> None:
        """Delete a session and its remains permanently."""
        self._contents.pop(session_id, None)
        for ref in [ref for ref in self._kept if ref.removeprefix("trash/").split(".", 1)[0] == session_id]:
            del self._kept[ref]
            self._trashed.pop(ref, None)
            self._trashed_ids.pop(ref, None)

    async def free_bytes(self) -> None:
        return None  # the free bytes are unknown

    async def read_breadcrumbs(self, terminal_id: str) -> Sequence[Breadcrumb]:
        """Return the breadcrumbs of a terminal, the most recent first."""
        return list(self._breadcrumbs.get(terminal_id, ()))

    async def write_breadcrumb(self, terminal_id: str, crumb: Breadcrumb) -> None:
        """Store a breadcrumb in place of the terminal's previous one for the same folder."""
        others = [it for it in self._breadcrumbs.get(terminal_id, ()) if it.cwd != crumb.cwd]
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

    def look(self, hints: Iterable[str] = ()) -> Changes:
        """Return the changes since the last call by comparing all logs. `hints` are not needed."""
        now = {it.ref: it for it in self._listed()}
        before, self._known = self._known, now
        return Changes([it for ref, it in now.items() if before.get(ref) != it], list(before.keys() - now))


class MemoryLog:
    """One log of a `MemoryStore`."""

    def __init__(self, content: "_Content", kept: dict[str, bytes]) -> None:
        self.session_id = content.session_id
        self.draft = content.draft
        self._content = content
        self._kept = kept
        self._queue: list[tuple[bytes, asyncio.Future[bool]]] = []
        self._closed = False

    @property
    def ref(self) -> str:
        """The id of the session."""
        return self.session_id

    @property
    def path(self) -> str | None:
        """None: the log is in no file."""
        return None

    @property
    def log_id(self) -> str:
        """The id of the content, which all logs of the session share."""
        return self._content.log_id

    @property
    def size(self) -> int:
        """The number of bytes of the content."""
        return len(self._content.data)

    @property
    def read_only(self) -> str | None:
        """Why nothing can be appended if the log is closed, or else None."""
        return "it is closed" if self._closed else None

    @property
    def write_error(self) -> None:
        """None: no write fails."""
        return None

    async def retry(self) -> None:
        """Do nothing. Memory never refuses a write."""

    def read(self, start: int, end: int) -> bytes:
        """Return a copy of the bytes `[start, end)`."""
        return bytes(self._content.data[start:end])

    def scan(self, start: int = 0) -> Iterator[bytes]:
        """Yield the bytes from `start` on in slices of at most 64 KiB."""
        return _slices(self._content.data, start)

    @property
    def is_touched(self) -> bool:
        """False: no other program can write to the log."""
        return False

    def distrust(self) -> LogReplaced:
        """Return the error to raise. The log is not marked, because no other program can replace it."""
        return LogReplaced(self.ref)

    def foreign_bytes(self) -> int:
        """Return 0: no other program can add bytes."""
        return 0

    def accept(self, size: int) -> None:
        """Raise `ValueError` unless `size` is the present size."""
        if size != self.size:
            raise ValueError(f"nobody added bytes: the log holds {self.size}, not {size}")

    def append(self, data: bytes, durability: Durability) -> asyncio.Future[bool]:
        """Queue a batch, which is written on the next tick of the event loop or before any other change."""
        if not data.endswith(b"\n"):
            raise ValueError("a batch is whole lines, each with its newline")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bool] = loop.create_future()
        if self._closed:
            future.set_exception(LogReadOnly("it is closed"))
            return future
        if not self._queue:
            loop.call_soon(self._write)
        self._queue.append((data, future))
        return future

    async def flush(self) -> bool:
        """Write the queued batches. Return False if there were none."""
        queued = bool(self._queue)
        self._write()
        return queued

    async def complete_tail(self) -> None:
        """Write the queued batches, then a newline if the last line lacks one."""
        self._write()
        if self._content.data and not self._content.data.endswith(b"\n"):
            self._content.put(b"\n")

    async def quarantine_tail(self, start: int, seq: int) -> str:
        """Write the queued batches, then move the bytes from `start` to the remains."""
        self._write()
        if not 0 <= start < self.size:
            raise ValueError(f"there is no tail at {start} in a log of {self.size} bytes")
        where = _keep(self._kept, f"{self.ref}.torn-{seq}", self.read(start, self.size))
        self._content.replace(self.read(0, start))
        return where

    async def rewrite(self, lines: bytes, version: int, *, same_log: bool = False) -> None:
        """Write the queued batches, then replace the content. The original is added to the remains."""
        self._write()
        if not same_log:
            self._content.log_id = uuid.uuid4().hex
        _keep(self._kept, f"{self.ref}.v{version}.bak", self.read(0, self.size))
        self._content.replace(lines)

    async def overwrite(self, offset: int, former: bytes, new: bytes) -> None:
        """Write the queued batches, then replace `former` at `offset` by `new`."""
        self._write()
        data = self.read(0, self.size)
        if len(former) != len(new) or data[offset : offset + len(former)] != former:
            raise LogReplaced(self.ref)
        self._content.replace(data[:offset] + new + data[offset + len(new) :])

    async def move(self, cwd: str) -> None:
        """Write the queued batches. A log in memory is in no folder."""
        self._write()

    async def promote(self) -> None:
        """Write the queued batches, then make the draft a session."""
        self._write()
        self.draft = self._content.draft = False

    async def close(self) -> None:
        """Write the queued batches, then refuse further appends."""
        self._write()
        self._closed = True

    def _write(self) -> None:
        queue, self._queue = self._queue, []
        for data, future in queue:
            self._content.put(data)
            if not future.done():
                future.set_result(False)


@dataclass(slots=True)
class _Content:
    """The content of a memory log, shared by all open logs of the session."""

    session_id: str
    data: bytearray
    draft: bool
    changes: int = 0
    log_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    modified_ns: int = field(default_factory=time.time_ns)

    def put(self, data: bytes) -> None:
        self.data += data
        self._changed()

    def replace(self, data: bytes) -> None:
        self.data = bytearray(data)
        self._changed()

    def _changed(self) -> None:
        self.changes += 1
        self.modified_ns = time.time_ns()


def _keep(kept: dict[str, bytes], ref: str, data: bytes) -> str:
    """Store bytes under this ref or the next free one. Existing bytes are never overwritten."""
    name, number = ref, 1
    while kept.get(name, data) != data:
        number += 1
        name = f"{ref}.{number}"
    kept[name] = data
    return name


def _slices(data: bytes | bytearray, start: int) -> Iterator[bytes]:
    end = len(data)
    for at in range(start, end, _SLICE):
        yield bytes(data[at : min(at + _SLICE, end)])
