"""Connects to a daemon over TCP, such as through a tunnel into another machine or a container; never starts one.

The token is the only secret, so it is sent to loopback addresses only; a tunnel ends at one.
"""

from __future__ import annotations

import ipaddress
import os
from socket import create_connection
from time import monotonic

from sessiond.client.daemon_socket import ADDRESS, DaemonConnectionError
from sessiond.client.light_socket import LightSocket
from sessiond.client.wire import DisconnectedError, InvalidResponseError, RpcError, frame, members, refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sessiond.paths import Locations

TOKEN_FILE = "SESSIOND_TOKEN_FILE"
"""Environment variable with the file of that daemon's token. Default: the token file of the local daemon."""

_TIMEOUT_SECONDS = 15.0


class TcpConnectionError(DaemonConnectionError):
    """Raised when there is no connection to a daemon over TCP."""

    sentence = "The daemon at {address} cannot be reached: {reason}."

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(address=address, reason=reason)


def connect(locations: Locations, address: str) -> LightSocket:
    """Return a blocking, authenticated socket to the daemon at `tcp://127.0.0.1:PORT`. Raises `TcpConnectionError`."""
    host, port = _parse_address(address)
    path = os.environ.get(TOKEN_FILE) or locations.tcp_token
    try:
        with open(path, encoding="ascii") as file:
            token = file.read(1_000).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TcpConnectionError(
            address, f"cannot read its token from {path} ({reason}); set {TOKEN_FILE} to the token file"
        ) from error
    try:
        connection = create_connection((host, port), timeout=_TIMEOUT_SECONDS)
    except OSError as error:
        raise TcpConnectionError(address, error.strerror or str(error) or type(error).__name__) from error
    sock = LightSocket(fileno=connection.detach())
    try:
        sock.sendall(
            frame({"jsonrpc": "2.0", "id": 0, "method": "server/authenticate", "params": {"token": token}})
        )
        _read_response(sock, monotonic() + _TIMEOUT_SECONDS)
        sock.settimeout(None)
    except (OSError, DisconnectedError, InvalidResponseError) as error:
        sock.close()
        raise TcpConnectionError(address, str(error).rstrip(".") or type(error).__name__) from error
    except RpcError as error:
        sock.close()
        raise TcpConnectionError(address, f"it rejected the token in {path}") from error
    except BaseException:
        sock.close()
        raise
    return sock


def _parse_address(address: str) -> tuple[str, int]:
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    host = host.strip("[]")
    if not address.startswith("tcp://") or not port.isdecimal() or not _is_this_machine(host):
        raise TcpConnectionError(
            address, f"{ADDRESS} must be tcp://127.0.0.1:PORT, also for the end of a tunnel"
        )
    return host, int(port)


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:  # a host name
        return False


def _read_response(sock: LightSocket, deadline: float) -> None:
    """Read the response to the token, and not a byte more: later bytes belong to the user of the socket."""
    header = b""
    while not header.endswith(b"\r\n\r\n"):
        header += _receive(sock, 1, deadline)
        if len(header) > 1_000:
            raise InvalidResponseError("a header that is too long")
    length = header.lower().partition(b"content-length:")[2].split(b"\r\n")[0].strip()
    if not length.isdigit() or len(length) > 6:
        raise InvalidResponseError("a header without Content-Length")
    body = b""
    while len(body) < int(length):
        body += _receive(sock, int(length) - len(body), deadline)
    response = members(body.decode("utf-8", "replace"))
    if "error" in response:
        raise refusal(response["error"][0])
    if "result" not in response or "method" in response:
        raise InvalidResponseError("a response without result or error")


def _receive(sock: LightSocket, max_bytes: int, deadline: float) -> bytes:
    sock.settimeout(max(0.001, deadline - monotonic()))
    piece = sock.recv(max_bytes)
    if not piece:
        raise DisconnectedError
    return piece
