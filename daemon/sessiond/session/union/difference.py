"""Compares two copies of a session by the ids and hashes of their lines."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class LineKey(NamedTuple):
    """One line of a copy: its seq, the id of its entry or None, its hash, and the seq of its parent or -1."""

    seq: int
    id: str | None
    hash: str
    parent: int


@dataclass(slots=True)
class Own:
    """The lines that only one of two copies has.

    Attributes:
        seqs: The lines that the other copy can take, ascending.
        superseding: The ids of these lines that have a second line with the same id here, which the other copy has.
        refused: The ids under which the other copy has other content. Each copy keeps its own line.
    """

    seqs: list[int] = field(default_factory=list)
    superseding: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def own_lines(here: Sequence[LineKey], there: Sequence[LineKey]) -> Own:
    """Return the lines that only `here` has."""
    known = {(line.id, line.hash) for line in there}
    of_id: dict[str, set[str]] = {}
    for line in there:
        if line.id is not None:
            of_id.setdefault(line.id, set()).add(line.hash)
    ours = {(line.id, line.hash) for line in here}
    own = Own()
    for line in here:
        key = (line.id, line.hash)
        if key in known:
            continue
        known.add(key)  # a line that is stored twice is one line
        others = of_id.get(line.id, set()) if line.id is not None else set()
        if line.id is not None and any((line.id, other) not in ours for other in others):
            own.refused.append(line.id)
            continue
        own.seqs.append(line.seq)
        if line.id is not None and others:
            own.superseding.append(line.id)
    return own


def parents_of(lines: Sequence[LineKey]) -> dict[str, str | None]:
    """Return the parent of each entry of a copy, by id."""
    names = {line.seq: line.id for line in lines}
    return {line.id: names.get(line.parent) for line in lines if line.id is not None}
