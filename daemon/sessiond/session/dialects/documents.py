"""Reads source files that are one JSON value, written on one line or on many."""

from typing import Any

import msgspec

from sessiond.session.dialects.source import Source, SourceLine
from sessiond.session.tree import lines


def only_object(source: Source) -> SourceLine | None:
    """Return a file that is one JSON object as one line, or None if it is not such a file.

    A file of lines is decided by its first line, so that it is not decoded twice.
    """
    data = source.data.removeprefix(lines.BOM).strip()
    first, _, rest = data.partition(b"\n")
    if not first.startswith(b"{") or (rest and _is_object(first)):
        return None
    try:
        value = lines.loads(data)
    except lines.NotAnEntry:
        return None
    return SourceLine(1, data, value)


def value_of(data: bytes) -> Any:
    """Return the JSON value that is a whole file, or None."""
    text = data.removeprefix(lines.BOM).strip()
    try:
        # The value of a field is decoded as leniently as an object is.
        found = lines.loads(text if text.startswith(b"{") else b'{"":' + text + b"}")
    except lines.NotAnEntry:
        return None
    if text.startswith(b"{"):
        return found
    return found[""] if len(found) == 1 else None


def _is_object(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
