"""Which versions of the protocol are spoken here, and which one two sides speak together.

Read when they are needed and never copied, and free of imports: the thin client asks before every connection.
"""

from __future__ import annotations

OLDEST = 1
NEWEST = 1


def spoken() -> list[int]:
    """Every version that is spoken here, the oldest first."""
    return list(range(OLDEST, NEWEST + 1))


def common(theirs: list[int]) -> int | None:
    """The newest version that both sides speak; None when there is none."""
    return max(set(theirs) & set(spoken()), default=None)


def named(versions: list[int]) -> str:
    """Versions in words: `version 1`, `versions 1 to 3`, `no version`."""
    if not versions:
        return "no version"
    oldest, newest = min(versions), max(versions)
    return f"version {oldest}" if oldest == newest else f"versions {oldest} to {newest}"
