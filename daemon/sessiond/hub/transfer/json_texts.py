"""Finds and decodes the long texts in JSON of any size, in pieces, so that memory does not grow with them.

All functions block.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import msgspec

from sessiond.error_text import TemplatedError
from sessiond.session.tree import lines

STEP: Final = 64 * 1024
"""Bytes of one step that skips whole strings."""
CHUNK: Final = 1024 * 1024
"""Bytes of a text that are read and decoded in one step."""
_SHORT: Final = re.compile(rb'(?:[^"]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)
"""Whole strings, and all bytes between strings."""
_HIGH: Final = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}")
"""The first half of a surrogate pair."""
_PAIR_BYTES: Final = 12
_KEY: Final = re.compile(rb"[ \t\r\n]*+:")
_MAX_BLANKS: Final = 256

ReadAt: TypeAlias = Callable[[int, int], bytes]
"""Returns the bytes from an offset on, up to a number of bytes."""

_text = msgspec.json.Decoder(str).decode


class NotText(TemplatedError):
    """Raised for a string that is not JSON or has lone surrogates, which no blob can have, and for missing bytes."""

    sentence = "A text cannot be taken out of its line."


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a source: the offsets of its first byte and after its last one."""

    read_at: ReadAt
    start: int
    end: int

    @property
    def size(self) -> int:
        """The size of the region in bytes."""
        return self.end - self.start

    def read(self, offset: int, size: int) -> bytes:
        """Return the bytes from an offset of the source on, not beyond the region."""
        return self.read_at(offset, min(size, self.end - offset))

    def within(self, start: int, end: int) -> "Region":
        """Return a part of the region, by the offsets of the source."""
        return Region(self.read_at, start, end)

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes of the region. Raises `NotText` if the source has become shorter."""
        position = self.start
        while position < self.end:
            chunk = self.read(position, CHUNK)
            if not chunk:
                raise NotText
            yield chunk
            position += len(chunk)


def long_texts(region: Region, limit: int) -> list[Region] | None:
    """Return the contents of the strings of JSON with more bytes, in order; None if a string has no end.

    Keys are left out.
    """
    found: list[Region] = []
    position = region.start
    while position < region.end:
        chunk = region.read(position, STEP)
        short = _SHORT.match(chunk)
        step = 0 if short is None else short.end()
        position += step
        if step:
            continue
        end = _end_of(region, position + 1)
        if end is None:
            return None
        if end - position - 1 > limit and not _KEY.match(region.read(end + 1, _MAX_BLANKS)):
            found.append(region.within(position + 1, end))
        position = end + 1
    return found


def decoded(region: Region) -> Iterator[str]:
    """Yield the text of the inside of a string in pieces. Raises `NotText`."""
    position = region.start
    while position < region.end:
        chunk = region.read(position, CHUNK)
        if position + len(chunk) < region.end:
            chunk = chunk[: _end_of_piece(chunk)]
        if not chunk:
            raise NotText
        yield _decoded(chunk)
        position += len(chunk)


def _end_of(region: Region, position: int) -> int | None:
    """Return the offset of the quotation mark that ends a string; None if there is none."""
    while position < region.end:
        chunk = _without_pairs(region.read(position, CHUNK))
        chunk = (
            chunk.removesuffix(b"\\") if len(chunk) > 1 else chunk
        )  # the escaped character is not in the chunk
        if not chunk:
            return None
        found = chunk.replace(b'\\"', b"__").find(b'"')
        if found >= 0:
            return position + found
        position += len(chunk)
    return None


def _end_of_piece(chunk: bytes) -> int:
    """Return a place near the end of a piece of a string that is in no escape, surrogate pair or character."""
    plain = _without_pairs(chunk)
    escape = plain.find(b"\\", len(chunk) - _PAIR_BYTES)
    if escape >= 0:
        return escape - 6 if _HIGH.match(plain, escape - 6) else escape
    end = len(chunk)
    for start in range(end - 1, max(-1, end - 4), -1):
        if chunk[start] & 0b1100_0000 != 0b1000_0000:  # the first byte of the last character
            size = 1 + (chunk[start] >= 0xC0) + (chunk[start] >= 0xE0) + (chunk[start] >= 0xF0)
            return start if start + size > end else end
    return end


def _without_pairs(inside: bytes) -> bytes:
    """Return the inside of a string with other bytes for escaped backslashes: each backslash then begins an escape."""
    return inside.replace(rb"\\", b"__")


def _decoded(piece: bytes) -> str:
    try:
        return _text(b'"%b"' % piece)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    try:
        text = lines.loads(b'{"":"%b"}' % piece)[""]
    except lines.NotAnEntry:
        raise NotText from None
    if not isinstance(text, str) or lines.valid_text(text) != text:
        raise NotText
    return text
