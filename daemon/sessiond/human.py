"""Numbers, times and lists formatted for people."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MINUTE = 60
HOUR = 60 * MINUTE
DAY = 24 * HOUR
WEEK = 7 * DAY


def size(count: int) -> str:
    """Format bytes with a decimal unit: `812 B`, `1.4 MB`."""
    if count < 1000:
        return f"{count} B"
    amount = float(count)
    for unit in ("kB", "MB", "GB"):
        amount /= 1000
        if amount < 999.5:
            return f"{amount:.1f} {unit}" if amount < 9.95 else f"{amount:.0f} {unit}"
    return f"{amount / 1000:.1f} TB"


def amount(count: int) -> str:
    """Format a number of tokens: `812`, `1,202`, `64.8 k`, `1.4 M`."""
    if count < 10_000:
        return f"{count:,}"
    number = float(count)
    for unit in ("k", "M", "G"):
        number /= 1000
        if number < 999.5:
            return f"{number:.1f} {unit}" if number < 99.95 else f"{number:.0f} {unit}"
    return f"{number / 1000:.1f} T"


def money(dollars: float) -> str:
    """Format a cost in dollars: `$0.0042`, `$1.24`, `$1,310`."""
    if dollars >= 1000:
        return f"${dollars:,.0f}"
    if dollars >= 1 or dollars == 0:
        return f"${dollars:.2f}"
    return f"${dollars:.4f}" if dollars >= 0.0001 else "<$0.0001"


def duration(seconds: float) -> str:
    """Format seconds with the one or two largest units: `42 s`, `12 min`, `3 h 5 min`, `2 d 4 h`."""
    whole = max(0, int(seconds))
    if whole < MINUTE:
        return f"{whole} s"
    if whole < HOUR:
        return f"{whole // MINUTE} min"
    large, unit, small, part = (DAY, "d", HOUR, "h") if whole >= DAY else (HOUR, "h", MINUTE, "min")
    rest = whole % large // small
    return f"{whole // large} {unit} {rest} {part}" if rest else f"{whole // large} {unit}"


def ago(timestamp: str, now: float) -> str:
    """Format the age of an ISO 8601 time at `now` (Unix time); its date if it is over 4 weeks old or in the future."""
    then = _seconds(timestamp)
    if then is None:
        return "?"
    passed = now - then
    if passed >= 4 * WEEK or passed < -MINUTE:
        return timestamp[:10]
    if passed < MINUTE:
        return "now"
    for unit, name in ((WEEK, "wk"), (DAY, "d"), (HOUR, "h"), (MINUTE, "min")):
        if passed >= unit:
            return f"{int(passed // unit)} {name} ago"
    return "now"


def clock(timestamp: str) -> str:
    """Format an ISO 8601 time as local time of day: `14:03:21`."""
    then = _seconds(timestamp)
    if then is None:
        return "--:--:--"
    import time

    return time.strftime("%H:%M:%S", time.localtime(then))


def day_and_minute(timestamp: str) -> tuple[str, str]:
    """Format an ISO 8601 time as local date and time of day: `2026-02-16`, `14:03`; two empty texts for other texts."""
    then = _seconds(timestamp)
    if then is None:
        return "", ""
    import time

    date, _, minute = time.strftime("%Y-%m-%d %H:%M", time.localtime(then)).partition(" ")
    return date, minute


def count(number: int, one: str, many: str = "") -> str:
    """Format a number with its noun: `1 entry`, `3 entries`, `1,200 messages`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def folder(path: str, home: str) -> str:
    """Return the path with the home folder as `~`."""
    if home and (path == home or path.startswith(home + "/")):
        return "~" + path[len(home) :]
    return path


def listed(words: Sequence[str]) -> str:
    """Join words: `a`, `a or b`, `a, b or c`."""
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1] if words else "")))


def _seconds(timestamp: str) -> float | None:
    """Return the Unix time of an ISO 8601 time; None for other texts.

    Times of the daemon have one form, `2026-02-16T10:20:30.123Z`, which is converted here: importing `datetime` takes
    longer than formatting a list.
    """
    if len(timestamp) == 24 and timestamp[10] == "T" and timestamp[23] == "Z":
        parts = (timestamp[:4], timestamp[5:7], timestamp[8:10], timestamp[11:13], timestamp[14:16],
                 timestamp[17:19], timestamp[20:23])  # fmt: skip
        separators = timestamp[4] + timestamp[7] + timestamp[13] + timestamp[16] + timestamp[19]
        if separators == "--::." and all(part.isascii() and part.isdigit() for part in parts):
            year, month, day, hour, minute, second, millisecond = map(int, parts)
            is_date = year and 1 <= month <= 12 and 1 <= day <= _days_in(year, month)
            if is_date and hour < 24 and minute < 60 and second < 60:
                days = _days_before(year, month) + day - 1
                return days * DAY + hour * HOUR + minute * MINUTE + second + millisecond / 1000
    from datetime import UTC, datetime

    try:
        then = datetime.fromisoformat(timestamp)
        return (then if then.tzinfo else then.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _days_before(year: int, month: int) -> int:
    """Return the days from 1970 to the first of a month. Years are counted from March, so a leap day is their last."""
    if month < 3:
        year, month = year - 1, month + 12
    return year * 365 + year // 4 - year // 100 + year // 400 + (153 * month - 457) // 5 - 719_469 + 1


def _days_in(year: int, month: int) -> int:
    """Return the number of days of a month."""
    following = (year + 1, 1) if month == 12 else (year, month + 1)
    return _days_before(*following) - _days_before(year, month)
