"""Encodes large results in steps, so that the event loop is not blocked.

A result is large if it has a list of many items or a long text.
"""

from collections.abc import Sequence
from typing import Final, TypeVar
from uuid import uuid4

import msgspec
from msgspec import Raw

from sessiond.protocol import types as t
from sessiond.session.tree.steps import Steps
from sessiond.unicode import valid_json

W = TypeVar("W", bound=t.Wire)

MIN_PARTS_IN_STEPS: Final = 500
"""Items of a list from which on it is encoded in steps."""
LONG_TEXT: Final = 256 * 1024
"""Characters of a text from which on it is encoded in steps of this many characters."""
_PARTS_A_STEP: Final = 250  # items

_encode = msgspec.json.Encoder().encode


def is_large(result: t.Wire) -> bool:
    """Return whether a result has a list with many items, or a long text."""
    return any(_is_long(getattr(result, name)) for name in result.__struct_fields__)


def encode_in_steps(result: t.Wire) -> Steps[list[bytes]]:
    """Return the JSON of a result in parts. Joined, they equal the JSON of msgspec. Raises msgspec's exceptions."""
    long = {name: value for name in result.__struct_fields__ if _is_long(value := getattr(result, name))}
    marks = {name: uuid4().hex for name in long}
    frame = _encoded(msgspec.structs.replace(result, **marks))
    parts: list[bytes] = []
    for name, mark in marks.items():
        before, _, frame = frame.partition(b'"%b"' % mark.encode())
        parts.append(before)
        value = long[name]
        if isinstance(value, str):
            parts.append(b'"')
            for start in range(0, len(value), LONG_TEXT):
                parts.append(_encoded(value[start : start + LONG_TEXT])[1:-1])
                yield
            parts.append(b'"')
            continue
        parts.append(b"[")
        for start in range(0, len(value), _PARTS_A_STEP):
            if start:
                parts.append(b",")
            parts.append(_encode(value[start : start + _PARTS_A_STEP])[1:-1])
            yield
        parts.append(b"]")
    return [*parts, frame]


def converted(found: Sequence[object], type: type[W]) -> Steps[list[W]]:
    """Convert objects of the core to the type of the wire, in steps."""
    made: list[W] = []
    for start in range(0, len(found), _PARTS_A_STEP):
        made += [
            msgspec.convert(part, type, from_attributes=True) for part in found[start : start + _PARTS_A_STEP]
        ]
        yield
    return made


def _encoded(value: object) -> bytes:
    """Encode a value as `rpc.message` does: lone surrogates are replaced by U+FFFD."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return _encode(valid_json(msgspec.to_builtins(value, builtin_types=(Raw,))))


def _is_long(value: object) -> bool:
    if isinstance(value, str):
        return len(value) >= LONG_TEXT
    return isinstance(value, list | tuple) and len(value) >= MIN_PARTS_IN_STEPS
