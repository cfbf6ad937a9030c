"""The cost of a page to its reader: bytes beside the session, elements in the document, and requests."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sessiond.export import html
from sessiond.session.dialects.exported import ConversionLosses
from support.browsers import Watched, expect
from support.pages import Story, long_story

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MAX_DOCUMENT_BYTES = 90_000
"""A page without a session: its markup, script and styles."""
MAX_BYTES_PER_ENTRY = 540
"""Of a session with short texts, beside the texts themselves: ids, times, facts and tags."""
MAX_ELEMENTS = 4_000
"""In the document of a session of any size, of which only what is near the viewport is drawn."""


def test_the_document_is_small() -> None:
    assert len(html.document("nonce").encode()) < MAX_DOCUMENT_BYTES


def test_an_entry_costs_little_beside_its_text() -> None:
    story = long_story(3_000)
    texts = sum(len(str(entry["message"]["content"])) for entry in story.entries)
    size = len(html.to_html(story.whole(), ConversionLosses())) - len(html.document(""))
    assert (size - texts) / len(story.entries) < MAX_BYTES_PER_ENTRY


def test_two_thousand_lines_of_output_are_one_text_node() -> None:
    story = Story()
    story.result("line\n" * 2_000)
    page = html.to_html(story.whole(), ConversionLosses())
    assert page.count(b"line\\n") == 2_000
    assert len(page) - len(html.document("")) < 2_000 * len("line\\n") + 2_000


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("entries", [500, 20_000])
def test_the_number_of_elements_does_not_depend_on_the_number_of_entries(
    browser: "Browser", tmp_path: Path, entries: int
) -> None:
    file = tmp_path / "session.html"
    file.write_bytes(html.to_html(long_story(entries).whole(), ConversionLosses()))
    watched = Watched(browser)
    page = watched.page
    page.goto(file.as_uri())
    elements = "document.querySelectorAll('*').length"
    expect(page.locator("article").first).to_be_visible()
    assert page.evaluate(elements) < MAX_ELEMENTS + entries // 40
    page.keyboard.press("End")
    expect(page.locator("#path .stretch > article").last).to_be_in_viewport()
    assert page.evaluate(elements) < MAX_ELEMENTS + entries // 40
    watched.context.close()
    assert watched.errors == []
    assert [text for text in watched.asked if not text.startswith("file:")] == []
