"""Derives the ids of a session that is written for OpenCode, which sorts by them."""

from typing import Final

from sessiond.session.dialects.native_ids import letters

_TIME_BITS: Final = 48
_IDS_A_MILLISECOND: Final = 4096


def session_id(time_ms: int, seed: str) -> str:
    """Return the id of a session. Later ids sort first."""
    return opencode_id("ses", time_ms, 0, seed, descending=True)


def opencode_id(kind: str, time_ms: int, number: int, seed: str, *, descending: bool = False) -> str:
    """Return an id of OpenCode, which sorts by its time, and by its number within one millisecond.

    Args:
        kind: `ses`, `msg` or `prt`.
        time_ms: The time in milliseconds since 1970.
        number: Its number among the ids of the same time.
        seed: The text from which the rest of the id derives.
        descending: Whether later ids sort first, as those of sessions do.
    """
    value = (time_ms * _IDS_A_MILLISECOND + number) % (1 << _TIME_BITS)
    if descending:
        value = (1 << _TIME_BITS) - 1 - value
    return f"{kind}_{value:012x}{letters(14, seed, kind, str(time_ms), str(number))}"
