"""The asynchronous connection to the daemon: one at a time, made on demand and made again after it was lost.

It sends `server/hello`, and `session/open` for sessions that a new connection opens again; `methods/` has the other
methods. `receiver.py` handles notifications and requests of the daemon.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from sessiond.client.backoff import pauses
from sessiond.client.daemon_socket import DaemonConnectionError, DaemonSilentError, VersionMismatchError
from sessiond.client.receiver import NotificationReceivers, OnProgress, Receiver, RequestHandler
from sessiond.client.wire import DisconnectedError, InvalidResponseError, OtherProtocolError, RpcError
from sessiond.protocol import methods as m, types as t
from sessiond.rpc.connection import Connection
from sessiond.rpc.errors import ConnectionClosed, RemoteError
from sessiond.rpc.framing import FramingError
from sessiond.rpc.handler import Handler
from sessiond.rpc.message import BadMessage

Dial = Callable[[Handler[Connection]], Awaitable[Connection]]
R = TypeVar("R")

_HANDSHAKE_ATTEMPTS = 5
_DRAIN_SECONDS = 15.0  # seconds to wait for the end of a daemon that refuses writes


class DaemonLink:
    """A connection that `dial` makes on demand, and again after it was lost.

    `dial_running` connects only to a daemon that runs. It is used to wait for a daemon without starting it.
    `handlers` maps each method that the daemon may request of this client to a function.
    """

    handshake_seconds: float | None = 15.0
    """Seconds that a daemon may take for the handshake, for which it waits for nothing."""

    def __init__(
        self,
        dial: Dial,
        dial_running: Dial,
        hello: t.HelloParams,
        handlers: Mapping[str, RequestHandler],
    ) -> None:
        self.handshake: t.HelloResult | None = None
        self.is_closed = False
        self.reopened_sessions: set[str] = set()
        """Ids of sessions that every new connection opens before its first request."""
        self._receivers = NotificationReceivers(handlers)
        self.observers = self._receivers.observers
        self._dial = dial
        self._dial_running = dial_running
        self._hello = hello
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()

    async def connect(self) -> Connection:
        """Return the current connection, or a new one.

        Raises:
            DaemonConnectionError: There is no daemon, or it cannot be started.
            DisconnectedError: The link is closed.
        """
        return await self._connected(self._dial)

    async def wait_connected(self) -> None:
        """Wait until there is a connection again. Starts no daemon, since the user may have stopped it.

        Raises:
            DisconnectedError: The link is closed.
            VersionMismatchError: The daemon that returned shares no version of the protocol with this client.
            RpcError: The daemon refused the handshake.
        """
        for pause in pauses():
            try:
                await self._connected(self._dial_running)
            except VersionMismatchError:
                raise
            except (
                DaemonConnectionError,
                DisconnectedError,
            ):  # DisconnectedError: an ending daemon accepted the connection and closed it
                if self.is_closed:
                    raise DisconnectedError from None
                await asyncio.sleep(pause)
            else:
                return

    async def request(self, method: str, params: object, *, timeout: float | None, attempts: int) -> Raw:
        """Return the result of a request, as bytes. It is sent again if the connection ends before the response.

        A daemon that is about to end refuses writes. The request then goes to the next daemon, which does not count as
        an attempt.

        Args:
            method: The name of the method.
            params: The params, which msgspec encodes.
            timeout: Seconds until the request is canceled; None waits without a limit.
            attempts: How often the request is sent at most.

        Raises:
            RpcError: The daemon refused the request.
            DisconnectedError: The connection was lost in the last attempt. With one attempt, the outcome is unknown.
            DaemonConnectionError: There is no daemon, or it cannot be started.
            TimeoutError: There was no response in `timeout` seconds.
        """
        clock = asyncio.get_running_loop().time
        deadline = clock() + _DRAIN_SECONDS
        while True:
            connection = await self.connect()
            attempts -= 1
            try:
                return await connection.call(method, params, timeout=timeout)
            except RemoteError as error:
                failure = rpc_error(error)
                if failure.kind != "draining" or not await _closes_within(connection, deadline - clock()):
                    raise failure from None
                attempts += 1
            except ConnectionClosed as error:
                if not attempts:
                    raise _lost(error) from error

    async def request_connected(self, method: str, params: object) -> Raw:
        """Send a request as `request` does, but only over the existing connection.

        Raises `DisconnectedError` when there is none, and when the daemon closes it because it is about to end.
        """
        if self._connection is None:
            raise DisconnectedError
        try:
            return await self._connection.call(method, params)
        except RemoteError as error:
            failure = rpc_error(error)
            if failure.kind == "draining" and await _closes_within(self._connection, _DRAIN_SECONDS):
                raise DisconnectedError from None
            raise failure from None
        except ConnectionClosed as error:
            raise _lost(error) from error

    def decode(self, method: str, result: Raw, into: type[R]) -> R:
        """Decode the result of a method. Raises `InvalidResponseError` for one that is not of the method's type."""
        try:
            return msgspec.json.decode(result, type=into)
        except (msgspec.DecodeError, RecursionError) as error:
            raise InvalidResponseError(f"the result of {method} is wrong: {error}") from None

    @contextlib.contextmanager
    def progress_token(self, on_progress: OnProgress | None) -> Iterator[str | None]:
        """Return a progress token for a long request. During the block, `on_progress` is called with its progress."""
        if on_progress is None:
            yield None
            return
        token = secrets.token_hex(8)
        self._receivers.progress[token] = on_progress
        try:
            yield token
        finally:
            del self._receivers.progress[token]

    async def close(self) -> None:
        """End the connection permanently, and cancel responses in progress. The daemon and all sessions stay."""
        self.is_closed = True
        if self._connection is not None:
            self._connection.close()
            await self._connection.wait_closed()
        tasks = self._receivers.tasks - {asyncio.current_task()}
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection, so that a request is sent without connecting first."""
        return self._connection is not None and not self._connection.closing

    async def _connected(self, dial: Dial) -> Connection:
        async with self._connecting:
            if self.is_closed:
                raise DisconnectedError
            if self._connection is None or self._connection.closing:
                self._connection = await self._connect_with(dial)
            return self._connection

    async def _connect_with(self, dial: Dial) -> Connection:
        # A daemon that is ending may close a new connection without a response; the next daemon does not.
        for _ in range(_HANDSHAKE_ATTEMPTS - 1):
            with contextlib.suppress(ConnectionClosed):
                return await self._checked_handshake(await dial(Receiver(self._receivers)))
        try:
            return await self._checked_handshake(await dial(Receiver(self._receivers)))
        except ConnectionClosed as error:
            raise _lost(error) from error

    async def _checked_handshake(self, connection: Connection) -> Connection:
        try:
            await self._handshake(connection)
        except BaseException:  # also a cancellation by a caller that stops waiting for a silent daemon
            connection.close()
            raise
        return connection

    async def _handshake(self, connection: Connection) -> None:
        try:
            result = await connection.call(m.HELLO.name, self._hello, timeout=self.handshake_seconds)
        except RemoteError as error:
            raise rpc_error(error) from None
        except TimeoutError:
            assert self.handshake_seconds is not None
            raise DaemonSilentError(self.handshake_seconds) from None
        self.handshake = self.decode(m.HELLO.name, result, t.HelloResult)
        for session_id in tuple(self.reopened_sessions):
            # If a session no longer exists or cannot be opened, the daemon refuses the next request about it.
            with contextlib.suppress(RemoteError):
                await connection.call(m.OPEN.name, t.OpenParams(session_id=session_id, bind=False))


def _lost(error: ConnectionClosed) -> DisconnectedError:
    """Return the exception for a connection that has ended: by itself, or because of a message that came over it."""
    if isinstance(error.__cause__, BadMessage | FramingError):
        return OtherProtocolError(str(error.__cause__))
    return DisconnectedError()


async def _closes_within(connection: Connection, seconds: float) -> bool:
    """Return whether the daemon ends the connection within `seconds` seconds."""
    try:
        async with asyncio.timeout(seconds):
            await connection.wait_closed()
    except TimeoutError:
        return False
    return True


def rpc_error(error: RemoteError) -> RpcError:
    """Convert an error response into the `RpcError` that both kinds of client raise."""
    data: Any = None
    if error.data is not None:
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            data = msgspec.json.decode(error.data)
    return RpcError(error.code, error.message, data if isinstance(data, dict) else None)
