"""Recognizes session files of other programs, which must not be opened in place (decision 0024)."""

from collections.abc import Callable
from dataclasses import dataclass

from sessiond.session.dialects.home_format import PROBE_BYTES, is_home_format


@dataclass(frozen=True, slots=True)
class ForeignProgram:
    """The program that wrote a file: its dialect's name, and the program's name."""

    dialect: str
    name: str


def foreign_program_of(read_head: Callable[[int], bytes]) -> ForeignProgram | None:
    """Return the program that wrote a file; None for a session of sessiond, pi or oh-my-pi, or an unknown format.

    `read_head` takes a number of bytes and returns that many from the start of the file, or fewer if the file is
    shorter.
    """
    head = read_head(PROBE_BYTES)
    if is_home_format(head):
        return None
    from sessiond.agents import known  # most files need no reader
    from sessiond.agents.pi import reader

    if len(head) >= PROBE_BYTES:
        head = read_head(known.HEAD_BYTES)
    dialect = known.detect(head)
    if dialect is None or dialect == reader.NAME:
        return None
    return ForeignProgram(dialect, known.DIALECTS[dialect].about)
