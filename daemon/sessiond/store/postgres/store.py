"""Sessions in a PostgreSQL database: `base.Store` over one URL and the state folder of this machine.

The database has the sessions. The state folder has what is only about this machine: the mirrors of open sessions, and
the breadcrumbs and holds of its terminals. The ref of a session is its id.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from sessiond.store.base import Log
from sessiond.store.blobs import BlobSource
from sessiond.store.errors import LogExists, LogNotFound, OutcomeUnknown, StorageFailed
from sessiond.store.files.syscalls import Syscalls
from sessiond.store.files.terminals import TerminalFiles
from sessiond.store.postgres import reading, trash
from sessiond.store.postgres.blobs import PostgresBlobs
from sessiond.store.postgres.census import ALL, PostgresCensus, stored_of
from sessiond.store.postgres.changes import insert_lines, new_epoch
from sessiond.store.postgres.lines import lines_of
from sessiond.store.postgres.link import Link
from sessiond.store.postgres.log import PostgresLog
from sessiond.store.postgres.mirror import MirrorFolder
from sessiond.store.postgres.presence import Presence
from sessiond.store.postgres.queries import query
from sessiond.store.postgres.requests import Connection, DatabaseRequests
from sessiond.store.postgres.sessions import OpenDatabaseSessions
from sessiond.store.postgres.writer import GroupWriter
from sessiond.store.records import UNKNOWN, AddedLog, Packed, Stored, Trashed, TrashNote, TrashPlace


class PostgresStore(TerminalFiles):
    """The store of the sessions of one role in one database.

    Args:
        url: The URL of the server (`postgres://…`), without a password.
        state: The folder of the state of this machine.
    """

    def __init__(self, url: str, state: Path) -> None:
        self._folder = state / "mirrors"
        self._state = state
        self._closed = False
        super().__init__(state, ThreadPoolExecutor(2, thread_name_prefix="sessiond-terminals"), Syscalls())
        self._mirrors: MirrorFolder | None = None
        self._requests = DatabaseRequests(url, lambda: self._link.refuse())
        self._presence = Presence(self._requests, lambda: self._link.owner)
        self._link = Link(
            url,
            on_connect=self._connected,
            on_look=self._presence.renew_if_due,
            disconnect=self._disconnect,
        )
        self._writer = GroupWriter(self._link)
        self._sessions = OpenDatabaseSessions(
            url, self._link, self._requests, self._writer, self._mirror_folder
        )
        self.blobs = PostgresBlobs(self._requests, self._link)

    async def start(self) -> None:
        """Connect, and bring the tables of the database to the state that this program needs.

        If the server is out of reach, the store starts nevertheless, and connects when it can.

        Raises:
            StorageFailed: The tables are newer, or the server refuses to make them.
        """
        await asyncio.to_thread(lambda: self._mirror_folder().sweep(time.time()))
        await self._link.start()
        self._writer.start()

    def _mirror_folder(self) -> MirrorFolder:
        if self._mirrors is None:
            self._mirrors = MirrorFolder(self._folder)
        return self._mirrors

    async def _connected(self, connection: Connection) -> None:
        await asyncio.to_thread(self._mirror_folder().belongs_to, f"{self._link.system} {self._link.owner}")
        await self._presence.renew(connection)

    def _disconnect(self) -> None:
        self._requests.disconnect()
        self._sessions.disconnect()

    @property
    def local(self) -> bool:
        """False: other daemons use the database."""
        return False

    @property
    def is_cut_off(self) -> bool:
        """Whether the server is out of reach."""
        return self._link.error is not None

    async def durability(self) -> str:
        """Return the settings of the server that decide what a commit survives."""
        row = await self._requests.read(lambda connection: connection.fetchrow(query("durability")))
        if row is None:
            raise StorageFailed("the server does not show its settings")
        standby = row["standby_names"] or "none"
        return (
            f"sessions are in PostgreSQL {row['version']}: fsync = {row['fsync']}, "
            f"synchronous_commit = {row['synchronous_commit']}, synchronous_standby_names = {standby}"
        )

    def keeps(self, ref: str) -> bool:
        """Return whether a ref is the id of a session. It need not exist."""
        return "/" not in ref

    def holds(self, ref: str) -> bool:
        """Return whether a path is in the state folder."""
        return Path(ref).is_relative_to(self._state)

    def blobs_beside(self, ref: str) -> BlobSource | None:
        """Return None, since no other program has blobs for these logs."""
        return None

    async def create(self, session_id: str, *, cwd: str, timestamp: str, lines: bytes, draft: bool) -> Log:
        """Create the row of a session and its lines in one transaction, and open it."""
        key = await self._create(session_id, lines, new_epoch(), draft=draft)
        return await self._sessions.open_key(session_id, key)

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
        """Create the row of a session and its lines in one transaction."""
        epoch = new_epoch()
        await self._create(session_id, lines, epoch, draft=draft, modified_ns=modified_ns)
        return AddedLog(session_id, None, (epoch, 0))

    async def add_file(
        self, session_id: str, *, cwd: str, timestamp: str, path: str, draft: bool
    ) -> AddedLog:
        """Create the row of a session and its lines, which are read from a file, in one transaction."""
        lines = await asyncio.to_thread(Path(path).read_bytes)
        return await self.add(session_id, cwd=cwd, timestamp=timestamp, lines=lines, draft=draft)

    async def _create(
        self, session_id: str, data: bytes, epoch: int, *, draft: bool, modified_ns: int | None = None
    ) -> int:
        owner, log_id = self._link.owner, uuid4().hex
        lines = lines_of(data) if len(data) < 64 * 1024 else await asyncio.to_thread(lines_of, data)
        modified = None if modified_ns is None else datetime.fromtimestamp(modified_ns / 1e9, UTC)

        async def work(connection: Connection) -> int | None:
            key: int | None = await connection.fetchval(
                query("create"), owner, session_id, log_id, draft, epoch, len(lines), len(data), modified
            )
            if key is None:
                row = await connection.fetchrow(query("find"), owner, session_id)
                return None if row is None or row["log_id"] != log_id else int(row["key"])
            await insert_lines(connection, key, lines)
            await connection.execute(query("notify"), key)
            return key

        key = await self._requests.change(work)
        if key is None:
            raise LogExists(session_id)
        return key

    async def open(self, session_id: str) -> Log:
        """Open the session with this id. While the server is out of reach, its mirror, if there is one."""
        if not reading.is_text(session_id) or "/" in session_id:
            raise LogNotFound(session_id)
        return await self._sessions.open(session_id)

    async def open_ref(self, ref: str) -> Log:
        """Open the session with this id, as `open` does."""
        return await self.open(ref)

    async def list(self) -> list[Stored]:
        """Return every session of the owner that is not in the trash."""
        owner = self._link.owner
        rows = await self._requests.read(lambda connection: connection.fetch(query("list"), owner, ALL))
        return [stored_of(row) for row in rows if row["key"] is not None and not row["trashed"]]

    async def remains(self) -> Sequence[str]:
        """Return the refs of torn tails, originals before a rewrite, and sessions in the trash."""
        owner = self._link.owner
        rows = await self._requests.read(lambda connection: connection.fetch(query("list_remains"), owner))
        return [row["ref"] for row in rows]

    def census(self) -> PostgresCensus:
        """Return a census by the transactions that changed rows."""
        return PostgresCensus(self._requests, self._link)

    def watch(self, changed: Callable[[set[str]], None]) -> "PostgresWatch":
        """Call `changed` when the server notifies of changes. It is called on the thread of the event loop."""
        return PostgresWatch(self._link, changed)

    def lists(self, ref: str) -> bool:
        """Return whether a ref is the id of a session."""
        return "/" not in ref

    def measured(self, stored: Stored) -> Stored:
        """Return the record itself."""
        return stored

    def may_pack(self, ref: str) -> bool:
        """Return False."""
        return False

    async def pack(self, ref: str, *, unused_since_ns: int | None = None) -> Packed | None:
        """Return None: the database compresses long lines itself."""
        return None

    def read_ends(self, ref: str, first: int, last: int) -> tuple[bytes, bytes]:
        """Return the first and the last bytes of a session, from the database."""
        return reading.read_ends(self._requests, self._link.owner, ref, first, last)

    def scan(self, ref: str, start: int = 0) -> Iterator[bytes]:
        """Yield the bytes of a session, of one in the trash, or of remains. An open session is read here."""
        session = self._sessions.find(ref)
        if session is not None:
            with suppress(OSError):
                yield from session.mirror.slices(start, session.mirror.size)
                return
        yield from reading.scan(self._requests, self._link.owner, ref, start)

    async def count_other_daemons(self) -> int:
        """Return the number of other daemons of the owner that were seen a short time ago."""
        return await self._presence.count_others()

    async def hold(self, ref: str) -> None:
        """Add a row for this daemon and the session."""
        await self._presence.hold(ref)

    async def release(self, ref: str) -> bool:
        """Delete the row of this daemon and the session, with the session locked."""
        return await self._presence.release(ref)

    async def held_elsewhere(self, refs: Collection[str]) -> set[str]:
        """Return which of these sessions have rows of other living daemons."""
        return await self._presence.held_elsewhere(refs)

    async def claim(self, ref: str, work: str) -> bool:
        """Add a row for the work, unless another living daemon has one."""
        return await self._presence.claim(ref, work)

    async def end_claim(self, ref: str, work: str) -> None:
        """Delete the row of this daemon for the work."""
        await self._presence.end_claim(ref, work)

    async def trash(self, log: Log, reason: str, about: TrashNote = UNKNOWN) -> TrashPlace:
        """Mark the row of a session as trashed, and close the log."""
        if not isinstance(log, PostgresLog):
            raise TypeError("only a log of this store can go to its trash")
        await log.flush()
        place = await trash.trash(self._requests, log.session.key, log.ref, reason, about)
        log.session.remove()
        await log.close()
        return place

    async def add_trashed(self, trashed: Trashed, *, cwd: str, timestamp: str, lines: bytes) -> None:
        """Add the row of a trashed session and its lines in one transaction. The id names its place."""
        cut = await asyncio.to_thread(lines_of, lines)
        await trash.add(self._requests, self._link.owner, trashed, cut, len(lines))

    async def trashed(self) -> Sequence[Trashed]:
        """Return the sessions whose rows are marked as trashed."""
        return await trash.list_trash(self._requests, self._link.owner)

    async def restore(self, ref: str) -> str:
        """Remove the mark of a trashed session."""
        return await trash.restore(self._requests, self._link.owner, ref)

    async def purge(self, ref: str) -> None:
        """Delete the rows of a trashed session."""
        await trash.purge(self._requests, self._link.owner, ref)

    async def free_bytes(self) -> None:
        """Return None, since the free bytes of the server are unknown."""

    async def close(self) -> None:
        """Say that this daemon has ended, and end connections and threads. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        await self._writer.close()
        if self._link.error is None:
            with suppress(StorageFailed, OutcomeUnknown):
                await self._presence.end()
        self._sessions.disconnect()
        await self._link.close()
        await self._requests.close()
        await asyncio.to_thread(self._pool.shutdown)


class PostgresWatch:
    """A watch on all sessions of a store."""

    def __init__(self, link: Link, changed: Callable[[set[str]], None]) -> None:
        self._link = link
        self._changed = changed
        link.watchers.add(changed)

    def close(self) -> None:
        """Stop all notifications."""
        self._link.watchers.discard(self._changed)
