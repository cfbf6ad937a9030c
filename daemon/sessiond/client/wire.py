"""JSON-RPC messages over a blocking socket, for the thin client: `Content-Length` frames, text in and out.

Importing msgspec, dataclasses, typing or json would take longer than a command's round trip (decision 0031). The module
contains no names of methods. `rpc/` is the asynchronous counterpart.
"""

from __future__ import annotations

from time import monotonic

from sessiond.client.light_json import encode, scan
from sessiond.error_text import TemplatedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Callable
    from typing import Any

METHOD_NOT_FOUND = -32601  # these are also in protocol.errors, which imports msgspec
INVALID_PARAMS = -32602

_LONGEST_HEADER = 8192
_MAX_DIGITS = 9
LONGEST_BODY = 64 * 1024 * 1024  # `rpc.framing.MAX_FRAME`, the limit of both sides
_CHUNK = 1 << 18
_LEAST_BYTES = 16 * 1024
"""Bytes of one message that are a sign of life: a large one comes in pieces over a slow line."""


class RpcError(TemplatedError):
    """Raised when the daemon responds with an error.

    Compare `kind` (the names of `protocol.errors.KINDS`), never `message`, which is for people. `data` is the
    wire's `ErrorData` as a dict. `protocol.errors.LEAF_CONFLICT.read(error.data)`, and the same of any other kind,
    returns the details as their type, or None for an error of another kind.
    """

    sentence = "{message}"

    def __init__(self, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message=message)
        self.code = code
        self.message = message
        self.data = data or {}

    @property
    def kind(self) -> str:
        """The stable name of the error; empty when the response is not from sessiond."""
        kind = self.data.get("kind")
        return kind if isinstance(kind, str) else ""

    @property
    def details(self) -> dict[str, Any]:
        """The details of the kind, with the names of the wire; empty for a kind without details."""
        details = self.data.get("details")
        return details if isinstance(details, dict) else {}

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.data.get("retryable") is True


def refusal(error: Any) -> RpcError:
    """Return the error of a response as an exception, even if another program wrote an invalid one."""
    if not isinstance(error, dict):
        return RpcError(0, str(error))
    code, data = error.get("code"), error.get("data")
    return RpcError(
        code if isinstance(code, int) else 0,
        str(error.get("message", "")),
        data if isinstance(data, dict) else None,
    )


class DisconnectedError(TemplatedError):
    """Raised when the connection is lost while a request is in flight; its outcome is unknown."""

    sentence = "The connection was lost before the response, so the outcome of the request is unknown."


class RequestNotReadError(DisconnectedError):
    """Raised when the connection is lost and the daemon cannot have received the request."""

    sentence = "The daemon ended before it read the request, so nothing was done."
    advice = "Send it again."


class OtherProtocolError(DisconnectedError):
    """Raised when this end closed the connection, because what came is not of sessiond."""

    sentence = "The program that listens as the daemon does not follow sessiond's protocol: {reason}."

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason.rstrip("."))


class DaemonUnresponsiveError(TemplatedError):
    """Raised when a daemon keeps its connection open and does not respond; `pid` is None where it is unknown."""

    sentence = "The daemon{process} has not responded for {seconds:.0f} seconds."

    def __init__(self, pid: int | None, seconds: float) -> None:
        super().__init__(process="" if pid is None else f" (process {pid})", seconds=seconds)
        self.pid = pid


class InvalidResponseError(TemplatedError):
    """Raised when bytes from the socket are not a response of a daemon."""

    sentence = "The response on the socket is not valid in sessiond's protocol: {reason}."

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)
        self.reason = reason


NO_ANSWER = (DisconnectedError, DaemonUnresponsiveError, InvalidResponseError)
"""The errors of a request without an answer, or with an answer of another program."""


def frame(message: dict[str, Any]) -> bytes:
    """Return one message as a frame. Raises ValueError for NaN and lone surrogates."""
    body = encode(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class MessageReader:
    """Reads whole messages from a blocking socket.

    `on_silence` is called when the time of `wait` is over. It may raise, or call `wait` again; without one, `read`
    raises `TimeoutError`.
    """

    def __init__(self, sock: socket, on_silence: Callable[[], None] | None = None) -> None:
        self._sock = sock
        self.on_silence = on_silence
        self._buffer = bytearray()
        self._seconds: float | None = None
        self._until: float | None = None
        self._until_in_body = 0.0

    def wait(self, seconds: float | None) -> None:
        """Limit reading to a number of seconds from now; None for no limit.

        Only the body of a large message may take longer, as long as it makes progress: another program that sends
        notifications, or a byte now and then, does not answer.
        """
        self._seconds = seconds
        self._until = None if seconds is None else monotonic() + seconds
        self._sock.settimeout(seconds)

    def read(self) -> str:
        """Return the body of the next message.

        Raises:
            DisconnectedError: The stream has ended.
            InvalidResponseError: The framing is broken.
            RequestNotReadError: The connection was reset. A unix socket reports a reset instead of an end when it is
                closed with unread bytes, which happens to a request that arrives while the daemon ends.
        """
        self._until_in_body = 0.0
        end = self._until_header_ends()
        length = _content_length(self._buffer[:end])
        counted = len(self._buffer)
        while len(self._buffer) < end + length:
            self._receive()
            if self._seconds is not None and len(self._buffer) - counted >= _LEAST_BYTES:
                counted = len(self._buffer)
                self._until_in_body = monotonic() + self._seconds
        body = bytes(memoryview(self._buffer)[end : end + length])
        del self._buffer[: end + length]
        # The daemon sends UTF-8. Invalid bytes from another program become U+FFFD and raise no error.
        return body.decode("utf-8", "replace")

    def _until_header_ends(self) -> int:
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if len(self._buffer) > _LONGEST_HEADER:
                raise InvalidResponseError("a header that is too long")
            self._receive()
        return end + 4

    def _receive(self) -> None:
        try:
            if self._until is not None:
                left = max(self._until, self._until_in_body) - monotonic()
                if left <= 0:
                    raise TimeoutError
                self._sock.settimeout(left)
            chunk = self._sock.recv(_CHUNK)
        except ConnectionResetError as error:
            raise RequestNotReadError from error
        except TimeoutError:
            if self.on_silence is None:
                raise
            self.on_silence()
            return
        if not chunk:
            raise DisconnectedError
        self._buffer += chunk


def _content_length(header: bytes | bytearray) -> int:
    for line in header.split(b"\r\n"):
        name, _, value = line.partition(b":")
        digits = value.strip()
        if name.strip().lower() == b"content-length" and digits.isdigit():
            if len(digits) > _MAX_DIGITS or int(digits) > LONGEST_BODY:
                raise InvalidResponseError(f"a message of {digits[:20].decode()} bytes")
            return int(digits)
    raise InvalidResponseError("a header without Content-Length")


def members(text: str) -> dict[str, tuple[Any, int, int]]:
    """Return the members of a JSON object: for each name, its value and the start and end of that value in `text`.

    This way a result is decoded once and can be printed as it was sent. Raises `InvalidResponseError` for anything but
    an object.
    """
    found: dict[str, tuple[Any, int, int]] = {}
    try:
        at = _skip(text, 0)
        opening = "{"
        while text[at] == opening:
            start = _skip(text, at + 1)
            name, at = scan(text, start)
            at = _skip(text, at)
            if text[start] != '"' or text[at] != ":":
                raise InvalidResponseError("a message that is not an object")
            start = _skip(text, at + 1)
            value, at = scan(text, start)
            found[name] = (value, start, at)
            at = _skip(text, at)
            opening = ","
        if text[at] == "}" and found:
            return found
    except (ValueError, StopIteration, IndexError, RecursionError, TypeError, SystemError) as error:
        raise InvalidResponseError("a message that is not JSON") from error
    raise InvalidResponseError("a message that is not an object")


def _skip(text: str, at: int) -> int:
    while text[at] in " \t\r\n":
        at += 1
    return at
