"""Starts the daemon exactly once, even if many clients start it at the same moment.

The order: take `start.lock`, look for a daemon again, start one, wait until it is ready, release the lock. The
daemon's own lock guarantees that only one runs; `start.lock` avoids starting processes that would lose.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import subprocess
import sys
import time

from sessiond.client.backoff import pauses
from sessiond.client.daemon_socket import (
    CONNECT_SECONDS,
    DaemonStartError,
    FoundDaemon,
    find_daemon,
    find_socket,
)
from sessiond.paths import Locations, make_private, require_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sessiond.client.light_socket import LightSocket

ANOTHER_RUNS = 75
"""The exit code of a daemon when another process holds `daemon.lock` (EX_TEMPFAIL)."""

COMMAND = (sys.executable, "-E", "-P", "-m", "sessiond")
"""The command that starts the daemon: the sessiond of this client, independent of the caller's folder."""

_PASSED_VARIABLES = (
    "HOME",
    "PATH",
    "LANG",
    "LANGUAGE",
    "TMPDIR",
    "TZ",
    "USER",
    "LOGNAME",
    "SHELL",
    "KF_RULE_CACHE_DIR",
)
_PASSED_PREFIXES = ("LC_", "PG", "XDG_", "SESSIOND_")  # PG: TLS and password file of a database
_LAST_LINES = 20
_START_SECONDS = 2.0  # seconds that another attempt needs; with less time, the last reason is raised


def start(locations: Locations, deadline: float) -> LightSocket:
    """Start the daemon, or wait for a concurrent start, and return a blocking socket to it.

    Args:
        locations: The folders of the daemon.
        deadline: A time of `time.monotonic`, in seconds.

    Raises:
        DaemonStartError: With the reason that the daemon reported.
        UnsafeFolderError: A folder of the daemon cannot be created, or others can write to it.
    """
    for folder in (locations.state, locations.runtime):
        require_text(folder)
    make_private(locations.state)
    try:
        return _start_once(locations, deadline)
    except OSError as error:
        reason = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        raise DaemonStartError(reason, locations.log, []) from error


@contextlib.contextmanager
def hold_start_lock(locations: Locations, deadline: float) -> Iterator[None]:
    """Hold `start.lock`, so that no other client starts a daemon during the block. Waits for it until `deadline`.

    Raises:
        DaemonStartError: Others held the lock until `deadline`.
    """
    lock = os.open(locations.start_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        waits = pauses(0.005, 0.1)
        while not _try_lock(lock):
            if time.monotonic() > deadline:
                raise DaemonStartError(
                    "another process has been starting one all the time", locations.log, []
                )
            time.sleep(next(waits))
        yield
    finally:
        os.close(lock)


def start_successor(locations: Locations, deadline: float) -> FoundDaemon:
    """Start a daemon after one that ends. The caller holds `start.lock`. Raises `DaemonStartError`."""
    waits = pauses(0.02, 0.5)
    while True:
        # A daemon that the service manager or a user has started is used as well.
        if found := find_daemon(locations, deadline):
            return found
        if _service_listens(locations):
            continue
        reason = _spawn(locations, deadline)
        if reason and time.monotonic() + _START_SECONDS > deadline:
            raise DaemonStartError(reason, locations.log, [])
        if reason:
            time.sleep(next(waits))


def _start_once(locations: Locations, deadline: float) -> LightSocket:
    pause, reason = 0.005, ""
    while True:
        found = find_socket(locations, deadline)
        if found is not None:
            return found
        lock = os.open(locations.start_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            if _try_lock(lock):
                found = find_socket(locations, deadline)
                if found is not None:
                    return found
                if _service_listens(locations):
                    continue
                reason = _spawn(locations, deadline)
                if not reason:
                    continue
        finally:
            os.close(lock)
        if time.monotonic() + (_START_SECONDS if reason else pause) > deadline:
            raise DaemonStartError(
                reason or "the process that was starting it did not finish", locations.log, []
            )
        time.sleep(pause)
        # Looking again is cheap; starting a process that finds another daemon is not.
        pause = min(pause * 2, 0.5 if reason else 0.1)


def _service_listens(locations: Locations) -> bool:
    """Return whether sessiond is an installed service whose manager listens on the socket now."""
    from sessiond.client import service

    if not service.open_socket(locations) or (found := find_daemon(locations, time.monotonic())) is None:
        return False
    found.sock.close()
    return True


def _try_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _spawn(locations: Locations, deadline: float) -> str:
    """Start a daemon and wait for its report. Returns "" when it is ready, else the reason why it is not."""
    log = _open_log(locations.log)
    read_end, write_end = os.pipe()
    try:
        log_size = os.fstat(log).st_size
        try:
            # The daemon inherits none of the caller's descriptors (`| cat` would wait for the daemon's end), nor its
            # folder, its environment, or code from that folder or from PYTHONPATH.
            process = subprocess.Popen(
                [*COMMAND, "serve", "--ready-fd", str(write_end)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(write_end,),
                start_new_session=True,
                cwd="/",
                env=_environment(locations),
                umask=0o077,
            )
        finally:
            os.close(write_end)
        line = _ready_line(read_end, deadline)
        # The child has forked the daemon and exits, so this wait is short.
        process.wait()
    finally:
        os.close(read_end)
        os.close(log)
    if line == "READY":
        return ""
    if line.startswith("FAIL "):
        _, code, reason = line.split(" ", 2)
        if int(code) == ANOTHER_RUNS:
            return reason
        raise DaemonStartError(reason, locations.log, _log_since(locations.log, log_size), int(code))
    reason = line or "it ended without a message"
    raise DaemonStartError(reason, locations.log, _log_since(locations.log, log_size))


def _environment(locations: Locations) -> dict[str, str]:
    passed_on = {
        name: value
        for name, value in os.environ.items()
        if name in _PASSED_VARIABLES or name.startswith(_PASSED_PREFIXES)
    }
    if locations.home is not None:
        passed_on["SESSIOND_HOME"] = (
            locations.home
        )  # absolute, since the daemon's folder differs from the caller's
    return passed_on


def _ready_line(read_end: int, deadline: float) -> str:
    """Read the one line of the ready pipe; empty when the daemon ended without a line."""
    ready = select.poll()
    ready.register(read_end, select.POLLIN)
    line = b""
    while not line.endswith(b"\n"):
        if not ready.poll(max(0.0, deadline - time.monotonic()) * 1000):
            return f"it was not ready within {CONNECT_SECONDS:.0f} seconds"
        piece = os.read(read_end, 4096)
        if not piece:
            break
        line += piece
    return line.decode(errors="replace").strip()


def _open_log(path: str) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)  # the daemon works without a log


def _log_since(path: str, size: int) -> list[str]:
    try:
        with open(path, "rb") as log:
            log.seek(size)
            return log.read(65_536).decode(errors="replace").splitlines()[-_LAST_LINES:]
    except OSError:
        return []
