"""Times that users type: dates, times of day, spans back from now, and a few words.

A day, a month and a year mean all of it: `--since` begins with its first moment, `--until` ends with its last one. A
span such as `7d` or `2 weeks` names the day that was so long ago. Spans of hours and minutes name a moment. All are in
the local time zone, unless a time has its own.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta

from sessiond.cli.parse.arguments import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sessiond.cli.parse.arguments import ParsedArguments

_SPAN = re.compile(r"(\d{1,6}) ?([a-z]+)(?: ago)?")
_UNITS = {
    "min": 1, "mins": 1, "minute": 1, "minutes": 1, "h": 60, "hour": 60, "hours": 60,
    "d": 1440, "day": 1440, "days": 1440, "w": 10080, "week": 10080, "weeks": 10080,
}  # fmt: skip
_MONTHS = {"month": 1, "months": 1, "y": 12, "year": 12, "years": 12}
_WORDS = {"today": 0, "yesterday": 1}
_DAY = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")
_LAST_MOMENT = timedelta(milliseconds=1)
_DAY_MINUTES = 1440


def period(args: ParsedArguments, now: datetime | None = None) -> dict[str, str]:
    """Return the params `since` and `until` for the options of these names: times in UTC, as ISO 8601.

    Args:
        args: The arguments.
        now: The present time with its zone; for tests.

    Raises:
        UsageError: A time cannot be read, or the period ends before it begins.
    """
    found: dict[str, str] = {}
    for option in ("since", "until"):
        if (text := args.value(option)) is not None:
            moments = _read(text.strip().lower(), now or datetime.now().astimezone())
            if moments is None:
                raise UsageError(
                    f"--{option} does not understand {text!r}",
                    "It takes a date (2026-11-01, 2026-11), a time (2026-11-01 14:30, 14:30), a span back from now"
                    " (7d, 2 weeks, 36h), today or yesterday.",
                )
            found[option] = _in_utc(moments[option == "until"])
    if "since" in found and "until" in found and found["since"] > found["until"]:
        raise UsageError(f"--until ({args.value('until')}) is before --since ({args.value('since')})")
    return found


def _read(text: str, now: datetime) -> tuple[datetime, datetime] | None:
    """Return the first and the last moment of the period that a text names; None if it names none."""
    try:
        if text == "now":
            return now, now
        if text in _WORDS:
            return _whole_day(now.date() - timedelta(days=_WORDS[text]))
        if span := _SPAN.fullmatch(text):
            return _ago(int(span[1]), span[2], now)
        if day := _DAY.fullmatch(text):
            return _whole_period(*day.groups())
        if hour := _TIME.fullmatch(text):
            at = time(int(hour[1]), int(hour[2]), int(hour[3] or 0))
            return _moment(datetime.combine(now.date(), at))
        return _moment(datetime.fromisoformat(text.upper()))
    except (ValueError, OverflowError, OSError):
        return None


def _ago(count: int, unit: str, now: datetime) -> tuple[datetime, datetime] | None:
    if months := _MONTHS.get(unit):
        return _whole_day(_months_before(now.date(), count * months))
    minutes = _UNITS.get(unit)
    if minutes is None:
        return None
    if minutes >= _DAY_MINUTES:
        return _whole_day(now.date() - timedelta(minutes=count * minutes))
    at = now - timedelta(minutes=count * minutes)
    return at, at


def _months_before(day: date, count: int) -> date:
    """Return the day some months earlier; the last day of that month if it is shorter."""
    year, month = divmod(day.year * 12 + day.month - 1 - count, 12)
    for last in range(day.day, 27, -1):
        try:
            return date(year, month + 1, last)
        except ValueError:
            continue
    return date(year, month + 1, day.day)


def _whole_period(year: str, month: str | None, day: str | None) -> tuple[datetime, datetime]:
    first = date(int(year), int(month or 1), int(day or 1))
    if day is not None:
        return _whole_day(first)
    after = (
        date(first.year + 1, 1, 1)
        if month is None or first.month == 12
        else date(first.year, first.month + 1, 1)
    )
    return _start_of(first), _start_of(after) - _LAST_MOMENT


def _whole_day(day: date) -> tuple[datetime, datetime]:
    return _start_of(day), _start_of(day + timedelta(days=1)) - _LAST_MOMENT


def _start_of(day: date) -> datetime:
    return datetime.combine(day, time()).astimezone()


def _moment(at: datetime) -> tuple[datetime, datetime]:
    return at.astimezone(), at.astimezone()


def _in_utc(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
