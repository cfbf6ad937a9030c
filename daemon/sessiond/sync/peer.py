"""A daemon that is reached through a command, such as ssh, which speaks the protocol on its standard streams."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Sequence
from typing import Final

from sessiond import __version__
from sessiond.client.daemon import Daemon
from sessiond.client.wire import DisconnectedError, InvalidResponseError, RpcError
from sessiond.error_text import TemplatedError
from sessiond.protocol import methods as m, types as t
from sessiond.rpc.connection import Connection
from sessiond.rpc.errors import ConnectionClosed
from sessiond.rpc.handler import Handler
from sessiond.sync.peer_process import PeerProcess, PeerUnavailableError

NOT_FOUND: Final = 127
"""The exit status of a shell that found no such command."""
SSH_FAILED: Final = 255
_HANDSHAKE_SECONDS: Final = 120.0  # ssh may ask for a password meanwhile


class PeerLostError(TemplatedError):
    """Raised when the connection to the other side ends during a sync."""

    sentence = "The connection to {name} was lost{detail}."
    advice = "The copied entries are stored on both sides. Run the command again to complete the sync."

    def __init__(self, name: str, detail: str = "") -> None:
        super().__init__(name=name, detail=f": {detail}" if detail else "")


@contextlib.asynccontextmanager
async def connect_through(command: Sequence[str], name: str) -> AsyncIterator[Daemon]:
    """Run a command and connect to the daemon at its standard streams. Leaving the context ends the command.

    Raises as `PeerProcess` and `connect_to_peer` do.
    """
    async with connect_to_peer(PeerProcess(command, name)) as daemon:
        yield daemon


@contextlib.asynccontextmanager
async def connect_to_peer(process: PeerProcess) -> AsyncIterator[Daemon]:
    """Connect to the daemon at the standard streams of a process. Leaving the context ends the process.

    Raises:
        PeerUnavailableError: No daemon with sync responds.
        PeerLostError: The connection ended within the context.
    """
    dial = _DialOnce(process.connection)
    hello = t.HelloParams(
        client_info=t.ClientProgram(name="sync", version=__version__), position_encodings=["utf-32"]
    )
    daemon = Daemon(dial, dial, hello)
    try:
        await _greet(daemon, process)
        try:
            yield daemon
        except (DisconnectedError, ConnectionClosed):
            if not dial.is_lost:
                raise
            await asyncio.to_thread(process.wait)
            raise PeerLostError(process.name, process.said()) from None
    finally:
        await daemon.aclose()
        await asyncio.to_thread(process.end)


class _DialOnce:
    """Makes a connection of a socket, once: a command that has ended is not run again in the middle of a sync."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock: socket.socket | None = sock
        self._connection: Connection | None = None

    async def __call__(self, handler: Handler[Connection]) -> Connection:
        sock, self._sock = self._sock, None
        if sock is None:
            raise DisconnectedError
        _, self._connection = await asyncio.get_running_loop().create_connection(
            lambda: Connection(handler), sock=sock
        )
        return self._connection

    @property
    def is_lost(self) -> bool:
        return self._connection is not None and self._connection.closing


async def _greet(daemon: Daemon, process: PeerProcess) -> None:
    """Make the handshake, and check that the daemon has the methods of a sync."""
    name = process.name
    try:
        async with asyncio.timeout(_HANDSHAKE_SECONDS):
            handshake = await daemon.connected()
    except RpcError as error:
        raise PeerUnavailableError(
            name, error.message.rstrip("."), "Update the older of the two sessionds."
        ) from None
    except TimeoutError:
        raise PeerUnavailableError(name, f"no response within {_HANDSHAKE_SECONDS:.0f} seconds") from None
    except (DisconnectedError, ConnectionClosed, InvalidResponseError):
        raise await asyncio.to_thread(_unavailable, process) from None
    if m.SYNC_PUT.name not in handshake.methods:
        raise PeerUnavailableError(name, "it has no methods for a sync", "Update sessiond there.")


def _unavailable(process: PeerProcess) -> PeerUnavailableError:
    name, status, said = process.name, process.wait(), process.said()
    if status == NOT_FOUND:
        return PeerUnavailableError(
            name, "there is no sessiond in its PATH",
            "Install sessiond there, or name it: sessiond sync --via 'ssh HOST /path/to/sessiond attach --stdio'",
        )  # fmt: skip
    if status == SSH_FAILED:
        return PeerUnavailableError(name, f"ssh failed: {said or 'it gave no reason'}")
    if status is None:
        return PeerUnavailableError(name, "it does not speak the protocol of sessiond")
    return PeerUnavailableError(name, f"the command ended with status {status}{f': {said}' if said else ''}")
