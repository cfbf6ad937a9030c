"""Connect to the daemon: the running one, a new one, or one over TCP. Blocking, standard library only.

What starts or replaces a daemon, and TCP, are imported when they are needed: most commands find a daemon that runs.
"""

from __future__ import annotations

import os
import time

from sessiond.client import daemon_socket
from sessiond.client.daemon_socket import (
    ADDRESS,
    CannotConnect,
    DaemonNotRunning,
    VersionMismatch,
    knock,
    reach,
)
from sessiond.protocol import versions

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

    from sessiond.paths import Locations


def connect(places: Locations, *, autostart: bool = True) -> socket.socket:
    """Return a blocking socket to the daemon of `places`, which is started if need be.

    A daemon that speaks only older versions of the protocol than we do makes room for one of ours. With `autostart`
    false, or SESSIOND_NO_AUTOSTART in the environment, none is started: `DaemonNotRunning`, `VersionMismatch`.
    Everything else that may go wrong is another `CannotConnect`, or `UnsafeFolder`.
    """
    if address := os.environ.get(ADDRESS):
        return _over_tcp(places, address)
    deadline = time.monotonic() + daemon_socket.PATIENCE
    found = reach(places, deadline)
    may_start = autostart and not os.environ.get("SESSIOND_NO_AUTOSTART")
    if found is not None:
        theirs = found.spoken()
        if theirs is None or versions.common(theirs):
            return found.sock
        found.sock.close()
        if not may_start:
            raise VersionMismatch(found.told, theirs)
        from sessiond.client import replace

        return replace.replaced_if_older(places)
    if not may_start:
        raise DaemonNotRunning
    from sessiond.client import start

    return start.start(places, deadline)


def connect_to_any(places: Locations) -> socket.socket:
    """A connection to the daemon that runs, whatever version it is of. Raises `DaemonNotRunning`."""
    if address := os.environ.get(ADDRESS):
        return _over_tcp(places, address)
    found = reach(places, time.monotonic() + daemon_socket.PATIENCE)
    if found is None:
        raise DaemonNotRunning
    return found.sock


def look(places: Locations) -> socket.socket | None:
    """A connection to the daemon, of whatever version, if one can be had this very moment."""
    if not (address := os.environ.get(ADDRESS)):
        return knock(places, time.monotonic())
    try:
        return _over_tcp(places, address)
    except CannotConnect:
        return None


def _over_tcp(places: Locations, address: str) -> socket.socket:
    from sessiond.client import tcp

    return tcp.connect(places, address)
