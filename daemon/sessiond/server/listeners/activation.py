"""Takes over the socket that a service manager opened: from systemd's environment, or by a launchd call.

Such a socket belongs to the service manager. Its path is never unlinked, not even at the end: clients that connect
while no daemon runs wait in its queue for the next one. asyncio's server is not used; from Python 3.13 on it would
unlink the path.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
from typing import TYPE_CHECKING, Final

from sessiond.error_text import TemplatedError

if TYPE_CHECKING:
    from collections.abc import MutableMapping

NAME: Final = "sessiond"
"""The name of the socket in the units that `sessiond install-service` writes."""
_FIRST: Final = 3  # the first descriptor that systemd passes

log = logging.getLogger(__name__)


class BadActivation(TemplatedError):
    """Raised when a service manager started the daemon for a socket, and passed no usable one."""

    sentence = "The service manager passed no usable socket: {reason}."
    advice = "To rewrite the service files, run: sessiond install-service."

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


def inherited(environ: MutableMapping[str, str] = os.environ) -> socket.socket | None:
    """Return the socket that a service manager passed to this process, or None if none started it.

    systemd's variables are removed from `environ`, so that child processes do not inherit them. Raises
    `BadActivation`.
    """
    if environ.get("LISTEN_PID") == str(os.getpid()):
        return _from_systemd(environ)
    if sys.platform == "darwin" and environ.get("SESSIOND_LAUNCHD"):
        return _from_launchd(NAME)
    return None


def _from_systemd(environ: MutableMapping[str, str]) -> socket.socket:
    count = environ.pop("LISTEN_FDS", "")
    names = environ.pop("LISTEN_FDNAMES", "").split(":")
    environ.pop("LISTEN_PID", None)
    if not count.isdecimal() or not 0 < int(count) < 64:
        raise BadActivation(f"LISTEN_FDS is {count!r:.20}")
    descriptors = list(range(_FIRST, _FIRST + int(count)))
    for descriptor in descriptors:
        try:
            os.set_inheritable(descriptor, False)  # systemd passes them inheritable
        except OSError as error:
            raise BadActivation(f"descriptor {descriptor} is not open") from error
    named = [descriptor for descriptor, name in zip(descriptors, names, strict=False) if name == NAME]
    chosen = named[0] if named else descriptors[0]
    for other in descriptors:
        if other != chosen:
            os.close(other)
    return _checked(chosen)


def _from_launchd(name: str) -> socket.socket:
    """Return the socket called `name` in the `Sockets` of the launchd job (launch_activate_socket(3))."""
    import ctypes  # takes memory, and other systems do not need it

    system = ctypes.CDLL(None, use_errno=True)
    descriptors, count = ctypes.POINTER(ctypes.c_int)(), ctypes.c_size_t()
    refused = system.launch_activate_socket(
        name.encode(), ctypes.byref(descriptors), ctypes.byref(count)
    )  # an errno: ENOENT if there is no such socket, ESRCH outside launchd
    if refused or not count.value:
        raise BadActivation(
            f"launchd has no socket named {name} ({os.strerror(refused) if refused else 'an empty list'})"
        )
    chosen = descriptors[0]
    for number in range(1, count.value):
        os.close(descriptors[number])
    system.free(descriptors)
    os.set_inheritable(chosen, False)
    return _checked(chosen)


def _checked(descriptor: int) -> socket.socket:
    try:
        given = socket.socket(fileno=descriptor)
    except OSError as error:
        raise BadActivation(f"descriptor {descriptor} is not a socket") from error
    try:
        if given.family != socket.AF_UNIX or given.type != socket.SOCK_STREAM:
            raise BadActivation(f"descriptor {descriptor} is not a unix stream socket")
        if sys.platform == "linux" and not given.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            raise BadActivation(f"the socket {given.getsockname()} does not listen")
        if not isinstance(given.getsockname(), str) or not given.getsockname().startswith("/"):
            raise BadActivation("the socket has no path")
    except BaseException:
        given.close()
        raise
    given.setblocking(False)
    return given
