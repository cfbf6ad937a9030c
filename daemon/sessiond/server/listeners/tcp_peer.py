"""The user at the other end of a TCP connection on this machine, as the Linux kernel reports it (sock_diag(7)).

The kernel is asked for one socket by its two addresses, so that the cost does not depend on how many there are.
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
_USER_AT: Final = _HEADER.size + 4 + 48 + 12  # in inet_diag_msg, behind the sockid and three counters
_ANSWER_BYTES: Final = 4096
_PATIENCE: Final = 0.05


def user_of_peer(connection: socket.socket) -> int | None:
    """The user id of the process that made a loopback connection; None if it is not known.

    It is not known on other systems than Linux, in a container with a network of its own, and if the peer has gone.
    """
    family = getattr(socket, "AF_NETLINK", None)
    if family is None:
        return None
    with (
        contextlib.suppress(OSError, struct.error),
        socket.socket(family, socket.SOCK_RAW, _SOCK_DIAG) as kernel,
    ):
        kernel.settimeout(_PATIENCE)
        kernel.send(_request(connection))
        answer = kernel.recv(_ANSWER_BYTES)
        if _HEADER.unpack_from(answer)[1] == _BY_FAMILY:
            user: int = struct.unpack_from("=I", answer, _USER_AT)[0]
            return user
    return None


def _request(connection: socket.socket) -> bytes:
    """The question for the peer's end, whose source is our destination."""
    (there, its_port), (here, our_port) = connection.getpeername()[:2], connection.getsockname()[:2]
    family = connection.family
    ends = _ENDS.pack(its_port, our_port, socket.inet_pton(family, there), socket.inet_pton(family, here))
    question = _QUESTION.pack(family, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF) + ends + _NO_COOKIE
    return _HEADER.pack(_HEADER.size + len(question), _BY_FAMILY, _REQUEST, 1, 0) + question
