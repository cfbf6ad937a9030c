"""Sessions of Claude Code are read entry by entry (decision 0023)."""

from typing import Any

import msgspec
import pytest

from sessiond.session.content import search_text
from sessiond.session.tree.entries import TAKEN_OVER_TYPE
from support.dialect_files import CLAUDE, SESSION, answer, call, claude
from support.dialects import as_log, entries, entry, imported, jsonl, kept, origin, path, tree


def read(*lines: Any, **how: Any) -> Any:
    return imported(jsonl(*lines), **how)


def test_claude_becomes_a_tree_with_branches_and_compactions() -> None:
    session = read(*CLAUDE)
    assert tree(session) == [
        ("u1", None, "user"), ("a2", "u1", "assistant"), ("r1", "a2", "toolResult"), ("a3", "r1", "assistant"),
        ("u2", "a3", "user"), ("u3", "a3", "user"), ("a4", "u3", "assistant"), ("cb", "a4", "compaction"),
        ("u5", "cb", "user"), ("a6", "u5", "assistant"), ("s1", None, "user"),
    ]  # fmt: skip
    assert path(session) == ["u1", "a2", "r1", "a3", "u3", "a4", "cb", "u5", "a6"]
    compaction = entry(session, "cb")
    assert (compaction["firstKeptEntryId"], compaction["tokensBefore"]) == ("u3", 99)
    assert compaction["summary"] == "It was about a greeting."
    assert set(kept(session)) == {1, 4, 19}
    assert session.report.converted["repeated"] == 2
    assert as_log(session).tree.title == "Greetings"


def test_the_parts_of_one_answer_are_one_message() -> None:
    message = entry(read(*CLAUDE), "a2")["message"]
    assert message["content"] == [
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "s"},
        {"type": "toolCall", "id": "toolu_1", "name": "Read", "arguments": {"path": "/1"}},
    ]
    assert (message["stopReason"], message["responseId"], message["provider"]) == (
        "toolUse",
        "m1",
        "anthropic",
    )


def test_a_result_names_its_tool_and_keeps_what_only_people_saw() -> None:
    result = entry(read(*CLAUDE), "r1")
    assert result["message"]["toolName"] == "Read"
    assert result["message"]["content"] == [{"type": "text", "text": "content"}]
    assert result["message"]["isError"] is False
    assert result["foreign"] == {"toolUseResult": {"file": "x"}}


def test_the_kept_entries_of_a_compaction_are_in_the_context_once() -> None:
    said_there = [
        message.get("content") or message.get("summary")
        for message in map(decode, as_log(read(*CLAUDE)).context().messages)
    ]
    texts = [row if isinstance(row, str) else row[0].get("text") for row in said_there]
    assert texts == ["It was about a greeting.", "Or rather this", "Yes", "Next", "Sure"]


@pytest.mark.parametrize("behind", [["a2"], ["u2", "a2"], ["a1", "u2", "a2"]])
def test_kept_messages_that_are_first_written_behind_their_summary_stay_where_they_were_said(
    behind: list[str],
) -> None:
    said = {
        "a1": claude("assistant", "a1", "u1", "One"),
        "u2": claude("user", "u2", "a1", "Two?"),
        "a2": claude("assistant", "a2", "u2", "Two"),
    }
    boundary = claude(
        "system", "cb", None, subtype="compact_boundary", logicalParentUuid="a2",
        compactMetadata={"preservedMessages": {"anchorUuid": "cs", "uuids": list(said)}},
    )  # fmt: skip
    session = read(
        claude("user", "u1", None, "One?"), *(line for text, line in said.items() if text not in behind),
        boundary, claude("user", "cs", "cb", "Counted to two.", isCompactSummary=True),
        *(said[text] | ({"parentUuid": "cs"} if text == behind[0] else {}) for text in behind),
        claude("user", "u3", "a2", "Three?"), claude("assistant", "a3", "u3", "Three"),
    )  # fmt: skip
    assert path(session) == ["u1", "a1", "u2", "a2", "cb", "u3", "a3"]
    assert list(as_log(session).context().entry_ids) == ["cb", "a1", "u2", "a2", "u3", "a3"]


def decode(message: Any) -> Any:
    return msgspec.json.decode(message)


def test_results_of_one_answers_calls_follow_each_other() -> None:
    session = read(
        claude("user", "u1", None, "x"), claude("assistant", "a1", "u1", [call(1)], message_id="m", stop=None),
        claude("assistant", "a2", "a1", [call(2)], message_id="m", stop="tool_use"),
        claude("user", "r1", "a1", [answer(1)]), claude("user", "r2", "a2", [answer(2)]),
        claude("assistant", "a3", "r2", "Done"),
    )  # fmt: skip
    assert path(session) == ["u1", "a2", "r1", "r2", "a3"]
    after_one = read(
        claude("user", "u1", None, "x"), claude("assistant", "a1", "u1", [call(1)], message_id="m", stop=None),
        claude("user", "r1", "a1", [answer(1)]), claude("assistant", "a2", "a1", [call(2)], message_id="m"),
        claude("user", "r2", "a2", [answer(2)]), claude("assistant", "a3", "r2", "Done"),
    )  # fmt: skip
    assert path(after_one) == ["u1", "a1", "r1", "a2", "r2", "a3"]


def test_several_results_in_one_line_are_several_messages() -> None:
    session = read(
        claude("user", "u1", None, "x"), claude("assistant", "a1", "u1", [call(1), call(2)]),
        claude("user", "r", "a1", [answer(1), answer(2), {"type": "text", "text": "and"}]),
        claude("assistant", "a2", "r", "Done"),
    )  # fmt: skip
    assert path(session) == ["u1", "a1", "r-1", "r-2", "r", "a2"]


def test_a_file_without_parents_is_in_the_order_of_its_lines() -> None:
    lines = [
        claude("user", "u1", None, "x"),
        claude("assistant", "a1", None, "y"),
        claude("user", "u2", None, "z"),
    ]
    assert path(read(*lines)) == ["u1", "a1", "u2"]
    for line in lines:
        del line["parentUuid"]
    assert path(read(*lines)) == ["u1", "a1", "u2"]


def test_a_parent_that_is_not_there_is_replaced_by_the_line_before_and_reported() -> None:
    session = read(
        claude("user", "u1", None, "x"),
        claude("assistant", "a1", "u1", "y"),
        claude("user", "s1", None, "of a subagent", isSidechain=True, agentId="7"),
        claude("user", "u2", "gone", "z"),
        claude("assistant", "s2", "lost", "its answer", isSidechain=True, agentId="7"),
    )
    assert path(session) == ["u1", "a1", "u2"]
    assert entry(session, "s2")["parentId"] == "s1"
    assert [(problem.line, problem.message) for problem in session.report.problems] == [
        (4, "its parent is not in the file: gone; the line before it on its chain takes its place"),
        (5, "its parent is not in the file: lost; the line before it on its chain takes its place"),
    ]


@pytest.mark.parametrize("growing", [False, True])
def test_a_line_of_an_unknown_type_is_a_link_of_the_chain(growing: bool) -> None:
    session = read(
        claude("user", "u1", None, "x"),
        claude("assistant", "a1", "u1", "y"),
        claude("bash_progress", "p1", "a1", data={"output": "50 %"}),
        claude("user", "u2", "p1", "z"),
        claude("checkpoint", "c1", None),
        claude("assistant", "a2", "c1", "w"),
        growing=growing,
    )
    assert path(session) == ["u1", "a1", "u2", "a2"]
    assert set(kept(session)) == {3, 5}
    assert session.report.problem_count == 0


def test_a_line_before_its_parent_is_below_it() -> None:
    session = read(
        claude("user", "u1", None, "x"),
        claude("user", "u2", "a1", "z"),
        claude("assistant", "a2", "u2", "w"),
        claude("assistant", "a1", "u1", "y"),
    )
    assert path(session) == ["u1", "a1", "u2", "a2"]
    assert session.report.problem_count == 0


def test_lines_that_lead_back_to_themselves_are_cut_where_the_file_begins_them() -> None:
    session = read(
        claude("user", "u1", None, "x"),
        claude("assistant", "a1", "a1", "y"),
        claude("user", "u2", "a2", "z"),
        claude("assistant", "a2", "u2", "w"),
    )
    assert path(session) == ["u1", "a1", "u2", "a2"]
    assert [problem.line for problem in session.report.problems] == [2, 3]


def test_a_line_that_is_written_again_moves_no_leaf() -> None:
    lines = [
        claude("user", "u1", None, "x"),
        claude("assistant", "a1", "u1", "y"),
        claude("user", "u2", "a1", "z"),
    ]
    session = read(*lines, lines[0], lines[1])
    assert path(session) == ["u1", "a1", "u2"]
    assert session.report.converted["repeated"] == 2


def test_a_rewind_to_the_beginning_is_another_root() -> None:
    session = read(
        claude("user", "u1", None, "x"),
        claude("assistant", "a1", "u1", "y"),
        claude("user", "u2", None, "again"),
        claude("assistant", "a2", "u2", "w"),
    )
    assert path(session) == ["u2", "a2"]
    assert session.report.problem_count == 0


def test_text_that_was_put_in_is_no_prompt_but_is_in_the_context() -> None:
    session = read(
        claude("user", "u1", None, "Caveat", isMeta=True),
        claude("user", "u2", "u1", "Hello"),
        claude("assistant", "a1", "u2", "Hi"),
    )
    assert entry(session, "u1")["type"] == "custom_message"
    assert entry(session, "u1")["display"] is False
    assert list(as_log(session).tree.user_rows(1)) != [1]


def test_a_summary_without_its_boundary_and_the_other_way_round() -> None:
    alone = read(
        claude("user", "u1", None, "x"),
        claude("assistant", "a1", "u1", "y"),
        claude("user", "cs", None, "Sum", isCompactSummary=True),
        claude("assistant", "a2", "cs", "z"),
    )
    assert path(alone) == ["u1", "a1", "cs", "a2"]
    assert entry(alone, "cs")["type"] == "compaction"
    boundary = {**claude("system", "cb", None), "subtype": "compact_boundary", "content": "Compacted"}
    bare = read(
        claude("user", "u1", None, "x"),
        claude("assistant", "a1", "u1", "y"),
        boundary,
        claude("user", "u2", "cb", "z"),
    )
    assert path(bare) == ["u1", "a1", "cb", "u2"]
    assert len(bare.report.problems) == 1


def test_the_leaf_is_where_the_pointer_says_until_somebody_goes_on() -> None:
    lines = [
        claude("user", "u1", None, "x"),
        claude("assistant", "a1", "u1", "y"),
        claude("user", "u2", "a1", "z"),
        claude("assistant", "a2", "u2", "w"),
    ]
    pointer = {"type": "last-prompt", "leafUuid": "a1", "sessionId": SESSION}
    assert read(*lines).leaf == "a2"
    assert read(*lines, pointer).leaf == "a1"
    assert read(*lines, pointer, claude("user", "u3", "a2", "more")).leaf == "u3"
    pinned = {**pointer, "explicit": True}
    assert read(*lines, pinned, claude("user", "u3", "u1", "elsewhere")).leaf == "a1"
    assert read(*lines, pinned, claude("user", "u4", "a1", "below")).leaf == "u4"
    cleared = {"type": "last-prompt", "leafUuid": None, "explicit": True}
    assert read(*lines, pinned, cleared).leaf == "a2"


def test_a_subagents_file_is_a_child_of_its_session() -> None:
    lines = [
        claude("user", "u1", None, "Task", isSidechain=True),
        claude("assistant", "a1", "u1", "Done", isSidechain=True),
    ]
    session = read(*lines, name="agent-a1.jsonl", toolUseId="toolu_9")
    assert (session.source_id, session.parent_source) == (f"{SESSION}/agent-a1", SESSION)
    assert session.leaf == "a1"
    assert origin(session)["toolUseId"] == "toolu_9"


def test_a_better_title_is_not_taken_back_by_a_worse_one() -> None:
    base = [claude("user", "u1", None, "x"), claude("assistant", "a1", "u1", "y")]
    session = read(
        *base,
        {"type": "custom-title", "customTitle": "Mine", "sessionId": "x"},
        {"type": "ai-title", "aiTitle": "Theirs", "sessionId": "x"},
    )
    assert as_log(session).tree.title == "Mine"


def test_an_error_of_the_service_is_an_answer_that_failed() -> None:
    line = claude("assistant", "a1", "u1", "Overloaded", isApiErrorMessage=True)
    message = entry(read(claude("user", "u1", None, "x"), line), "a1")["message"]
    assert (message["stopReason"], message["errorMessage"]) == ("error", "Overloaded")


def test_a_message_that_is_being_written_waits_for_the_next_time() -> None:
    lines = [
        claude("user", "u1", None, "x"),
        claude("assistant", "a1", "u1", [call(1)], message_id="m", stop=None),
    ]
    growing = read(*lines, growing=True)
    assert [row[0] for row in tree(growing)] == ["u1"]
    assert growing.report.held_back_count == 1
    assert [row[0] for row in tree(read(*lines))] == ["u1", "a1"]


def attached(uuid: str, parent: str, **attachment: Any) -> dict[str, Any]:
    return claude("attachment", uuid, parent, attachment=attachment)


START = [claude("user", "u1", None, "Begin"), claude("assistant", "a1", "u1", [call(1)], stop="tool_use"),
         claude("user", "r1", "a1", [answer(1)])]  # fmt: skip


def test_a_prompt_that_was_typed_while_it_worked_is_a_message() -> None:
    session = read(
        *START, attached("q", "r1", type="queued_command", prompt="Also this", commandMode="prompt"),
        claude("assistant", "a2", "q", "Done"),
    )  # fmt: skip
    assert path(session) == ["u1", "a1", "r1", "q", "a2"]
    assert entry(session, "q")["message"]["role"] == "user"
    assert entry(session, "q")["message"]["content"] == "Also this"
    assert read(*START, attached("q", "r1", type="queued_command", prompt="Also this")).leaf == "q"


@pytest.mark.parametrize(
    "program", [{"isMeta": True}, {"commandMode": "task-notification"}, {"origin": {"kind": "coordinator"}}]
)
def test_a_queued_text_that_no_person_typed_is_no_prompt(program: Any) -> None:
    session = read(*START, attached("q", "r1", type="queued_command", prompt="A task ended", **program))
    assert entry(session, "q")["type"] == "custom_message"
    assert entry(session, "q")["content"] == "A task ended"


def test_a_file_that_the_user_named_is_mentioned_with_its_content() -> None:
    content = {
        "type": "text",
        "file": {"filePath": "/work/notes.txt", "content": "three notes", "numLines": 1},
    }
    image = {"type": "image", "file": {"base64": "AAAA", "type": "image/png"}}
    session = read(
        claude("user", "u1", None, "See @notes.txt and @red.png"),
        attached("f1", "u1", type="file", filename="/work/notes.txt", content=content),
        attached("f2", "f1", type="file", filename="/work/red.png", content=image),
        attached("f3", "f2", type="directory", path="/work/src", content="a.py\nb.py"),
        claude("assistant", "a1", "f3", "Seen"),
    )  # fmt: skip
    assert path(session) == ["u1", "f1", "f2", "f3", "a1"]
    messages = [entry(session, name)["message"] for name in ("f1", "f2", "f3")]
    assert {message["role"] for message in messages} == {"fileMention"}
    assert [message["files"][0]["path"] for message in messages] == [
        "/work/notes.txt",
        "/work/red.png",
        "/work/src",
    ]
    assert messages[0]["files"][0]["content"] == "three notes"
    assert messages[1]["files"][0]["image"] == {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    found = search_text.text_of(entry(session, "f1"))
    assert found is not None
    assert found.text == "/work/notes.txt three notes"


@pytest.mark.parametrize(
    ("attachment", "text"),
    [
        ({"type": "critical_system_reminder", "content": "Remember"}, "Remember"),
        ({"type": "hook_additional_context", "content": ["one", "two"]}, "one\ntwo"),
        ({"type": "nested_memory", "content": {"path": "/m.md", "content": "facts"}}, "/m.md facts"),
        ({"type": "todo_reminder", "content": [{"content": "Test", "status": "pending"}]}, "[pending] Test"),
        ({"type": "edited_text_file", "filename": "/a", "snippet": "1 x"}, "1 x"),
    ],
)
def test_a_reminder_is_a_custom_message_that_is_not_shown(attachment: Any, text: str) -> None:
    made = entry(read(*START, attached("x", "r1", **attachment), claude("assistant", "a2", "x", "Ok")), "x")
    assert (made["type"], made["content"], made["display"]) == ("custom_message", text, False)
    assert made["customType"] == f"claude-code.{attachment['type']}"


def test_an_attachment_without_a_text_is_stored_and_its_children_get_its_parent() -> None:
    session = read(
        *START, attached("x", "r1", type="date_change", newDate="2026"), claude("assistant", "a2", "x", "Ok")
    )
    assert path(session) == ["u1", "a1", "r1", "a2"]
    assert set(kept(session)) == {4}


def queue(operation: str, **fields: Any) -> dict[str, Any]:
    return {"type": "queue-operation", "operation": operation, "sessionId": SESSION, **fields}


def unsent(session: Any) -> list[str]:
    return [
        line["content"] for line in entries(session) if line.get("customType") == "claude-code.unsentPrompt"
    ]


def test_a_prompt_that_the_user_took_back_is_kept_beside_the_conversation() -> None:
    assert unsent(read(*START, queue("enqueue", content="Never mind"), queue("popAll"))) == ["Never mind"]
    assert unsent(read(*START, queue("enqueue", content="One"), queue("enqueue", content="Two"),
                       queue("remove", content="Two"), queue("dequeue"))) == ["Two"]  # fmt: skip
    assert unsent(read(*START, queue("enqueue", content="Waits"))) == ["Waits"]
    assert unsent(read(*START, queue("enqueue", content="Waits"), growing=True)) == []


def test_a_prompt_that_was_sent_is_there_once() -> None:
    absorbed = attached("q", "r1", type="queued_command", prompt="Also this")
    assert unsent(read(*START, queue("enqueue", content="Also this"), absorbed,
                       queue("remove", reason="absorbed_mid_turn"))) == []  # fmt: skip
    assert unsent(read(*START, queue("enqueue", content="Next"), queue("dequeue"),
                       claude("user", "u2", "r1", "Next"))) == []  # fmt: skip
    repeated = attached("q", "u2", type="queued_command", prompt="Next", source_uuid="u2")
    assert "q" not in [row[0] for row in tree(read(*START, claude("user", "u2", "r1", "Next"), repeated))]


def test_a_file_that_continues_another_session_is_its_child() -> None:
    continued = "99999999-2222-4333-8444-555555555555"
    session = read(*START, name=f"{continued}.jsonl")
    assert (session.source_id, session.parent_source) == (continued, SESSION)
    assert read(*START, name=f"{SESSION}.jsonl").parent_source is None


def test_a_title_that_is_written_again_is_one_title() -> None:
    titles: list[dict[str, Any]] = [
        {"type": "custom-title", "customTitle": "Mine", "sessionId": SESSION},
        {"type": "agent-name", "agentName": "Mine", "sessionId": SESSION},
    ]
    session = read(*START, *titles, *titles)
    assert [line["name"] for line in entries(session) if line["type"] == "session_info"] == ["Mine"]
    assert as_log(read(*START, titles[1])).tree.title == "Mine"


def test_a_part_of_the_history_that_is_written_again_moves_no_leaf() -> None:
    lines = [
        claude("user", "a", None, "one"), claude("assistant", "b", "a", "two"),
        claude("attachment", "b2", "b", attachment={"type": "prompt_snapshot"}),
        {"type": "last-prompt", "leafUuid": "b2", "sessionId": SESSION},
        claude("user", "c", "b2", "three"), claude("assistant", "d", "c", "four"),
        claude("attachment", "e", "d", attachment={"type": "prompt_snapshot"}),
        {"type": "last-prompt", "leafUuid": "e", "sessionId": SESSION},
    ]  # fmt: skip
    for count in range(1, len(lines) + 1):
        session = imported(jsonl(*lines, *lines[:count]))
        assert session.leaf == "d"
        assert session.conversation_count == 4


@pytest.mark.parametrize(
    ("fields_of_lines", "automated", "takers"),
    [
        ([{"entrypoint": "sdk-cli", "promptSource": "sdk"}], True, []),
        ([{"promptSource": "sdk"}], True, []),
        ([{}, {"promptSource": "sdk"}], True, []),
        ([{"entrypoint": "cli", "promptSource": "typed"}], False, []),
        ([{"entrypoint": "claude-vscode", "promptSource": "sdk"}], False, []),
        ([{"promptSource": "system"}], False, []),
        ([{"promptSource": "typed"}, {"promptSource": "sdk"}], False, []),
        ([{"promptSource": "sdk"}, {"promptSource": "queued"}], True, ["person"]),
        ([{"entrypoint": "sdk-cli"}, {"entrypoint": "cli"}, {"entrypoint": "sdk-cli"}], True, ["person"]),
        ([{"entrypoint": "sdk-ts", "promptSource": "typed"}], False, []),
    ],
)
def test_the_source_of_its_prompts_decides_whether_a_session_is_automated(
    fields_of_lines: list[dict[str, str]], automated: bool, takers: list[str]
) -> None:
    lines = [
        claude("user", f"u{number}", f"u{number - 1}" if number else None, f"Go {number}", **some)
        for number, some in enumerate(fields_of_lines)
    ]
    session = read(*lines)
    taken = [line["data"]["by"] for line in entries(session) if line.get("customType") == TAKEN_OVER_TYPE]
    assert (origin(session).get("automated", False), taken) == (automated, takers)


@pytest.mark.parametrize(
    ("stop", "here"),
    [
        ("end_turn", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "error"),
    ],
)
def test_the_reason_of_a_stop_is_that_of_the_api(stop: str, here: str) -> None:
    session = imported(jsonl(claude("user", "u", None, "hi"), claude("assistant", "a", "u", "yo", stop=stop)))
    assert entry(session, "a")["message"]["stopReason"] == here
