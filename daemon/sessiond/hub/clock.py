"""The hub's only source of the current time and of random ids."""

import datetime
import os
import time
import uuid
from typing import Final


def timestamp() -> str:
    """Return the current time as logs store it: ISO 8601, UTC, with milliseconds."""
    global _millisecond, _text
    millisecond = time.time_ns() // 1_000_000
    if millisecond != _millisecond:
        _millisecond, _text = millisecond, iso(millisecond * 1_000_000)
    return _text


_millisecond, _text = -1, ""


def session_id() -> str:
    """Return a new session id, a UUID4."""
    return str(uuid.uuid4())


SHORT: Final = 8
"""The hex characters of the entry ids on stores of one daemon. pi and oh-my-pi write ids of this length."""
LONG: Final = 16
"""The hex characters of the entry ids on stores of several daemons, which choose ids at the same time."""


def entry_id(length: int = SHORT) -> str:
    """Return `length` random hex characters. The caller checks that the session has no entry with this id."""
    return entry_ids(1, length)[0]


def entry_ids(count: int, length: int = SHORT) -> list[str]:
    """Return several ids as `entry_id` does. They may repeat."""
    size = count * length // SHORT
    while len(_parts) < size:
        _parts.extend(os.urandom(4 * 256).hex(" ", 4).split())
    parts = _parts[-size:]
    del _parts[-size:]
    if length == SHORT:
        return parts
    return [first + second for first, second in zip(parts[::2], parts[1::2], strict=True)]


_parts: list[str] = []


def iso(nanoseconds: int) -> str:
    """Format a time in nanoseconds since 1970 as an ISO 8601 timestamp in UTC with milliseconds."""
    global _last_second
    second, nanosecond = divmod(nanoseconds, 1_000_000_000)
    known, text = _last_second
    if second != known:
        moment = datetime.datetime.fromtimestamp(second, tz=datetime.UTC)
        text = moment.isoformat(timespec="seconds").removesuffix("+00:00")
        _last_second = second, text
    return f"{text}.{nanosecond // 1_000_000:03d}Z"


_last_second = (-1, "")  # one value, because threads format times, too
