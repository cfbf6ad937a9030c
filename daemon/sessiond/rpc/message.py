"""Encodes and decodes the JSON-RPC 2.0 envelope.

The envelope is decoded once. Params, result and error stay bytes. This module depends on no method.
"""

import codecs
import re
from typing import Final, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from sessiond.error_text import TemplatedError
from sessiond.unicode import valid_json

RequestId = int | str

PARSE: Final = -32700
INVALID_REQUEST: Final = -32600


class BadMessage(TemplatedError):
    """Raised when a body is not a JSON-RPC 2.0 message.

    Attributes:
        code: `PARSE` or `INVALID_REQUEST`.
        message: A sentence for the peer.
        id: The id of the request, if the body is a request and its id is readable. The peer awaits a response to it.

    """

    sentence = "{message}"

    def __init__(self, code: int, message: str, id: RequestId | None = None) -> None:
        super().__init__(message=message)
        self.code = code
        self.message = message
        self.id = id


class Head(msgspec.Struct, frozen=True, gc=False):
    """The envelope of one message. The Raw fields are views into its body.

    With `method`, the message is a request (`id` is an int or a str) or a notification (`id` is UNSET). Without
    `method`, it is a response to the request `id`. In an error response, `id` is None if the peer could not read the
    id of the message it reports.
    """

    jsonrpc: Literal["2.0"]
    id: RequestId | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


decode_envelope: Final = msgspec.json.Decoder(Head).decode
"""Decodes the envelope of a valid ASCII message. Raises msgspec's exceptions; `decode_message` explains them."""


def decode_head(body: bytes) -> Head:
    """Return the envelope of `body`. Raises `BadMessage`."""
    return decode_message(body)[0]


def decode_message(body: bytes) -> tuple[Head, bytes]:
    """Return the envelope of `body`, and the body to pass on.

    The returned body is the same object unless it contains escaped lone surrogates, as a JavaScript peer produces when
    it cuts a string inside a pair. Each of them is replaced by U+FFFD, because msgspec rejects them (decision 0003).

    Raises:
        BadMessage: The body is not a JSON-RPC 2.0 message.

    """
    try:
        head = decode_envelope(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        fixed = _fix_surrogates(body)
        if fixed == body:
            raise _explain(body, error) from None
        return decode_message(fixed)
    if not body.isascii() and not _is_utf8(body):
        raise _not_utf8()
    if head.method is UNSET:
        if head.result is UNSET and head.error is UNSET:
            id = None if head.id is UNSET else head.id
            raise BadMessage(INVALID_REQUEST, "A message has a method, a result or an error.", id)
        if head.id is UNSET:
            raise BadMessage(INVALID_REQUEST, "A response has an id.")
    elif head.id is None:
        raise BadMessage(INVALID_REQUEST, "The id of a request is an integer or a string.")
    return head, body


def encode_result(id: RequestId, result: object) -> bytes:
    """Return an encoded response. Raw values are spliced at any depth. attrs objects must be unstructured before."""
    try:
        return _encode_valid(_Result(id, result))
    except UnicodeEncodeError:
        return _encode(_Result(id, result))


def encode_once(result: object) -> Raw:
    """Return an encoded result that can be the result of many responses."""
    return Raw(_encode(result))


class EncodedResult:
    """A result in encoded parts. They are not joined, because they may be many megabytes."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[bytes]) -> None:
        self.parts = parts


def encode_parts(id: RequestId, result: EncodedResult) -> list[bytes]:
    """Return an encoded response in parts."""
    head, _, tail = encode_result(id, None).rpartition(b"null")
    return [head, *result.parts, tail]


def encode_error(id: RequestId | None, code: int, message: str, data: object = UNSET) -> bytes:
    """Return an encoded error response. `id` is None if the id of the message it reports was not readable."""
    return _encode(_Failure(id, _Error(code, message, data)))


def encode_request(id: RequestId, method: str, params: object = UNSET) -> bytes:
    """Return an encoded request. With the params UNSET, it has none."""
    return _encode(_Request(id, method, params))


def encode_notification(method: str, params: object = UNSET) -> bytes:
    """Return an encoded notification. With the params UNSET, it has none."""
    return _encode(_Notification(method, params))


class _Envelope(msgspec.Struct, frozen=True, gc=False, tag_field="jsonrpc", tag="2.0"):
    """The common start of every message that this end sends."""


class _Result(_Envelope, frozen=True, gc=False):
    id: RequestId
    result: object


class _Error(msgspec.Struct, frozen=True, gc=False):
    code: int
    message: str
    data: object


class _Failure(_Envelope, frozen=True, gc=False):
    id: RequestId | None
    error: _Error


class _Request(_Envelope, frozen=True, gc=False):
    id: RequestId
    method: str
    params: object


class _Notification(_Envelope, frozen=True, gc=False):
    method: str
    params: object


def _encode(value: object) -> bytes:
    try:
        return _encode_valid(value)
    except UnicodeEncodeError:  # text of a path or a file that did not pass through `valid_unicode`
        return _encode_valid(valid_json(msgspec.to_builtins(value, builtin_types=(Raw,))))


_encode_valid = msgspec.json.Encoder().encode
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_id = msgspec.json.Decoder(RequestId).decode
_check_syntax = msgspec.json.Decoder(Raw).decode

_SLICE: Final = 64 * 1024

_find_half = re.compile(rb"\\u[dD][89a-fA-F]").search
_replace_halves = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
).sub
_ESCAPED_BACKSLASH: Final = rb"\\"
_NO_UTF8: Final = b"\xff"


def _fix_surrogates(body: bytes) -> bytes:
    # Only these escapes are changed: decoding and encoding again would also change numbers, keys and spacing.
    if _find_half(body) is None or _NO_UTF8 in body:
        return body
    # Without the escaped backslashes, each remaining backslash begins an escape.
    halves = body.replace(_ESCAPED_BACKSLASH, _NO_UTF8)
    return _replace_halves(rb"\\ufffd", halves).replace(_NO_UTF8, _ESCAPED_BACKSLASH)


def _is_utf8(body: bytes) -> bool:
    """Return whether a body that is not ASCII is UTF-8. msgspec does not check values that stay Raw.

    The check works in slices, because the text of a large body may need four times the memory of its bytes.
    """
    at = 0
    try:
        while at < len(body):
            stop = at + _SLICE
            at += codecs.utf_8_decode(body[at:stop], "strict", stop >= len(body))[1]
    except UnicodeDecodeError:
        return False
    return True


def _not_utf8() -> BadMessage:
    return BadMessage(PARSE, "The message is not valid UTF-8.")


def _explain(body: bytes, error: Exception) -> BadMessage:
    """Return why `body` has no envelope. Syntax is checked first, because invalid JSON has no id."""
    if not _is_utf8(body):
        return _not_utf8()
    try:
        _check_syntax(body)
        fields = _decode_fields(body)
    except RecursionError:
        return BadMessage(PARSE, "The message is nested too deeply.")
    except msgspec.ValidationError:
        return BadMessage(
            INVALID_REQUEST, "A message is one JSON object. Send the members of a batch one by one."
        )
    except msgspec.DecodeError as syntax:
        return BadMessage(PARSE, f"The message is not valid JSON: {syntax}.")
    id: RequestId | None = None
    if "method" in fields or not fields.keys() & {"result", "error"}:
        try:
            id = _decode_id(fields.get("id", b"null"))
        except msgspec.DecodeError:
            id = None
    return BadMessage(INVALID_REQUEST, f"The message is not JSON-RPC 2.0: {error}.", id)
