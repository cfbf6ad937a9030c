"""Recognizes sessions in the format of sessiond, pi and oh-my-pi by their first lines."""

from typing import Any, Final

import msgspec

from sessiond.session.dialects.source import FIRST_LINES
from sessiond.session.tree import lines

PROBE_BYTES: Final = 64 * 1024
"""Bytes at the start of a file that usually suffice for `is_home_format`."""


def is_home_format(head: bytes) -> bool:
    """Return whether the first lines settle that a file is a session of sessiond, pi or oh-my-pi.

    This decodes as few lines as possible. False means undecided.
    """
    has_header = False
    for raw in head.split(b"\n", FIRST_LINES)[:FIRST_LINES]:
        if not raw.strip():
            continue
        try:
            line = _line.decode(raw.removeprefix(lines.BOM))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
        if has_header:
            if line.parent_id is not msgspec.UNSET:
                return False
            if line.parentId is not msgspec.UNSET:
                return True
        elif line.type == "session":
            if not isinstance(line.version, int) or line.version < 2 or not isinstance(line.timestamp, str):
                return False
            has_header = True
        elif line.type != "title":
            return False
    return False


class _Line(msgspec.Struct):
    type: Any = None
    version: Any = None
    timestamp: Any = None
    parentId: Any = msgspec.UNSET
    parent_id: Any = msgspec.UNSET


_line: Final = msgspec.json.Decoder(_Line)
