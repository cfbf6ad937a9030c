"""The texts that an editor has open, as it sends them: whole at first, then what changes (LSP text synchronization)."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

import msgspec

from sessiond.server.lsp import position
from sessiond.server.lsp.position import Encoding
from sessiond.session.tree import lines

LARGEST: Final = 2 * 1024 * 1024
"""Bytes of a text above which it is not kept: to decode one of this size takes 5 ms. The file is read instead."""
MAX_OPEN_TEXT_BYTES: Final = 64 * 1024 * 1024
"""Bytes that the changes of one message may go through, each the whole text: 0.2 s, while all others wait."""


class TextPosition(msgspec.Struct):
    """A line and a character of it, as the editor counts."""

    line: int
    character: int


class TextRange(msgspec.Struct):
    """From a place to before another."""

    start: TextPosition
    end: TextPosition


class Change(msgspec.Struct):
    """One change of a text; without a range, all of it."""

    text: str
    range: TextRange | None = None


class OpenText:
    """A text that an editor has open; `data` is None when it is too large to be kept."""

    def __init__(self, data: bytes | None) -> None:
        self.data = data
        self.version = object()
        """Another one after each change. What editors count may go back, and begins anew when a text is opened."""
        self.changed = False
        """Whether it was changed since it was opened or saved."""
        self._starts: Sequence[int] | None = None
        self._has_returns = False  # as of `_starts`

    @property
    def starts(self) -> Sequence[int]:
        """Where its lines begin."""
        if self._starts is None:
            self._starts = position.line_starts(self.data or b"")
            self._has_returns = b"\r" in (self.data or b"")
        return self._starts

    def line_at(self, offset: int) -> int:
        """The line that a byte belongs to."""
        return bisect_right(self.starts, offset) - 1

    def line_feeds_before(self, number: int) -> int:
        """How many lines of a file stand before a line: a lone carriage return ends one of an editor only."""
        data = self.data or b""
        return data.count(b"\n", 0, self.starts[number]) if self._has_returns else number

    def line(self, number: int) -> bytes:
        """A line without its end; nothing behind the last."""
        return position.without_end(self._raw_line(number))

    def change(self, changes: Sequence[Change], encoding: Encoding) -> None:
        """Take in what the editor has changed, one after the other."""
        gone_through = 0
        for change in changes:
            gone_through += len(self.data or b"")
            if change.range is None:
                self.data = encoded(change.text)
            elif gone_through > MAX_OPEN_TEXT_BYTES:
                self.data = None  # as one that is too large: until it is saved, or sent as a whole
            elif self.data is not None:
                start, end = (self._offset(at, encoding) for at in (change.range.start, change.range.end))
                self.data = self.data[:start] + encoded(change.text) + self.data[max(start, end) :]
            self._starts = None
        if self.data is not None and len(self.data) > LARGEST:
            self.data = None
        self.version = object()
        self.changed = True

    def _raw_line(self, number: int) -> bytes:
        starts, data = self.starts, self.data or b""
        if not 0 <= number < len(starts):
            return b""
        return data[starts[number] : starts[number + 1] if number + 1 < len(starts) else len(data)]

    def _offset(self, at: TextPosition, encoding: Encoding) -> int:
        if at.line >= len(self.starts):
            return len(self.data or b"")
        return self.starts[at.line] + position.byte(self.line(at.line), at.character, encoding)


def encoded(text: str) -> bytes:
    """A text as a file would hold it; halves of surrogate pairs, which none can, are U+FFFD."""
    sound: str = lines.sound(text)
    return sound.encode()
