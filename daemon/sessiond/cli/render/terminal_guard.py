"""The last filter before a terminal: only sessiond's own control sequences take effect there.

Each command already makes text of transcripts safe (`text`). This filter covers omissions, and JSON, which is printed
as the daemon sent it to everything but a terminal. Pipes and files are not filtered.
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
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls except tab and newline; C1 too, which some terminals read as ESC [
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # characters that change the direction of text
    "\U000e0001-\U000e007f]"  # invisible tags
)
_TO_CHANGE = re.compile(f"({_OURS})|({_OBEYED})")


def guarded(stream: TextIO) -> TextIO:
    """Return a filter that writes to `stream`, if that is a terminal, else `stream` itself."""
    return cast("TextIO", _Guarded(stream)) if stream.isatty() else stream


def harmless(text: str) -> str:
    """Return the text with control characters as JSON escapes, except in sessiond's own sequences."""
    return _TO_CHANGE.sub(_replacement, text)


def _replacement(found: re.Match[str]) -> str:
    if found[1]:
        return found[1]
    return as_json_escape(found[2])


class _Guarded:
    """Forwards everything to a stream, and filters written text."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(harmless(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
