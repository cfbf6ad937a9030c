"""Who may come in: as many clients as there is room for. Whoever else comes is told so, and goes."""

import contextlib
import logging
import resource
import socket
from typing import Final

from sessiond.hub.errors import Overloaded
from sessiond.rpc.framing import Mode, encode_frame
from sessiond.rpc.message import encode_error
from sessiond.server import errors

SILENT_SECONDS: Final = 10.0
"""How long a client may say nothing at all before its place goes to another, when all are taken."""
_FOR_CLIENTS: Final = 0.5
"""Of the descriptors that the system grants, what clients may have; the rest is for files."""

log = logging.getLogger(__name__)


def most_clients(chosen: int) -> int:
    """How many clients may be attached: as many as were chosen, if there are descriptors for them."""
    granted, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if granted == resource.RLIM_INFINITY:
        return chosen
    return max(1, min(chosen, int(granted * _FOR_CLIENTS)))


def turn_away(sock: socket.socket, most: int) -> None:
    """Tell somebody that there is no room, in the framing in which it has begun to speak, and hang up."""
    log.warning("A client was turned away: %d are attached, and no more may be", most)
    code, message, data = errors.explain(Overloaded(f"{most} clients are attached, and no more may be"))
    mode: Mode = "content-length"
    with contextlib.suppress(OSError):
        if sock.recv(1, socket.MSG_PEEK) == b"{":
            mode = "json-lines"
    with contextlib.suppress(OSError):
        sock.send(encode_frame(encode_error(None, code, message, data), mode))
    sock.close()
