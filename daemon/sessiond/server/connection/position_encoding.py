"""Ranges in a text in the position encoding of a client."""

from collections.abc import Sequence
from typing import Final

from sessiond.protocol import types as t
from sessiond.protocol.enums import PositionEncoding

DEFAULT: Final[PositionEncoding] = "utf-16"
"""The encoding of a client that has not chosen one, as in LSP."""


def in_encoding(
    ranges: Sequence[t.CharacterRange], text: str, encoding: PositionEncoding
) -> list[t.CharacterRange]:
    """Convert ranges in code points of `text` to another encoding."""
    if encoding == "utf-32" or text.isascii():
        return list(ranges)
    return [
        t.CharacterRange(
            start=_units(text[: range_.start], encoding), end=_units(text[: range_.end], encoding)
        )
        for range_ in ranges
    ]


def _units(text: str, encoding: PositionEncoding) -> int:
    if encoding == "utf-8":
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
