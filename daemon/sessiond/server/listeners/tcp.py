"""The TCP listener for clients that cannot use the Unix socket: loopback only, with a token.

Any user of the machine can connect, and so can a page in a browser. Before the token is verified, only one small first
message is decoded. A connection that begins like HTTP or TLS is closed without a response.
"""

import asyncio
import contextlib
import errno
import ipaddress
import logging
import socket
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from sessiond.error_text import TemplatedError
from sessiond.protocol import errors, methods as m
from sessiond.protocol.error_details import TooLargeDetails
from sessiond.rpc.framing import Framer, FrameTooLarge, FramingError, Mode, encode_frame
from sessiond.rpc.message import RequestId, encode_error
from sessiond.rpc.tcp_peer import user_of_peer
from sessiond.server.listeners.token import token_matches
from sessiond.server.listeners.unix_socket import CannotListen

MAX_UNAUTHENTICATED: Final = 64
"""Limit of unauthenticated connections. Beyond it, the user with the most of them loses the oldest one."""
AUTHENTICATION_SECONDS: Final = 5.0
"""Limit of the time in which a client sends the token."""
_ACCEPTS_AT_ONCE: Final = 16
"""Connections accepted in one turn of the event loop."""
_BACKLOG: Final = 1024  # connections in the queue of the socket
_FIRST_MESSAGE: Final = 64 * 1024  # bytes
_FIRST_HEADER: Final = 1024  # bytes
_PAUSE_SECONDS: Final = 0.2  # seconds without accepting after an error
_CLOSE_SECONDS: Final = 1.0  # seconds for the client to close after an error
_FOREIGN_PREFIXES: Final = (
    b"GET ", b"POST", b"PUT ", b"HEAD", b"DELE", b"OPTI", b"PATC", b"TRAC", b"CONN", b"PRI ", b"\x16\x03",
)  # fmt: skip

log = logging.getLogger(__name__)


class _Params(msgspec.Struct):
    token: str | None = None


class _First(msgspec.Struct):
    """The first message, as far as it authenticates the client."""

    id: RequestId
    method: str
    params: _Params = msgspec.field(default_factory=_Params)


_decode = msgspec.json.Decoder(_First).decode


class TcpListener:
    """Listens on a loopback address and passes authenticated connections on.

    Args:
        address: The address, such as `127.0.0.1:7413`. Port 0 selects a free port.
        token: The token that clients must send.
        on_client: Called with an authenticated socket and the bytes that were read from it.
        user_of: Returns the user at the other end of a connection, so that one user cannot displace others.

    Raises:
        CannotListen: The address cannot be listened on.

    """

    def __init__(
        self,
        address: str,
        token: str,
        on_client: Callable[[socket.socket, bytes], None],
        *,
        user_of: Callable[[socket.socket], int | None] = user_of_peer,
    ) -> None:
        self._token = token
        self._on_client = on_client
        self._user_of = user_of
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[asyncio.Task[None], int | None] = {}
        """The unauthenticated connections, the oldest first, with their users."""
        self._pause: asyncio.TimerHandle | None = None
        self._listening = _bound(address)
        host, port = self._listening.getsockname()[:2]
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._loop.add_reader(self._listening, self._accept)

    def close(self) -> None:
        """Stop accepting, and close unauthenticated connections."""
        self._loop.remove_reader(self._listening)
        if self._pause is not None:
            self._pause.cancel()
        self._listening.close()
        for task in list(self._waiting):
            task.cancel()

    def _accept(self) -> None:
        for _ in range(_ACCEPTS_AT_ONCE):
            try:
                client, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                log.warning("Cannot accept TCP clients for the moment: %s", error)
                self._loop.remove_reader(self._listening)
                self._pause = self._loop.call_later(
                    _PAUSE_SECONDS, self._loop.add_reader, self._listening, self._accept
                )
                return
            self._await_first_message(client)

    def _await_first_message(self, client: socket.socket) -> None:
        """Wait for the first message of a connection. If there are too many unauthenticated ones, close one."""
        client.setblocking(False)
        user = self._user_of(client)
        if len(self._waiting) >= MAX_UNAUTHENTICATED:
            self._evict()
        task = self._loop.create_task(self._authenticate(client))
        self._waiting[task] = user
        task.add_done_callback(partial(self._finished, client))

    def _finished(self, client: socket.socket, task: asyncio.Task[None]) -> None:
        self._waiting.pop(task, None)
        if task.cancelled():  # the task may not have begun
            client.close()

    def _evict(self) -> None:
        """Close the oldest connection of the user with the most of them; of several such users, the oldest of all."""
        counts = Counter(self._waiting.values())
        highest = max(counts.values())
        oldest = next(task for task, user in self._waiting.items() if counts[user] == highest)
        del self._waiting[oldest]
        oldest.cancel()

    async def _authenticate(self, client: socket.socket) -> None:
        """Read the first message, then pass the connection on, refuse it with an error, or close it."""
        try:
            async with asyncio.timeout(AUTHENTICATION_SECONDS):
                received, body, mode = await self._first_message(client)
                refusal = self._refusal(body)
            if refusal is not None:
                log.warning("Refused a TCP client: it did not send the token")
                await self._refuse(client, refusal, mode)
        except FrameTooLarge as error:
            await self._refuse(client, *_too_large(error))
            client.close()
        except (OSError, TimeoutError, FramingError, _ForeignProtocol):
            client.close()
        else:
            if refusal is None:
                self._on_client(client, received)
            else:
                client.close()

    async def _refuse(self, client: socket.socket, refusal: bytes, mode: Mode) -> None:
        """Send an error, then wait up to `_CLOSE_SECONDS` seconds for the client to close.

        Closing while received bytes are unread would discard the error.
        """
        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._loop.sock_sendall(client, encode_frame(refusal, mode))
                client.shutdown(socket.SHUT_WR)
                while await self._loop.sock_recv(client, _FIRST_MESSAGE):
                    pass

    async def _first_message(self, client: socket.socket) -> tuple[bytes, bytes, Mode]:
        framer, received = Framer(_FIRST_MESSAGE, _FIRST_HEADER), b""
        while True:
            piece = await self._loop.sock_recv(client, 4096)
            if not piece:
                raise _ForeignProtocol
            received += piece
            if received.startswith(_FOREIGN_PREFIXES):
                raise _ForeignProtocol
            bodies = framer.feed(piece)
            if bodies:
                assert framer.mode is not None
                return received, bodies[0], framer.mode

    def _refusal(self, body: bytes) -> bytes | None:
        """Return the error for a first message that does not authenticate, or None if it does."""
        try:
            first = _decode(body)
        except (msgspec.DecodeError, RecursionError):
            return _refused(None)
        candidate = first.params.token if first.method == m.AUTHENTICATE.name else None
        return None if candidate is not None and token_matches(self._token, candidate) else _refused(first.id)


class Unauthenticated(TemplatedError):
    """The error for any other first message of a client."""

    sentence = "Over TCP, the first message must be `server/authenticate` with the correct `token`."
    advice = "The token is in the file tcp-token, in the folder of the daemon's log."


class _ForeignProtocol(Exception):
    """Raised when the peer speaks another protocol, or has disconnected."""


def _refused(id: RequestId | None) -> bytes:
    return encode_error(
        id, errors.UNAUTHENTICATED.code, str(Unauthenticated()), errors.UNAUTHENTICATED.data(None)
    )


def _too_large(error: FrameTooLarge) -> tuple[bytes, Mode]:
    """Return the error for a first message that is too large, and its framing."""
    details = TooLargeDetails(limit_bytes=error.limit, actual_bytes=error.actual)
    mode: Mode = "jsonLines" if error.actual is None else "contentLength"
    return encode_error(None, errors.TOO_LARGE.code, str(error), errors.TOO_LARGE.data(details)), mode


def _bound(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    there = ipaddress.ip_address(host.strip("[]"))
    if not there.is_loopback:  # the configuration is checked, too; this is the last check
        raise CannotListen(address, "the daemon listens only on 127.0.0.1 and ::1")
    listening = socket.socket(socket.AF_INET6 if there.version == 6 else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setblocking(False)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((str(there), int(port)))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        taken = error.errno == errno.EADDRINUSE
        reason = (
            "another program listens there; choose another port under [listen]" if taken else error.strerror
        )
        raise CannotListen(address, reason or str(error)) from error
    return listening
