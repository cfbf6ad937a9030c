"""Patterns for folders and files, as the configuration has them: `~/clients/*`, `/srv/**/secret`.

`*` is any part of a name, `?` one character, and `**` any number of folders. A pattern that matches a folder matches
all that is below it. A match takes time in proportion to the length of the path times that of the pattern, whatever
both have.
"""

from collections.abc import Iterable
from typing import Final

_ANY_FOLDERS: Final = "**"


class PathPatterns:
    """Some patterns, each an absolute path."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._patterns = [
            [name for name in pattern.split("/") if name not in ("", ".")] for pattern in patterns
        ]

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def matches(self, path: str) -> bool:
        """Return whether a pattern matches an absolute path, or a folder above it."""
        names = [name for name in path.split("/") if name not in ("", ".")]
        return any(_matches(pattern, names) for pattern in self._patterns)


def _matches(pattern: list[str], names: list[str]) -> bool:
    """Return whether a pattern matches the beginning of a path, by all states of the match at each name."""
    end = len(pattern)
    states = _with_skipped(pattern, {0})
    for name in names:
        if end in states:
            return True
        states = _with_skipped(
            pattern,
            {
                state if pattern[state] == _ANY_FOLDERS else state + 1
                for state in states
                if pattern[state] == _ANY_FOLDERS or _is_like(pattern[state], name)
            },
        )
    return end in states


def _with_skipped(pattern: list[str], states: set[int]) -> set[int]:
    """Return states, with those after each `**` that matches no folder."""
    found = set(states)
    for state in states:
        while state < len(pattern) and pattern[state] == _ANY_FOLDERS:
            state += 1
            found.add(state)
    return found


def _is_like(pattern: str, name: str) -> bool:
    """Return whether a name has the form of a pattern with `*` and `?`. A mismatch goes back to the last `*` only."""
    at = place = 0
    star = resumed = -1
    while place < len(name):
        if at < len(pattern) and pattern[at] == "*":
            star, resumed = at, place
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", name[place]):
            at += 1
            place += 1
        elif star >= 0:
            resumed += 1
            at, place = star + 1, resumed
        else:
            return False
    return all(character == "*" for character in pattern[at:])
