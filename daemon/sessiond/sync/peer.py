"""A daemon that is reached through a command, such as ssh, which speaks the protocol on its standard streams."""

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from typing import Final

from sessiond import __version__
from sessiond.client.daemon import Daemon
from sessiond.client.wire import DisconnectedError, RpcError
from sessiond.protocol import methods as m, types as t
from sessiond.rpc.connection import Connection
from sessiond.rpc.errors import ConnectionClosed
from sessiond.rpc.framing import CutOff, FrameTooLarge, FramingError
from sessiond.rpc.handler import Handler
from sessiond.rpc.message import BadMessage
from sessiond.sync.peer_link import (
    ANSWER_SECONDS,
    CountedConnection,
    PeerDaemon,
    SilentPeerError,
    WrongAnswerError,
)
from sessiond.sync.peer_process import PeerError, PeerProcess, PeerUnavailableError
from sessiond.text import one_line

NOT_FOUND: Final = 127
"""The exit status of a shell that found no such command."""
SSH_FAILED: Final = 255
_TYPING_SECONDS: Final = 120.0
"""Seconds for the handshake while ssh may ask for a password."""
_CLOSING_SECONDS: Final = 5.0


_OTHER_PROTOCOL: Final = "it does not speak the protocol of sessiond"
_SILENT_START: Final = (
    "It must print nothing else on its standard output: see the startup files of the shell there."
)


class PeerWrongError(PeerError):
    """Raised for a message of the other side of a sync that no sessiond sends. `fault` says what is wrong."""

    sentence = "The sessiond of {name} does not follow the protocol: {fault}."
    advice = "The copied entries are stored. Run sessiond doctor there, and compare the versions: sessiond --version."

    def __init__(self, name: str, fault: str) -> None:
        super().__init__(name=name, fault=fault)


class PeerLostError(PeerError):
    """Raised when the connection to the other side ends during a sync."""

    sentence = "The connection to {name} was lost{detail}."
    advice = "The copied entries are stored on both sides. Run the command again to complete the sync."

    def __init__(self, name: str, detail: str = "") -> None:
        super().__init__(name=name, detail=f": {detail}" if detail else "")


@contextlib.asynccontextmanager
async def connect_through(
    command: Sequence[str], name: str, *, seconds: float | None = None
) -> AsyncIterator[Daemon]:
    """Run a command and connect to the daemon at its standard streams. Leaving the context ends the command.

    Raises as `PeerProcess` and `connect_to_peer` do.
    """
    async with connect_to_peer(PeerProcess(command, name), seconds=seconds) as daemon:
        yield daemon


@contextlib.asynccontextmanager
async def connect_to_peer(process: PeerProcess, *, seconds: float | None = None) -> AsyncIterator[Daemon]:
    """Connect to the daemon at the standard streams of a process. Leaving the context ends the process.

    Args:
        process: The process.
        seconds: Seconds without a sign of life after which it is given up. Default: 30, and more for the handshake,
            since a daemon may have to start, and ssh to ask for a password.

    Raises:
        PeerUnavailableError: No daemon with sync responds.
        PeerLostError: The connection ended within the context, or the daemon did not respond.
        PeerWrongError: It does not follow the protocol.
    """
    dial = _DialOnce(process.connection)
    hello = t.HelloParams(
        client_info=t.ClientProgram(name="sync", version=__version__), position_encodings=["utf-32"]
    )
    daemon = PeerDaemon(dial, hello, process.name, seconds or ANSWER_SECONDS)
    try:
        await _greet(
            daemon, process, dial, seconds or (_TYPING_SECONDS if sys.stdin.isatty() else 2 * ANSWER_SECONDS)
        )
        try:
            yield daemon
        except WrongAnswerError as error:
            raise PeerWrongError(process.name, error.reason) from None
        except (DisconnectedError, ConnectionClosed):
            if not dial.is_lost:
                raise
            raise await _lost(process, dial.reason) from None
    finally:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSING_SECONDS):
                await daemon.aclose()
        dial.abort()  # it may never read what was sent to it
        await asyncio.to_thread(process.end)


async def _lost(process: PeerProcess, reason: Exception | None) -> PeerError:
    """Return why a connection ended."""
    match reason:
        case SilentPeerError():
            return PeerLostError(process.name, str(reason))
        case BadMessage() | FramingError() if not isinstance(reason, CutOff):
            return PeerWrongError(process.name, _fault(reason))
    await asyncio.to_thread(process.wait)
    return PeerLostError(process.name, process.said())


def _fault(reason: BadMessage | FramingError) -> str:
    match reason:
        case FrameTooLarge(actual=int(size)):
            return f"it announced a message of {size:,} bytes"
        case FramingError():
            return f"it wrote what is no message. {one_line(reason.detail)}".strip(" .")
    return one_line(str(reason)).rstrip(".")


class _DialOnce:
    """Makes a connection of a socket, once: a command that has ended is not run again in the middle of a sync."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock: socket.socket | None = sock
        self._connection: CountedConnection | None = None

    async def __call__(self, handler: Handler[Connection]) -> Connection:
        sock, self._sock = self._sock, None
        if sock is None:
            raise DisconnectedError
        _, self._connection = await asyncio.get_running_loop().create_connection(
            lambda: CountedConnection(handler), sock=sock
        )
        return self._connection

    @property
    def is_lost(self) -> bool:
        return self._connection is not None and self._connection.closing

    @property
    def reason(self) -> Exception | None:
        """The reason why the connection was closed; None if it is open, or if either end closed it normally."""
        return None if self._connection is None else self._connection.reason

    @property
    def first_line(self) -> str:
        """The first line that came over the connection, or the beginning of it."""
        data = b"" if self._connection is None else self._connection.first_bytes
        return one_line(data.decode(errors="replace").strip().partition("\n")[0])

    def abort(self) -> None:
        """Close the connection. Unsent bytes are lost."""
        if self._connection is not None:
            self._connection.abort()


async def _greet(daemon: Daemon, process: PeerProcess, dial: _DialOnce, seconds: float) -> None:
    """Make the handshake, and check that the daemon has the methods of a sync."""
    name = process.name
    try:
        async with asyncio.timeout(seconds):
            handshake = await daemon.connected()
    except RpcError as error:
        if not error.kind:
            raise PeerUnavailableError(
                name, f"{_OTHER_PROTOCOL}: {one_line(error.message)}".rstrip(".")
            ) from None
        raise PeerUnavailableError(
            name, error.message.rstrip("."), "Update the older of the two sessionds."
        ) from None
    except TimeoutError:
        raise PeerUnavailableError(name, f"no response within {seconds:.3g} seconds") from None
    except WrongAnswerError as error:
        raise PeerUnavailableError(name, f"{_OTHER_PROTOCOL}: {one_line(error.reason)}") from None
    except (DisconnectedError, ConnectionClosed):
        raise await asyncio.to_thread(_unavailable, process, dial) from None
    if m.SYNC_PUT.name not in handshake.methods:
        raise PeerUnavailableError(name, "it has no methods for a sync", "Update sessiond there.")


def _unavailable(process: PeerProcess, dial: _DialOnce) -> PeerUnavailableError:
    name, status, said = process.name, process.wait(), process.said()
    if status == NOT_FOUND:
        return PeerUnavailableError(
            name, "there is no sessiond in its PATH",
            "Install sessiond there, or name it: sessiond sync --via 'ssh HOST /path/to/sessiond attach --stdio'",
        )  # fmt: skip
    if status == SSH_FAILED:
        return PeerUnavailableError(name, f"ssh failed: {said or 'it gave no reason'}")
    if status is None or isinstance(dial.reason, FramingError | BadMessage):
        if dial.first_line and not dial.first_line.startswith("Content-Length"):
            return PeerUnavailableError(
                name, f"{_OTHER_PROTOCOL}, but wrote {dial.first_line!r}", _SILENT_START
            )
        fault = f": {_fault(dial.reason)}" if isinstance(dial.reason, FramingError | BadMessage) else ""
        return PeerUnavailableError(name, f"{_OTHER_PROTOCOL}{fault}")
    return PeerUnavailableError(name, f"the command ended with status {status}{f': {said}' if said else ''}")
