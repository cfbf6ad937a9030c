"""The link of a store to its server: receives changes, finds missed ones, and reports if the server is out of reach.

One connection listens. Notifications may be lost with it, or be forged, so they are hints: what they name is read by
seq. All open sessions are compared with the database after each connect, and at intervals, which also shows whether a
silent connection is alive.

When the link is broken, all connections are closed, and it is made again: the identity and the tables of the server are
checked, former connections that may still be executing something are ended, the server confirms what these may have
committed, every open session catches up, and only then `error` is None again.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Final

from sessiond.store.errors import StorageFailed, StoreUnreachable
from sessiond.store.postgres.connecting import (
    COMMIT_SECONDS,
    DRIVER_ERRORS,
    Backend,
    Connected,
    connect_backend,
    store_error,
    unreachable,
)
from sessiond.store.postgres.migrations import migrate
from sessiond.store.postgres.queries import query
from sessiond.store.postgres.requests import Connection
from sessiond.store.postgres.session import SharedSession, begin_another_log, catch_up

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 2.0
"""Interval in which all open sessions are compared with the database."""
ANSWER_SECONDS: Final = 5.0
"""Limit of the time in which the listening connection answers. A server that takes longer counts as out of reach."""
MIGRATE_SECONDS: Final = 600.0
"""Limit of the time in which tables are made or changed. Another daemon may be doing so."""
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 5.0
_CHANNEL: Final = "sessiond"

Watcher = Callable[[set[str]], None]


class Link:
    """The link of one store.

    Args:
        url: The URL of the server.
        on_connect: Called with a connection and the owner's name after each connect, before sessions catch up.
        on_look: Called with a connection at each comparison.
        disconnect: Closes the connections of others that are known to be broken.

    Attributes:
        sessions: the open sessions by key.
        error: why the server is out of reach, or None.
        owner: the name of the role, whose sessions these are.
        system: the identity of the database.
    """

    def __init__(
        self,
        url: str,
        *,
        on_connect: Callable[[Connection], Awaitable[None]],
        on_look: Callable[[Connection], Awaitable[None]],
        disconnect: Callable[[], None],
    ) -> None:
        self._url = url
        self._on_connect = on_connect
        self._on_look = on_look
        self._disconnect = disconnect
        self.sessions: dict[int, SharedSession] = {}
        self.watchers: set[Watcher] = set()
        self.error: StorageFailed | None = StoreUnreachable("it was not connected yet")
        self.owner = ""
        self.system = ""
        self._timeline = 0
        self._listener: Connected | None = None
        self._writer: Connected | None = None
        self._lost: set[Backend] = set()
        self._is_unconfirmed = False
        """Whether a lost connection may have committed lines for which no synchronous replica was waited."""
        self._wake = asyncio.Event()
        self._changed_keys: set[int] = set()
        self._waiting: list[asyncio.Future[None]] = []
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Connect, and keep the link from then on. If that fails, the attempts continue in the background.

        Raises:
            StorageFailed: The tables of the database are not usable by this program.
        """
        try:
            await self._connect()
        except StoreUnreachable as error:
            self._set_error(error)
            log.warning("%s", error)
        except StorageFailed:
            self._drop_connections()
            raise
        self._task = asyncio.create_task(self._keep())

    async def close(self) -> None:
        """End the link and its connections."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._drop_connections()
        self._finish_waiting()

    def refuse(self) -> None:
        """Raise `error` if there is one. Safe on any thread."""
        if self.error is not None:
            raise StoreUnreachable(self.error.reason)

    def writer(self) -> Connected:
        """Return the connection that adds lines. Raises `StoreUnreachable`."""
        self.refuse()
        if self._writer is None or self._writer.connection.is_closed():
            error = StoreUnreachable("the connection was lost")
            self.broken(error)
            raise error
        return self._writer

    def broken(self, error: BaseException, lost: Backend | None = None) -> None:
        """Report that the server is out of reach. `lost` may still be executing a statement."""
        if lost is not None:
            self._lost.add(lost)
            self._is_unconfirmed = True
        error = error if isinstance(error, StorageFailed) else unreachable(error)
        if self.error is None or self.error.reason != error.reason:
            log.warning("%s", error)
        self._set_error(error)
        self._drop_connections()
        self._wake.set()

    async def until_up(self, seconds: float) -> bool:
        """Wait until the server can be reached, for a limited number of seconds. Return whether it can."""
        until = time.monotonic() + seconds
        while self.error is not None and (left := until - time.monotonic()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self.looked()
        return self.error is None

    def looked(self) -> "asyncio.Future[None]":
        """Return a future that is done when all open sessions were compared once more, or that was tried in vain."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        self._wake.set()
        return waiting

    def hear(self, key: int) -> None:
        """Have a session catch up soon."""
        self._changed_keys.add(key)
        self._wake.set()

    # --- the task --------------------------------------------------------------------------------------------

    async def _keep(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            try:
                if self.error is not None:
                    await self._connect()
                pause = _FIRST_PAUSE
                await self._follow()
            except (*DRIVER_ERRORS, StorageFailed) as error:
                if isinstance(error, DRIVER_ERRORS):
                    error = store_error(error)
                self.broken(error)
                self._finish_waiting()
            self._wake.clear()
            if not self._waiting:
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self._wake.wait()
            else:
                await asyncio.sleep(_FIRST_PAUSE)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _connect(self) -> None:
        self._drop_connections()
        self._listener = listener = await connect_backend(self._url)
        connection = listener.connection
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._identify(connection)
            async with asyncio.timeout(MIGRATE_SECONDS):
                await migrate(connection)
            self._writer = await connect_backend(self._url)
            for backend in list(self._lost):
                await self._fence(connection, backend)
            await self._confirm(connection)
            connection.add_termination_listener(lambda _: self._wake.set())
            async with asyncio.timeout(ANSWER_SECONDS):
                await connection.add_listener(_CHANNEL, self._notified)
                await self._on_connect(connection)
            async with asyncio.timeout(COMMIT_SECONDS):
                await self._look(connection)
        except DRIVER_ERRORS as error:
            raise store_error(error) from None
        if self.error is not None and self._task is not None:
            log.info("The database is in reach again")
        self.error = None
        self._finish_waiting()
        self._tell({session.session_id for session in self.sessions.values()})

    async def _identify(self, connection: Connection) -> None:
        row = await connection.fetchrow(query("identify"))
        if row is None or row["timeline"] is None:
            raise StoreUnreachable("it is a replica, which takes no writes")
        if row["system"] == self.system and row["timeline"] < self._timeline:
            reason = f"it is an older copy (timeline {row['timeline']}; the last one was {self._timeline})"
            raise StoreUnreachable(reason)
        if self.system and row["system"] != self.system:
            for session in self.sessions.values():
                session.replace()
        self.owner, self.system, self._timeline = row["owner"], row["system"], row["timeline"]

    async def _fence(self, connection: Connection, backend: Backend) -> None:
        """End a former connection, so that what it was executing is either done or will not be done."""
        async with asyncio.timeout(2 * ANSWER_SECONDS):
            if await connection.fetchval(query("fence"), backend.pid, backend.started) is False:
                raise StoreUnreachable("a former connection does not end")
        self._lost.discard(backend)

    async def _confirm(self, connection: Connection) -> None:
        """Wait until a synchronous replica has the commits of lost connections, which a failover would otherwise lose.

        The server makes a transaction visible that it was ordered to end while it waited for the replica.
        """
        if self._is_unconfirmed:
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    await connection.execute(query("flush"))
            except TimeoutError:
                raise StoreUnreachable(
                    "it does not confirm commits; a replica may be out of its reach"
                ) from None
            self._is_unconfirmed = False

    async def _follow(self) -> None:
        """Have sessions catch up when they are notified, and compare all at intervals, until that fails."""
        looked_at = time.monotonic()
        while True:
            self._wake.clear()
            listener = self._listener
            if self.error is not None or listener is None:
                return
            if listener.connection.is_closed() or self._writer is None or self._writer.connection.is_closed():
                raise StoreUnreachable("the connection was lost")
            if self._waiting or time.monotonic() - looked_at >= LOOK_SECONDS:
                waiting, self._waiting = self._waiting, []
                try:
                    async with asyncio.timeout(ANSWER_SECONDS):
                        await self._look(listener.connection)
                        await self._on_look(listener.connection)
                finally:
                    _finish(waiting)
                looked_at = time.monotonic()
            elif self._changed_keys:
                keys, self._changed_keys = self._changed_keys, set()
                async with asyncio.timeout(ANSWER_SECONDS):
                    await self._take_changed(listener.connection, keys)
            else:
                with suppress(TimeoutError):
                    left = LOOK_SECONDS - (time.monotonic() - looked_at)
                    async with asyncio.timeout(max(0.0, left)):
                        await self._wake.wait()

    def _notified(self, _connection: object, _pid: int, _channel: str, payload: object) -> None:
        """Remember a notification: the key of a session, the number of its lines, and whether more has changed."""
        words = str(payload).split(" ")
        if len(words) < 2 or not all(
            character.isascii() and character.isdigit() and len(character) < 19 for character in words[:2]
        ):
            return
        key, seq = int(words[0]), int(words[1])
        session = self.sessions.get(key)
        if session is not None:
            session.notified_seq = max(session.notified_seq, seq)
            if session.is_busy() or not (session.is_behind or len(words) > 2):
                return
        elif not self.watchers:
            return
        self.hear(key)

    async def _take_changed(self, connection: Connection, keys: set[int]) -> None:
        changed: set[str] = set()
        unknown = [key for key in keys if key not in self.sessions]
        for key in keys:
            session = self.sessions.get(key)
            if session is not None:
                await self._catch_up(connection, session)
                if not session.is_busy():
                    session.notified_seq = (
                        session.mirror.seq
                    )  # a notification may have named more lines than there are
                changed.add(session.session_id)
        if unknown and self.watchers:
            rows = await connection.fetch(query("ids"), unknown, self.owner)
            changed.update(row["id"] for row in rows)
        self._tell(changed)

    async def _catch_up(self, connection: Connection, session: SharedSession) -> None:
        try:
            await catch_up(connection, session)
            session.disk_error = None
        except StorageFailed as error:  # of the disk here
            session.disk_error = error

    async def _look(self, connection: Connection) -> None:
        """Compare all open sessions with the database, and have those catch up that differ."""
        sessions = [
            session
            for session in self.sessions.values()
            if not session.is_busy() and session.replaced is None
        ]
        if not sessions:
            await connection.fetchval("SELECT 1")
            return
        seqs = [session.mirror.seq for session in sessions]
        epochs = [session.epoch for session in sessions]
        rows = await connection.fetch(query("look"), [session.key for session in sessions], seqs)
        found = {row["key"]: row for row in rows}
        changed: set[str] = set()
        for session, seq, epoch in zip(sessions, seqs, epochs, strict=True):
            if session.is_busy() or (seq, epoch) != (session.mirror.seq, session.epoch):
                continue
            row = found[session.key]
            if row["epoch"] is None or row["trashed"]:
                session.remove()
            elif row["epoch"] != epoch:
                session.replace()
            elif row["last"] < seq or (seq and row["digest"] != session.mirror.digest):
                # The server lost lines, and others may have taken their places.
                await begin_another_log(connection, session.key, epoch)
                session.replace()
            else:
                session.set_draft(draft=row["draft"])
                if row["last"] == seq:
                    continue
                await self._catch_up(connection, session)
            changed.add(session.session_id)
        self._tell(changed)

    def _tell(self, refs: Iterable[str]) -> None:
        refs = set(refs)
        if refs:
            for watcher in list(self.watchers):
                watcher(set(refs))

    def _set_error(self, error: StorageFailed) -> None:
        self.error = error

    def _drop_connections(self) -> None:
        for connected in (self._listener, self._writer):
            if connected is not None:
                connected.connection.terminate()
        self._listener = self._writer = None
        self._disconnect()

    def _finish_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        _finish(waiting)


def _finish(waiting: "Iterable[asyncio.Future[None]]") -> None:
    for future in waiting:
        if not future.done():
            future.set_result(None)
