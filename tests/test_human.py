"""Numbers and times as people read them."""

import subprocess
import sys
from datetime import UTC, datetime

import pytest
from hypothesis import assume, given, strategies as st

from sessiond import human

NOW = 1_750_000_000.0  # 2025-06-15T15:06:40Z


@pytest.mark.parametrize(
    ("bytes_", "shown"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1_440_000, "1.4 MB"), (53_000_000, "53 MB"),
     (999_600, "1.0 MB"),
     (4_200_000_000_000, "4.2 TB")],
)  # fmt: skip
def test_sizes(bytes_: int, shown: str) -> None:
    assert human.size(bytes_) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.4, "0 s"), (59, "59 s"), (61, "1 min"), (3600, "1 h"), (3900, "1 h 5 min"), (200_000, "2 d 7 h")],
)
def test_durations(seconds: float, shown: str) -> None:
    assert human.duration(seconds) == shown


@pytest.mark.parametrize(
    ("timestamp", "shown"),
    [
        ("2025-06-15T15:06:30.000Z", "now"),
        ("2025-06-15T15:03:40Z", "3 min ago"),
        ("2025-06-15T17:06:40+04:00", "2 h ago"),
        ("2025-06-12T15:06:40", "3 d ago"),
        ("2025-06-01T15:06:40.000Z", "2 wk ago"),
        ("2024-06-15T15:06:40.000Z", "2024-06-15"),
        ("2031-01-01T00:00:00.000Z", "2031-01-01"),
        ("yesterday", "?"),
        ("", "?"),
    ],
)
def test_times_are_told_from_now(timestamp: str, shown: str) -> None:
    assert human.ago(timestamp, NOW) == shown


def test_counts_folders_and_choices() -> None:
    assert human.count(1, "entry", "entries") == "1 entry"
    assert human.count(1200, "message") == "1,200 messages"
    assert human.folder("/home/dev/work", "/home/dev") == "~/work"
    assert human.folder("/home/developer", "/home/dev") == "/home/developer"
    assert human.listed(["a", "b", "c"]) == "a, b or c"
    assert human.listed(["a"]) == "a"


@given(st.datetimes(timezones=st.just(UTC)))
def test_the_form_of_the_daemon_is_the_same_time_as_any_other_form(moment: datetime) -> None:
    own = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    other = moment.isoformat(timespec="milliseconds")
    assume(2 < moment.year < 9998)  # datetime.timestamp needs a day on both sides
    for seconds in (1, 100, 10_000, 1_000_000):
        now = moment.timestamp() + seconds
        assert human.ago(own, now) == human.ago(other, now)


def test_the_form_of_the_daemon_is_read_without_datetime_on_each_day_of_a_month() -> None:
    days = [(2024, 2, 29), (2026, 2, 28), *((2026, 11, day) for day in range(1, 31)), (2026, 12, 31)]
    times = [f"{year}-{month:02}-{day:02}T10:20:30.123Z" for year, month, day in days]
    program = (
        "import sys; from sessiond import human\n"
        "shown = [human.ago(time, 2e9) for time in sys.argv[1:]]; print('datetime' in sys.modules, len(set(shown)))"
    )
    command = [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{program}", *times]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.split() == ["False", str(len(days))]


@pytest.mark.parametrize("timestamp", ["2026-02-29T00:00:00.000Z", "2026-11-31T00:00:00.000Z"])
def test_a_day_that_no_month_has_is_no_time(timestamp: str) -> None:
    assert human.ago(timestamp, NOW) == "?"
