"""daemon/RELIABILITY.md has the recorded figures of every campaign."""

import re

from campaigns import known, table


def test_the_table_of_the_page_is_as_the_records_are() -> None:
    page = table.PAGE.read_text(encoding="utf-8")

    assert table.rendered(page, known.all_campaigns()) == page, "run scripts/campaign --table"


def test_only_campaigns_that_there_are_have_records() -> None:
    assert set(table.recorded()) <= set(known.NAMES)


def test_a_promise_and_its_way_are_said_in_a_phrase_each() -> None:
    for campaign in known.all_campaigns():
        assert re.fullmatch(r"[A-Z][^\n|]+\.", campaign.promise)
        assert re.fullmatch(r"[^\n|]+", campaign.how)
