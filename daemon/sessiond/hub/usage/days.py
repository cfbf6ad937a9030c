"""Days in a time zone: their beginnings, for sums in a database."""

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sessiond.hub.errors import IncompatibleParams
from sessiond.hub.index.usage_totals import DAY_MS, HALF_HOUR_MS, half_hour_of
from sessiond.time_zone import local_name

_MINUTE_MS: Final = 60_000
_MAX_CHANGES: Final = 400
"""Limit of the changes of the clock that a query takes into account, the latest ones: two a year for 200 years."""
_YEARS: Final = range(1902, 2200)
"""The years whose time zone offsets are determined. Earlier and later times have the offset of the nearest year."""


class OffsetChange(NamedTuple):
    """From `at_ms` on, the clocks of a zone are `offset_ms` ahead of UTC. Both are in milliseconds."""

    at_ms: int
    offset_ms: int


@dataclass(frozen=True, slots=True)
class Zone:
    """A time zone. `name` is for people and programs; `offset_at` returns the offset from UTC at a time."""

    name: str
    offset_at: Callable[[datetime], timedelta]

    def changes(self, utc_days: Iterable[int]) -> list[OffsetChange]:
        """Return the changes of the offset on these days in UTC and between them. The first one is the first offset.

        Args:
            utc_days: Days counted from 1970, in their order.
        """
        found: list[OffsetChange] = []
        for day in utc_days:
            first, last = day * DAY_MS, (day + 1) * DAY_MS - 1
            offset = self._offset(first)
            if not found or found[-1].offset_ms != offset:
                found.append(OffsetChange(first, offset))
            if (later := self._offset(last)) != offset:
                found.append(OffsetChange(self._change_between(first, last, later), later))
        return found[-_MAX_CHANGES:]

    def _change_between(self, before: int, after: int, offset: int) -> int:
        """Return the minute from which on the offset is the one at `after`."""
        while after - before > _MINUTE_MS:
            middle = (before + after) // 2
            before, after = (before, middle) if self._offset(middle) == offset else (middle, after)
        return after // _MINUTE_MS * _MINUTE_MS

    def _offset(self, at_ms: int) -> int:
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at_ms)
        if at.year not in _YEARS:
            at = at.replace(year=min(max(at.year, _YEARS[0]), _YEARS[-1]), day=1)
        return round(self.offset_at(at).total_seconds() * 1000)


def zone(name: str | None) -> Zone:
    """Return a time zone; that of this machine if `name` is None.

    Raises:
        IncompatibleParams: No time zone has this name here.
    """
    if name is not None:
        found = _named(name)
        if found is None:
            raise IncompatibleParams(f"timeZone is not the name of a time zone here: {name:.100}")
        return found
    local = local_name(os.environ)
    return (None if local is None else _named(local)) or _clock_of_machine()


def sql_of_day(changes: list[OffsetChange], column: str) -> str:
    """Return the SQL expression of the local day, counted from 1970, of a column of times in milliseconds."""
    if not changes:
        return f"{column} / {DAY_MS}"
    first, *others = changes
    cases = "".join(
        f" WHEN {column} >= {change.at_ms} THEN {change.offset_ms}" for change in reversed(others)
    )
    offset = f"CASE{cases} ELSE {first.offset_ms} END" if others else str(first.offset_ms)
    return f"({column} + {offset} + {DAY_MS}) / {DAY_MS} - 1"  # SQLite rounds towards 0, and an offset may be below it


def cut_half_hours(changes: list[OffsetChange], utc_days: list[int]) -> set[int]:
    """Return the half-hours that are not on one local day, of those on some days in UTC.

    There are none if the clocks are ahead of UTC by a multiple of half an hour.

    Args:
        changes: The changes of the offset on these days.
        utc_days: Days counted from 1970.
    """
    offsets = {change.offset_ms for change in changes if change.offset_ms % HALF_HOUR_MS}
    ends = {day * DAY_MS + -offset % DAY_MS for offset in offsets for day in utc_days}
    cut = {change.at_ms for change in changes if change.at_ms % HALF_HOUR_MS}
    return {half_hour_of(at) for at in ends | cut}


def name_of_day(day: int) -> str:
    """Return the date of a day that is counted from 1970."""
    return (date(1970, 1, 1) + timedelta(days=day)).isoformat()


def _named(name: str) -> Zone | None:
    try:
        info = ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # OSError: a folder of the database
        return None
    return Zone(name, lambda at: at.astimezone(info).utcoffset() or timedelta())


def _clock_of_machine() -> Zone:
    """Return the time zone of the C library, which has no name for it."""
    seconds = time.localtime().tm_gmtoff
    sign, minutes = "-" if seconds < 0 else "+", abs(seconds) // 60
    name = f"UTC{sign}{minutes // 60:02}:{minutes % 60:02}"
    return Zone(name, lambda at: timedelta(seconds=time.localtime(at.timestamp()).tm_gmtoff))
