"""The reader of Cursor's transcripts: lines without ids and times become a conversation."""

from typing import Any

import pytest

from sessiond.agents import known
from sessiond.session.dialects.import_builder import Imported
from support import dialects
from support.dialect_files import CURSOR
from support.dialects import WRITTEN_AT, entry, imported, jsonl, tree

FOLDER = "/home/ada/.cursor/projects/work/agent-transcripts"


def read(*lines: Any, path: str = f"{FOLDER}/a-1/a-1.jsonl", **beside: Any) -> Imported:
    return imported(jsonl(*lines), name=path.rpartition("/")[2], sourcePath=path, **beside)


def messages(log: Imported, role: str) -> list[dict[str, Any]]:
    return [entry(log, name) for name, _, kind in tree(log) if kind == role]


def said(text: str) -> dict[str, Any]:
    return {"role": "user", "message": {"content": [{"type": "text", "text": text}]}}


def test_the_session_has_the_id_of_its_file_and_the_folder_that_was_found_beside_it() -> None:
    found = read(*CURSOR, cwd="/work", title="Birds")
    assert (found.source_id, found.parent_source, found.cwd) == ("a-1", None, "/work")
    assert "Birds" in [line.get("name") for line in dialects.entries(found) if line["type"] == "session_info"]


def test_the_transcript_of_a_subagent_is_below_that_of_its_agent() -> None:
    found = read(*CURSOR, path=f"{FOLDER}/a-1/subagents/b-2.jsonl")
    assert (found.source_id, found.parent_source) == ("a-1/b-2", "a-1")


def test_the_path_has_what_was_said_in_order() -> None:
    found = read(*CURSOR)
    assert [kind for _, _, kind in tree(found)] == [
        "custom_message", "user", "assistant", "assistant", "user", "assistant",
    ]  # fmt: skip
    assert dialects.path(found) == [name for name, _, _ in tree(found)]


def test_a_prompt_is_what_the_user_typed_and_has_the_time_that_cursor_tells_the_model() -> None:
    found = read(*CURSOR)
    first, second = messages(found, "user")
    assert first["message"]["content"] == [{"type": "text", "text": "Which birds are in notes.txt?"}]
    assert (first["timestamp"], second["timestamp"]) == (
        "2026-03-01T08:00:00.000Z",
        "2026-03-01T11:30:00.000Z",
    )
    assert messages(found, "assistant")[0]["timestamp"] == first["timestamp"]
    [files] = messages(found, "custom_message")
    assert "three herons" in files["content"][0]["text"]
    assert files["display"] is False


def test_calls_have_ids_of_their_own_because_the_transcript_has_none() -> None:
    answer = messages(read(*CURSOR), "assistant")[0]["message"]
    calls = [block for block in answer["content"] if block["type"] == "toolCall"]
    assert [(call["name"], call["arguments"].get("path")) for call in calls] == [
        ("Read", "/work/notes.txt"),
        ("Shell", None),
    ]
    assert len({call["id"] for call in calls} - {""}) == 2
    assert answer["stopReason"] == "toolUse"


def test_an_ended_turn_adds_nothing_and_one_that_failed_is_kept() -> None:
    report = read(*CURSOR).report
    assert report.converted["end of turn"] == 1
    assert report.preserved == {"turn_ended": 1}
    assert report.problems == []


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("Sunday, Jul 26, 2026, 1:06 PM (UTC+3)", "2026-07-26T10:06:00.000Z"),
        ("Sunday, Jul 26, 2026, 12:06 AM (UTC-5:30)", "2026-07-26T05:36:00.000Z"),
        ("Sunday, Jul 26, 2026, 1:06\u202fPM (UTC)", "2026-07-26T13:06:00.000Z"),
        ("Sunday, Jul 32, 2026, 1:06 PM (UTC+3)", WRITTEN_AT),
        ("Sunday, Jul 26, 2026, 1:06 PM (UTC+99)", WRITTEN_AT),
        ("yesterday", WRITTEN_AT),
    ],
)
def test_a_time_is_read_in_the_form_of_cursor_else_it_is_that_of_the_file(text: str, time: str) -> None:
    found = read(said(f"<timestamp>{text}</timestamp>\n<user_query>hello</user_query>"))
    assert messages(found, "user")[0]["timestamp"] == time


def test_a_prompt_without_tags_is_read_as_it_is() -> None:
    found = read(said("a <b> c"), {"role": "assistant", "message": {"content": "yes"}})
    assert messages(found, "user")[0]["message"]["content"][0]["text"] == "a <b> c"
    assert messages(found, "assistant")[0]["message"]["content"] == [{"type": "text", "text": "yes"}]


def test_a_file_that_grows_only_appends_and_a_changed_line_begins_a_branch() -> None:
    whole = [each_entry.id for each_entry in read(*CURSOR).entries]
    for count in range(1, len(CURSOR)):
        assert {each_entry.id for each_entry in read(*CURSOR[:count]).entries} <= set(whole)
    changed = tree(read(*CURSOR[:2], said("no, the owls"), *CURSOR[2:]))
    assert [row[0] for row in changed[:3]] == [row[0] for row in tree(read(*CURSOR))[:3]]
    assert not {row[0] for row in changed[3:]} & set(whole)


def test_lines_of_other_programs_are_not_recognized() -> None:
    assert known.detect(jsonl(*CURSOR[:1])) == "cursor"
    assert known.detect(jsonl({"role": "user", "content": "hello"})) is None
    assert known.detect(jsonl({"type": "x", "role": "user", "message": {"content": "hello"}})) is None
