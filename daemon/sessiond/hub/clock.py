"""The hub's only source of the current time and of random ids."""

import datetime
import os
import time
import uuid


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


def entry_id() -> str:
    """Return 8 random hex characters. The caller checks that the session has no entry with this id."""
    if not _ids:
        drawn = os.urandom(4 * 256).hex()
        _ids.extend(drawn[at : at + 8] for at in range(0, len(drawn), 8))
    return _ids.pop()


_ids: list[str] = []


def iso(nanoseconds: int) -> str:
    """Format a time in nanoseconds since 1970 as an ISO 8601 timestamp in UTC with milliseconds."""
    moment = datetime.datetime.fromtimestamp(nanoseconds / 1e9, tz=datetime.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
