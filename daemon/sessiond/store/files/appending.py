"""Appends to a file to which other programs append at the same time: returns offsets, and takes bytes back.

`logfile` checks whether the bytes are on a line of their own, and repeats writes.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sessiond.error_text import TemplatedError


class WrittenPiece(NamedTuple):
    """Bytes written by this daemon, and their offset in the file."""

    offset: int
    data: bytes

    @property
    def end(self) -> int:
        """The offset after the last byte."""
        return self.offset + len(self.data)


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """The written bytes and their offset. `data` begins with a newline if the line before lacked one.

    `drifted`: unexpected bytes of other programs are before or after it. `blanked` are earlier bytes of this daemon
    that were overwritten with blanks, in ascending order.
    """

    offset: int
    data: bytes
    drifted: bool
    blanked: tuple[WrittenPiece, ...] = ()


class ForeignHalfLine(TemplatedError):
    """Raised when a file does not end with a newline that this daemon expects; `size` is in bytes."""

    sentence = (
        "Another program has written a line without its newline, up to byte {size}. It may be about to write the "
        "rest."
    )

    def __init__(self, size: int) -> None:
        super().__init__(size=size)
        self.size = size


def append_pieces(
    fd: int, data: bytes, write: Callable[[int, bytes | memoryview], int], pieces: list[WrittenPiece]
) -> None:
    """Append `data` in as many writes as the system needs, usually one.

    Each write goes to the current end of the file, so bytes of other programs may come between two writes.

    Args:
        fd: A descriptor opened with `O_APPEND`.
        data: At least one byte.
        write: `os.write`, or a replacement.
        pieces: Receives the bytes of each write, also if a later write raises.

    Raises:
        OSError: As `write` does.
    """
    rest: bytes | memoryview = data
    while rest:
        count = write(fd, rest)
        end = os.lseek(fd, 0, os.SEEK_CUR)  # O_APPEND leaves it after the last byte of this write
        if count == len(data):
            pieces.append(WrittenPiece(end - count, data))
            return
        pieces.append(WrittenPiece(end - count, bytes(rest[:count])))
        rest = memoryview(rest)[count:]


def is_one_piece(pieces: Sequence[WrittenPiece]) -> bool:
    """Return whether no other bytes are between the pieces."""
    return len(pieces) == 1 or all(pieces[at].end == pieces[at + 1].offset for at in range(len(pieces) - 1))


def blank_out(fd: int, piece: WrittenPiece, overwrite: Callable[[int, bytes, int], int]) -> WrittenPiece:
    """Overwrite a piece in place with blank lines, so that no reader finds its former content.

    The bytes are this daemon's, and other programs only append, so none of their bytes are lost. Truncating instead
    could remove bytes that another program appends at the same time.

    Args:
        fd: A descriptor that may be written.
        piece: The written bytes.
        overwrite: `os.pwrite`, or a replacement.

    Returns:
        The new bytes: a newline, spaces, and a newline.

    Raises:
        OSError: As `overwrite` does.
    """
    size = len(piece.data)
    blanks = (b"\n" + b" " * (size - 2) + b"\n")[:size] if size > 1 else b"\n"
    done = 0
    while done < size:
        done += overwrite(fd, blanks[done:], piece.offset + done)
    return WrittenPiece(piece.offset, blanks)
