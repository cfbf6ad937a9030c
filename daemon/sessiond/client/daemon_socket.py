"""Connects to the running daemon, blocking. Every command starts here, so it imports little.

The daemon is found through `endpoint.json` and a listening socket that belongs to this user; no protocol is spoken. A
daemon that ends may close the connection before it responds. A client that reads end of file before its first response
connects again.
"""

from __future__ import annotations

import os
import time
from _socket import AF_UNIX, SOCK_STREAM

from sessiond.client.light_json import decode
from sessiond.client.light_socket import LightSocket
from sessiond.error_text import TemplatedError
from sessiond.protocol import versions
from sessiond.rpc.peer import peer_uid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessiond.paths import Locations

CONNECT_SECONDS = 15.0
"""Seconds that one `connect` may take, including a start of the daemon."""


ADDRESS = "SESSIOND_CONNECT"
"""Environment variable with the address of a daemon over TCP: `tcp://127.0.0.1:7413`. It is never started."""


class DaemonConnectionError(TemplatedError):
    """The base of the reasons why there is no connection to the daemon."""


class DaemonNotRunningError(DaemonConnectionError):
    """Raised when no daemon runs and the caller does not start one."""

    sentence = "sessiond is not running, and this command does not start it."
    advice = "Start it with: sessiond serve --detach"


class DaemonBusyError(DaemonConnectionError):
    """Raised when a daemon listens and accepts no connection in time."""

    sentence = "The daemon at {path} has not accepted a new connection for {seconds:.0f} seconds."
    advice = "Try again. If it fails again, end the process and read its log."

    def __init__(self, path: str, seconds: float) -> None:
        super().__init__(path=path, seconds=seconds)


class DaemonSilentError(DaemonConnectionError):
    """Raised when the program that listens does not answer the handshake."""

    sentence = "The program that listens as the daemon has not answered for {seconds:.0f} seconds."
    advice = "Look for it with: sessiond doctor"

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds=seconds)


class SocketRefusedError(DaemonConnectionError):
    """Raised when the system refuses a connection to the socket."""

    sentence = "The socket {path} cannot be used: {reason}."

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path=path, reason=reason)


class DaemonStartError(DaemonConnectionError):
    """Raised when a daemon that was started ends or does not listen in time; `code` is its exit status.

    The message ends with the last lines of its log.
    """

    sentence = "sessiond could not be started: {reason}. Its log is {log}.{tail}"

    def __init__(self, reason: str, log: str, last_lines: list[str], code: int | None = None) -> None:
        tail = "".join(f"\n  {line}" for line in last_lines)
        super().__init__(reason=reason.rstrip("."), log=log, tail=tail)
        self.code = code


class VersionMismatchError(DaemonConnectionError):
    """Raised when this program and the daemon share no version of the protocol."""

    sentence = (
        "The daemon (sessiond {build}, process {pid}) speaks {theirs} of the protocol, this program "
        "(sessiond {version}) {ours}."
    )
    advice = "{advice}."

    def __init__(self, endpoint: dict[str, Any], theirs: list[int]) -> None:
        from sessiond import __version__

        older = max(theirs, default=0) < versions.OLDEST
        super().__init__(
            build=endpoint.get("build", "unknown version"),
            pid=endpoint.get("pid"),
            theirs=versions.named(theirs),
            version=__version__,
            ours=versions.named(versions.spoken()),
            advice="Restart the daemon: sessiond restart"
            if older
            else "Update this program, or end the newer daemon: sessiond stop",
        )


class OlderDaemonError(VersionMismatchError):
    """Raised when the daemon is an older sessiond than this program and is not replaced by a newer one."""

    sentence = "The daemon (sessiond {build}, process {pid}) is older than this program (sessiond {version})."

    def __init__(self, build: str, pid: int | None, advice: str) -> None:
        from sessiond import __version__

        DaemonConnectionError.__init__(self, build=build, pid=pid, version=__version__, advice=advice)


class FoundDaemon:
    """A connection to a daemon, with its path and the content of the endpoint file, which may be out of date."""

    __slots__ = ("endpoint", "path", "sock")

    def __init__(self, sock: LightSocket, path: str, endpoint: dict[str, Any]) -> None:
        self.sock = sock
        self.path = path
        self.endpoint = endpoint

    @property
    def build(self) -> str:
        """The version of sessiond that the endpoint file names; empty if it names none."""
        return str(self.endpoint.get("build", ""))

    def protocol_versions(self) -> list[int] | None:
        """Return the versions of the protocol that the endpoint file names; None if it names none."""
        bounds = self.endpoint.get("protocol")
        if isinstance(bounds, list) and len(bounds) == 2 and all(isinstance(bound, int) for bound in bounds):
            return list(range(bounds[0], min(bounds[1], bounds[0] + 1000) + 1))
        return None


def find_socket(locations: Locations, deadline: float) -> LightSocket | None:
    """Connect as `find_daemon` does, and return only the socket."""
    found = find_daemon(locations, deadline)
    return found.sock if found is not None else None


def find_daemon(locations: Locations, deadline: float) -> FoundDaemon | None:
    """Connect to the running daemon, or return None when there is none. Never starts one.

    A full queue of connections means that the daemon is busy: this tries again until `deadline`.

    Args:
        locations: The folders of the daemon.
        deadline: A time of `time.monotonic`, in seconds.

    Raises:
        DaemonBusyError: The daemon accepted no connection until `deadline`.
        SocketRefusedError: The system refused the connection, or another user's process listens.
    """
    endpoint = read_endpoint(locations)
    path = published_socket(endpoint) or locations.socket
    pause = 0.005
    while True:
        try:
            return FoundDaemon(_connect(path), path, endpoint)
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
            if path == locations.socket:
                return None
            # The file may be that of a daemon that crashed, and its successor has not written its own yet.
            path, endpoint = locations.socket, {}
        except (BlockingIOError, TimeoutError) as error:
            if time.monotonic() + pause > deadline:
                raise DaemonBusyError(path, CONNECT_SECONDS) from error
            time.sleep(pause)
            pause = min(pause * 2, 0.2)
        except OSError as error:
            raise SocketRefusedError(path, error.strerror or str(error)) from error


def read_endpoint(locations: Locations) -> dict[str, Any]:
    """Return the content of the endpoint file (see `server/process/endpoint.py`); empty when it is unreadable."""
    try:
        with open(locations.endpoint, "rb") as file:
            endpoint = decode(file.read(65_536).decode())
    except (OSError, ValueError):
        return {}
    return endpoint if isinstance(endpoint, dict) else {}


def published_socket(endpoint: dict[str, Any]) -> str | None:
    """Return the socket that the endpoint file names; None if it names none, or none by an absolute path."""
    path = endpoint.get("socket")
    return path if isinstance(path, str) and path.startswith("/") else None


def _connect(path: str) -> LightSocket:
    sock = LightSocket(AF_UNIX, SOCK_STREAM)
    try:
        # With a timeout, a full queue fails with EAGAIN instead of blocking without limit.
        sock.settimeout(1.0)
        sock.connect(path)
        if (uid := peer_uid(sock)) != os.geteuid():
            raise SocketRefusedError(path, f"the process that listens on it belongs to user id {uid}")
        sock.settimeout(None)
    except BaseException:
        sock.close()
        raise
    return sock
