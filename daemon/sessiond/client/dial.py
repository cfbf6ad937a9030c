"""Find the daemon and connect to it: blocking, standard library only, because every command begins here.

What this knows of the daemon is `endpoint.json` and that a socket of ours answers; it speaks no protocol.
A daemon that ends just now may close the connection without a word: whoever gets an end of file before its
first reply connects again. How a daemon is started is in `start.py`, which is loaded only then.
"""

from __future__ import annotations

import json  # noqa: TID251  (msgspec costs a command 25 ms)
import os
import socket
import time

from sessiond.rpc.peer import peer_uid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessiond.paths import Places

PATIENCE = 15.0
"""Seconds that one `connect` may take, a start of the daemon included."""


class CannotConnect(Exception):
    """There is no connection to the daemon."""


class DaemonNotRunning(CannotConnect):
    """sessiond is not running, and was not to be started. Start it with: sessiond serve --detach."""

    def __init__(self) -> None:
        super().__init__(
            "sessiond is not running, and was not to be started. Start it with: sessiond serve --detach"
        )


class DaemonBusy(CannotConnect):
    """The daemon at {path} runs, but took no new connection for {seconds} seconds. Try again."""

    def __init__(self, path: str, seconds: float) -> None:
        super().__init__(
            f"The daemon at {path} runs, but took no new connection for {seconds:.0f} seconds. "
            "Try again; if it stays so, end that process and see its log."
        )


class SocketRefused(CannotConnect):
    """The socket {path} cannot be used: {reason}."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"The socket {path} cannot be used: {reason}.")


class DaemonNotStarted(CannotConnect):
    """sessiond could not be started: {reason}. The end of its log {log} follows."""

    def __init__(self, reason: str, log: str, last_lines: list[str], code: int | None = None) -> None:
        tail = "".join(f"\n  {line}" for line in last_lines)
        super().__init__(f"sessiond could not be started: {reason.rstrip('.')}. Its log is {log}.{tail}")
        self.code = code


def connect(places: Places, *, autostart: bool = True) -> socket.socket:
    """Return a blocking socket to the daemon of `places`, which is started if need be.

    With `autostart` false, or SESSIOND_NO_AUTOSTART in the environment, none is started: `DaemonNotRunning`.
    Everything else that may go wrong is another `CannotConnect`, or `UnsafeFolder`.
    """
    deadline = time.monotonic() + PATIENCE
    found = knock(places, deadline)
    if found is not None:
        return found
    if not autostart or os.environ.get("SESSIOND_NO_AUTOSTART"):
        raise DaemonNotRunning
    from sessiond.client import start

    return start.start(places, deadline)


def knock(places: Places, deadline: float) -> socket.socket | None:
    """Connect to the running daemon, or return None when there is none. Never starts one.

    A full queue means that the daemon is alive but busy: ask again until `deadline` (`time.monotonic`).
    """
    path = str(read_endpoint(places).get("socket") or places.socket)
    pause = 0.005
    while True:
        try:
            return _connected(path)
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
            if path == places.socket:
                return None
            # The endpoint may be that of a daemon which died, while its successor is about to write its own.
            path = places.socket
        except (BlockingIOError, TimeoutError) as error:
            if time.monotonic() + pause > deadline:
                raise DaemonBusy(path, PATIENCE) from error
            time.sleep(pause)
            pause = min(pause * 2, 0.2)
        except OSError as error:
            raise SocketRefused(path, error.strerror or str(error)) from error


def read_endpoint(places: Places) -> dict[str, Any]:
    """Return what the last daemon told of itself (see `server/endpoint.py`); empty when unreadable."""
    try:
        with open(places.endpoint, "rb") as file:
            told = json.loads(file.read(65_536))
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def _connected(path: str) -> socket.socket:
    knocking = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # With a timeout the call does not block: a full queue answers EAGAIN instead of waiting for ever.
        knocking.settimeout(1.0)
        knocking.connect(path)
        if (uid := peer_uid(knocking)) != os.geteuid():
            raise SocketRefused(path, f"a process of user id {uid} listens there, not one of yours")
        knocking.settimeout(None)
    except BaseException:
        knocking.close()
        raise
    return knocking
