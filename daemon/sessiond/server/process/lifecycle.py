"""One life of the daemon: from the open socket to the last flush. What ends it, and in which order it ends.

It is written against `Served`, so it knows clients only as sockets and sessions not at all.
"""

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from sessiond.config import Config
from sessiond.paths import Locations, UnsafeFolder, make_private
from sessiond.server.listeners.unix_socket import CannotListen, UnixListener
from sessiond.server.process import endpoint
from sessiond.server.process.lock import DaemonLock
from sessiond.server.process.systemd_notify import SystemdNotifier, silent

if TYPE_CHECKING:
    from sessiond.server.listeners.tcp import TcpListener

ENDED: Final = 0
UNFINISHED: Final = 1
"""The exit status after a flush that failed or took too long; threads may still hang in the system."""
_OFTEN: Final = 2.0  # seconds at most between two looks whether anybody needs the daemon
DISPLACED: Final = 74
"""The exit status of a daemon that lost its lock or its socket to somebody else (EX_IOERR)."""

log = logging.getLogger(__name__)


class Served(Protocol):
    """What a life needs of the server."""

    epoch: str
    stopping: asyncio.Event

    def attach(self, sock: socket.socket) -> None:
        """Serve an accepted, non-blocking socket whose other end is this user."""

    @property
    def busy(self) -> bool:
        """Whether clients are attached or something is not on disk yet: no time to go."""

    def let_in(self, sock: socket.socket, said: bytes) -> None:
        """Serve a client who came over TCP and has shown the token, in what was `said` so far."""

    def listens_at(self, path: str, tcp: str | None) -> None:
        """It can be reached there; told before the first client comes."""

    def configure(self, chosen: Config) -> list[str]:
        """Follow another configuration. Returns the tables that changed and that only a new daemon follows."""

    async def close(self) -> None:
        """Put everything on disk and cut the clients off."""


@dataclass
class Pace:
    """Times in seconds. `idle_exit` None: never; it may change while the daemon lives."""

    idle_exit: float | None
    look: float = 60.0
    drain: float = 10.0


@dataclass(frozen=True)
class Ending:
    """Why a life ends, and with which exit status."""

    reason: str
    status: int


async def live(
    server: Served,
    where: Locations,
    lock: DaemonLock,
    pace: Pace,
    ready: Callable[[Callable[[], None]], None],
    hung_up: Callable[[], None],
    *,
    inherited: socket.socket | None = None,
    tcp: str | None = None,
    tell: SystemdNotifier | None = None,
) -> int:
    """Listen, serve until something ends it, put everything on disk, and return the exit status.

    `ready` is called once clients can connect, with a function that asks for the end from any thread; `hung_up` at a
    SIGHUP. `inherited` is a socket of the service manager, which `tell` keeps informed; `tcp` an address of this
    machine to listen at, too. Raises `CannotListen`. The lock stays held.
    """
    tell = tell or silent()
    loop = asyncio.get_running_loop()
    signals: asyncio.Queue[str] = asyncio.Queue()
    look_now = asyncio.Event()

    def hang_up() -> None:
        hung_up()
        look_now.set()

    def stop() -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended by itself
            loop.call_soon_threadsafe(signals.put_nowait, "the end of standard input")

    # Before the endpoint names this process: from then on somebody may send it a SIGHUP.
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signals.put_nowait, number.name)
    loop.add_signal_handler(signal.SIGHUP, hang_up)

    tcp_listener = _tcp_listener(tcp, where, server) if tcp else None
    with contextlib.ExitStack() as undo:
        if tcp_listener is not None:
            undo.callback(tcp_listener.close)
        listener = UnixListener(where.socket, server.attach, inherited)
        undo.pop_all()
    server.listens_at(listener.path, tcp_listener.address if tcp_listener else None)
    told = endpoint.describe(listener.path, server.epoch, tcp_listener.address if tcp_listener else None)
    try:
        endpoint.publish(where.endpoint, told)
    except OSError as error:
        # Clients look at the usual place when nothing is told; it is tried again with every look.
        log.warning(
            "It cannot be told where this daemon listens: %s: %s", where.endpoint, error.strerror or error
        )
        with contextlib.suppress(OSError):
            endpoint.withdraw(where.endpoint)  # that of the daemon before
    log.info("sessiond %s listens at %s (process %d)", told.build, told.socket, told.pid)
    ready(stop)
    tell.ready(f"listens at {told.socket}")
    beating = asyncio.create_task(tell.beat())

    ends = [
        asyncio.create_task(end)
        for end in (
            _signaled(signals),
            _asked(server),
            _idle(server, listener, pace),
            _displaced(listener, lock, where, told, pace.look, look_now),
        )
    ]
    done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    for end in ends:
        end.cancel()
    ending = done.pop().result()
    log.info("Ending: %s", ending.reason)
    tell.stopping(ending.reason)

    # No newcomer finds the way from here on, and nobody is sent to rouse a process that is about to be gone.
    listener.close()
    if tcp_listener is not None:
        tcp_listener.close()
    if lock.still_ours:
        endpoint.withdraw(where.endpoint)
    drained = await _drained(server, pace.drain, signals)
    beating.cancel()
    if not drained:
        return UNFINISHED
    log.info("Ended; everything acknowledged is on disk")
    return ending.status


def _tcp_listener(address: str, where: Locations, server: Served) -> "TcpListener":
    # Imported here, since hardly anybody has such a listener, and every start would pay for it.
    from sessiond.server.listeners.tcp import TcpListener
    from sessiond.server.listeners.token import token_of

    return TcpListener(address, token_of(where.tcp_token), server.let_in)


async def _signaled(signals: asyncio.Queue[str]) -> Ending:
    return Ending(await signals.get(), ENDED)


async def _asked(server: Served) -> Ending:
    await server.stopping.wait()
    return Ending("a client asked for it", ENDED)


async def _idle(server: Served, listener: UnixListener, pace: Pace) -> Ending:
    quiet_for, accepted = 0.0, 0
    while True:
        after = pace.idle_exit
        step = _OFTEN if after is None else min(after / 10, _OFTEN)
        await asyncio.sleep(step)
        if after is None or server.busy or listener.accepted != accepted:
            quiet_for, accepted = 0.0, listener.accepted
            continue
        quiet_for += step
        if quiet_for >= after and listener.leave_unless_wanted():
            return Ending(f"no client for {after:.0f} seconds", ENDED)


async def _displaced(
    listener: UnixListener,
    lock: DaemonLock,
    where: Locations,
    told: endpoint.Endpoint,
    every: float,
    now: asyncio.Event,
) -> Ending:
    """Look after the files that lead to this daemon: fix what was removed, give way to what is another's."""
    while True:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(every):
                await now.wait()
        now.clear()
        if not lock.still_ours:
            return Ending(f"{where.daemon_lock} was removed or replaced; another daemon may run", DISPLACED)
        try:
            match listener.look():
                case "foreign":
                    return Ending(f"something else is at {listener.path} now", DISPLACED)
                case "missing":
                    make_private(str(Path(listener.path).parent))
                    listener.bind_again()
                    log.warning("The socket %s had been removed and is back", listener.path)
                case "ours":
                    pass
            if endpoint.read(where.endpoint) != told:
                endpoint.publish(where.endpoint, told)
        except (OSError, CannotListen, UnsafeFolder) as error:
            log.warning("The way to this daemon is broken and could not be fixed: %s", error)


async def _drained(server: Served, within: float, signals: asyncio.Queue[str]) -> bool:
    """Close the server; False when that failed, took too long, or a second signal said not to wait."""
    closing = asyncio.create_task(server.close())
    hurried = asyncio.create_task(signals.get())
    await asyncio.wait({closing, hurried}, timeout=within, return_when=asyncio.FIRST_COMPLETED)
    hurried.cancel()
    if not closing.done():
        closing.cancel()
        log.error("Not everything could be put on disk before the end")
        return False
    if error := closing.exception():
        log.error("Not everything could be put on disk before the end", exc_info=error)
        return False
    return True
