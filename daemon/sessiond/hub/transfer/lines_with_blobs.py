"""Lines for the process that converts them, in pieces, each with the blobs that its lines name.

Blobs are restored where the lines are read, so the daemon holds the blobs of one line at a time, and never a restored
line.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from sessiond.session.content import restore_blobs
from sessiond.session.content.restore_blobs import Find

PIECE_BYTES: Final = 1 << 20
"""The size of a piece in bytes, in addition to its last line and the blobs of that line."""


class LinePiece(NamedTuple):
    """Lines without their newlines, and the blobs that they name. A missing blob is None."""

    lines: list[bytes]
    blobs: Mapping[str, bytes | None]

    @property
    def size(self) -> int:
        """The bytes of the lines and the blobs."""
        return sum(map(len, self.lines)) + sum(len(blob) for blob in self.blobs.values() if blob is not None)


def in_pieces(lines: Iterable[bytes], find: Find) -> Iterator[LinePiece]:
    """Yield lines with the blobs that `find` returns for them."""
    piece = LinePiece([], blobs := {})
    size = 0
    for line in lines:
        piece.lines.append(line)
        size += len(line)
        for digest in restore_blobs.needed_blobs(line) if restore_blobs.may_refer_to_blobs(line) else ():
            if digest not in blobs:
                blobs[digest] = data = find(digest)
                size += len(data or b"")
        if size >= PIECE_BYTES:
            yield piece
            piece, size = LinePiece([], blobs := {}), 0
    if piece.lines:
        yield piece


def restored(pieces: Iterable[LinePiece]) -> Iterator[bytes]:
    """Yield the lines of pieces with their blobs restored."""
    for piece in pieces:
        for line in piece.lines:
            yield restore_blobs.restore(line, piece.blobs.get)
