"""Lines of JSON-RPC, decoded without losing their bytes, and the few lines that the proxy writes itself.

A forwarded line is never encoded again. If one member must differ (an id, the id of a session), the other
members keep their bytes.
"""

import contextlib
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from sessiond.error_text import TemplatedError
from sessiond.session.tree import lines
from sessiond.unicode import valid_json

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
NOT_FOUND: Final = -32002
"""ACP's error code of a session or file that does not exist."""


_NULL: Final = Raw(b"null")


class Envelope(msgspec.Struct, frozen=True):
    """The members of a message that determine its kind. Each is absent, or as its sender wrote it."""

    id: Raw | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET

    @property
    def request_id(self) -> Raw:
        """The id of a request; null if it has none."""
        return _NULL if self.id is UNSET else self.id


class _SessionParams(msgspec.Struct, frozen=True, rename="camel"):
    session_id: str | UnsetType = UNSET
    cwd: str | UnsetType = UNSET


_decode = msgspec.json.Decoder(Envelope).decode
_decode_session = msgspec.json.Decoder(_SessionParams).decode
_members = msgspec.json.Decoder(dict[str, Raw]).decode
_encode = msgspec.json.Encoder().encode


class UnreadableLine(TemplatedError):
    """Raised for a line that cannot be decoded; `code` is the code of the error response."""

    sentence = "The line is not {expected}: {reason}"

    def __init__(self, code: int, expected: str, reason: str) -> None:
        super().__init__(expected=expected, reason=reason)
        self.code = code


def decode(line: bytes) -> Envelope:
    """Decode the envelope of a line. Raises `UnreadableLine`."""
    try:
        return _decode(line)
    except msgspec.ValidationError as error:
        raise UnreadableLine(INVALID_REQUEST, "a JSON-RPC message", str(error)) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise UnreadableLine(PARSE_ERROR, "JSON", str(error)) from None


def key(request_id: Raw) -> bytes:
    """Return the key by which the response to a request is found. Ids of different types have different keys."""
    try:
        return _encode(msgspec.json.decode(request_id))
    except (msgspec.DecodeError, RecursionError):
        return bytes(request_id)


def session_id_of(envelope: Envelope) -> str | None:
    """Return the member `sessionId` of the params, or None."""
    found = _session(envelope)
    return None if found is None or found.session_id is UNSET else found.session_id


def session_id_in(result: Raw) -> str | None:
    """Return the member `sessionId` of a result, or None."""
    found = value(members(result).get("sessionId", _NULL))
    return found if isinstance(found, str) else None


def cwd_of(envelope: Envelope) -> str | None:
    """Return the member `cwd` of the params, or None."""
    found = _session(envelope)
    return None if found is None or found.cwd is UNSET else found.cwd


def _session(envelope: Envelope) -> _SessionParams | None:
    if envelope.params is UNSET:
        return None
    try:
        return _decode_session(envelope.params)
    except (msgspec.DecodeError, RecursionError):
        return None


def value(raw: Raw | UnsetType) -> Any:
    """Return the decoded value of a member; None if it is absent or nested too deeply."""
    if raw is UNSET:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return None


def mapping(raw: Raw | UnsetType) -> dict[str, Any]:
    """Return the decoded value of a member if it is an object, else an empty one. Lone surrogates are replaced."""
    found = value(raw)
    if found is None and raw is not UNSET:
        with contextlib.suppress(lines.NotAnEntry):
            return dict(valid_json(lines.loads(bytes(raw))))
    return found if isinstance(found, dict) else {}


def with_id(line: bytes, request_id: Raw) -> bytes:
    """Return a line with another id; the bytes of its other members are unchanged."""
    return _encode({**_members(line), "id": request_id}) + b"\n"


def with_session_id(line: bytes, session_id: str) -> bytes:
    """Return a line whose params name another session; the bytes of its other members are unchanged."""
    members = _members(line)
    params = _members(members["params"])
    params["sessionId"] = Raw(_encode(session_id))
    members["params"] = Raw(_encode(params))
    return _encode(members) + b"\n"


def with_result(line: bytes, result: Raw) -> bytes:
    """Return a response with another result; the bytes of its other members are unchanged."""
    return _encode({**_members(line), "result": result}) + b"\n"


def members(raw: Raw) -> dict[str, Raw]:
    """Return the members of an object as they are written; empty if it is not an object."""
    try:
        return _members(raw)
    except (msgspec.DecodeError, RecursionError):
        return {}


def encoded(found: Any) -> Raw:
    """Return a value as JSON."""
    return Raw(_encode(found))


def request(request_id: Any, method: str, params: Any) -> bytes:
    """Return the line of a request."""
    return _encode({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}) + b"\n"


def notification(method: str, params: Any) -> bytes:
    """Return the line of a notification."""
    return _encode({"jsonrpc": "2.0", "method": method, "params": params}) + b"\n"


def update(session_id: str, found: Any) -> bytes:
    """Return the line of a `session/update`."""
    return notification("session/update", {"sessionId": session_id, "update": found})


def response(request_id: Any, result: Any) -> bytes:
    """Return the line of a response."""
    return _encode({"jsonrpc": "2.0", "id": request_id, "result": result}) + b"\n"


def failure(request_id: Any, code: int, message: str) -> bytes:
    """Return the line of an error response."""
    return failed_response(request_id, {"code": code, "message": message})


def failed_response(request_id: Any, error: Any) -> bytes:
    """Return the line of an error response with the error of another response."""
    return _encode({"jsonrpc": "2.0", "id": request_id, "error": error}) + b"\n"
