"""Reads source files that are one JSON value, written on one line or on many.

A document that is cut or damaged gives the messages that are complete in it, and its other bytes as lines without a
value.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import msgspec

from sessiond.session.dialects import damaged_lines
from sessiond.session.dialects.import_builder import ImportBuilder
from sessiond.session.dialects.source import Source, SourceLine
from sessiond.session.tree import lines

MESSAGES: Final = "messages"
_PADDING: Final = b" \t\r\n\0"
"""The bytes around a document that hold nothing. After a power failure, NUL bytes may follow it."""
_BETWEEN: Final = b" \t\r\n,"
_ARRAY: Final = re.compile(rb'"messages"[ \t\r\n]*+:[ \t\r\n]*+\[')
_OF_MESSAGES: Final = frozenset(("role", "timestamp", "info"))
"""A message of each program has one of these fields."""


def object_in(source: Source, builder: ImportBuilder) -> SourceLine | None:
    """Return a file that is one JSON object as one line, or None if it is not such a file.

    A file of lines is decided by its first line, so that it is not decoded twice. The bytes of a damaged document
    that cannot be read are reported to the builder.
    """
    data = source.data.removeprefix(lines.BOM).strip(_PADDING)
    first, _, rest = data.partition(b"\n")
    if not first.startswith(b"{") or (rest and _is_object(first)):
        return None
    value = value_in(source, builder)
    return SourceLine(1, data, value) if isinstance(value, dict) else None


def value_in(source: Source, builder: ImportBuilder) -> Any:
    """Return the JSON value that is a whole file, or None. The bytes that cannot be read are reported."""
    value = value_of(source.data)
    if value is not None:
        return value
    value, rest = damaged(source.data)
    if value is not None:
        builder.take_damage(rest)
    return value


def value_of(data: bytes) -> Any:
    """Return the JSON value that is a whole file, or None."""
    text = data.removeprefix(lines.BOM).strip(_PADDING)
    try:
        # The value of a field is decoded as leniently as an object is.
        found = lines.loads(text if text.startswith(b"{") else b'{"":' + text + b"}")
    except lines.NotAnEntry:
        return None
    if text.startswith(b"{"):
        return found
    return found[""] if len(found) == 1 else None


def damaged(data: bytes, limit: int | None = None) -> tuple[Any, list[bytes]]:
    """Return the complete parts of a damaged document with messages, up to `limit` messages, and its other bytes.

    The value is an object with its fields before the messages and the complete messages, or the array of these; None if
    the bytes are not such a document. The bytes that are cut off at the end are always among the others, even if empty.
    """
    text = data.removeprefix(lines.BOM).strip(_PADDING)
    array = _ARRAY.search(text)
    start = 1 if text.startswith(b"[") else 0 if array is None else array.end()
    head = _object(text[:start] + b"]}") if text.startswith(b"{") and start else None
    if not start or (head is None and not text.startswith(b"[")):
        return None, []
    found: list[dict[str, Any]] = []
    common: set[str] = set()

    value: dict[str, Any] | None = None

    def messages_in(raw: bytes, is_in_step: bool) -> int:
        nonlocal value
        value = _object(raw)
        if value is None:
            return int(is_in_step)  # nested too deeply
        inside = sum(_is_message(item, common) for item in _objects_in(value))
        return int(is_in_step or _is_message(value, common)) + inside

    between: list[bytes] = []
    position = start
    for place in islice(damaged_lines.items(text, start, messages_in), limit):
        between.append(text[position : place.start])
        position = place.stop
        if value is None:
            between.append(text[place])
            continue
        common = common.intersection(value) if found else set(value)
        found.append(value)
    rest = [part for part in between if part.strip(_BETWEEN)]
    if text[position:].translate(None, b" \t\r\n") != (b"]" if head is None else b"]}"):
        rest.append(text[position:])
    return found if head is None else {**head, MESSAGES: found}, rest


def _is_message(value: dict[str, Any], common: set[str]) -> bool:
    return common.issubset(value) and not _OF_MESSAGES.isdisjoint(value)


def _objects_in(value: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects in a value, without the value itself."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        within = item.values() if isinstance(item, dict) else item
        waiting += (inner for inner in within if isinstance(inner, dict | list))
        yield from (inner for inner in within if isinstance(inner, dict))


def _object(raw: bytes) -> dict[str, Any] | None:
    try:
        return lines.loads(raw)
    except lines.NotAnEntry:
        return None


def _is_object(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
