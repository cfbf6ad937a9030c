"""The page as a file: what is in it, and that its policy lets nothing run but its own script."""

import re
from typing import Any

import msgspec
import pytest

from sessiond.export import html
from sessiond.session.dialects.exported import ConversionLosses
from support.pages import HOSTILE, Story, call, sample_story


def written(story: Story) -> str:
    return html.to_html(story.whole(), ConversionLosses()).decode()


def data(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="session">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return msgspec.json.decode(found[1], type=dict[str, Any])


def rows(story: Story) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in data(written(story))["rows"]}


def test_every_entry_has_a_row_and_nothing_is_lost() -> None:
    losses, story = ConversionLosses(), sample_story()
    html.to_html(story.whole(), losses)
    assert not losses.lost
    assert list(rows(story)) == [entry["id"] for entry in story.entries]


def test_the_policy_allows_only_the_script_and_the_style_sheet_of_the_page() -> None:
    page = written(sample_story())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    style, script = (
        re.search(r"<style>(.*?)</style>", page, re.DOTALL),
        re.findall(r"<script>(.*?)</script>", page, re.DOTALL),
    )
    assert policy is not None
    assert style is not None
    assert len(script) == 1
    allowed = policy[1].replace("&#x27;", "'")
    assert "default-src 'none'" in allowed
    assert f"script-src '{html.digest(script[0])}'" in allowed
    assert f"style-src '{html.digest(style[1])}'" in allowed
    assert "unsafe" not in allowed


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_of_a_session_ends_the_json_block(text: str) -> None:
    story = Story()
    story.user(text)
    story.assistant(text, call(text, command=text, **{text: text}))
    story.add("custom", customType=text, data={text: [text]})
    story.add(text, whatever=text)
    story.add("label", targetId="e1", label=text)
    page = html.to_html(story.whole(title=text), ConversionLosses()).decode()
    assert page.count("<script") == 2
    assert page.count("<style") == 1
    assert len(data(page)["rows"]) == 5


def test_the_filter_mask_says_which_filters_show_a_row() -> None:
    story = sample_story()
    found = rows(story)

    def shown(name: str) -> set[str]:
        bit = ("default", "noTools", "userOnly", "labeledOnly", "all").index(name)
        return {entry["id"] for entry in found.values() if entry["filterMask"] >> bit & 1}

    assert shown("userOnly") == {"e1", "e6"}
    assert shown("labeledOnly") == {"e4"}
    assert shown("noTools") == shown("default") - {"e3"}
    assert shown("all") == set(found)


def test_the_figures_are_those_of_the_session() -> None:
    figures = data(written(sample_story()))["session"]["figures"]
    assert (figures["messageCount"], figures["toolCallCount"], figures["tokens"]) == (5, 1, 3 * 1280)
    assert figures["models"] == ["anthropic/opus"]


def test_calls_results_and_thinking_are_folded_and_an_edit_is_shown_as_a_diff() -> None:
    story = Story()
    thinking = {"type": "thinking", "thinking": "Hmm."}
    story.assistant(thinking, call("edit", path="a.py", oldText="x = 1", newText="x = 2"))
    story.result("done", error=True)
    answer, result = rows(story).values()
    assert '<details class="thinking">' in answer["body"]
    assert "<del>- x = 1</del>" in answer["body"]
    assert "<ins>+ x = 2</ins>" in answer["body"]
    assert '<details class="result failed">' in result["body"]


@pytest.mark.parametrize(("mime", "data_", "shown"), [
    ("image/png", "iVBORw0KGgo=", True), ("image/svg+xml", "PHN2Zz4=", False), ("image/png", '"onerror="x', False),
    ('image/png"', "iVBO", False),
])  # fmt: skip
def test_only_images_that_cannot_contain_script_are_shown(mime: str, data_: str, shown: bool) -> None:
    story = Story()
    story.assistant({"type": "image", "mimeType": mime, "data": data_})
    assert ("<img" in rows(story)["e1"]["body"]) is shown


def test_invalid_entries_have_rows(tmp_path: object) -> None:
    story = Story()
    for message in (
        {},
        {"role": 7},
        {"role": "user", "content": {"a": 1}},
        {"role": "assistant", "content": [None, 3, "x"]},
    ):
        story.add("message", message=message)
    story.add("compaction", summary=None, tokensBefore="many")
    story.add("message", message="no object")
    story.add(
        "message",
        message={"role": "assistant", "usage": {"input": "x", "cost": 3}, "content": [{"type": "toolCall"}]},
    )
    assert len(rows(story)) == 7


def test_a_session_without_entries_becomes_a_page() -> None:
    assert data(written(Story()))["rows"] == []


def test_a_row_names_its_calls_and_the_call_that_it_answers() -> None:
    story = Story()
    story.assistant({**call("bash", command="a"), "id": "1"}, {**call("bash", command="b"), "id": None})
    story.result("one\ntwo\n", call_id="1")
    story.result("", error=True, call_id="x" * 300)
    answer, result, empty = rows(story).values()
    assert answer["callIds"] == ["1", ""]
    assert answer["body"].count('<details class="call">') == 2
    assert (result["resultOf"], result["facts"]) == ("1", ["2 lines"])
    assert (empty["resultOf"], empty["facts"]) == (None, ["failed"])
