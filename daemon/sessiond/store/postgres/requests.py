"""Reads and changes outside the append path, on a thread with its own event loop and connections.

The thread serves coroutines of the daemon's event loop as well as calls of other threads that wait for an answer, and
large results are decoded on it.
"""

import asyncio
import threading
import time
import weakref
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias, TypeVar, cast

import asyncpg

from sessiond.store.errors import OutcomeUnknown, StoreUnreachable
from sessiond.store.postgres.connecting import (
    COMMIT_SECONDS,
    DRIVER_ERRORS,
    connect,
    is_broken,
    refusal,
    unreachable,
)
from sessiond.store.postgres.queries import query

_CONNECTIONS: Final = 4
"""The maximum number of connections."""
_AGAIN_SECONDS: Final = 5.0
"""Seconds for which a statement is sent again after its connection was lost."""
_PAUSE_SECONDS: Final = 0.1

T = TypeVar("T")
Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
Work: TypeAlias = Callable[[Connection], Awaitable[T]]


class _Loop(asyncio.SelectorEventLoop):
    """An event loop that can close all its connections in one call.

    The driver ends a connection with TLS gracefully when its login is refused, which takes longer than this loop may
    have left.
    """

    def __init__(self) -> None:
        super().__init__()
        self._created: weakref.WeakSet[asyncio.BaseTransport] = weakref.WeakSet()

    async def create_connection(self, *arguments: Any, **options: Any) -> Any:
        """Create a connection, and remember its transport."""
        transport, protocol = await super().create_connection(*arguments, **options)
        self._created.add(transport)
        return transport, protocol

    def abort_connections(self) -> None:
        """Close the connections that are still there. Their sockets are closed in the next turn."""
        for transport in list(self._created):
            cast(asyncio.Transport, transport).abort()


class DatabaseRequests:
    """The thread and its connections.

    Work is repeated if its connection is lost, so a change must have the same result when it was done already.

    Args:
        url: The URL of the server.
        refuse: Raises `StoreUnreachable` if the server is known to be out of reach.
    """

    def __init__(self, url: str, refuse: Callable[[], None]) -> None:
        self._url = url
        self._refuse = refuse
        self._idle: list[Connection] = []
        self._used: set[Connection] = set()
        self._free = asyncio.Semaphore(_CONNECTIONS)
        self._loop = _Loop()
        self._thread = threading.Thread(target=self._run, name="sessiond-postgres", daemon=True)
        self._thread.start()

    async def read(self, work: Work[T]) -> T:
        """Return the result of work that changes nothing. Raises `StorageFailed`."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._read(work), self._loop))

    async def change(self, work: Work[T]) -> T:
        """Return the result of a transaction. It is completed even if the caller is canceled.

        Raises:
            StorageFailed: The server refused it, or it cannot be reached. Nothing was changed.
            OutcomeUnknown: The server cannot be reached any more, and the transaction may be committed.
        """
        return await asyncio.shield(
            asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._change(work), self._loop))
        )

    def wait_for(self, work: Work[T]) -> T:
        """Return the result of work that changes nothing, on any thread, which waits. Raises `StorageFailed`."""
        return asyncio.run_coroutine_threadsafe(self._read(work), self._loop).result()

    def disconnect(self) -> None:
        """Close all connections. Requests that wait for them are sent again or fail."""
        self._loop.call_soon_threadsafe(self._terminate)

    async def close(self) -> None:
        """Close all connections, and end the thread."""

        async def end() -> None:
            # A graceful end would leave a connection with TLS open until the server's answer, after the loop has ended.
            self._terminate()
            self._loop.abort_connections()
            await asyncio.sleep(0)  # so that transports that are closed can end

        if self._thread.is_alive():
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(end(), self._loop))
            self._loop.call_soon_threadsafe(self._loop.stop)
            await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()

    def _terminate(self) -> None:
        idle, self._idle = self._idle, []
        for connection in (*idle, *self._used):
            connection.terminate()

    async def _read(self, work: Work[T]) -> T:
        return await self._repeat(work, changes=False)

    async def _change(self, work: Work[T]) -> T:
        is_repeated = False

        async def attempt(connection: Connection) -> T:
            nonlocal is_repeated
            confirms, is_repeated = is_repeated, True
            return await _transaction(connection, work, confirms=confirms)

        return await self._repeat(attempt, changes=True)

    async def _repeat(self, work: Work[T], *, changes: bool) -> T:
        was_sent = False
        until = time.monotonic() + _AGAIN_SECONDS
        async with self._free:
            while True:
                try:
                    self._refuse()
                    connection = await self._take()
                    self._used.add(connection)
                    try:
                        was_sent = True
                        return await work(connection)
                    finally:
                        self._used.discard(connection)
                        if not connection.is_closed():
                            self._idle.append(connection)
                except DRIVER_ERRORS as error:
                    if not is_broken(error):
                        raise refusal(error) from None
                    lost = unreachable(error)
                except StoreUnreachable as error:
                    lost = error
                if time.monotonic() > until:
                    raise (OutcomeUnknown(lost.reason) if changes and was_sent else lost) from None
                if not was_sent:
                    raise lost from None
                await asyncio.sleep(_PAUSE_SECONDS)

    async def _take(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
        return await connect(self._url)


async def _transaction(connection: Connection, work: Work[T], *, confirms: bool) -> T:
    """Return the result of work in a transaction.

    Args:
        connection: The connection. It is closed if it cannot be used any more.
        work: The work.
        confirms: Whether the commit also waits for what an earlier attempt may have committed: if the work finds that
            it was done, it changes nothing, and such a commit waits for no replica.
    """
    transaction = connection.transaction()
    await transaction.start()
    try:
        result = await work(connection)
        if confirms:
            await connection.execute(query("flush"))
    except BaseException:
        try:
            await transaction.rollback()
        except DRIVER_ERRORS:
            connection.terminate()
        raise
    try:
        async with asyncio.timeout(COMMIT_SECONDS):
            await transaction.commit()
    except BaseException:
        connection.terminate()
        raise
    return result
