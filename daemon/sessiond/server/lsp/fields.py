"""The texts of an entry's own fields in its line: where `parentId` and its like stand, in bytes.

A line is looked at as it stands, also when it is half written: what was read until something is wrong counts.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]')
"""Of JSON what has a place in it: texts and signs."""
_HALF: Final = re.compile(rb'"([A-Za-z]+)"\s*:\s*"([^"\\]*)$')
MAX_TOKENS: Final = 20_000
"""An entry's own fields come first, but for a few behind the message; no line may hold everybody up."""
_LONGEST_ID: Final = 500

_text = msgspec.json.Decoder(str).decode


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an entry that holds a text. `start` and `end` are the bytes between its quotes."""

    name: str
    value: str
    start: int
    end: int


def own_fields(line: bytes) -> dict[str, Field]:
    """The fields of the outermost object that hold texts, by name; of two with one name the last."""
    return {field.name: field for field in _own_fields(line)}


def field_at(line: bytes, offset: int) -> Field | None:
    """The field whose text (or its quotes) a byte belongs to."""
    return next((it for it in _own_fields(line) if it.start - 1 <= offset <= it.end + 1), None)


def half_written(before: bytes) -> tuple[str, bytes] | None:
    """The field that is being written at the end of some bytes, and what there is of its text."""
    found = _HALF.search(before[-_LONGEST_ID:])
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
