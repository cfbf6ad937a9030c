"""The identity of the peer of a Unix socket, from the kernel. Both ends check it before they trust the other.

Every command imports this module, so it uses the C part of `socket` (decision 0031).
"""

from __future__ import annotations

import sys
from _socket import SO_PEERCRED, SOL_SOCKET, socket


def peer_uid(connected: socket) -> int:
    """Return the effective user id that the peer had when it connected or listened. Raises `OSError`."""
    if sys.platform == "linux":
        answer = connected.getsockopt(SOL_SOCKET, SO_PEERCRED, 12)  # struct ucred: pid, uid, gid
    else:
        answer = connected.getsockopt(0, 1, 76)  # SOL_LOCAL, LOCAL_PEERCRED, struct xucred: version, uid, ...
    return int.from_bytes(answer[4:8], sys.byteorder)


def peer_pid(connected: socket) -> int | None:
    """Return the id of the process that created the peer's end. None on systems other than Linux. Raises `OSError`."""
    if sys.platform != "linux":
        return None
    credentials = connected.getsockopt(SOL_SOCKET, SO_PEERCRED, 12)
    return int.from_bytes(credentials[:4], sys.byteorder) or None


def has_left(connected: int) -> bool:
    """Return whether the peer of a Unix socket has closed it, not only its sending half.

    Reading does not distinguish the two. Only Linux reports it; on other systems the result is False.

    Args:
        connected: The file descriptor of the socket.

    """
    if sys.platform != "linux":
        return False
    import select

    poll = select.poll()
    poll.register(connected, 0)  # poll reports POLLHUP even if no event is requested
    return any(flags & select.POLLHUP for _, flags in poll.poll(0))
