"""Checks that one order of operations explains all answers that several clients of one session received.

`find_order` searches for an order of the operations in which each takes effect between its call and its answer, as Wing
and Gong do, and remembers the states without a solution. It is for small histories, with `expectedLeaf`. `faults_of`
checks long runs in linear time: the acknowledged seqs are the order, so it only has to be compared with the final log.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

UNANSWERED: Final = float("inf")
"""The time of the answer of an operation without an answer. It may take effect at any time after its call, or never."""

ANYWHERE: Final = "anywhere"
"""The expected leaf of an append that accepts any leaf."""


@dataclass(frozen=True)
class Append:
    """One append of entries at the leaf.

    Attributes:
        names: The names of the entries, in the order of the batch. A retry has the names of the first attempt.
        called: When the request was sent.
        answered: When the answer arrived.
        outcome: `stored` with the seqs, `conflict` with the leaf that was found, `refused` (nothing was stored), or
            `unknown`.
        seqs: The acknowledged seq of each entry.
        expected: The name of the leaf that the append expects; None for before the first entry.
        leaf: The name of the leaf in a conflict.
    """

    names: tuple[str, ...]
    called: float
    answered: float = UNANSWERED
    outcome: Literal["stored", "conflict", "refused", "unknown"] = "unknown"
    seqs: tuple[int, ...] = ()
    expected: str | None = ANYWHERE
    leaf: str | None = None


@dataclass(frozen=True)
class Read:
    """The lines of the log that one client got, in order: the seq and the name of each line.

    Attributes:
        lines: The lines.
        follows: Whether it begins after the last line of the read before it of the same reader.
    """

    reader: str
    lines: tuple[tuple[int, str], ...]


def find_order(operations: Sequence[Append], first_seq: int = 1) -> list[int] | None:
    """Return an order that explains all answers, as indexes of the operations; None if there is none.

    Operations without an effect at their place in the order (refused, or unknown and never stored) are omitted.

    Args:
        operations: Every append to a session that was empty before.
        first_seq: The seq of the first entry.
    """
    dead: set[tuple[frozenset[int], tuple[str, ...]]] = set()

    def search(left: frozenset[int], log: tuple[str, ...]) -> list[int] | None:
        must = [index for index in left if operations[index].answered != UNANSWERED]
        if not must:
            return []
        if (left, log) in dead:
            return None
        end = min(operations[index].answered for index in must)
        for index in sorted(left):
            if operations[index].called > end:
                continue  # another operation was answered before this one was called
            grown = _apply(operations[index], log, first_seq)
            if grown is not None and (rest := search(left - {index}, grown)) is not None:
                return [index, *rest]
        dead.add((left, log))
        return None

    return search(
        frozenset(i for i, operation in enumerate(operations) if operation.outcome != "refused"), ()
    )


def _apply(operation: Append, log: tuple[str, ...], first_seq: int) -> tuple[str, ...] | None:
    """Return the log after an operation that takes effect now; None if its answer would be another."""
    leaf = log[-1] if log else None
    is_there = [name in log for name in operation.names]
    if operation.outcome == "conflict":
        is_conflict = operation.expected != leaf and not all(is_there)
        return log if is_conflict and operation.leaf == leaf else None
    if not all(is_there) and operation.expected not in (ANYWHERE, leaf):
        return log if operation.outcome == "unknown" else None
    grown = log + tuple(name for name, there in zip(operation.names, is_there, strict=True) if not there)
    seqs = tuple(first_seq + grown.index(name) for name in operation.names)
    return grown if operation.outcome == "unknown" or operation.seqs == seqs else None


def faults_of(
    operations: Sequence[Append], reads: Sequence[Read], final: Sequence[str], first_seq: int = 1
) -> list[str]:
    """Return the errors of a run of any length, as sentences; empty if it kept all promises.

    Args:
        operations: Every append.
        reads: The lines that each reader got. The reads of one reader follow each other.
        final: The names of the lines of the log at the end, from `first_seq` on.
        first_seq: The seq of the first entry.
    """
    faults: list[str] = []
    place = {name: first_seq + number for number, name in enumerate(final)}
    if len(place) < len(final):
        faults.append("a line is in the log twice: " + next(text for text in final if final.count(text) > 1))
    sent = {name for operation in operations for name in operation.names}
    faults += [f"nobody sent {name}" for name in final if name not in sent]
    faults += _wrong_acknowledgements(operations, place)
    faults += _wrong_times(operations, place)
    shown: dict[str, int] = {}
    for read in reads:
        for seq, name in read.lines:
            due = shown.get(read.reader, first_seq - 1) + 1
            if seq != due:
                faults.append(f"{read.reader} was shown line {seq} where {due} is due")
            if place.get(name) != seq:
                faults.append(f"{read.reader} was shown {name} as line {seq}; it is {place.get(name)}")
            shown[read.reader] = seq
    return faults


def _wrong_acknowledgements(operations: Sequence[Append], place: dict[str, int]) -> list[str]:
    faults: list[str] = []
    stored = {
        name
        for operation in operations
        if operation.outcome in ("stored", "unknown")
        for name in operation.names
    }
    for operation in operations:
        there = [name for name in operation.names if name in place]
        if operation.outcome == "stored":
            found = tuple(place.get(name) for name in operation.names)
            if found != operation.seqs:
                faults.append(f"{operation.names} was acknowledged as {operation.seqs} and is {found}")
        elif operation.outcome == "unknown":
            if there and len(there) < len(operation.names):
                faults.append(f"only a part of {operation.names} is stored")
        elif not stored.issuperset(operation.names) and there:
            faults.append(f"{operation.names} was refused and is stored")
    return faults


def _wrong_times(operations: Sequence[Append], place: dict[str, int]) -> list[str]:
    """Return the appends that are in the order before an append that was answered before they were called."""
    done = [
        operation
        for operation in operations
        if operation.outcome == "stored" and all(name in place for name in operation.names)
    ]
    first: dict[str, float] = {}
    for operation in operations:  # a retry finds its entries at the places of the first attempt
        for name in operation.names:
            first[name] = min(first.get(name, UNANSWERED), operation.called)
    ends = sorted(done, key=lambda append: append.answered)
    faults: list[str] = []
    highest, answered = 0, 0
    for append in sorted(done, key=lambda append: append.called):
        while answered < len(ends) and ends[answered].answered < append.called:
            highest = max(highest, *(place[name] for name in ends[answered].names))
            answered += 1
        if any(place[name] <= highest and first[name] == append.called for name in append.names):
            faults.append(f"{append.names} is before an entry that was acknowledged before it was sent")
    return faults
