"""Appending to a file to which other programs append at the same time: where the bytes went, and taking them back.

It does not decide what counts as a line of its own, or what is tried again; `logfile` does.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sessiond.error_text import TemplatedError


class WrittenPiece(NamedTuple):
    """Bytes of ours and where in the file they begin."""

    offset: int
    data: bytes

    @property
    def end(self) -> int:
        return self.offset + len(self.data)


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """What was written and where; `data` begins with a newline when the line before it lacked one.

    `drifted` says that other bytes are before or behind it than were known. `blanked` are earlier bytes of ours that
    were overwritten with blanks, ascending.
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

    Each write goes to what is then the end of the file, so bytes of other programs may come between two.

    Args:
        fd: A descriptor opened with `O_APPEND`.
        data: At least one byte.
        write: `os.write`, or what stands for it.
        pieces: Receives what each write has written, also when a later one raises.

    Raises:
        OSError: As `write` does.

    """
    rest: bytes | memoryview = data
    while rest:
        count = write(fd, rest)
        end = os.lseek(fd, 0, os.SEEK_CUR)  # O_APPEND leaves it behind our last byte
        if count == len(data):
            pieces.append(WrittenPiece(end - count, data))
            return
        pieces.append(WrittenPiece(end - count, bytes(rest[:count])))
        rest = memoryview(rest)[count:]


def is_one_piece(pieces: Sequence[WrittenPiece]) -> bool:
    """Whether nothing lies between the pieces."""
    return len(pieces) == 1 or all(pieces[at].end == pieces[at + 1].offset for at in range(len(pieces) - 1))


def blank_out(fd: int, piece: WrittenPiece, overwrite: Callable[[int, bytes, int], int]) -> WrittenPiece:
    """Overwrite a piece in place with blank lines, so that no reader finds what it held.

    The bytes are ours, and other programs only append, so none of theirs are lost. Truncating instead could cut
    away what another program is appending in that moment.

    Args:
        fd: A descriptor that may be written.
        piece: What was written.
        overwrite: `os.pwrite`, or what stands for it.

    Returns:
        What lies there now: a newline, spaces, and a newline.

    Raises:
        OSError: As `overwrite` does.

    """
    size = len(piece.data)
    blanks = (b"\n" + b" " * (size - 2) + b"\n")[:size] if size > 1 else b"\n"
    done = 0
    while done < size:
        done += overwrite(fd, blanks[done:], piece.offset + done)
    return WrittenPiece(piece.offset, blanks)
