"""The asynchronous way to the daemon: one connection at a time, greeted, made anew when it was lost.

Knows `initialize` and how requests and notifications travel, and no other method; those are in `daemon.py`.
"""

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec
from msgspec import UNSET, Raw

from sessiond.client.dial import CannotConnect
from sessiond.client.results import Appended
from sessiond.client.wire import BadReply, Disconnected, RpcError
from sessiond.protocol import errors, types as t
from sessiond.protocol.methods import APPENDED, NOTIFICATIONS
from sessiond.rpc.connection import Connection, ConnectionClosed, Handler, RemoteError
from sessiond.rpc.message import BadMessage, Head

Note = t.Wire | dict[str, Any]
"""A decoded notification; a dict when its name is unknown, as those of a newer daemon may be."""

Dial = Callable[[Handler], Awaitable[Connection]]

_NOTES: dict[str, Any] = {note.name: note.params for note in NOTIFICATIONS.values()} | {
    APPENDED.name: Appended
}

_GREETINGS = 5
_PAUSE = 0.25  # seconds between two looks for a daemon that is away


class Listener(Protocol):
    """Who hears of notifications, and of the end of the connection that they came over."""

    def notified(self, method: str, note: Note) -> None:
        """Take in one notification. Must neither wait nor raise."""

    def disconnected(self) -> None:
        """Take in that nothing more comes until the next connection, and that something may be missed."""


class Link:
    """A connection that is made on demand with `dial`, and again with it when it was lost.

    `look` makes one only to a daemon that runs: for whoever waits for its return without having it started.
    """

    def __init__(self, dial: Dial, look: Dial, client: dict[str, str], options: t.InitializeOptions) -> None:
        self.handshake: t.Handshake | None = None
        self.listeners: set[Listener] = set()
        self.ended = False
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

        Raises `Disconnected` once closed.
        """
        while True:
            try:
                await self._living(self._look)
            except CannotConnect:
                await asyncio.sleep(_PAUSE)
            except Disconnected:
                if self.ended:
                    raise
                await asyncio.sleep(_PAUSE)  # it took the connection and ended it: a daemon that is leaving
            else:
                return

    async def ask(self, method: str, params: object, *, timeout: float | None, attempts: int) -> Raw:
        """The result of a request, as bytes; sent again over a new connection if one ends before that.

        Raises `RpcError`, `Disconnected` (with `attempts` 1 it is not known whether it was carried out),
        `CannotConnect`, TimeoutError.
        """
        while True:
            connection = await self.connect()
            attempts -= 1
            try:
                return await connection.call(method, params, timeout=timeout)
            except RemoteError as error:
                raise refusal(error) from None
            except ConnectionClosed as error:
                if not attempts:
                    raise Disconnected from error

    async def ask_living(self, method: str, params: object) -> Raw:
        """As `ask`, but only over the connection that is there. Raises `Disconnected` when there is none."""
        if self._connection is None:
            raise Disconnected
        try:
            return await self._connection.call(method, params)
        except RemoteError as error:
            raise refusal(error) from None
        except ConnectionClosed as error:
            raise Disconnected from error

    async def close(self) -> None:
        """End the connection for good. The daemon and all sessions go on."""
        self.ended = True
        if self._connection is not None:
            self._connection.close()
            await self._connection.wait_closed()

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
                return await self._greet(await way(_Receiver(self)))
        try:
            return await self._greet(await way(_Receiver(self)))
        except ConnectionClosed as error:
            raise Disconnected from error

    async def _greet(self, connection: Connection) -> Connection:
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
            connection.close()
            raise refusal(error) from None
        except msgspec.DecodeError as error:
            connection.close()
            raise BadReply(str(error)) from error
        connection.notify("initialized", {})
        return connection


class _Receiver(Handler):
    """Takes in what comes over one connection."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def opened(self, connection: Connection) -> None:
        """Nothing to do: whoever dialled greets."""

    def strayed(self, connection: Connection, head: Head, body: bytes) -> None:
        """The answer to a request that was given up."""

    def received(self, connection: Connection, head: Head, body: bytes) -> None:
        method = str(head.method)
        if isinstance(head.id, int | str):
            message = f"This client does not know {method}."
            data = errors.ErrorData(kind="methodNotFound", retryable=False)
            connection.fail(head.id, errors.METHOD_NOT_FOUND, message, data)
            return
        if not self._link.listeners:
            return
        kind: Any = _NOTES.get(method, dict[str, Any])
        try:
            note: Note = msgspec.json.decode(b"{}" if head.params is UNSET else head.params, type=kind)
        except msgspec.DecodeError:
            connection.close()  # whatever it was is lost; those who must not lose anything subscribe again
            return
        for listener in tuple(self._link.listeners):
            listener.notified(method, note)

    def broken(self, connection: Connection, error: BadMessage) -> None:
        connection.close()  # a daemon of ours sends no such thing, so nothing after it can be trusted

    def closed(self, connection: Connection, reason: Exception | None) -> None:
        for listener in tuple(self._link.listeners):
            listener.disconnected()


class _Experimental(msgspec.Struct):
    sessiond: t.Handshake


class _Capabilities(msgspec.Struct):
    experimental: _Experimental


class _Initialized(msgspec.Struct):
    capabilities: _Capabilities


def refusal(error: RemoteError) -> RpcError:
    """The error as both kinds of client raise it."""
    data: Any = None
    if error.data is not None:
        with contextlib.suppress(msgspec.DecodeError):
            data = msgspec.json.decode(error.data)
    return RpcError(error.code, error.message, data if isinstance(data, dict) else None)
