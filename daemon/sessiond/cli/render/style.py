"""The capabilities of an output stream: colors, columns and box characters."""

from __future__ import annotations

import os

from sessiond.cli.render import ascii_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

_CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}


class Style:
    """The style of one stream. `columns` is None if lines are not cut (a file, a pipe)."""

    __slots__ = ("boxes", "colors", "columns")

    def __init__(self, *, colors: bool = False, columns: int | None = None, boxes: bool = True) -> None:
        self.colors = colors
        self.columns = columns
        self.boxes = boxes

    def __call__(self, text: str, *names: str) -> str:
        """Return the text in a color or weight, if the stream has colors."""
        if not self.colors or not text or not names:
            return text
        return f"\x1b[{';'.join(_CODES[name] for name in names)}m{text}\x1b[0m"

    @property
    def ellipsis(self) -> str:
        """The end of a cut text."""
        return "…" if self.boxes else "..."


def style_for(stream: TextIO, environ: Mapping[str, str] = os.environ, *, plain: bool = False) -> Style:
    """Return the style of a stream. ASCII is used if `plain`, in the C locale, and if the encoding has no boxes."""
    return Style(
        colors=_colored(stream, environ),
        columns=_columns(stream, environ),
        boxes=not plain and not ascii_output.is_wanted(environ) and _can_box(stream.encoding),
    )


def is_own_terminal(stream: TextIO) -> bool:
    """Return whether a stream is a terminal of this user, and not one that is lent, as below `su` or `sudo -u`."""
    try:
        return stream.isatty() and os.fstat(stream.fileno()).st_uid == os.geteuid()
    except (OSError, ValueError):
        return False


def _colored(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Return whether to use colors: NO_COLOR first, then the variables that force them, then the terminal."""
    if environ.get("NO_COLOR"):
        return False
    if any(environ.get(name, "0") not in ("", "0") for name in ("CLICOLOR_FORCE", "FORCE_COLOR")):
        return True
    return stream.isatty() and environ.get("TERM") != "dumb" and environ.get("CLICOLOR") != "0"


def _columns(stream: TextIO, environ: Mapping[str, str]) -> int | None:
    if (columns := environ.get("COLUMNS", "")).isdecimal() and int(columns) > 0:
        return int(columns)
    if not stream.isatty():
        return None
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        return 80


def _can_box(encoding: str | None) -> bool:
    try:
        "├─│└●○◀…".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
