"""The only place where the hub meets the clock and chance: timestamps and new ids."""

import datetime
import os
import time
import uuid


def timestamp() -> str:
    """Now, as the logs write it: ISO 8601, UTC, milliseconds."""
    global _millisecond, _text
    millisecond = time.time_ns() // 1_000_000
    if millisecond != _millisecond:
        _millisecond, _text = millisecond, iso(millisecond * 1_000_000)
    return _text


_millisecond, _text = -1, ""


def session_id() -> str:
    """A new session id: UUID4."""
    return str(uuid.uuid4())


def entry_id() -> str:
    """8 hex characters; whether they are taken in a session the caller sees."""
    if not _ids:
        drawn = os.urandom(4 * 256).hex()
        _ids.extend(drawn[at : at + 8] for at in range(0, len(drawn), 8))
    return _ids.pop()


_ids: list[str] = []


def iso(nanoseconds: int) -> str:
    """A file's time as the wire has times."""
    moment = datetime.datetime.fromtimestamp(nanoseconds / 1e9, tz=datetime.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
