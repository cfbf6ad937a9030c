"""A daemon that is reached through a command, such as ssh, which speaks the protocol on its standard streams."""

import asyncio
import contextlib
import os
import socket
import tempfile
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
from sessiond.text import one_line

NOT_FOUND: Final = 127
"""The exit status of a shell that found no such command."""
SSH_FAILED: Final = 255
_END_SECONDS: Final = 5.0
_HANDSHAKE_SECONDS: Final = 120.0  # ssh may ask for a password meanwhile
_MAX_ERROR_BYTES: Final = 4096


class PeerUnavailableError(TemplatedError):
    """Raised when no daemon responds on the other side, with the reason and what to do."""

    sentence = "Cannot reach the sessiond of {name}: {reason}."
    advice = "{then}"

    def __init__(self, name: str, reason: str, then: str = "") -> None:
        super().__init__(name=name, reason=reason, then=then)


class PeerLostError(TemplatedError):
    """Raised when the connection to the other side ends during a sync."""

    sentence = "The connection to {name} was lost{detail}."
    advice = "What was copied is stored on both sides. Run the command again to complete the sync."

    def __init__(self, name: str, detail: str = "") -> None:
        super().__init__(name=name, detail=f": {detail}" if detail else "")


def ssh_command(host: str) -> list[str]:
    """Return the command that reaches the daemon of a user on another machine. Options come from ssh's own config."""
    return ["ssh", "-T", "--", host, "sessiond attach --stdio"]


@contextlib.asynccontextmanager
async def connect_through(command: Sequence[str], name: str) -> AsyncIterator[Daemon]:
    """Run a command and connect to the daemon at its standard streams. Leaving the context ends the command.

    Args:
        command: The command, with its arguments.
        name: The name of the other side in messages.

    Raises:
        PeerUnavailableError: The command cannot be run, or no daemon with sync responds.
        PeerLostError: The connection ended within the context.
    """
    with tempfile.TemporaryFile() as errors:
        process, connection_end = await _started(command, name, errors.fileno())
        dial = _DialOnce(connection_end)
        hello = t.HelloParams(
            client_info=t.ClientProgram(name="sync", version=__version__), position_encodings=["utf-32"]
        )
        daemon = Daemon(dial, dial, hello)
        try:
            await _greet(daemon, process, name, errors.fileno())
            try:
                yield daemon
            except (DisconnectedError, ConnectionClosed):
                if not dial.is_lost:
                    raise
                await _ended(process)
                raise PeerLostError(name, _said(errors.fileno())) from None
        finally:
            await daemon.aclose()
            await _end(process)


async def _started(
    command: Sequence[str], name: str, stderr: int
) -> tuple[asyncio.subprocess.Process, socket.socket]:
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=stderr
            )
        except OSError as error:
            ours.close()
            reason = f"{command[0]} cannot be run: {error.strerror}"
            raise PeerUnavailableError(name, reason) from None
    ours.setblocking(False)
    return process, ours


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


async def _greet(daemon: Daemon, process: asyncio.subprocess.Process, name: str, stderr: int) -> None:
    """Make the handshake, and check that the daemon has the methods of a sync."""
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
        raise await _unavailable(process, name, stderr) from None
    if m.SYNC_PUT.name not in handshake.methods:
        raise PeerUnavailableError(name, "it has no methods for a sync", "Update sessiond there.")


async def _unavailable(process: asyncio.subprocess.Process, name: str, stderr: int) -> PeerUnavailableError:
    status = await _ended(process)
    said = _said(stderr)
    if status == NOT_FOUND:
        return PeerUnavailableError(
            name, "there is no sessiond in its PATH",
            "Install sessiond there, or name it: sessiond sync --via 'ssh HOST /path/to/sessiond attach --stdio'",
        )  # fmt: skip
    if status == SSH_FAILED:
        return PeerUnavailableError(name, f"ssh failed: {said or 'it gave no reason'}")
    if status is None:
        return PeerUnavailableError(name, "what it sends is not the protocol of sessiond")
    return PeerUnavailableError(name, f"the command ended with status {status}{f': {said}' if said else ''}")


async def _ended(process: asyncio.subprocess.Process) -> int | None:
    """Return the exit status of a process that is about to end; None if it does not end."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_END_SECONDS):
            return await process.wait()
    return None


async def _end(process: asyncio.subprocess.Process) -> None:
    """Wait for the end of a process, whose standard input has ended, and end it if it does not."""
    if await _ended(process) is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _said(stderr: int) -> str:
    """Return the last line that a command wrote to standard error, without its period."""
    size = os.fstat(stderr).st_size
    text = os.pread(stderr, _MAX_ERROR_BYTES, max(size - _MAX_ERROR_BYTES, 0)).decode(errors="replace")
    said = [line.strip() for line in text.splitlines() if line.strip()]
    return one_line(said[-1]).rstrip(".") if said else ""
