"""The texts that an editor has open, updated by its changes (LSP text synchronization)."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

import msgspec

from sessiond.server.lsp import position
from sessiond.server.lsp.position import Encoding
from sessiond.session.tree import lines

MAX_TEXT_BYTES: Final = 2 * 1024 * 1024
"""Limit of a text in memory, in bytes. Above it, the file is read instead. Decoding this size takes 5 ms."""
MAX_OPEN_TEXT_BYTES: Final = 64 * 1024 * 1024
"""Limit of the bytes that the changes of one message process, each the whole text: 0.2 s of the event loop."""


class TextPosition(msgspec.Struct):
    """A line and a character, as the editor counts."""

    line: int
    character: int


class TextRange(msgspec.Struct):
    """A range from `start` to before `end`."""

    start: TextPosition
    end: TextPosition


class Change(msgspec.Struct):
    """One change of a text. Without a range, it replaces the whole text."""

    text: str
    range: TextRange | None = None


class OpenText:
    """A text that an editor has open. `data` is None if it is too large to be held in memory."""

    def __init__(self, data: bytes | None) -> None:
        self.data = data
        self.version = object()
        """Unique after each change. The version numbers of editors may decrease, and restart when a text is opened."""
        self.changed = False
        """Whether the text was changed since it was opened or saved."""
        self.is_explained = False
        """Whether the user has received the reason why there are no results for this text."""
        self._starts: Sequence[int] | None = None
        self._has_returns = False  # as of `_starts`

    @property
    def starts(self) -> Sequence[int]:
        """The byte offsets at which its lines begin."""
        if self._starts is None:
            self._starts = position.line_starts(self.data or b"")
            self._has_returns = b"\r" in (self.data or b"")
        return self._starts

    def line_at(self, offset: int) -> int:
        """Return the line at a byte offset."""
        return bisect_right(self.starts, offset) - 1

    def line_feeds_before(self, number: int) -> int:
        """Return the number of line feeds before a line. A lone carriage return ends a line only in an editor."""
        data = self.data or b""
        return data.count(b"\n", 0, self.starts[number]) if self._has_returns else number

    def line(self, number: int) -> bytes:
        """Return a line without its line end. Empty after the last line."""
        return position.without_end(self._raw_line(number))

    def change(self, changes: Sequence[Change], encoding: Encoding) -> None:
        """Apply the changes of an editor in order."""
        processed_bytes = 0
        for change in changes:
            processed_bytes += len(self.data or b"")
            if change.range is None:
                self.data = encoded(change.text)
            elif processed_bytes > MAX_OPEN_TEXT_BYTES:
                self.data = None  # treated as too large until it is saved or sent as a whole
            elif self.data is not None:
                start, end = (self._offset(at, encoding) for at in (change.range.start, change.range.end))
                self.data = self.data[:start] + encoded(change.text) + self.data[max(start, end) :]
            self._starts = None
        if self.data is not None and len(self.data) > MAX_TEXT_BYTES:
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
    """Return a text as UTF-8. Lone surrogates, which have no encoding, become U+FFFD."""
    well_formed: str = lines.valid_text(text)
    return well_formed.encode()
