"""The asynchronous way to the daemon: one connection at a time, greeted, made again when it was lost.

Of the methods it knows `initialize`, and `session/open` for what a new connection must have open again; the
others are in `methods/`. What comes in by itself is for `receiver.py`.
"""

import asyncio
import contextlib
import os
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from sessiond.client.backoff import pauses
from sessiond.client.daemon_socket import CannotConnect, VersionMismatch
from sessiond.client.receiver import Answer, NotificationReceivers, OnProgress, Receiver
from sessiond.client.wire import BadReply, Disconnected, RpcError
from sessiond.protocol import methods as m, types as t
from sessiond.rpc.connection import Connection
from sessiond.rpc.errors import ConnectionClosed, RemoteError
from sessiond.rpc.handler import Handler

Dial = Callable[[Handler[Connection]], Awaitable[Connection]]

_GREETINGS = 5
_PATIENCE = 15.0  # seconds that a daemon which is about to end is waited for


class DaemonLink:
    """A connection that is made on demand with `dial`, and again with it when it was lost.

    `look` makes one only to a daemon that runs: for whoever waits for its return without having it started.
    `answers` has an answer for each method that the daemon may ask of this client.
    """

    def __init__(
        self,
        dial: Dial,
        look: Dial,
        client: dict[str, str],
        options: t.InitializeOptions,
        answers: Mapping[str, Answer],
    ) -> None:
        self.handshake: t.Handshake | None = None
        self.ended = False
        self.keeps_open: set[str] = set()
        """Ids of sessions that every new connection opens again, before anything else is asked over it."""
        self._receivers = NotificationReceivers(answers)
        self.listeners = self._receivers.listeners
        self._dial = dial
        self._look = look
        self._client = client
        self._options = options
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()

    async def connect(self) -> Connection:
        """The living connection, or a new one. Raises `CannotConnect`; once closed, `Disconnected`."""
        return await self._living(self._dial)

    async def come_back(self) -> None:
        """Wait until there is a connection again; starts no daemon, since somebody may have stopped it.

        Raises `Disconnected` once closed, and `VersionMismatch` or `RpcError` when the daemon that came back speaks
        no version of the protocol that this client does.
        """
        for pause in pauses():
            try:
                await self._living(self._look)
            except VersionMismatch:
                raise
            except (
                CannotConnect,
                Disconnected,
            ):  # the latter: it took the connection and ended it, as it leaves
                if self.ended:
                    raise Disconnected from None
                await asyncio.sleep(pause)
            else:
                return

    async def ask(self, method: str, params: object, *, timeout: float | None, attempts: int) -> Raw:
        """The result of a request, as bytes; sent again over a new connection if one ends before that.

        A daemon that makes room for another refuses writes: then the next one is asked, which is none of the attempts.
        Raises `RpcError`, `Disconnected` (with `attempts` 1 it is not known whether it was carried out),
        `CannotConnect`, TimeoutError.
        """
        clock = asyncio.get_running_loop().time
        deadline = clock() + _PATIENCE
        while True:
            connection = await self.connect()
            attempts -= 1
            try:
                return await connection.call(method, params, timeout=timeout)
            except RemoteError as error:
                refused = refusal(error)
                if refused.kind != "draining" or not await _ends(connection, deadline - clock()):
                    raise refused from None
                attempts += 1
            except ConnectionClosed as error:
                if not attempts:
                    raise Disconnected from error

    async def ask_living(self, method: str, params: object) -> Raw:
        """As `ask`, but only over the connection that is there. Raises `Disconnected` when there is none.

        So does a daemon that is about to end and answers nothing any more.
        """
        if self._connection is None:
            raise Disconnected
        try:
            return await self._connection.call(method, params)
        except RemoteError as error:
            refused = refusal(error)
            if refused.kind == "draining" and await _ends(self._connection, _PATIENCE):
                raise Disconnected from None
            raise refused from None
        except ConnectionClosed as error:
            raise Disconnected from error

    @contextlib.contextmanager
    def watching(self, on_progress: OnProgress | None) -> Iterator[str | None]:
        """A token for a request of long work: while this lasts, `on_progress` is told how far that is."""
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
        """End the connection for good, and what is being answered over it. The daemon and all sessions go on."""
        self.ended = True
        if self._connection is not None:
            self._connection.close()
            await self._connection.wait_closed()
        answering = self._receivers.answering - {asyncio.current_task()}
        await asyncio.gather(*answering, return_exceptions=True)

    @property
    def alive(self) -> bool:
        """Whether a request would go out without connecting first."""
        return self._connection is not None and not self._connection.closing

    async def _living(self, way: Dial) -> Connection:
        async with self._connecting:
            if self.ended:
                raise Disconnected
            if self._connection is None or self._connection.closing:
                self._connection = await self._greeted(way)
            return self._connection

    async def _greeted(self, way: Dial) -> Connection:
        # A daemon that is leaving may close a new connection without a word; the next one will not.
        for _ in range(_GREETINGS - 1):
            with contextlib.suppress(ConnectionClosed):
                return await self._greet(await way(Receiver(self._receivers)))
        try:
            return await self._greet(await way(Receiver(self._receivers)))
        except ConnectionClosed as error:
            raise Disconnected from error

    async def _greet(self, connection: Connection) -> Connection:
        try:
            await self._introduce(connection)
        except BaseException:  # cancelled, too, by whoever does not wait for a daemon that says nothing
            connection.close()
            raise
        return connection

    async def _introduce(self, connection: Connection) -> None:
        params = {
            "processId": os.getpid(),
            "clientInfo": self._client,
            "capabilities": {},
            "initializationOptions": {"sessiond": self._options},
        }
        try:
            result = await connection.call("initialize", params)
            self.handshake = msgspec.json.decode(result, type=_Initialized).capabilities.experimental.sessiond
        except RemoteError as error:
            raise refusal(error) from None
        except msgspec.DecodeError as error:
            raise BadReply(str(error)) from error
        connection.notify("initialized", {})
        for session_id in tuple(self.keeps_open):
            # One that is gone, or cannot be opened, is refused again to whoever asks for it.
            with contextlib.suppress(RemoteError):
                await connection.call(m.OPEN.name, t.OpenParams(session_id=session_id, bind=False))


class _Experimental(msgspec.Struct):
    sessiond: t.Handshake


class _Capabilities(msgspec.Struct):
    experimental: _Experimental


class _Initialized(msgspec.Struct):
    capabilities: _Capabilities


async def _ends(connection: Connection, within: float) -> bool:
    """Whether the daemon ends the connection in time."""
    try:
        async with asyncio.timeout(within):
            await connection.wait_closed()
    except TimeoutError:
        return False
    return True


def refusal(error: RemoteError) -> RpcError:
    """The error as both kinds of client raise it."""
    data: Any = None
    if error.data is not None:
        with contextlib.suppress(msgspec.DecodeError):
            data = msgspec.json.decode(error.data)
    return RpcError(error.code, error.message, data if isinstance(data, dict) else None)
