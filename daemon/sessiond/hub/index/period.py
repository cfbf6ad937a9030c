"""The times `since` and `until` of requests."""

from typing import Final

from sessiond.hub.errors import IncompatibleParams
from sessiond.session.content.search_text import milliseconds

_END_OF_TIME: Final = 253_402_300_800_000
"""Milliseconds from 1970 to the year 10000, the end of what a timestamp can hold."""


def time_of(text: str) -> int:
    """Return a time of a request in milliseconds since 1970. Raises `IncompatibleParams`."""
    at = milliseconds(text)
    if at is None or at >= _END_OF_TIME:
        raise IncompatibleParams("since and until are times such as 2026-02-16T10:20:30Z or 2026-02-16")
    return max(at, 0)
