"""The line that a row of a tree shows for an entry."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from sessiond.session.content.row_text import row_text, short_error, without_markdown

OVERLOADED = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r1"}'


def said(text: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}] if text else []
    return {"type": "message", "message": {"role": "assistant", "content": content, **more}}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("**Done.** The *parser* reads `a**b` now.", "Done. The parser reads a**b now."),
        ("## What changed\n\n- one\n- [x] two\n> quoted\n---\nend", "What changed one two quoted end"),
        ("```python\nx = y * z\n```\nruns", "x = y * z runs"),
        ("See [the guide](https://example.org/x) and ![a picture](p.png)", "See the guide and a picture"),
        ("Run ``a `b` c`` twice", "Run a `b` c twice"),
        ("~~old~~ new", "old new"),
        ("__init__.py, snake_case, *.py and 2*3*4 stay", "__init__.py, snake_case, *.py and 2*3*4 stay"),
        ("a - b, a > b, #5, [x], a[1](2)", "a - b, a > b, #5, [x], a1"),
        ("**never closed", "**never closed"),
    ],
)
def test_signs_of_markdown_are_left_out(text: str, line: str) -> None:
    assert row_text(said(text), 120) == line


def test_output_of_tools_and_commands_is_no_markdown() -> None:
    result = {"role": "toolResult", "toolName": "bash", "content": [{"type": "text", "text": "# **x**"}]}
    assert row_text({"type": "message", "message": result}, 120) == "[result: bash] # **x**"
    command = {"role": "bashExecution", "command": "echo **x**"}
    assert row_text({"type": "message", "message": command}, 120) == "$ echo **x**"


def test_summaries_and_custom_messages_are_markdown() -> None:
    assert row_text({"type": "compaction", "summary": "# Goal\n**Fix** it"}, 120) == "Goal Fix it"
    assert row_text({"type": "custom_message", "content": "**Note**"}, 120) == "Note"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (f"529 {OVERLOADED}", "Overloaded (529)"),
        (f"API Error: 529 {OVERLOADED}", "Overloaded (529)"),
        (OVERLOADED, "Overloaded"),
        ('{"error":"rate limited (429)"}', "rate limited (429)"),
        ('429 {"error":"rate limited (429)"}', "rate limited (429)"),
        ("Connection error.", "Connection error."),
        ("500 {broken", "500 {broken"),
        ("400 {}", "400 {}"),
        ('400 {"message": 7}', '400 {"message": 7}'),
    ],
)
def test_the_error_of_a_provider_is_shown_in_short(error: str, line: str) -> None:
    assert short_error(error) == line
    assert row_text(said("", stopReason="error", errorMessage=error), 120) == f"[error: {line}]"


def test_the_text_of_a_failed_turn_stands_behind_its_error_and_is_not_repeated() -> None:
    assert (
        row_text(said("So far", stopReason="error", errorMessage="overloaded"), 120)
        == "[error: overloaded] So far"
    )
    assert (
        row_text(said("overloaded", stopReason="error", errorMessage="overloaded"), 120)
        == "[error: overloaded]"
    )
    assert row_text(said("Fine.", stopReason="stop", errorMessage="overloaded"), 120) == "Fine."


@given(st.text(alphabet="ab *`~[]()#>-_!\n", max_size=80))
def test_no_word_is_lost_or_moved(text: str) -> None:
    kept = [text for text in without_markdown(text, 1_000) if text in "ab"]
    dropped_targets = [text for text in text if text in "ab"]
    iterator = iter(dropped_targets)
    assert all(part in iterator for part in kept)
    if "](" not in text and "```" not in text and "~~~" not in text:
        assert kept == dropped_targets


@pytest.mark.parametrize("odd", [None, 7, [], {}, ["user"]])
def test_values_of_any_kind_are_accepted(odd: Any) -> None:
    row_text({"type": odd, "message": odd}, 120)
    message = {"role": odd, "content": odd, "stopReason": odd, "errorMessage": odd}
    assert row_text({"type": "message", "message": message}, 120) == ""
    row_text({"type": "message", "message": {**message, "role": "assistant", "stopReason": "error"}}, 120)


def test_a_long_text_is_searched_in_a_bounded_part() -> None:
    assert row_text(said("*a " * 100_000), 20).startswith("*a *a")
