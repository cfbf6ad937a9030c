"""Parts of messages that `attach` forwards, decoded only as far as they are read."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from sessiond.client.commands import APPEND, METHODS, PROVIDER_FIELDS, entry_ids, is_repeatable
from sessiond.protocol import errors
from sessiond.protocol.errors import ErrorData
from sessiond.rpc.message import BadMessage, Head, RequestId, decode_head, encode_error


class _Session(msgspec.Struct, rename="camel"):
    session_id: str
    log_id: str
    last_seq: int


class _Opened(msgspec.Struct, rename="camel"):
    session: _Session
    to_seq: int | None = None


class _Note(msgspec.Struct, rename="camel"):
    session_id: str
    log_id: str = ""
    to_seq: int = 0


class _Watch(msgspec.Struct, rename="camel"):
    watch_id: str


class _Document(msgspec.Struct):
    uri: str


class _OfDocument(msgspec.Struct, rename="camel"):
    text_document: _Document


class _Draft(msgspec.Struct):
    """The parts of an entry that say whether it has an id of its own; the rest may be large."""

    id: str | None = None
    message: Raw | UnsetType = UNSET
    role: Raw | UnsetType = UNSET
    choices: Raw | UnsetType = UNSET
    candidates: Raw | UnsetType = UNSET
    parts: Raw | UnsetType = UNSET


class _Append(msgspec.Struct):
    entries: list[_Draft]
    format: str = "agent"


class _Registration(msgspec.Struct):
    id: str
    method: str


class _Registrations(msgspec.Struct):
    registrations: list[_Registration] = []
    unregisterations: list[_Registration] = []


class _ErrorKind(msgspec.Struct):
    kind: str = ""


class _ErrorBody(msgspec.Struct):
    message: str = ""
    data: _ErrorKind | None = None


decode_opened = msgspec.json.Decoder(_Opened).decode
_decode_append = msgspec.json.Decoder(_Append).decode
_decode_params = msgspec.json.Decoder(dict[str, Any]).decode
decode_note = msgspec.json.Decoder(_Note).decode
_decode_watch = msgspec.json.Decoder(_Watch).decode
_decode_document = msgspec.json.Decoder(_OfDocument).decode
decode_registrations = msgspec.json.Decoder(_Registrations).decode
_decode_reason = msgspec.json.Decoder(_ErrorBody).decode


def head_of(body: bytes) -> Head | None:
    """Return the head of a message; None for a body that is not a message."""
    try:
        return decode_head(body)
    except BadMessage:
        return None  # passed on unchanged; the recipient reports the error


def with_id(body: bytes, id: RequestId) -> bytes:
    """Return a message with another id."""
    members = msgspec.json.decode(body, type=dict[str, Raw])
    return msgspec.json.encode({**members, "id": id})


def error_response(id: RequestId | None, data: ErrorData, message: str) -> bytes:
    """Return an error response."""
    return encode_error(id, errors.CODES[data.kind], message, data)


def document_uri(head: Head) -> str | None:
    """Return the URI of the document that the params name; None if they name none."""
    try:
        return _decode_document(b"{}" if head.params is UNSET else head.params).text_document.uri
    except msgspec.DecodeError:
        return None


def session_id_of(head: Head) -> str | None:
    """Return the `sessionId` of the params; None if they have none."""
    try:
        return decode_note(b"{}" if head.params is UNSET else head.params).session_id
    except msgspec.DecodeError:
        return None


def watch_id_of(value: Raw | UnsetType) -> str | None:
    """Return the id of the watch that params or a result name; None if they name none."""
    try:
        return _decode_watch(b"{}" if isinstance(value, UnsetType) else value).watch_id
    except msgspec.DecodeError:
        return None


def may_repeat_write(method: str, head: Head) -> bool:
    """Return whether a request that writes may be repeated after a lost response."""
    if method == APPEND:
        return is_repeatable(method, _append_of(head))
    if method not in METHODS:
        return False
    try:
        params = _decode_params(b"{}" if head.params is UNSET else head.params)
    except msgspec.DecodeError:
        return False
    return is_repeatable(method, params)


def entry_ids_of(method: str, body: bytes) -> list[str]:
    """Return the ids that the entries of a request have, if it is an append, in the order of the request."""
    head = head_of(body) if method == APPEND else None
    return (
        [] if head is None else [entry_id for entry_id in entry_ids(_append_of(head)) if entry_id is not None]
    )


def _append_of(head: Head) -> dict[str, Any]:
    """Return the ids of the entries of an append, as its params have them; empty for invalid params."""
    try:
        params = _decode_append(b"{}" if head.params is UNSET else head.params)
    except msgspec.DecodeError:
        return {}
    entries = [
        {"id": entry.id}
        | {name: None for name in ("message", *PROVIDER_FIELDS) if getattr(entry, name) is not UNSET}
        for entry in params.entries
    ]
    return {"entries": entries, "format": params.format}


def is_error_of_kind(head: Head, kind: str) -> bool:
    """Return whether this is an error of that kind. `draining` means that nothing was done."""
    if head.error is UNSET:
        return False
    try:
        data = _decode_reason(head.error).data
    except msgspec.DecodeError:
        return False
    return data is not None and data.kind == kind


def error_message(error: Raw) -> str:
    """Return the message of an error."""
    try:
        return _decode_reason(error).message
    except msgspec.DecodeError:
        return "no reason was given"
