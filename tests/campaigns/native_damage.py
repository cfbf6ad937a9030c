"""Damages session files: each way in which a line is lost, cut, repeated or moved, and what is still whole after it."""

import json  # noqa: TID251  (what is checked here must not be made with the product's own means)
import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from campaigns.native_files import START, NativeFile, Record, native_file


@dataclass
class Piece:
    """Bytes of a file, and the records that are whole in them.

    `is_cut`: a record in them is not whole. `is_torn`: nothing that was behind them is there.
    """

    data: bytes
    records: list[Record] = field(default_factory=list)
    is_cut: bool = False
    is_torn: bool = False


@dataclass
class Case:
    """A file with its damage. A copy, if there is one, is older than the file."""

    file: NativeFile
    pieces: list[Piece]
    copy: list[Piece] = field(default_factory=list)
    damages: list[str] = field(default_factory=list)

    can_grow: bool = True
    """Whether the file may be written step by step."""

    @property
    def data(self) -> bytes:
        """The content of the file."""
        return self.of(self.pieces)

    def of(self, pieces: Sequence[Piece]) -> bytes:
        """Return the content of a file with these pieces."""
        file = self.file
        if not file.head:
            return b"".join(piece.data for piece in pieces)
        is_torn = bool(pieces) and pieces[-1].is_torn
        return file.head + b",".join(piece.data for piece in pieces) + (b"" if is_torn else file.end)

    def write(self, home: Path) -> None:
        """Write the file as it is in the end."""
        write_file(home / self.file.path, self.data, START + 20)

    def steps(self, home: Path, dice: random.Random) -> Iterator[None]:
        """Write the file piece by piece, cut anywhere; a document is written anew each time it grows."""
        path = home / self.file.path
        states = [self.data]
        if self.file.head:
            states = [
                self.of(self.pieces[:count]) for count in range(1, len(self.pieces), dice.choice((1, 3)))
            ]
            states.append(self.data)
        for left in states:
            path.write_bytes(b"")
            while left:
                size = dice.choice((1, 400, 3_000, 200_000))
                with path.open("ab") as file:
                    file.write(left[:size])
                left = left[size:]
                yield
        os.utime(path, (START + 20, START + 20))

    def write_copy(self, home: Path) -> None:
        """Write the older copy, if there is one."""
        if self.copy:
            write_file(home / self.file.copy_path, self.of(self.copy), START + 10)

    @property
    def all_pieces(self) -> Sequence[Piece]:
        """All bytes of the file and of its copy."""
        return [*self.pieces, *self.copy]

    @property
    def records(self) -> list[Record]:
        """The whole records, each once, in the order in which they were written."""
        whole = [record for piece in self.all_pieces for record in piece.records]
        there = {id(record) for record in whole}
        return [record for record in self.file.records if id(record) in there]

    @property
    def words(self) -> list[str]:
        return list(dict.fromkeys(word for record in self.records for word in record.words))

    @property
    def tokens(self) -> int:
        return sum({record.request: record.tokens for record in self.records if record.request}.values())

    @property
    def is_cut(self) -> bool:
        return any(piece.is_cut for piece in self.all_pieces)


def piece_of(record: Record) -> Piece:
    return Piece(json.dumps(record.line, ensure_ascii=False).encode() + b"\n", [record])


def _place(case: Case, dice: random.Random) -> int:
    """A line that is not the first, which may tell what the file is."""
    return dice.randrange(1, len(case.pieces))


# --- damages: each returns whether it could be done -----------------------------------------------------------------


def _repeat_a_line(case: Case, dice: random.Random) -> bool:
    if case.file.agent == "cursor":
        return False  # its lines have neither an id nor a time: a line that is there twice may have been said twice
    at = _place(case, dice)
    case.pieces.insert(
        dice.randrange(at, len(case.pieces)) + 1, Piece(case.pieces[at].data, [*case.pieces[at].records])
    )
    return True


def _repeat_the_history(case: Case, dice: random.Random) -> bool:
    if case.file.agent == "cursor":
        return False
    case.pieces += [
        Piece(piece.data, [*piece.records], piece.is_cut) for piece in case.pieces[: _place(case, dice)]
    ]
    return True


def _swap_two_lines(case: Case, dice: random.Random) -> bool:
    if not case.file.parent_name or case.file.agent == "copilot" or len(case.pieces) < 4:
        return False  # Copilot CLI writes one chain in the order of the conversation
    at = dice.randrange(1, len(case.pieces) - 2)
    case.pieces[at], case.pieces[at + 1] = case.pieces[at + 1], case.pieces[at]
    return True


def _add_an_unknown_line(case: Case, dice: random.Random) -> bool:
    """Put a line of an unknown type into the file; in a chain, the next line names it as its parent."""
    at, file = _place(case, dice), case.file
    line = dict(file.unknown)
    if file.parent_name:
        above, below = case.pieces[at - 1], case.pieces[at]
        if not all(
            len(piece.records) == 1 and file.parent_name in piece.records[0].line for piece in (above, below)
        ):
            return False
        line |= {
            file.id_name: f"unknown-{dice.getrandbits(32):08x}",
            file.parent_name: above.records[0].line[file.id_name],
        }
        if below.records[0].line[file.parent_name] != line[file.parent_name]:
            return False
        _set_parent(below, file, line[file.id_name])
    case.pieces.insert(at, Piece(json.dumps(line).encode() + b"\n"))
    return True


def _lose_a_parent(case: Case, dice: random.Random) -> bool:
    """Let a line name a parent that was never written."""
    at, file = _place(case, dice), case.file
    if (
        not file.parent_name
        or len(case.pieces[at].records) != 1
        or file.parent_name not in case.pieces[at].records[0].line
    ):
        return False
    _set_parent(case.pieces[at], file, f"lost-{dice.getrandbits(32):08x}")
    return True


def _set_parent(piece: Piece, file: NativeFile, parent: str) -> None:
    [record] = piece.records
    record.line[file.parent_name] = (
        parent  # the record stays the same one, so that what it says is counted once
    )
    piece.data = json.dumps(record.line, ensure_ascii=False).encode() + b"\n"


def _lose_a_newline(case: Case, dice: random.Random) -> bool:
    at = _place(case, dice)
    case.pieces[at - 1].data = case.pieces[at - 1].data.rstrip(b"\r\n")
    return True


def _cut_a_line(case: Case, dice: random.Random) -> bool:
    """Cut a line, so that the next one follows on the same line."""
    piece = case.pieces[_place(case, dice)]
    if len(piece.records) != 1:
        return False
    if case.file.head and sum(piece.records == item.records for item in case.pieces) > 1:
        return False  # the place of a message in a document is all that tells its order
    piece.data = piece.data[: dice.randrange(1, len(piece.data) - 2)]
    piece.records, piece.is_cut = [], True
    return True


def _put_nuls(case: Case, dice: random.Random) -> bool:
    piece, nuls = case.pieces[_place(case, dice)], b"\0" * dice.choice((1, 512, 9_000))
    piece.data = dice.choice((nuls + piece.data, piece.data[:-1] + nuls + piece.data[-1:]))
    return True


def _tear_the_end(case: Case, dice: random.Random) -> bool:
    piece = case.pieces[-1]
    if len(piece.records) != 1:
        return False
    piece.data = piece.data[: dice.randrange(1, len(piece.data.rstrip(b"\0\r\n")) - 1)]
    piece.records, piece.is_cut, piece.is_torn = [], True, True
    return True


def _end_lines_as_on_windows(case: Case, _dice: random.Random) -> bool:
    for piece in case.pieces:
        piece.data = piece.data.removesuffix(b"\n") + b"\r\n"
    return True


def _copy_a_part(case: Case, dice: random.Random) -> bool:
    """Leave an older copy of the beginning of the file at another place of the agent."""
    if case.file.agent == "pi":
        return False  # two files of pi are two sessions, each of which is opened in place
    case.copy = [
        Piece(piece.data, [*piece.records], piece.is_cut) for piece in case.pieces[: _place(case, dice)]
    ]
    return any(record.words for piece in case.copy for record in piece.records)


DAMAGES: dict[str, Callable[[Case, random.Random], bool]] = {
    "an unknown line": _add_an_unknown_line,
    "a parent that was never written": _lose_a_parent,
    "a repeated line": _repeat_a_line,
    "a part of the history again": _repeat_the_history,
    "two lines in the other order": _swap_two_lines,
    "a missing newline": _lose_a_newline,
    "a cut line": _cut_a_line,
    "NULs": _put_nuls,
    "a torn end": _tear_the_end,
    "lines that end as on Windows": _end_lines_as_on_windows,
    "an older copy": _copy_a_part,
}
"""In the order in which they are done: a line is changed before it is repeated."""


def damaged_file(agent: str, dice: random.Random, folder: Path) -> Case:
    file = native_file(agent, dice, f"{folder}/{agent}")
    case = Case(file, [piece_of(record) for record in file.records])
    chosen = dice.sample(list(DAMAGES), dice.choice((0, 1, 1, 2, 3)))
    for name, damage in DAMAGES.items():
        if name in chosen and damage(case, dice):
            case.damages.append(name)
    return case


def write_file(path: Path, data: bytes, at: float | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    if at is not None:
        os.utime(path, (at, at))
