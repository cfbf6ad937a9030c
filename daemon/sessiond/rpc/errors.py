"""Errors of a call over a connection and of a response."""

from typing import Final

import msgspec
from msgspec import UNSET, Raw

from sessiond.error_text import TemplatedError
from sessiond.rpc.message import INVALID_REQUEST, RequestId


class RemoteError(TemplatedError):
    """Raised when the peer responds with an error.

    Attributes:
        code: The error code, of JSON-RPC or of the protocol.
        message: The error message, a sentence.
        data: The error's data as JSON; None if the error has no data.

    """

    sentence = "{message}"

    def __init__(self, code: int, message: str, data: Raw | None = None) -> None:
        super().__init__(message=message)
        self.code = code
        self.message = message
        self.data = data


class ConnectionClosed(TemplatedError):
    """Raised for a call over a connection that is closed, or closes before the response."""

    sentence = "The connection is closed{why}"

    def __init__(self, reason: Exception | None = None) -> None:
        super().__init__(why="." if reason is None else f": {reason}")
        self.__cause__ = reason


class NotAwaited(TemplatedError):
    """Raised for a response to a request that is not in flight."""

    sentence = "No request {id!r} awaits a reply: it was answered already, or never came."

    def __init__(self, id: RequestId) -> None:
        super().__init__(id=id)


class _ErrorObject(msgspec.Struct, gc=False):
    code: int
    message: str
    data: Raw | msgspec.UnsetType = UNSET


_decode_error: Final = msgspec.json.Decoder(_ErrorObject).decode


def remote_error(error: Raw) -> RemoteError:
    """Return the exception for the `error` member of a response, even if it is not a JSON-RPC error object."""
    try:
        decoded = _decode_error(error)
    except (msgspec.DecodeError, RecursionError):
        message = "The peer answered with an error that is no JSON-RPC error."
        return RemoteError(INVALID_REQUEST, message, error)
    return RemoteError(decoded.code, decoded.message, None if decoded.data is UNSET else decoded.data)
