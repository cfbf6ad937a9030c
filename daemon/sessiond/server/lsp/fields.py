"""Finds the text fields of an entry, such as `parentId`, in the bytes of its line.

A line may be incomplete or invalid: the fields before the first error are found.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]')
"""The JSON tokens that have a position: strings and punctuation."""
_HALF: Final = re.compile(rb'"([A-Za-z]+)"\s*:\s*"([^"\\]*)$')
MAX_TOKENS: Final = 20_000
"""Limit of tokens that are read in a line. An entry's own fields come first, except for a few after the message."""
_MAX_ID_BYTES: Final = 500

_text = msgspec.json.Decoder(str).decode


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an entry with a text value. `start` and `end` are the byte offsets between its quotes."""

    name: str
    value: str
    start: int
    end: int


def own_fields(line: bytes) -> dict[str, Field]:
    """Return the text fields of the outermost object by name. If a name occurs twice, the last one is returned."""
    return {field.name: field for field in _own_fields(line)}


def field_at(line: bytes, offset: int) -> Field | None:
    """Return the field whose text, or one of its quotes, is at a byte offset."""
    return next((field for field in _own_fields(line) if field.start - 1 <= offset <= field.end + 1), None)


def half_written(before: bytes) -> tuple[str, bytes] | None:
    """Return the name of the unfinished field at the end of `before`, and the bytes of its text so far."""
    found = _HALF.search(before[-_MAX_ID_BYTES:])
    return None if found is None else (found[1].decode(), found[2])


def _own_fields(line: bytes) -> Iterator[Field]:
    depth, name, is_value = 0, "", False
    for count, token in enumerate(TOKEN.finditer(line)):
        kind = token[0][:1]
        if count > MAX_TOKENS:
            return
        if kind in b"{[":
            depth, is_value = depth + 1, False
        elif kind in b"}]":
            depth -= 1
        elif depth != 1:
            continue
        elif kind == b":":
            is_value = True
        elif kind == b",":
            name, is_value = "", False
        elif is_value and name:
            if (value := _value(token[0])) is not None:
                yield Field(name, value, token.start() + 1, token.end() - 1)
            name = ""
        else:
            name = _value(token[0]) or ""


def _value(token: bytes) -> str | None:
    try:
        return _text(token)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
