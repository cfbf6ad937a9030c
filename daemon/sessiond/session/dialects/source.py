"""A session file of another program as its reader receives it: lines, and data from files beside it.

Reading never fails because of content. A line that is not a JSON object has a reason, and its bytes are available. A
damaged line gives the complete records that it contains, and its other bytes as parts without a value.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, Final, TypeAlias

import msgspec

from sessiond.session.dialects import damaged_lines
from sessiond.session.tree import lines

FIRST_LINES: Final = 24
"""Objects at the start of a file that suffice to detect its dialect."""
_COMPARED_RECORDS: Final = 1000
"""Records that are compared to learn which fields all records of a file have."""


Place: TypeAlias = tuple[int, int]
"""The position of a line or of a part of it: its number and the number of the part."""


class SourceLine(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One line, or a part of a damaged one.

    `number` counts from 1; that of a line of another file, whose history this one continues, is negative. If the line
    contains no object, `value` is None and `reason` says why. `part` counts the parts of a damaged line from 0.
    """

    number: int
    raw: bytes
    value: dict[str, Any] | None
    reason: str = ""
    part: int = 0

    @property
    def place(self) -> Place:
        """The position in the file, for comparisons."""
        return self.number, self.part

    @property
    def key(self) -> str:
        """The position in the file as text that is part of ids: the number, with the part if it is not the first."""
        return f"{self.number}.{self.part}" if self.part else str(self.number)

    @property
    def is_inherited(self) -> bool:
        """Whether it is a line of another file, whose history this one continues."""
        return self.number < 0


class HeldLine(msgspec.Struct, frozen=True, array_like=True):
    """A line as plain data, for the state of a reader that waits for later lines."""

    number: int
    part: int
    raw: bytes

    @classmethod
    def of(cls, line: SourceLine) -> "HeldLine":
        """Return a line as plain data."""
        return cls(line.number, line.part, line.raw)

    @property
    def line(self) -> SourceLine:
        """The line."""
        return msgspec.structs.replace(line_of(self.number, self.raw), part=self.part)


@dataclass(frozen=True)
class Source:
    """The bytes of a file.

    `modified` is the time of its last write (ISO 8601). `growing` is true while its program may still write, so a
    message at its end may be incomplete. `beside` is data from a file beside it (Claude Code: the call that a subagent
    serves; Codex: the name in its index). `inherited` has lines of other files, which follow the first line: the
    history that a fork does not repeat.
    """

    name: str
    data: bytes
    modified: str
    growing: bool = False
    beside: dict[str, Any] = field(default_factory=dict)
    inherited: bytes = b""

    def lines(self) -> Iterator[SourceLine]:
        """Yield all lines except empty ones. The torn last line of a growing file is left out."""
        own = self._own_lines()
        yield from islice(own, 1)
        yield from self.inherited_lines()
        yield from own

    def inherited_lines(self) -> Iterator[SourceLine]:
        """Yield the lines of other files, which follow the first one."""
        if not self.inherited:
            return
        count = self.inherited.count(b"\n") + 1
        for line in Source(self.name, self.inherited, self.modified).lines():
            yield msgspec.structs.replace(line, number=line.number - count)

    def _own_lines(self) -> Iterator[SourceLine]:
        position, number = 0, 1
        while (end := self.data.find(b"\n", position)) >= 0:
            raw = self.data[position:end]
            if raw.strip():
                yield from parts_of(number, raw, self._is_like_others)
            position, number = end + 1, number + 1
        tail = self.data[position:]
        if tail.strip():
            last = list(parts_of(number, tail, self._is_like_others))
            if not self.growing or all(line.value is not None for line in last):
                yield from last

    @cached_property
    def newline_count(self) -> int:
        """The number of its newlines."""
        return self.data.count(b"\n")

    @property
    def is_torn(self) -> bool:
        """Whether the last line of a growing file is not complete yet, so that `lines` leaves it out."""
        number, tail = self.data.count(b"\n") + 1, self.data[self.data.rfind(b"\n") + 1 :]
        return (
            self.growing
            and bool(tail.strip())
            and any(part.value is None for part in parts_of(number, tail, self._is_like_others))
        )

    def _is_like_others(self, value: dict[str, Any]) -> bool:
        """Return whether an object has the fields that all records of the file have which are certain to be records."""
        return self._common.issubset(value)

    @cached_property
    def _common(self) -> frozenset[str]:
        return common_fields(self.data.split(b"\n"))


def common_fields(raw_lines: Iterable[bytes]) -> frozenset[str]:
    """Return the fields that the first records have in common which are certain to be records."""
    certain = (
        frozenset(part.value)
        for raw in raw_lines
        for part in parts_of(2, raw, lambda _value: False)
        if part.value is not None
    )
    first = next(certain, frozenset[str]())
    return first.intersection(*islice(certain, _COMPARED_RECORDS))


def line_of(number: int, raw: bytes) -> SourceLine:
    """Decode a line."""
    raw = raw.rstrip(b"\r")
    try:
        return SourceLine(number, raw, lines.loads(raw.removeprefix(lines.BOM) if number == 1 else raw))
    except lines.NotAnEntry as bad:
        return SourceLine(number, raw, None, bad.reason)


def parts_of(number: int, raw: bytes, is_like_others: Callable[[dict[str, Any]], bool]) -> list[SourceLine]:
    """Decode a line. A damaged one gives its complete records and, as parts without a value, the bytes between them.

    Args:
        number: The number of the line.
        raw: The line.
        is_like_others: Returns whether an object that may be a part of a cut record can be a record.
    """
    whole = line_of(number, raw)
    if whole.value is not None or b"{" not in raw:
        return [whole]
    line = whole.raw.removeprefix(lines.BOM) if number == 1 else whole.raw
    parts: list[SourceLine] = []
    position = 0
    for found in damaged_lines.objects(line):
        record = line_of(number, line[found.start : found.end])
        if record.value is None or not (found.is_sure or is_like_others(record.value)):
            continue
        parts += _rest(number, line[position : found.start], len(parts))
        parts.append(SourceLine(number, record.raw, record.value, part=len(parts)))
        position = found.end
    return parts + _rest(number, line[position:], len(parts)) if parts else [whole]


def _rest(number: int, raw: bytes, part: int) -> list[SourceLine]:
    """Return bytes of a damaged line that are no record as one part; none if they are blank."""
    if not raw.strip():
        return []
    reason = line_of(number, raw).reason or "they are an object, but no record"
    return [
        SourceLine(number, raw, None, f"{len(raw)} bytes beside a whole record were not read: {reason}", part)
    ]


def first_objects(head: bytes) -> list[dict[str, Any]]:
    """Return the objects among the first lines of a file. A line that is cut off at the end of `head` is skipped."""
    found: list[dict[str, Any]] = []
    for number, raw in enumerate(head.split(b"\n", 4 * FIRST_LINES)[: 4 * FIRST_LINES], 1):
        parts = parts_of(number, raw, lambda _value: False)
        found += [part.value for part in parts if part.value is not None]
        if len(found) >= FIRST_LINES:
            break
    return found[:FIRST_LINES]
