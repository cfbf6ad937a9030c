"""The last thing between a command and a terminal: whatever is printed there, only our own sequences are obeyed.

Each command makes text of transcripts harmless by itself (`text`); this is for what one of them may have missed,
and for JSON, which must be as the daemon sent it wherever it is not shown to a person. Pipes and files are left alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from sessiond.cli.render.ascii_output import as_json_escape

if TYPE_CHECKING:
    from typing import Any, TextIO

_OURS = (
    r"\x1b\[[0-9;]{1,12}m|\r\x1b\[K"  # colors of `cli/render/style`, the erased line of `cli/render/progress`
)
_OBEYED = (
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls, but for tab and newline; C1 too, which are some terminals' ESC [
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # what turns the direction of text
    "\U000e0001-\U000e007f]"  # invisible tags
)
_TO_CHANGE = re.compile(f"({_OURS})|({_OBEYED})")


def guarded(stream: TextIO) -> TextIO:
    """A stream that writes to `stream`; itself where that is no terminal."""
    return cast("TextIO", _Guarded(stream)) if stream.isatty() else stream


def harmless(text: str) -> str:
    """The text, with what a terminal would obey written as JSON writes it, but for our own sequences."""
    return _TO_CHANGE.sub(_replacement, text)


def _replacement(found: re.Match[str]) -> str:
    if found[1]:
        return found[1]
    return as_json_escape(found[2])


class _Guarded:
    """Passes everything on, what is written in a harmless form."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(harmless(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
