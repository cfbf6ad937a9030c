"""The supported protocol versions, the common version of two sides, and which of two programs is older.

Callers read the values when they need them and never copy them. The module has no imports, because the thin client
uses it before every connection.
"""

from __future__ import annotations

OLDEST = 1
NEWEST = 1


def spoken() -> list[int]:
    """Return every supported version, oldest first."""
    return list(range(OLDEST, NEWEST + 1))


def common(theirs: list[int]) -> int | None:
    """Return the newest version that both sides support, or None if there is none."""
    return max(set(theirs) & set(spoken()), default=None)


def is_older(program: str, than: str) -> bool:
    """Return whether a version of sessiond, such as `0.2.0`, is older than another; False if either is no version."""
    first, second = _numbers(program), _numbers(than)
    return bool(first and second) and first < second


def _numbers(program: str) -> list[int]:
    numbers = list[int]()
    for part in program.split("."):
        if not (part.isascii() and part.isdigit()):
            break
        numbers.append(int(part[:9]))
    return numbers


def named(versions: list[int]) -> str:
    """Return versions as text: `version 1`, `versions 1 to 3`, `no version`."""
    if not versions:
        return "no version"
    oldest, newest = min(versions), max(versions)
    return f"version {oldest}" if oldest == newest else f"versions {oldest} to {newest}"
