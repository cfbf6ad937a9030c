"""The main function of the daemon: takes the lock, builds hub and server, runs, returns the exit status."""

import asyncio
import contextlib
import gc
import logging
import os
import resource
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sessiond import config as configuration, paths
from sessiond.error_text import TemplatedError
from sessiond.server.listeners import activation
from sessiond.server.listeners.unix_socket import CannotListen
from sessiond.server.process import endpoint, lifecycle
from sessiond.server.process.daemon_log import DaemonLogFile, logging_to
from sessiond.server.process.lock import AnotherRuns, DaemonLock, LockRefused
from sessiond.server.process.server_id import server_id_of
from sessiond.server.process.stores import StoreUnusable, open_store
from sessiond.server.process.systemd_notify import SystemdNotifier

ANOTHER_RUNS: Final = 75
_STATUS: Final = {
    LockRefused: 71,
    CannotListen: 73,
    paths.UnsafeFolderError: 73,
    activation.BadActivation: 73,
    configuration.InvalidConfigError: 78,
    configuration.UnsafeConfigError: 78,
}

_DESCRIPTORS: Final = 65_536  # the file descriptor limit that the daemon sets, if the hard limit allows it
_TAKEOVER: Final = 15.0
"""Limit in seconds of the time in which a daemon that was started for a socket waits for the previous one to end."""

if TYPE_CHECKING:
    from sessiond.store.base import Store

log = logging.getLogger(__name__)

Stop = Callable[[], None]
Ready = Callable[[Stop], None]
Build = Callable[[paths.Locations, configuration.Config], Awaitable[lifecycle.Served]]


@dataclass(frozen=True)
class _Manager:
    """The service manager that started this process, if any: its socket, and the notifier for it."""

    inherited: socket.socket | None
    notifier: SystemdNotifier


class CannotServe(TemplatedError):
    """Raised when no daemon can run here. The reason is the whole message."""

    sentence = "{reason}"

    def __init__(self, reason: str, status: int) -> None:
        super().__init__(reason=reason)
        self.status = status
        """The exit status: 71, 73, 75 or 78 of sysexits.h."""


async def build(locations: paths.Locations, config: configuration.Config) -> lifecycle.Served:
    """Build the store, the hub and the server."""
    # Imported here for a faster start: a second daemon fails at the lock before it imports them.
    from sessiond.hub.hub import Hub
    from sessiond.server.server import Server
    from sessiond.store.memory import MemoryStore

    hub = Hub(
        await _store(locations, config),
        MemoryStore(),
        config,
        index_path=locations.index,
        history_path=locations.history,
        secret_rules_folder=locations.secret_rules,
        commands_path=locations.commands,
        imports_path=locations.imports,
        sync_path=locations.sync,
        forgotten_path=locations.forgotten,
    )
    return Server(
        hub,
        home=locations.home or locations.data,
        socket_path=locations.socket,
        config=config,
        locations=locations,
        server_id=server_id_of(locations.server_id),
    )


async def _store(locations: paths.Locations, config: configuration.Config) -> "Store":
    try:
        return await open_store(config.store.url, locations, config.roots.folders)
    except StoreUnusable as error:
        raise CannotServe(str(error), _STATUS[configuration.InvalidConfigError]) from None


def run(ready: Ready, *, first_client: socket.socket | None = None, build: Build = build) -> int:
    """Run the daemon in the foreground until it ends, and return its exit status.

    Args:
        ready: Called once clients can connect, with a function that requests the end from any thread.
        first_client: A connected socket that is attached before all others.
        build: Builds the server.

    Raises:
        CannotServe: No daemon can run here.

    """
    os.umask(0o077)
    locations = paths.find_locations()
    try:
        inherited, notifier = activation.inherited(), SystemdNotifier()
        for folder in (locations.state, locations.runtime):
            paths.require_text(folder)
        for folder in (locations.state, locations.data, locations.runtime):
            paths.make_private(folder)
        lock = DaemonLock(locations.daemon_lock) if inherited is None else _wait_for_lock(locations)
    except AnotherRuns as error:
        raise CannotServe(_describe_lock_holder(locations), ANOTHER_RUNS) from error
    except (LockRefused, paths.UnsafeFolderError, activation.BadActivation) as error:
        raise CannotServe(str(error), _STATUS[type(error)]) from error
    manager = _Manager(inherited, notifier)
    try:
        config = configuration.read(locations.config_file)
        _raise_descriptor_limit()
        with logging_to(locations.log) as logfile, asyncio.Runner() as runner:
            status = runner.run(_live(locations, config, lock, logfile, ready, first_client, build, manager))
            if status == lifecycle.UNFINISHED:
                # A thread may be blocked in the system forever, and a normal exit would wait for it.
                logging.shutdown()
                os._exit(status)
        return status
    except (CannotListen, configuration.InvalidConfigError) as error:
        raise CannotServe(str(error), _STATUS.get(type(error), 73)) from error
    finally:
        lock.release()


async def _live(
    locations: paths.Locations,
    config: configuration.Config,
    lock: DaemonLock,
    logfile: DaemonLogFile | None,
    ready: Ready,
    first_client: socket.socket | None,
    build: Build,
    manager: _Manager,
) -> int:
    server = await build(locations, config)
    # Most objects that exist now are never freed. Appends create many small ones, which reference counting frees.
    gc.freeze()
    # A collection of the second generation visits at most 10,000 objects: 5 ms, in which the event loop is blocked.
    gc.set_threshold(5_000, 1, 1_000)
    # The index and the doctor compute on threads. The loop releases the interpreter lock at each system call and waits
    # this long to get it back, up to fifty times for one request.
    sys.setswitchinterval(0.0002)
    if first_client is not None:
        first_client.setblocking(False)
        server.attach(first_client)
    intervals = lifecycle.Intervals(idle_exit=config.listen.idle_exit)

    def on_hangup() -> None:
        with contextlib.suppress(OSError):  # then the next record opens the file
            if logfile is not None:
                logfile.reopen()
        _reload(locations.config_file, intervals, server)

    return await lifecycle.live(
        server,
        locations,
        lock,
        intervals,
        ready,
        on_hangup,
        inherited=manager.inherited,
        notifier=manager.notifier,
        tcp=config.listen.tcp,
    )


def _reload(config_file: str, intervals: lifecycle.Intervals, server: lifecycle.Served) -> None:
    """Apply a changed configuration. An invalid one changes nothing."""
    try:
        config = configuration.read(config_file)
    except configuration.InvalidConfigError as error:
        log.error("%s The configuration is unchanged.", error)
        return
    intervals.idle_exit = config.listen.idle_exit
    restart_needed = server.configure(config)
    log.info("Configuration reloaded")
    if restart_needed:
        log.warning("Changes of %s take effect after: sessiond restart", ", ".join(restart_needed))


def _wait_for_lock(locations: paths.Locations) -> DaemonLock:
    """Return the lock, and wait for it up to `_TAKEOVER` seconds.

    The service manager replaced the socket of the daemon that holds the lock. That daemon notices this and ends.
    """
    deadline = time.monotonic() + _TAKEOVER
    while True:
        try:
            return DaemonLock(locations.daemon_lock)
        except AnotherRuns:
            if time.monotonic() > deadline:
                raise
            if published := endpoint.read(locations.endpoint):
                endpoint.wake(published)
            time.sleep(0.25)


def _describe_lock_holder(locations: paths.Locations) -> str:
    """Return which process holds the lock, and ask that process to check its socket, in case it was removed."""
    published = endpoint.read(locations.endpoint)
    if published is None:
        return f"Another sessiond holds {locations.daemon_lock}; it is starting or stopping."
    if endpoint.wake(published):
        return f"The daemon is already running as process {published.pid} and listens at {published.socket}."
    return (
        f"Another sessiond holds {locations.daemon_lock}, but process {published.pid} is not running on this machine. "
        "If another machine shares this folder, set SESSIOND_HOME to a local folder."
    )


def _raise_descriptor_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
    if soft == resource.RLIM_INFINITY or soft >= target:
        return
    with contextlib.suppress(ValueError, OSError):  # macOS has a lower limit than it reports
        resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
