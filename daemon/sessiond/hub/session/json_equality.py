"""Compares two JSON texts by value, with all digits of numbers, to detect retries."""

import json  # noqa: TID251 - numbers must keep all their digits, which msgspec cannot do
from collections.abc import Container, Mapping
from decimal import Decimal
from typing import Any, Final

import msgspec
from msgspec import Raw

_fields: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_ABSENT: Final = b""


def contains(entry: bytes, fields: Mapping[str, Raw], *, beside: Container[str]) -> bool:
    """Whether an entry has all these fields with equal values, and no other fields except those in `beside`."""
    stored = _split(entry)
    if any(name not in fields and name not in beside for name in stored):
        return False
    return all(_same(bytes(stored.get(name, _ABSENT)), bytes(value)) for name, value in fields.items())


def _split(entry: bytes) -> Mapping[str, bytes | Raw]:
    try:
        return _fields(entry)
    except (msgspec.DecodeError, RecursionError):
        # Other programs write lone surrogates, which msgspec does not read.
        return {name: json.dumps(value).encode() for name, value in json.loads(entry).items()}


def _same(a: bytes, b: bytes) -> bool:
    if a == b:
        return True
    if a == _ABSENT:
        return False
    try:
        return _equal(_loads(a), _loads(b))
    except RecursionError:
        return False


def _loads(text: bytes) -> Any:
    # Decimal keeps all digits. Python's int also refuses thousands of digits.
    return json.loads(text, parse_float=Decimal, parse_int=Decimal)


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b  # true is not 1
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(value, b[name]) for name, value in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    return bool(a == b)
