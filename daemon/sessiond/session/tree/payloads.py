"""Reads members of entries that other programs wrote, without raising.

Members that sessiond only copies are `Raw`. If a member has the wrong type, the result is None, never an error.
"""

from typing import TypeVar

import msgspec
from msgspec import Raw

from sessiond.session.tree import lines

T = TypeVar("T")

_fields = msgspec.json.Decoder(dict[str, Raw])


def part(decoder: msgspec.json.Decoder[T], entry: bytes | Raw) -> T | None:
    """Decode an entry or message; return None if it does not have the decoder's shape."""
    try:
        return decoder.decode(entry)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return _decode_leniently(decoder, entry)


def with_field(value: bytes | Raw, name: str, content: object) -> Raw:
    """Return a JSON object with one member set. All other members have the same bytes and the same order."""
    fields: dict[str, object] = dict(_fields_of(value))
    fields[name] = content
    return Raw(msgspec.json.encode(fields))


def without_field(value: bytes, name: str) -> bytes:
    """Return a JSON object without a member. Without that member, or if not an object, it is unchanged."""
    if name.encode() not in value:
        return value
    try:
        fields = _fields_of(value)
    except (msgspec.DecodeError, RecursionError, lines.NotAnEntry):
        return value
    if fields.pop(name, None) is None:
        return value
    return msgspec.json.encode(fields)


def is_null(value: Raw) -> bool:
    """Return whether a value is null; msgspec has no type for "anything, or null"."""
    return len(memoryview(value)) == 4 and bytes(value) == b"null"


def _decode_leniently(decoder: msgspec.json.Decoder[T], entry: bytes | Raw) -> T | None:
    """Decode an entry with lone surrogates, which msgspec rejects, with U+FFFD in their place."""
    try:
        return decoder.decode(lines.well_formed(bytes(entry)))
    except (msgspec.DecodeError, RecursionError, lines.NotAnEntry):
        return None


def _fields_of(value: bytes | Raw) -> dict[str, Raw]:
    try:
        return _fields.decode(value)
    except msgspec.DecodeError:
        return _fields.decode(lines.well_formed(bytes(value)))
