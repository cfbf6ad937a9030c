"""The supported protocol versions, and the common version of two sides.

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


def named(versions: list[int]) -> str:
    """Return versions as text: `version 1`, `versions 1 to 3`, `no version`."""
    if not versions:
        return "no version"
    oldest, newest = min(versions), max(versions)
    return f"version {oldest}" if oldest == newest else f"versions {oldest} to {newest}"
