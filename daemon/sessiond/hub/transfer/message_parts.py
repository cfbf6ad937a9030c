"""Reads the messages of a session in a database in parts of bounded size, as `file_parts` reads the lines of a file.

The bytes are those of the document of the session, so that its digest is that of reading the document whole. A part has
a mebibyte of messages, or one larger message with those before it. All functions block.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

from sessiond.agents.session_database import SessionMessages
from sessiond.hub.transfer import file_parts, taken_texts
from sessiond.hub.transfer.file_parts import FilePart
from sessiond.hub.transfer.json_texts import Region
from sessiond.hub.transfer.source_state import Digests
from sessiond.hub.transfer.taken_texts import TakenTexts
from sessiond.session.dialects.source import Source, SourceLine, line_of


@dataclass(frozen=True)
class MessageSource(Source):
    """A session of which only a part is in memory.

    Attributes:
        messages: The session in its database, which is open as long as it is read.
        texts: Takes the long texts out of its messages.
        digests: The digests of the bytes that were read.
        size: More than the number of its bytes, which is not known before.
        is_torn: False, because its document always has an end.
    """

    messages: SessionMessages = field(kw_only=True)
    texts: TakenTexts = field(kw_only=True)
    digests: Digests = field(default_factory=Digests)
    size: int = sys.maxsize
    is_torn: bool = field(default=False, init=False)

    def bytes_before(self, end: int) -> Iterator[bytes]:
        """Yield the bytes before an offset, or all if there are fewer."""
        for piece in self.messages.pieces():
            yield piece[:end]
            end -= len(piece)
            if end <= 0:
                break

    def parts(self, start: int = 0, _newlines: int = 0) -> Iterator[FilePart]:
        """Yield the messages from an offset on, which is that of the end of a part. All have the number 1."""
        found: list[SourceLine] = []
        position = size = 0
        for number, piece in enumerate(self.messages.pieces()):
            position += len(piece)
            if position <= start:
                continue
            self.digests.update(piece)
            found += self._lines(number, piece)
            size += len(piece)
            if size >= file_parts.PART_BYTES:
                yield FilePart(found, position, 0)
                found, size = [], 0
        yield FilePart(found, position, 0)

    def _lines(self, number: int, piece: bytes) -> list[SourceLine]:
        """Return what the reader takes of a piece: the description, a message, or nothing."""
        if number == 0:
            head = line_of(1, piece + b"]}").value or {}
            value = {
                "info": head.get("info"),
                "count": self.messages.count,
                "settledCount": self.messages.settled_count,
            }
            return [SourceLine(1, piece, value)]
        if number > (self.messages.settled_count if self.growing else self.messages.count):
            return []
        raw = piece.removeprefix(b",")
        if len(raw) > taken_texts.LONG_TEXT:
            whole = Region(
                lambda offset, size: piece[offset : offset + size], len(piece) - len(raw), len(piece)
            )
            raw = self.texts.line(whole, is_cut=False)
        return [line_of(1, raw)]
