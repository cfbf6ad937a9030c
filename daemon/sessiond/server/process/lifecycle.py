"""The life of the daemon: listens, serves until a reason to end occurs, then shuts down in order.

It depends only on `Served`: it knows clients as sockets, and no sessions.
"""

import asyncio
import contextlib
import logging
import os
import select
import signal
import socket
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from sessiond.config import Config
from sessiond.paths import Locations, UnsafeFolderError, make_private
from sessiond.server.listeners.unix_socket import CannotListen, UnixListener
from sessiond.server.process import endpoint
from sessiond.server.process.lock import DaemonLock
from sessiond.server.process.systemd_notify import SystemdNotifier, silent

if TYPE_CHECKING:
    from sessiond.server.listeners.tcp import TcpListener

ENDED: Final = 0
UNFINISHED: Final = 1
"""The exit status after a flush that failed or took too long. Threads may still be blocked in the system."""
_MAX_IDLE_CHECK_SECONDS: Final = 2.0  # limit in seconds of the interval between two checks for idleness
DISPLACED: Final = 74
"""The exit status of a daemon whose lock or socket was replaced (EX_IOERR)."""

log = logging.getLogger(__name__)


class Served(Protocol):
    """The interface of the server for `live`."""

    epoch: str
    stopping: asyncio.Event

    def attach(self, sock: socket.socket) -> None:
        """Serve an accepted, non-blocking socket whose peer is this user."""

    @property
    def busy(self) -> bool:
        """Whether clients are attached or a write is not on disk yet. A busy daemon does not exit when idle."""

    def attach_authenticated(self, sock: socket.socket, received: bytes) -> None:
        """Serve an authenticated client of the TCP listener. `received`: The bytes that were read from it so far."""

    def listens_at(self, path: str, tcp: str | None) -> None:
        """Record the addresses of the listeners. Called before the first client is accepted."""

    def configure(self, config: Config) -> list[str]:
        """Apply another configuration. Returns the changed tables that take effect only after a restart."""

    async def close(self) -> None:
        """Write everything to disk and disconnect the clients."""


@dataclass
class Intervals:
    """Intervals in seconds. `idle_exit` may change while the daemon runs; None means never."""

    idle_exit: float | None
    check: float = 60.0
    drain: float = 10.0


@dataclass(frozen=True)
class Ending:
    """The reason why the daemon ends, and its exit status."""

    reason: str
    status: int


async def live(
    server: Served,
    locations: Locations,
    lock: DaemonLock,
    intervals: Intervals,
    ready: Callable[[Callable[[], None]], None],
    on_hangup: Callable[[], None],
    *,
    inherited: socket.socket | None = None,
    tcp: str | None = None,
    notifier: SystemdNotifier | None = None,
) -> int:
    """Listen, serve until a reason to end occurs, write everything to disk, and return the exit status.

    The lock stays held.

    Args:
        server: Serves the clients.
        locations: The paths of the daemon.
        lock: The held lock of the daemon.
        intervals: The intervals.
        ready: Called once clients can connect, with a function that requests the end from any thread.
        on_hangup: Called at a SIGHUP, unless it says that the terminal of this process is gone.
        inherited: A socket of the service manager to listen on; None for the socket in `locations`.
        tcp: An address of this machine to listen on as well; None for no TCP listener.
        notifier: Notifies the service manager; None if there is none.

    Raises:
        CannotListen: A listener cannot be opened.

    """
    notifier = notifier or silent()
    loop = asyncio.get_running_loop()
    signals: asyncio.Queue[str] = asyncio.Queue()
    check_now = asyncio.Event()
    terminals = [descriptor for descriptor in (0, 1, 2) if os.isatty(descriptor)]

    def hang_up() -> None:
        if _any_is_gone(terminals):
            terminals.clear()  # another SIGHUP would shorten the end
            signals.put_nowait("the end of the terminal")
            return
        on_hangup()
        check_now.set()

    def stop() -> None:
        with contextlib.suppress(RuntimeError):  # the loop has already ended
            loop.call_soon_threadsafe(signals.put_nowait, "the end of standard input")

    # Before the endpoint names this process: from then on other processes may send it a SIGHUP.
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signals.put_nowait, number.name)
    loop.add_signal_handler(signal.SIGHUP, hang_up)

    tcp_listener = _tcp_listener(tcp, locations, server) if tcp else None
    with contextlib.ExitStack() as undo:
        if tcp_listener is not None:
            undo.callback(tcp_listener.close)
        listener = UnixListener(locations.socket, server.attach, inherited)
        undo.pop_all()
    server.listens_at(listener.path, tcp_listener.address if tcp_listener else None)
    published = endpoint.describe(listener.path, server.epoch, tcp_listener.address if tcp_listener else None)
    _publish(published, locations)
    log.info("sessiond %s listens at %s (process %d)", published.build, published.socket, published.pid)
    ready(stop)
    notifier.ready(f"listens at {published.socket}")
    keep_alive = asyncio.create_task(notifier.send_keep_alives())

    ending = await _first_of(
        _signaled(signals),
        _requested(server),
        _idle(server, listener, intervals),
        _displaced(listener, lock, locations, published, intervals.check, check_now),
    )
    log.info("Ending: %s", ending.reason)
    notifier.stopping(ending.reason)

    # From here on, no client can connect, and no client sends SIGHUP to a process that is about to end.
    listener.close()
    if tcp_listener is not None:
        tcp_listener.close()
    if lock.still_ours:
        endpoint.withdraw(locations.endpoint)
    drained = await _drained(server, intervals.drain, signals)
    keep_alive.cancel()
    if not drained:
        return UNFINISHED
    log.info("Ended; all acknowledged writes are on disk")
    return ending.status


def _any_is_gone(terminals: list[int]) -> bool:
    poll = select.poll()
    for descriptor in terminals:
        poll.register(descriptor, 0)  # a hang-up is always reported
    return bool(poll.poll(0))


def _tcp_listener(address: str, locations: Locations, server: Served) -> "TcpListener":
    # Imported here for a faster start: the listener is rarely configured.
    from sessiond.server.listeners.tcp import TcpListener
    from sessiond.server.listeners.token import token_of

    return TcpListener(address, token_of(locations.tcp_token), server.attach_authenticated)


def _publish(published: endpoint.Endpoint, locations: Locations) -> None:
    """Write the endpoint file. Without it, clients use the default path, and each regular check tries again."""
    try:
        endpoint.publish(locations.endpoint, published)
    except OSError as error:
        log.warning("Cannot write the endpoint file %s: %s", locations.endpoint, error.strerror or error)
        with contextlib.suppress(OSError):
            endpoint.withdraw(locations.endpoint)  # the endpoint of the previous daemon


async def _first_of(*reasons: Coroutine[Any, Any, Ending]) -> Ending:
    """Wait for the first of several reasons to end, and cancel the others."""
    tasks = [asyncio.create_task(reason) for reason in reasons]
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    return done.pop().result()


async def _signaled(signals: asyncio.Queue[str]) -> Ending:
    return Ending(await signals.get(), ENDED)


async def _requested(server: Served) -> Ending:
    await server.stopping.wait()
    return Ending("a client requested it", ENDED)


async def _idle(server: Served, listener: UnixListener, intervals: Intervals) -> Ending:
    quiet_for, accepted = 0.0, 0
    while True:
        after = intervals.idle_exit
        step = _MAX_IDLE_CHECK_SECONDS if after is None else min(after / 10, _MAX_IDLE_CHECK_SECONDS)
        await asyncio.sleep(step)
        if after is None or server.busy or listener.accepted != accepted:
            quiet_for, accepted = 0.0, listener.accepted
            continue
        quiet_for += step
        if quiet_for >= after and listener.close_if_unused():
            return Ending(f"no client for {after:.0f} seconds", ENDED)


async def _displaced(
    listener: UnixListener,
    lock: DaemonLock,
    locations: Locations,
    published: endpoint.Endpoint,
    every: float,
    now: asyncio.Event,
) -> Ending:
    """Check the files that lead to this daemon: restore removed ones, and end if another process owns them."""
    while True:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(every):
                await now.wait()
        now.clear()
        if not lock.still_ours:
            return Ending(
                f"{locations.daemon_lock} was removed or replaced; another daemon may run", DISPLACED
            )
        try:
            match listener.path_state():
                case "foreign":
                    return Ending(f"another file replaced the socket {listener.path}", DISPLACED)
                case "missing":
                    make_private(str(Path(listener.path).parent))
                    listener.bind_again()
                    log.warning("The socket %s was removed; the daemon created it again", listener.path)
                case "ours":
                    pass
            if endpoint.read(locations.endpoint) != published:
                endpoint.publish(locations.endpoint, published)
        except (OSError, CannotListen, UnsafeFolderError) as error:
            log.warning("Cannot restore the socket or the endpoint file: %s", error)


async def _drained(server: Served, within: float, signals: asyncio.Queue[str]) -> bool:
    """Close the server. Returns False if that fails, takes too long, or is interrupted by a second signal."""
    closing = asyncio.create_task(server.close())
    second_signal = asyncio.create_task(signals.get())
    await asyncio.wait({closing, second_signal}, timeout=within, return_when=asyncio.FIRST_COMPLETED)
    second_signal.cancel()
    if not closing.done():
        closing.cancel()
        log.error("The shutdown ended before all data was written to disk")
        return False
    if error := closing.exception():
        log.error("The shutdown ended before all data was written to disk", exc_info=error)
        return False
    return True
