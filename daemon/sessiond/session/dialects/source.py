"""A session file of another program as its reader receives it: lines, and data from files beside it.

Reading never fails because of content. A line that is not a JSON object has a reason, and its bytes are available.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from sessiond.session.tree import lines

FIRST_LINES: Final = 24
"""Objects at the start of a file that suffice to detect its dialect."""


class SourceLine(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One line. `number` counts from 1. If the line contains no object, `value` is None and `reason` says why."""

    number: int
    raw: bytes
    value: dict[str, Any] | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """The bytes of a file.

    `modified` is the time of its last write (ISO 8601). `growing` is true while its program may still write, so a
    message at its end may be incomplete. `beside` is data from a file beside it (Claude Code: the call that a subagent
    serves; Codex: the name in its index).
    """

    name: str
    data: bytes
    modified: str
    growing: bool = False
    beside: dict[str, Any] = field(default_factory=dict)

    def lines(self) -> Iterator[SourceLine]:
        """Yield all lines except empty ones. The torn last line of a growing file is left out."""
        position, number = 0, 1
        while (end := self.data.find(b"\n", position)) >= 0:
            raw = self.data[position:end]
            if raw.strip():
                yield line_of(number, raw)
            position, number = end + 1, number + 1
        tail = self.data[position:]
        if tail.strip():
            last = line_of(number, tail)
            if last.value is not None or not self.growing:
                yield last


def line_of(number: int, raw: bytes) -> SourceLine:
    """Decode a line."""
    raw = raw.rstrip(b"\r")
    try:
        return SourceLine(number, raw, lines.loads(raw.removeprefix(lines.BOM) if number == 1 else raw))
    except lines.NotAnEntry as bad:
        return SourceLine(number, raw, None, bad.reason)


def first_objects(head: bytes) -> list[dict[str, Any]]:
    """Return the objects among the first lines of a file. A line that is cut off at the end of `head` is skipped."""
    found: list[dict[str, Any]] = []
    for number, raw in enumerate(head.split(b"\n", 4 * FIRST_LINES)[: 4 * FIRST_LINES], 1):
        value = line_of(number, raw).value
        if value is not None:
            found.append(value)
        if len(found) == FIRST_LINES:
            break
    return found
