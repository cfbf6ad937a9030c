"""The sessions that are open here: opens and fills their mirrors, locks their rows, changes them, releases them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple
from uuid import uuid4
from weakref import WeakValueDictionary

from sessiond.store.errors import LogNotFound, StorageFailed
from sessiond.store.postgres import changes
from sessiond.store.postgres.connecting import (
    DRIVER_ERRORS,
    Connected,
    connect_backend,
    is_broken,
    store_error,
    unreachable,
)
from sessiond.store.postgres.link import Link
from sessiond.store.postgres.log import PostgresLog
from sessiond.store.postgres.mirror import Mirror, MirrorFolder, MirrorPosition
from sessiond.store.postgres.queries import query
from sessiond.store.postgres.requests import Connection, DatabaseRequests
from sessiond.store.postgres.session import SharedSession, begin_another_log, catch_up, page_lines
from sessiond.store.postgres.writer import GroupWriter, begin_share, deliver, fail_moved, refuse, send_group


class _Filled(NamedTuple):
    """The state of a session whose lines are in its mirror."""

    log_id: str
    draft: bool
    epoch: int


class OpenDatabaseSessions:
    """The open sessions of one store.

    Args:
        url: The URL of the server.
        link: The link to it.
        requests: Serves reads and changes.
        writer: The group commit.
        mirrors: The folder of the mirrors.
    """

    def __init__(
        self,
        url: str,
        link: Link,
        requests: DatabaseRequests,
        writer: GroupWriter,
        mirrors: Callable[[], MirrorFolder],
    ) -> None:
        self._url = url
        self._link = link
        self._requests = requests
        self._writer = writer
        self._mirrors = mirrors
        self._opening: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self._locking = asyncio.Lock()
        self._locker: Connected | None = None

    @property
    def error(self) -> StorageFailed | None:
        """The reason why the server is out of reach, or None."""
        return self._link.error

    def find(self, session_id: str) -> SharedSession | None:
        """Return the open session with this id, or None. Safe on any thread."""
        for session in list(self._link.sessions.values()):
            if session.session_id == session_id and session.replaced is None:
                return session
        return None

    # --- opening and releasing ---------------------------------------------------------------------------------

    async def open(self, session_id: str) -> PostgresLog:
        """Open the session with this id. If the server is out of reach, its mirror is opened as it was.

        Raises `LogNotFound`; `StoreUnreachable` if there is no mirror.
        """
        if self.error is not None:
            return await self._open_cut_off(session_id, self.error)
        row = await self._requests.read(
            lambda connection: connection.fetchrow(query("find"), self._link.owner, session_id)
        )
        if row is None:
            raise LogNotFound(session_id)
        return await self.open_key(session_id, row["key"])

    async def open_key(self, session_id: str, key: int) -> PostgresLog:
        """Open the session with this key."""
        async with self._opening.setdefault(key, asyncio.Lock()):
            session = self._link.sessions.get(key)
            if session is None or session.replaced is not None:
                session = await self._filled(session_id, key)
                self._link.sessions[key] = session
            log = PostgresLog(session, self)
            session.logs.add(log)
        if session.is_behind:
            self._link.hear(key)
        return log

    async def _filled(self, session_id: str, key: int) -> SharedSession:
        mirror, position = await asyncio.to_thread(self._mirrors().open, session_id, key)
        try:
            filled = await self._requests.read(
                lambda connection: _fill(connection, mirror, session_id, key, position)
            )
        except BaseException:
            mirror.close()
            raise
        return SharedSession(
            mirror,
            key=key,
            session_id=session_id,
            log_id=filled.log_id,
            draft=filled.draft,
            epoch=filled.epoch,
        )

    async def _open_cut_off(self, session_id: str, error: StorageFailed) -> PostgresLog:
        session = self.find(session_id)
        if session is None:
            position = await asyncio.to_thread(self._mirrors().position, session_id)
            if position is None:
                raise error
            async with self._opening.setdefault(position.key, asyncio.Lock()):
                session = self._link.sessions.get(position.key)
                if session is None:
                    mirror, kept = await asyncio.to_thread(self._mirrors().open, session_id, position.key)
                    if kept is None:
                        mirror.close()
                        raise error
                    session = SharedSession(
                        mirror, key=kept.key, session_id=session_id, log_id=kept.log_id, draft=kept.draft,
                        epoch=kept.epoch,
                    )  # fmt: skip
                    self._link.sessions[kept.key] = session
        log = PostgresLog(session, self)
        session.logs.add(log)
        return log

    async def release(self, log: PostgresLog) -> None:
        """Close the mirror of a log, unless another log has it. Its position is stored."""
        session = log.session
        async with self._opening.setdefault(session.key, asyncio.Lock()):
            session.logs.discard(log)
            if session.logs:
                return
            is_current = self._link.sessions.get(session.key) is session
            if is_current:
                del self._link.sessions[session.key]
            await asyncio.to_thread(self._close_mirror, session, is_current and session.replaced is None)

    def _close_mirror(self, session: SharedSession, keep: bool) -> None:
        try:
            if keep and session.disk_error is None:
                session.mirror.sync()
                self._mirrors().store(session.position)
        finally:
            session.mirror.close()

    # --- for logs ----------------------------------------------------------------------------------------------

    def wake(self, log: PostgresLog) -> None:
        """Have the batches of a log written."""
        if not log.is_locking:
            self._writer.wake(log)

    async def look(self) -> None:
        """Compare all open sessions with the database, after a connect if the server was out of reach."""
        await self._link.looked()

    async def flush(self) -> None:
        """Wait for a commit that the server has synced, and with it all before."""
        await self._requests.change(lambda connection: connection.execute(query("flush")))

    async def complete_tail(self, log: PostgresLog) -> None:
        """Add a newline to the last line."""
        await changes.complete_tail(self._requests, log.session)
        log.reset()

    async def quarantine(self, log: PostgresLog, start: int, seq: int) -> str:
        """Move the lines from a byte on to the remains. Return their ref."""
        where = await changes.quarantine(self._requests, self._link.owner, log.session, start, seq)
        log.reset()
        return where

    async def rewrite(self, log: PostgresLog, lines: bytes, version: int, *, same_log: bool) -> None:
        """Replace all lines."""
        log_id = None if same_log else uuid4().hex
        await changes.rewrite(self._requests, self._link.owner, log.session, lines, version, log_id)
        log.reset()

    async def overwrite(self, log: PostgresLog, offset: int, new: bytes) -> None:
        """Overwrite bytes inside a line."""
        await changes.overwrite(self._requests, log.session, offset, new)

    async def promote(self, log: PostgresLog) -> None:
        """Mark a session as no draft."""
        await changes.promote(self._requests, log.session)

    # --- locking -----------------------------------------------------------------------------------------------

    def disconnect(self) -> None:
        """Close the connection that locks."""
        if self._locker is not None:
            self._locker.connection.terminate()

    @asynccontextmanager
    async def locked(self, log: PostgresLog) -> AsyncIterator[None]:
        """Lock the row of a session, and write the batches of the block before it is unlocked."""
        async with self._locking:
            connected = await self._lock(log)
            log.is_locking = True
            try:
                yield
            except BaseException as error:
                log.is_locking = False
                await self._unlock(connected)
                if log.queue:
                    reason = StorageFailed(f"the block ended with {type(error).__name__}")
                    log.fail([], reason)
                raise
            log.is_locking = False
            await self._write_locked(connected, log)

    async def _lock(self, log: PostgresLog) -> Connected:
        self._link.refuse()
        if self._locker is None or self._locker.connection.is_closed():
            self._locker = await connect_backend(self._url)
        connected, session = self._locker, log.session
        try:
            await connected.connection.execute("BEGIN")
            if await connected.connection.fetchrow(query("lock"), session.key) is None:
                session.remove()
            await catch_up(connected.connection, session)
        except DRIVER_ERRORS as error:
            await self._unlock(connected)
            raise store_error(error) from None
        if session.replaced is not None:
            await self._unlock(connected)
            raise session.replaced
        return connected

    async def _write_locked(self, connected: Connected, log: PostgresLog) -> None:
        share = begin_share(log) if log.queue else None
        if share is None:
            await self._unlock(connected)
            return
        session = share.session
        session.writing = True
        try:
            stored = await send_group(connected.connection, [share])
            await connected.connection.execute("COMMIT")
        except DRIVER_ERRORS as error:
            if is_broken(error):
                # The next statement finds the outcome.
                self._link.broken(unreachable(error), connected.backend)
                await self._writer.write([share])
                return
            await self._unlock(connected)
            await refuse(connected.connection, share, error)
            session.writing = False
            return
        if stored:
            deliver(share)
        else:
            await fail_moved(connected.connection, share)
        session.writing = False
        if log.queue:
            self._writer.wake(log)

    async def _unlock(self, connected: Connected) -> None:
        try:
            await connected.connection.execute("ROLLBACK")
        except DRIVER_ERRORS:
            connected.connection.terminate()


async def _fill(
    connection: Connection, mirror: Mirror, session_id: str, key: int, position: MirrorPosition | None
) -> _Filled:
    """Add the lines of the database to a mirror that no other task uses. Keep its content up to its position."""
    while True:
        count = page_lines(mirror.seq, mirror.size) if mirror.seq else 500
        first = mirror.seq
        rows = await connection.fetch(query("lines_from"), key, max(0, first - 1), first + count)
        if not rows or rows[0]["trashed"]:
            raise LogNotFound(session_id)
        state = rows[0]
        raws = [row["raw"] for row in rows if row["raw"] is not None]
        if first:
            is_known = position is not None and state["epoch"] == position.epoch
            if not (is_known and raws) or not mirror.ends_with(raws.pop(0)):
                if is_known:
                    await begin_another_log(connection, key, state["epoch"])
                mirror.clear()
                position = None
                continue
        elif position is None or position.epoch != state["epoch"]:
            position = MirrorPosition(
                session_id, key, state["log_id"], state["draft"], state["epoch"], 0, 0, b""
            )
        mirror.add(raws)
        if mirror.seq >= state["last"]:
            return _Filled(state["log_id"], state["draft"], state["epoch"])
        if mirror.seq == first:
            raise StorageFailed(f"lines of session {session_id} are missing in the database")
