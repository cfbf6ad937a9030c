"""Who is at the other end of a unix socket, as the kernel tells it. Both ends ask before they trust."""

from __future__ import annotations

import select
import socket
import sys


def peer_uid(connected: socket.socket) -> int:
    """Return the effective user id that the other end had when it connected (or listened). Raises OSError."""
    if sys.platform == "linux":
        answer = connected.getsockopt(
            socket.SOL_SOCKET, socket.SO_PEERCRED, 12
        )  # struct ucred: pid, uid, gid
    else:
        answer = connected.getsockopt(0, 1, 76)  # SOL_LOCAL, LOCAL_PEERCRED, struct xucred: version, uid, ...
    return int.from_bytes(answer[4:8], sys.byteorder)


def peer_pid(connected: socket.socket) -> int | None:
    """The process that made the other end; None where the system does not tell. Raises OSError."""
    if sys.platform != "linux":
        return None
    told = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(told[:4], sys.byteorder) or None


def has_left(connected: int) -> bool:
    """Whether the other end of a unix socket, by its descriptor, has closed it, not only its sending half.

    Reading cannot tell the two apart. Only Linux can be asked; elsewhere this is False.
    """
    if sys.platform != "linux":
        return False
    poll = select.poll()
    poll.register(connected, 0)  # a hang-up is told of unasked
    return any(flags & select.POLLHUP for _, flags in poll.poll(0))
