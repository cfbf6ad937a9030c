"""The texts of an entry that a search finds, and those that it does not."""

import pytest

from sessiond.session.content.search_text import MAX_TOOL_CHARS, SearchText, milliseconds, text_of
from support import logs


def said(line: logs.Line) -> str | None:
    found = text_of(line | {"id": "x", "timestamp": "2026-01-01T00:00:00.000Z"})
    return None if found is None else found.text


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (logs.user("Hello\nthere"), "Hello there"),
        (logs.user([{"type": "text", "text": "a"}, {"type": "image", "data": "AAAA"}]), "a"),
        (logs.assistant([{"type": "thinking", "thinking": "secret"}, {"type": "text", "text": "b"}]), "b"),
        (logs.assistant([logs.tool_call("edit", {"path": "a.py", "new": "x = 1"})]), "edit a.py x = 1"),
        (logs.assistant([logs.tool_call("find", {"depth": 3})]), "find depth 3"),
        (logs.tool_result("found it", name="grep"), "grep found it"),
        (logs.message("bashExecution", None, command="ls", output="a b"), "ls a b"),
        (logs.entry("compaction", summary="long", shortSummary="short"), "short long"),
        (logs.entry("branch_summary", summary="left", fromId="e1"), "left"),
        (logs.entry("custom_message", customType="x", content="shown"), "shown"),
        (logs.entry("session_info", name="Title"), "Title"),
        (logs.label("e1", "here"), "here"),
        (logs.label("e1", None), None),
        (logs.entry("custom", customType="x", data={"a": "hidden"}), None),
        (logs.entry("model_change", model="acme/one"), None),
        (logs.entry("leaf", targetId="e1"), None),
        ({"type": "message", "message": 7}, None),
        ({"type": "message"}, None),
    ],
)
def test_the_text_of_an_entry_is_what_was_said(line: logs.Line, text: str | None) -> None:
    assert said(line) == text


def test_of_what_a_tool_answered_the_beginning_is_searched() -> None:
    text = said(logs.tool_result("x" * (2 * MAX_TOOL_CHARS), name="cat"))
    assert text is not None
    assert len(text) == MAX_TOOL_CHARS


def test_a_text_knows_its_entry() -> None:
    line = logs.label("e7", "here") | {"id": "l1", "timestamp": "2026-01-01T00:00:01Z"}
    assert text_of(line) == SearchText("l1", "label", None, 1_767_225_601_000, "here", "e7")


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        ("2026-01-01T00:00:00.000Z", 1_767_225_600_000),
        ("2026-01-01", 1_767_225_600_000),
        ("2026-01-01T02:00:00+02:00", 1_767_225_600_000),
        ("yesterday", None),
        ("", None),
    ],
)
def test_times_are_read_as_the_logs_write_them(timestamp: str, expected: int | None) -> None:
    assert milliseconds(timestamp) == expected


def test_a_time_no_calendar_has_is_none() -> None:
    line = logs.user("x", id="x") | {"timestamp": None}
    for moment in (1e300, float("nan"), -1, 10**18):
        found = text_of(line | {"message": {"role": "user", "content": "x", "timestamp": moment}})
        assert found is not None
        assert found.at is None
