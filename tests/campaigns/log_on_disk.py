"""A session file as it lies on the disk, read without any code of the product."""

import json  # noqa: TID251  (what is checked here must not be read with the product's own means)
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from campaigns.campaign import Broken, hold


@dataclass(frozen=True)
class LogOnDisk:
    """`lines` are whole lines, decoded, the header first: the number of a line is its seq. `tail` is behind them."""

    path: Path
    lines: list[dict[str, Any]]
    raw: list[bytes]
    tail: bytes

    @property
    def seqs(self) -> dict[str, int]:
        """Where each entry is. Raises `Broken` when an id is there twice."""
        found: dict[str, int] = {}
        for seq, line in enumerate(self.lines):
            if seq and "id" in line:
                hold(
                    line["id"] not in found,
                    f"{self.path}: entry {line['id']} is there twice: {self._beginnings(line['id'])}",
                )
                found[line["id"]] = seq
        return found

    def lines_around(self, seq: int) -> list[bytes]:
        """Return the beginning and end of the lines near a seq, to be shown in a failure."""
        first = max(0, seq - 3)
        return [
            raw if len(raw) < 160 else raw[:80] + b" ... " + raw[-60:] for raw in self.raw[first : seq + 3]
        ]

    def _beginnings(self, entry_id: str) -> list[tuple[int, list[bytes]]]:
        return [
            (index, self.lines_around(index))
            for index, line in enumerate(self.lines)
            if line.get("id") == entry_id
        ]


_TITLE: Final = re.compile(rb'(,"title":"(?:[^"\\]|\\.)*")?\} *\Z')


def without_title(raw: Sequence[bytes]) -> list[bytes]:
    """Return whole lines with the header as it is without a title.

    The title in a header is a copy for oh-my-pi that is overwritten in place, and of which a crash may leave the
    former one. The title itself is in an entry.
    """
    return [_TITLE.sub(b"}", raw[0]), *raw[1:]] if raw else []


def read_log(path: Path) -> LogOnDisk:
    """Read a file that may have been left by a crash. Raises `Broken` for a whole line that is no JSON object."""
    *raw, tail = path.read_bytes().split(b"\n")
    lines = []
    for number, line in enumerate(raw):
        try:
            decoded = json.loads(line)
        except ValueError:
            decoded = None
        if not isinstance(decoded, dict):
            raise Broken(
                f"{path}: line {number + 1} of {len(raw)} is not whole: {line[:60]!r}…{line[-60:]!r}"
            )
        lines.append(decoded)
    return LogOnDisk(path, lines, raw, tail)


def read_shared_log(path: Path) -> LogOnDisk:
    """Read a file to which other programs append half lines. In `lines` what is no entry is an empty object."""
    *raw, tail = path.read_bytes().split(b"\n")
    return LogOnDisk(path, [_entry(line) for line in raw], raw, tail)


def _entry(line: bytes) -> dict[str, Any]:
    try:
        decoded = json.loads(line.decode("utf-8", "replace"))  # as the JavaScript peers read it
    except ValueError:
        return {}
    is_entry = isinstance(decoded, dict) and all(
        isinstance(decoded.get(name), str) for name in ("type", "id")
    )
    return decoded if is_entry else {}


def log_of(home: Path, session_id: str) -> Path:
    """The one file of a session that is in the sessions or drafts of this home."""
    found = [
        path
        for folder in ("sessions", "drafts")
        for path in (home / "data" / folder).rglob(f"*_{session_id}.jsonl")
    ]
    hold(len(found) == 1, f"session {session_id} has {len(found)} files: {', '.join(map(str, found))}")
    return found[0]
