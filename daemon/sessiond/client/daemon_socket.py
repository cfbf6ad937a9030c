"""Reach the running daemon: blocking, standard library only, because every command begins here.

The daemon is found by `endpoint.json` and by a socket of this user that answers; no protocol is spoken. A daemon that
ends may close the connection before it responds: a client that reads an end of file before its first response connects
again.
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
"""Seconds that one `connect` may take, a start of the daemon included."""


ADDRESS = "SESSIOND_CONNECT"
"""Where a daemon is that is not to be found, or started, in the usual way: `tcp://127.0.0.1:7413`."""


class CannotConnect(TemplatedError):
    """The base of the reasons why there is no connection to the daemon."""


class DaemonNotRunning(CannotConnect):
    """Raised when no daemon answers and the caller does not want one to be started."""

    sentence = "sessiond is not running, and was not to be started."
    advice = "Start it with: sessiond serve --detach"


class DaemonBusy(CannotConnect):
    """Raised when a daemon listens and accepts no connection in time."""

    sentence = "The daemon at {path} runs, but took no new connection for {seconds:.0f} seconds."
    advice = "Try again; if it stays so, end that process and see its log."

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
            build=told.get("build", "of an unknown version"),
            pid=told.get("pid"),
            theirs=versions.named(theirs),
            version=__version__,
            ours=versions.named(versions.spoken()),
            advice="Restart the daemon: sessiond restart"
            if older
            else "Update this program; or, to go back to its version, end that daemon: sessiond stop",
        )


class Reached:
    """A connection to a daemon: by which path, and what the endpoint there says of it, which may be out of date."""

    __slots__ = ("path", "sock", "told")

    def __init__(self, sock: socket.socket, path: str, told: dict[str, Any]) -> None:
        self.sock = sock
        self.path = path
        self.told = told

    def spoken(self) -> list[int] | None:
        """The versions of the protocol that it speaks, as far as its endpoint says."""
        told = self.told.get("protocol")
        if isinstance(told, list) and len(told) == 2 and all(isinstance(it, int) for it in told):
            return list(range(told[0], min(told[1], told[0] + 1000) + 1))
        return None


def knock(places: Locations, deadline: float) -> socket.socket | None:
    """As `reach`, where only the connection matters."""
    found = reach(places, deadline)
    return found.sock if found is not None else None


def reach(places: Locations, deadline: float) -> Reached | None:
    """Connect to the running daemon, or return None when there is none. Never starts one.

    A full queue means that the daemon is alive but busy: ask again until `deadline` (`time.monotonic`).
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
            # The endpoint may be that of a daemon which died, while its successor is about to write its own.
            path, told = places.socket, {}
        except (BlockingIOError, TimeoutError) as error:
            if time.monotonic() + pause > deadline:
                raise DaemonBusy(path, PATIENCE) from error
            time.sleep(pause)
            pause = min(pause * 2, 0.2)
        except OSError as error:
            raise SocketRefused(path, error.strerror or str(error)) from error


def read_endpoint(places: Locations) -> dict[str, Any]:
    """Return what the last daemon told of itself (see `server/process/endpoint.py`); empty when unreadable."""
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
