"""Converts positions in a line between bytes and the editor's characters (LSP: utf-8, utf-16 or utf-32 units).

An invalid UTF-8 byte counts as one character, so that every position can be converted back. A position inside a
character becomes its start. A position after the end of a line becomes its end.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Final, Literal, TypeAlias

Encoding: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]

END_OF_LINE: Final = 2**31 - 1
"""A character after the end of a line means its end (LSP 3.17), in every position encoding."""


def character(line: bytes, offset: int, encoding: Encoding) -> int:
    """Return the character at a byte offset in a line, also if the offset is between the bytes of the character."""
    before = line[: _beginning(line, offset)]
    if encoding == "utf-8" or before.isascii():
        return len(before)
    text = before.decode("utf-8", "surrogateescape")
    return len(text) if encoding == "utf-32" else len(text.encode("utf-16-le", "surrogatepass")) // 2


def byte(line: bytes, character: int, encoding: Encoding) -> int:
    """Return the byte offset at which a character of a line begins."""
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
    """Return where an editor's lines begin: after a line feed, a carriage return, or both."""
    starts = [
        0,
        *accumulate(map(len, text.splitlines(keepends=True))),
    ]  # bytes.splitlines splits at these line ends only
    if not text.endswith((b"\n", b"\r")) and len(starts) > 1:
        starts.pop()
    return starts


def without_end(line: bytes) -> bytes:
    """Return a line without its line end."""
    return line.rstrip(b"\r\n")


def _beginning(line: bytes, offset: int) -> int:
    """Return the byte offset of the start of the character at a byte offset."""
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
