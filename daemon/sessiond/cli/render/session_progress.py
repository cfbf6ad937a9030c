"""The number of sessions that are done, drawn in one line of standard error if that is a terminal."""

from __future__ import annotations

import os
import sys

from sessiond import human

_ERASED = "\r\x1b[K"


class SessionProgress:
    """Draws over the previous line at each call. The line is erased when the context is left."""

    def __init__(self) -> None:
        self._draws = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def __call__(self, done: int, count: int) -> None:
        """Show the number of sessions that are done, and of all."""
        if self._draws:
            text = f"{_ERASED}{done:,} of {human.count(count, 'session')}"
            print(text, end="", file=sys.stderr, flush=True)

    def __enter__(self) -> SessionProgress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._draws:
            print(_ERASED, end="", file=sys.stderr, flush=True)
