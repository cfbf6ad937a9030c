"""Connects to the running daemon, a new one, or one over TCP. Blocking, standard library only.

The modules that start or replace a daemon, and TCP, are imported on use: most commands find a running daemon.
"""

from __future__ import annotations

import os
import time

from sessiond import __version__
from sessiond.client import daemon_socket
from sessiond.client.daemon_socket import (
    ADDRESS,
    DaemonConnectionError,
    DaemonNotRunningError,
    OlderDaemonError,
    VersionMismatchError,
    find_daemon,
    find_socket,
)
from sessiond.protocol import versions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sessiond.client.light_socket import LightSocket
    from sessiond.paths import Locations


def connect(locations: Locations, *, autostart: bool = True) -> LightSocket:
    """Return a blocking socket to the daemon of `locations`, which is started if necessary.

    An older daemon is replaced by one of this version: if it shares no version of the protocol, or if no other client
    is attached to it.

    Args:
        locations: The folders of the daemon.
        autostart: Start or replace the daemon if necessary. SESSIOND_NO_AUTOSTART in the environment prevents that
            as well.

    Raises:
        DaemonNotRunningError: No daemon runs and none may be started.
        VersionMismatchError: The daemon shares no version of the protocol, and is newer or may not be replaced.
        OlderDaemonError: The daemon is an older sessiond, and has other clients or may not be replaced.
        DaemonConnectionError: Any other reason; the classes above are subclasses.
        UnsafeFolderError: A folder of the daemon cannot be created, or others can write to it.
    """
    if address := os.environ.get(ADDRESS):
        return _over_tcp(locations, address)
    deadline = time.monotonic() + daemon_socket.CONNECT_SECONDS
    found = find_daemon(locations, deadline)
    may_start = autostart and not os.environ.get("SESSIOND_NO_AUTOSTART")
    if found is not None:
        theirs = found.protocol_versions()
        is_older = versions.is_older(found.build, __version__)
        if (theirs is None or versions.common(theirs)) and not is_older:
            return found.sock
        found.sock.close()
        if not may_start and is_older:
            raise OlderDaemonError(found.build, found.endpoint.get("pid"), "Restart it: sessiond restart")
        if not may_start:
            raise VersionMismatchError(found.endpoint, theirs or [])
        from sessiond.client import replace

        return replace.replace_if_older(locations)
    if not may_start:
        raise DaemonNotRunningError
    from sessiond.client import start

    return start.start(locations, deadline)


def connect_to_any(locations: Locations) -> LightSocket:
    """Connect to the running daemon of any version. Raises `DaemonNotRunningError`."""
    if address := os.environ.get(ADDRESS):
        return _over_tcp(locations, address)
    found = find_daemon(locations, time.monotonic() + daemon_socket.CONNECT_SECONDS)
    if found is None:
        raise DaemonNotRunningError
    return found.sock


def connect_if_running(locations: Locations) -> LightSocket | None:
    """Connect to the running daemon of any version, without waiting. Returns None if that fails."""
    if not (address := os.environ.get(ADDRESS)):
        return find_socket(locations, time.monotonic())
    try:
        return _over_tcp(locations, address)
    except DaemonConnectionError:
        return None


def _over_tcp(locations: Locations, address: str) -> LightSocket:
    from sessiond.client import tcp

    return tcp.connect(locations, address)
