"""Start the daemon once, whoever asks: fifty clients at the same moment must make one daemon.

The order makes it safe: take `start.lock`, look again, start, wait for the word, let go. The daemon's own
lock decides in the end; this one keeps a crowd from starting fifty processes of which forty-nine lose.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import socket
import subprocess
import sys
import time

from sessiond.client.backoff import pauses
from sessiond.client.daemon_socket import PATIENCE, DaemonNotStarted, Reached, knock, reach
from sessiond.paths import Locations, make_private, require_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

ANOTHER_RUNS = 75
"""What a daemon says, and exits with, when another holds `daemon.lock` (EX_TEMPFAIL)."""

COMMAND = (sys.executable, "-E", "-P", "-m", "sessiond")
"""How the daemon is started: the sessiond that this client belongs to, whatever the caller's folder is."""

_PASSED_ON = (
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
_PASSED_ON_BY_PREFIX = ("LC_", "XDG_", "SESSIOND_")
_LAST_LINES = 20
_A_START = 2.0  # seconds that must be left to try once more; with less, the reason known so far is told


def start(places: Locations, deadline: float) -> socket.socket:
    """Start the daemon, or wait for whoever starts it, and return a blocking socket to it.

    `deadline` is a time of `time.monotonic`. Raises `DaemonNotStarted` with the reason that the daemon gave,
    and `UnsafeFolder`.
    """
    for folder in (places.state, places.runtime):
        require_text(folder)
    make_private(places.state)
    try:
        return _started(places, deadline)
    except OSError as error:
        reason = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        raise DaemonNotStarted(reason, places.log, []) from error


@contextlib.contextmanager
def only_starter(places: Locations, deadline: float) -> Iterator[None]:
    """Hold `start.lock`, waiting for it until `deadline`: nobody else starts a daemon meanwhile.

    Raises `DaemonNotStarted`.
    """
    lock = os.open(places.start_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        waits = pauses(0.005, 0.1)
        while not _taken(lock):
            if time.monotonic() > deadline:
                raise DaemonNotStarted("somebody else has been starting one all the time", places.log, [])
            time.sleep(next(waits))
        yield
    finally:
        os.close(lock)


def spawned(places: Locations, deadline: float) -> Reached:
    """Start the daemon after one that is about to go. Needs `start.lock`. Raises `DaemonNotStarted`."""
    waits = pauses(0.02, 0.5)
    while True:
        # One that the system starts by itself, or somebody in a terminal, is as good as ours.
        if found := reach(places, deadline):
            return found
        if _service_comes(places):
            continue
        reason = _spawn(places, deadline)
        if reason and time.monotonic() + _A_START > deadline:
            raise DaemonNotStarted(reason, places.log, [])
        if reason:
            time.sleep(next(waits))


def _started(places: Locations, deadline: float) -> socket.socket:
    pause, reason = 0.005, ""
    while True:
        found = knock(places, deadline)
        if found is not None:
            return found
        lock = os.open(places.start_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            if _taken(lock):
                found = knock(places, deadline)
                if found is not None:
                    return found
                if _service_comes(places):
                    continue
                reason = _spawn(places, deadline)
                if not reason:
                    continue
        finally:
            os.close(lock)
        if time.monotonic() + (_A_START if reason else pause) > deadline:
            raise DaemonNotStarted(reason or "whoever was starting it did not get ready", places.log, [])
        time.sleep(pause)
        # To look again costs little, but to start again and find another daemon in the way costs a process.
        pause = min(pause * 2, 0.5 if reason else 0.1)


def _service_comes(places: Locations) -> bool:
    """Whether sessiond is a service here, and its manager listens for it now."""
    from sessiond.client import service

    if not service.open_socket(places) or (found := reach(places, time.monotonic())) is None:
        return False
    found.sock.close()
    return True


def _taken(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _spawn(places: Locations, deadline: float) -> str:
    """Start a daemon and wait for its word; empty when it is ready, else who is in its way."""
    log = _open_log(places.log)
    told, telling = os.pipe()
    try:
        log_size = os.fstat(log).st_size
        try:
            # Nothing of the caller's leaks in: neither its descriptors (`| cat` would wait for the daemon's
            # end), nor its folder, nor its environment, nor code from that folder or from PYTHONPATH.
            process = subprocess.Popen(
                [*COMMAND, "serve", "--ready-fd", str(telling)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(telling,),
                start_new_session=True,
                cwd="/",
                env=_environment(places),
                umask=0o077,
            )
        finally:
            os.close(telling)
        word = _word(told, deadline)
        # The child has made the daemon a process of its own and is gone, so there is nobody to wait for long.
        process.wait()
    finally:
        os.close(told)
        os.close(log)
    if word == "READY":
        return ""
    if word.startswith("FAIL "):
        _, code, reason = word.split(" ", 2)
        if int(code) == ANOTHER_RUNS:
            return reason
        raise DaemonNotStarted(reason, places.log, _log_since(places.log, log_size), int(code))
    reason = word or "it ended without a word"
    raise DaemonNotStarted(reason, places.log, _log_since(places.log, log_size))


def _environment(places: Locations) -> dict[str, str]:
    passed_on = {
        name: value
        for name, value in os.environ.items()
        if name in _PASSED_ON or name.startswith(_PASSED_ON_BY_PREFIX)
    }
    if places.home is not None:
        passed_on["SESSIOND_HOME"] = places.home  # absolute, since the daemon's folder is not the caller's
    return passed_on


def _word(told: int, deadline: float) -> str:
    """Read the one line of the ready pipe; empty when the daemon ended without it."""
    ready = select.poll()
    ready.register(told, select.POLLIN)
    line = b""
    while not line.endswith(b"\n"):
        if not ready.poll(max(0.0, deadline - time.monotonic()) * 1000):
            return f"it was not ready within {PATIENCE:.0f} seconds"
        piece = os.read(told, 4096)
        if not piece:
            break
        line += piece
    return line.decode(errors="replace").strip()


def _open_log(path: str) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)  # sessions are served without a log, too


def _log_since(path: str, size: int) -> list[str]:
    try:
        with open(path, "rb") as log:
            log.seek(size)
            return log.read(65_536).decode(errors="replace").splitlines()[-_LAST_LINES:]
    except OSError:
        return []
