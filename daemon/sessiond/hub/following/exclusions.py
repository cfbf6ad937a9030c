"""Determines which sessions of agents are not read (decision 0076): those of excluded and of private folders.

A folder is private if it, or a folder above it, has a file of the name `PRIVATE`. The methods block.
"""

import os
from collections.abc import Iterable
from typing import Final

from sessiond.session.listing.path_patterns import PathPatterns

PRIVATE: Final = ".sessiond-private"
"""The name of the file that marks a folder, and all below it, as private. It may be empty."""


class Exclusions:
    """The sessions that following leaves out. `patterns` are those of `[agents] exclude`."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._patterns = PathPatterns(patterns)

    def covers(self, path: str, cwd: str) -> bool:
        """Return whether a session is not read.

        Args:
            path: The path of its source.
            cwd: Its folder; empty if it is not known.
        """
        if self._patterns and any(self._patterns.matches(each) for each in (path, cwd) if each):
            return True
        if not cwd.startswith("/") or "\0" in cwd:
            return False
        real = os.path.realpath(cwd)
        return (real != cwd and bool(self._patterns) and self._patterns.matches(real)) or _is_private(real)


def _is_private(folder: str) -> bool:
    while True:
        if os.path.lexists(f"{folder.rstrip('/')}/{PRIVATE}"):
            return True
        above = os.path.dirname(folder)  # noqa: PTH120 - a text
        if above == folder:
            return False
        folder = above
