"""Times as people type them: what each means, as the beginning and as the end of a period."""

import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from sessiond.cli.parse import times
from sessiond.cli.parse.arguments import ParsedArguments, UsageError, parse
from sessiond.cli.table import index


@pytest.fixture(autouse=True)
def berlin() -> Iterator[None]:
    """The local time zone: an hour before UTC in winter, two from 29 March to 25 October 2026."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Europe/Berlin")
        time.tzset()
        yield
    time.tzset()


def given(*words: str) -> ParsedArguments:
    command = index.find("usage")
    assert command is not None
    return parse("usage", command, list(words))


def period(*words: str) -> dict[str, str]:
    return times.period(given(*words), datetime(2026, 11, 25, 15, 30).astimezone())


@pytest.mark.parametrize(
    ("text", "since"),
    [
        ("2026-11-01", "2026-10-31T23:00:00.000Z"),
        ("2026-7-1", "2026-06-30T22:00:00.000Z"),
        ("2026-11", "2026-10-31T23:00:00.000Z"),
        ("2026", "2025-12-31T23:00:00.000Z"),
        ("2026-11-01 14:30", "2026-11-01T13:30:00.000Z"),
        ("2026-11-01T14:30:05Z", "2026-11-01T14:30:05.000Z"),
        ("2026-11-01T14:30:05+05:30", "2026-11-01T09:00:05.000Z"),
        ("14:30", "2026-11-25T13:30:00.000Z"),
        ("today", "2026-11-24T23:00:00.000Z"),
        ("Yesterday", "2026-11-23T23:00:00.000Z"),
        ("now", "2026-11-25T14:30:00.000Z"),
        ("7d", "2026-11-17T23:00:00.000Z"),
        ("1 day ago", "2026-11-23T23:00:00.000Z"),
        ("2 weeks", "2026-11-10T23:00:00.000Z"),
        ("1 month", "2026-10-24T22:00:00.000Z"),
        ("9 months", "2026-02-24T23:00:00.000Z"),
        ("1 year", "2025-11-24T23:00:00.000Z"),
        ("36h", "2026-11-24T02:30:00.000Z"),
        ("90 min", "2026-11-25T13:00:00.000Z"),
    ],
)
def test_a_time_begins_a_period(text: str, since: str) -> None:
    assert period("--since", text) == {"since": since}


@pytest.mark.parametrize(
    ("text", "until"),
    [
        ("2026-11-01", "2026-11-01T22:59:59.999Z"),
        ("2026-10-25", "2026-10-25T22:59:59.999Z"),
        ("2026-11", "2026-11-30T22:59:59.999Z"),
        ("2025", "2025-12-31T22:59:59.999Z"),
        ("yesterday", "2026-11-24T22:59:59.999Z"),
        ("7d", "2026-11-18T22:59:59.999Z"),
        ("2026-11-01 14:30", "2026-11-01T13:30:00.000Z"),
        ("36h", "2026-11-24T02:30:00.000Z"),
    ],
)
def test_a_day_a_month_and_a_year_end_a_period_with_their_last_moment(text: str, until: str) -> None:
    assert period("--until", text) == {"until": until}


def test_the_last_day_of_a_month_stands_for_a_day_that_the_month_does_not_have() -> None:
    found = times.period(given("--since", "1 month"), datetime(2026, 3, 31, 12).astimezone())
    assert found == {"since": "2026-02-27T23:00:00.000Z"}


@pytest.mark.parametrize(
    "text", ["", "soon", "7", "7x", "2026-13", "2026-02-30", "25:00", "999999 years", "-3d", "2026-11-01T99"]
)
def test_an_invalid_time_is_an_error_that_names_the_option_and_shows_valid_ones(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        period(f"--until={text}")
    assert "--until" in str(refused.value)
    assert "2 weeks" in refused.value.then


def test_a_period_that_ends_before_it_begins_is_an_error() -> None:
    with pytest.raises(UsageError):
        period("--since", "today", "--until", "yesterday")
    assert period("--since", "today", "--until", "today")
