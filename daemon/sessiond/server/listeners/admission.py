"""Limits the number of clients: further ones receive an error and are disconnected."""

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
"""When the limit is reached, a client that has sent nothing for this long is replaced by a new one."""
_FOR_CLIENTS: Final = 0.5
"""The share of the file descriptor limit for clients. The rest is for files."""

log = logging.getLogger(__name__)


def max_clients(configured: int) -> int:
    """Return the limit of attached clients: `configured`, or less if the file descriptor limit is too low for that."""
    granted, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if granted == resource.RLIM_INFINITY:
        return configured
    return max(1, min(configured, int(granted * _FOR_CLIENTS)))


def refuse_client(sock: socket.socket, limit: int) -> None:
    """Send a client the error `overloaded`, in the framing of its first byte, and disconnect it."""
    log.warning("Refused a client: %d clients are attached, which is the limit", limit)
    code, message, data = errors.explain(Overloaded(f"{limit} clients are attached, which is the limit"))
    mode: Mode = "contentLength"
    with contextlib.suppress(OSError):
        if sock.recv(1, socket.MSG_PEEK) == b"{":
            mode = "jsonLines"
    with contextlib.suppress(OSError):
        sock.send(encode_frame(encode_error(None, code, message, data), mode))
    sock.close()
