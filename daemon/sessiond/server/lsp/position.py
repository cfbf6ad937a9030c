"""Places in a line: bytes here, and characters as an editor counts them (LSP: utf-8, utf-16 or utf-32 units).

A byte that is no UTF-8 counts as one character, so that every place has its way back. A place inside a
character is that of its beginning; one past the end of a line is its end.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Final, Literal, TypeAlias

Encoding: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]

END_OF_LINE: Final = 2**31 - 1
"""A character past the end of a line means its end (LSP 3.17), in every position encoding."""


def character(line: bytes, offset: int, encoding: Encoding) -> int:
    """The character at a byte of a line; inside a character, the one that begins there."""
    before = line[: _beginning(line, offset)]
    if encoding == "utf-8" or before.isascii():
        return len(before)
    text = before.decode("utf-8", "surrogateescape")
    return len(text) if encoding == "utf-32" else len(text.encode("utf-16-le", "surrogatepass")) // 2


def byte(line: bytes, character: int, encoding: Encoding) -> int:
    """The byte of a line at which a character begins."""
    character = max(0, min(character, len(line)))
    if encoding == "utf-8":
        return _beginning(line, character)
    if line[:character].isascii():
        return character
    text = line.decode("utf-8", "surrogateescape")
    if encoding == "utf-16":
        units = text.encode("utf-16-le", "surrogatepass")
        if _is_low(units, character) and _is_high(units, character - 1):
            character -= 1
        text = units[: 2 * character].decode("utf-16-le", "surrogatepass")
    else:
        text = text[:character]
    return len(text.encode("utf-8", "surrogateescape"))


def line_starts(text: bytes) -> Sequence[int]:
    """Where the lines of a text begin, as an editor has lines: after a line feed, a carriage return or both."""
    starts = [0, *accumulate(map(len, text.splitlines(keepends=True)))]  # of bytes: at these ends only
    if not text.endswith((b"\n", b"\r")) and len(starts) > 1:
        starts.pop()
    return starts


def without_end(line: bytes) -> bytes:
    """A line without what ends it."""
    return line.rstrip(b"\r\n")


def _beginning(line: bytes, offset: int) -> int:
    """The byte at which the character begins that a byte belongs to."""
    offset = max(0, min(offset, len(line)))
    for start in range(offset - 1, max(offset - 4, -1), -1):
        lead = line[start]
        if lead & 0xC0 != 0x80:
            length = 4 if lead >= 0xF0 else 3 if lead >= 0xE0 else 2 if lead >= 0xC0 else 1
            whole = line[start : start + length]
            return start if start + length > offset and _is_character(whole) else offset
    return offset


def _is_character(data: bytes) -> bool:
    try:
        return len(data.decode()) == 1
    except UnicodeDecodeError:
        return False


def _unit(units: bytes, place: int) -> int:
    return int.from_bytes(units[2 * place : 2 * place + 2], "little") if place >= 0 else 0


def _is_low(units: bytes, place: int) -> bool:
    return 0xDC00 <= _unit(units, place) < 0xE000


def _is_high(units: bytes, place: int) -> bool:
    return 0xD800 <= _unit(units, place) < 0xDC00
