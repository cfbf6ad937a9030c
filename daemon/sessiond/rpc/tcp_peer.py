"""The user at the other end of a TCP connection on this machine, from the Linux kernel (sock_diag(7)).

The request names one socket by its two addresses, so that the cost does not depend on the number of sockets.
"""

import contextlib
import socket
import struct
from typing import Final

_SOCK_DIAG: Final = 4  # NETLINK_SOCK_DIAG
_BY_FAMILY: Final = 20  # SOCK_DIAG_BY_FAMILY
_REQUEST: Final = 1  # NLM_F_REQUEST
_HEADER: Final = struct.Struct("=IHHII")  # nlmsghdr: length, type, flags, sequence number, port
_QUESTION: Final = struct.Struct("=BBBBI")  # inet_diag_req_v2: family, protocol, extensions, padding, states
_ENDS: Final = struct.Struct("!HH16s16s")  # inet_diag_sockid: source and destination port, then addresses
_NO_COOKIE: Final = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)  # any interface, any socket of these ends
_USER_AT: Final = _HEADER.size + 4 + 48 + 12  # in inet_diag_msg, after the sockid and three counters
_USER_AND_INODE: Final = struct.Struct("=II")
_ANSWER_BYTES: Final = 4096
_TIMEOUT_SECONDS: Final = 0.05  # seconds to wait for the kernel


def user_of_peer(connection: socket.socket) -> int | None:
    """Return the user id of the process at the other end of a loopback connection, or None if it is unknown.

    It is unknown on other systems than Linux, in a container with its own network, and if the peer has disconnected.
    """
    family = getattr(socket, "AF_NETLINK", None)
    if family is None:
        return None
    with (
        contextlib.suppress(OSError, struct.error),
        socket.socket(family, socket.SOCK_RAW, _SOCK_DIAG) as kernel,
    ):
        kernel.settimeout(_TIMEOUT_SECONDS)
        kernel.send(_request(connection))
        answer = kernel.recv(_ANSWER_BYTES)
        if _HEADER.unpack_from(answer)[1] == _BY_FAMILY:
            user, inode = _USER_AND_INODE.unpack_from(answer, _USER_AT)
            return (
                user if inode else None
            )  # without an inode no process holds the socket, and the system reports the user as 0
    return None


def _request(connection: socket.socket) -> bytes:
    """Return the request for the socket of the peer: its source address is the destination of `connection`."""
    (there, its_port), (here, our_port) = connection.getpeername()[:2], connection.getsockname()[:2]
    family = connection.family
    ends = _ENDS.pack(its_port, our_port, socket.inet_pton(family, there), socket.inet_pton(family, here))
    question = _QUESTION.pack(family, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF) + ends + _NO_COOKIE
    return _HEADER.pack(_HEADER.size + len(question), _BY_FAMILY, _REQUEST, 1, 0) + question
