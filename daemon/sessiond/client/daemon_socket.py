"""Connects to the running daemon: blocking and with the standard library only, because every command starts here.

The daemon is found through `endpoint.json` and a listening socket that belongs to this user; no protocol is spoken. A
daemon that ends may close the connection before it responds. A client that reads end of file before its first response
connects again.
"""

from __future__ import annotations

import json  # noqa: TID251  (msgspec costs a command 25 ms)
import os
import socket
import time

from sessiond.error_text import TemplatedError
from sessiond.protocol import versions
from sessiond.rpc.peer import peer_uid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessiond.paths import Locations

PATIENCE = 15.0
"""Seconds that one `connect` may take, including a start of the daemon."""


ADDRESS = "SESSIOND_CONNECT"
"""Environment variable with the address of a daemon over TCP: `tcp://127.0.0.1:7413`. It is never started."""


class CannotConnect(TemplatedError):
    """The base of the reasons why there is no connection to the daemon."""


class DaemonNotRunning(CannotConnect):
    """Raised when no daemon runs and the caller does not start one."""

    sentence = "sessiond is not running, and this command does not start it."
    advice = "Start it with: sessiond serve --detach"


class DaemonBusy(CannotConnect):
    """Raised when a daemon listens and accepts no connection in time."""

    sentence = "The daemon at {path} has not accepted a new connection for {seconds:.0f} seconds."
    advice = "Try again. If it fails again, end the process and read its log."

    def __init__(self, path: str, seconds: float) -> None:
        super().__init__(path=path, seconds=seconds)


class SocketRefused(CannotConnect):
    """Raised when the system refuses a connection to the socket."""

    sentence = "The socket {path} cannot be used: {reason}."

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path=path, reason=reason)


class DaemonNotStarted(CannotConnect):
    """Raised when a daemon that was started ends or does not listen in time; `code` is its exit status.

    The message ends with the last lines of its log.
    """

    sentence = "sessiond could not be started: {reason}. Its log is {log}.{tail}"

    def __init__(self, reason: str, log: str, last_lines: list[str], code: int | None = None) -> None:
        tail = "".join(f"\n  {line}" for line in last_lines)
        super().__init__(reason=reason.rstrip("."), log=log, tail=tail)
        self.code = code


class VersionMismatch(CannotConnect):
    """Raised when this program and the daemon share no version of the protocol."""

    sentence = (
        "The daemon (sessiond {build}, process {pid}) speaks {theirs} of the protocol, this program "
        "(sessiond {version}) {ours}."
    )
    advice = "{advice}."

    def __init__(self, told: dict[str, Any], theirs: list[int]) -> None:
        from sessiond import __version__

        older = max(theirs, default=0) < versions.OLDEST
        super().__init__(
            build=told.get("build", "unknown version"),
            pid=told.get("pid"),
            theirs=versions.named(theirs),
            version=__version__,
            ours=versions.named(versions.spoken()),
            advice="Restart the daemon: sessiond restart"
            if older
            else "Update this program, or end the newer daemon: sessiond stop",
        )


class Reached:
    """A connection to a daemon, with its path and the content of the endpoint file, which may be out of date."""

    __slots__ = ("path", "sock", "told")

    def __init__(self, sock: socket.socket, path: str, told: dict[str, Any]) -> None:
        self.sock = sock
        self.path = path
        self.told = told

    def spoken(self) -> list[int] | None:
        """Return the versions of the protocol that the endpoint file names; None if it names none."""
        told = self.told.get("protocol")
        if isinstance(told, list) and len(told) == 2 and all(isinstance(it, int) for it in told):
            return list(range(told[0], min(told[1], told[0] + 1000) + 1))
        return None


def knock(places: Locations, deadline: float) -> socket.socket | None:
    """Connect as `reach` does, and return only the socket."""
    found = reach(places, deadline)
    return found.sock if found is not None else None


def reach(places: Locations, deadline: float) -> Reached | None:
    """Connect to the running daemon, or return None when there is none. Never starts one.

    A full queue of connections means that the daemon is busy: this tries again until `deadline`.

    Args:
        places: The folders of the daemon.
        deadline: A time of `time.monotonic`, in seconds.

    Raises:
        DaemonBusy: The daemon accepted no connection until `deadline`.
        SocketRefused: The system refused the connection, or another user's process listens.
    """
    told = read_endpoint(places)
    path = str(told.get("socket") or places.socket)
    pause = 0.005
    while True:
        try:
            return Reached(_connected(path), path, told)
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
            if path == places.socket:
                return None
            # The file may be that of a daemon that crashed, and its successor has not written its own yet.
            path, told = places.socket, {}
        except (BlockingIOError, TimeoutError) as error:
            if time.monotonic() + pause > deadline:
                raise DaemonBusy(path, PATIENCE) from error
            time.sleep(pause)
            pause = min(pause * 2, 0.2)
        except OSError as error:
            raise SocketRefused(path, error.strerror or str(error)) from error


def read_endpoint(places: Locations) -> dict[str, Any]:
    """Return the content of the endpoint file (see `server/process/endpoint.py`); empty when it is unreadable."""
    try:
        with open(places.endpoint, "rb") as file:
            told = json.loads(file.read(65_536))
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def _connected(path: str) -> socket.socket:
    knocking = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # With a timeout, a full queue fails with EAGAIN instead of blocking without limit.
        knocking.settimeout(1.0)
        knocking.connect(path)
        if (uid := peer_uid(knocking)) != os.geteuid():
            raise SocketRefused(path, f"the process that listens on it belongs to user id {uid}")
        knocking.settimeout(None)
    except BaseException:
        knocking.close()
        raise
    return knocking
