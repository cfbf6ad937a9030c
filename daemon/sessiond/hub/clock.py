"""The only place where the hub meets the clock and chance: timestamps and new ids."""

import datetime
import os
import time
import uuid
from collections.abc import Callable


def timestamp() -> str:
    """Now, as the logs write it: ISO 8601, UTC, milliseconds."""
    nanoseconds = time.time_ns()
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    moment = time.gmtime(seconds)
    return (
        f"{moment.tm_year:04}-{moment.tm_mon:02}-{moment.tm_mday:02}"
        f"T{moment.tm_hour:02}:{moment.tm_min:02}:{moment.tm_sec:02}.{rest // 1_000_000:03}Z"
    )


def session_id() -> str:
    """A new session id: UUID4."""
    return str(uuid.uuid4())


def entry_id(taken: Callable[[str], bool]) -> str:
    """A new entry id: 8 hex characters that are not taken in this session."""
    while True:
        candidate = os.urandom(4).hex()
        if not taken(candidate):
            return candidate


def iso(nanoseconds: int) -> str:
    """A file's time as the wire has times."""
    moment = datetime.datetime.fromtimestamp(nanoseconds / 1e9, tz=datetime.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
