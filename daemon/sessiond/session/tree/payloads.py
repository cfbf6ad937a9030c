"""Reading a part of an entry that others wrote: the fields one asks for, and nothing that can fail.

Fields are `Raw` where we only carry them; a field of the wrong type makes the part absent, never an error.
"""

from typing import TypeVar

import msgspec
from msgspec import Raw

from sessiond.session.tree import lines

T = TypeVar("T")

_fields = msgspec.json.Decoder(dict[str, Raw])


def part(decoder: msgspec.json.Decoder[T], entry: bytes | Raw) -> T | None:
    """What the decoder takes from an entry or message; None when that does not have it that way."""
    try:
        return decoder.decode(entry)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return _second_look(decoder, entry)


def with_field(value: bytes | Raw, name: str, content: object) -> Raw:
    """A JSON object with one field set, everything else byte for byte; the order of the fields is kept."""
    fields: dict[str, object] = dict(_fields_of(value))
    fields[name] = content
    return Raw(msgspec.json.encode(fields))


def without_field(value: bytes, name: str) -> bytes:
    """A JSON object without one of its fields: the same bytes if it has no such field, or is no object."""
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
    """Whether a value is null; msgspec has no type for "anything, or null"."""
    return len(memoryview(value)) == 4 and bytes(value) == b"null"


def _second_look(decoder: msgspec.json.Decoder[T], entry: bytes | Raw) -> T | None:
    """As `part`, for an entry with lone surrogates, which msgspec refuses: they are read as U+FFFD."""
    try:
        return decoder.decode(lines.well_formed(bytes(entry)))
    except (msgspec.DecodeError, RecursionError, lines.NotAnEntry):
        return None


def _fields_of(value: bytes | Raw) -> dict[str, Raw]:
    try:
        return _fields.decode(value)
    except msgspec.DecodeError:
        return _fields.decode(lines.well_formed(bytes(value)))
