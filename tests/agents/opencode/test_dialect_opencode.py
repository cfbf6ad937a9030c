"""Sessions of OpenCode are read (decision 0040)."""

import json  # noqa: TID251 - files of other programs are written as they write them
from copy import deepcopy
from typing import Any

import pytest

from support.dialect_files import OPENCODE
from support.dialects import as_log, entries, entry, imported, jsonl, kept, origin, path, tree


def read(document: Any, **how: Any) -> Any:
    return imported(json.dumps(document).encode(), **how)


def part(type: str, **fields: Any) -> dict[str, Any]:
    return {"id": "prt_1", "sessionID": "ses_1", "messageID": "msg_1", "type": type, **fields}


def message(name: str, role: str, *parts: dict[str, Any], **info: Any) -> dict[str, Any]:
    time = {"created": 1_767_225_600_000, **({"completed": 1_767_225_601_000} if role == "assistant" else {})}
    return {"info": {"id": name, "role": role, "time": time, **info}, "parts": list(parts)}


def document(*messages: dict[str, Any], **info: Any) -> dict[str, Any]:
    return {
        "info": {"id": "ses_1", "directory": "/work", "version": "1.18.33", **info},
        "messages": list(messages),
    }


def said(text: str) -> dict[str, Any]:
    return part("text", text=text)


def tool(status: str, **state: Any) -> dict[str, Any]:
    return part(
        "tool", tool="read", callID="call_1", state={"status": status, "input": {"path": "a"}, **state}
    )


def test_the_document_of_the_tests_becomes_a_session() -> None:
    session = read(OPENCODE)
    assert [role for _, _, role in tree(session)] == [
        "user", "custom_message", "assistant", "toolResult", "toolResult", "assistant", "user", "assistant",
        "compaction", "user", "assistant",
    ]  # fmt: skip
    assert len(path(session)) == 11
    assert not kept(session)
    assert (session.source_id, session.cwd) == ("ses_000000000001Example0001", "/work")
    assert (session.parent_source, origin(session)["sourceVersion"]) == (
        "ses_000000000000Example0000",
        "1.18.33",
    )
    assert as_log(session).tree.title == "The plan"


def test_a_document_is_the_same_on_one_line_and_on_many() -> None:
    indented = imported(json.dumps(OPENCODE, indent=1).encode())
    assert [each_entry.line for each_entry in indented.entries] == [
        line.line for line in read(OPENCODE).entries
    ]


def test_an_answer_has_its_thoughts_calls_tokens_and_cost() -> None:
    answer = entry(read(OPENCODE), "msg_000000000002")
    said_by_model = answer["message"]
    assert [block["type"] for block in said_by_model["content"]] == [
        "thinking",
        "text",
        "toolCall",
        "toolCall",
    ]
    used = said_by_model["usage"]
    assert (used["input"], used["output"], used["cacheRead"], used["cost"]["total"]) == (90, 25, 10, 0.25)
    assert answer["foreign"]["parts"] == [{"type": "patch", "hash": "0f", "files": ["plan.md"]}]


def test_results_are_those_of_finished_calls() -> None:
    results = [
        line["message"]
        for line in entries(read(OPENCODE))
        if line.get("message", {}).get("role") == "toolResult"
    ]
    assert [(result["content"][0]["text"], result["isError"]) for result in results] == [
        ("the plan", False),
        ("Exit code 1", True),
    ]
    running = read(document(message("msg_1", "assistant", tool("running"), tool("pending"))))
    assert [role for _, _, role in tree(running)] == ["assistant"]


def test_a_compaction_keeps_the_messages_from_its_tail_on() -> None:
    compaction = entry(read(OPENCODE), "msg_000000000007")
    assert compaction["summary"] == "Summary: the plan has two steps."
    assert compaction["firstKeptEntryId"] == "msg_000000000004"


def test_an_error_is_the_reason_why_an_answer_stopped() -> None:
    aborted = {"name": "MessageAbortedError", "data": {"message": "The user stopped it."}}
    answer = read(document(message("msg_1", "assistant", said("I"), error=aborted)))
    found = entry(answer, "msg_1")["message"]
    assert (found["stopReason"], found["errorMessage"]) == ("aborted", "The user stopped it.")


def test_the_last_message_waits_while_it_may_change() -> None:
    asked, answer = message("msg_1", "user", said("one")), message("msg_2", "assistant", said("tw"))
    del answer["info"]["time"]["completed"]
    assert [name for name, _, _ in tree(read(document(asked, answer), growing=True))] == ["msg_1"]
    assert read(document(asked), growing=True).report.held_back_count == 1


def test_an_answer_that_is_completed_after_it_was_read_is_another_entry() -> None:
    asked, answer = message("msg_1", "user", said("one")), message("msg_2", "assistant", said("tw"))
    incomplete = deepcopy(answer)
    del incomplete["info"]["time"]["completed"]
    before = {line.id for line in read(document(asked, incomplete)).entries}
    after = read(document(asked, answer))
    assert before - {line.id for line in after.entries}
    assert {"msg_2"} == {line.id for line in after.entries} - before


def test_after_a_revert_the_leaf_is_before_the_reverted_message() -> None:
    messages = [
        message(f"msg_{number}", role, said("x")) for number, role in enumerate(["user", "assistant"] * 2)
    ]
    session = read(document(*messages, revert={"messageID": "msg_2"}))
    assert session.leaf == "msg_1"
    assert len(tree(session)) == 4


def test_the_prompt_of_a_subtask_is_a_text() -> None:
    session = read(document(message("msg_1", "user", part("subtask", prompt="Count them", agent="general"))))
    assert entry(session, "msg_1")["message"]["content"][0]["text"] == "Count them"


def test_a_document_with_messages_that_cannot_be_read_is_kept() -> None:
    session = read(
        {**document(message("msg_1", "user", said("x"))), "messages": ["?", message("m", "user", said("x"))]}
    )
    assert list(kept(session)) == [1]
    assert session.report.problem_count == 1


@pytest.mark.parametrize("title", ["New session - 2026-11-28T11:58:00.097Z", "Untitled session"])
def test_a_title_that_stands_for_none_is_none(title: str) -> None:
    document = {**OPENCODE, "info": {**OPENCODE["info"], "title": title}}
    assert as_log(imported(jsonl(document))).tree.title is None


def test_a_message_and_a_part_that_are_no_json_are_problems() -> None:
    torn = {"type": "unreadable", "raw": '{"type": "te'}
    broken = {"info": {**torn, "id": "msg_2"}, "parts": [said("lost")]}
    session = read(document(message("msg_1", "user", said("hello"), torn), broken))
    assert [problem.message for problem in session.report.problems] == [
        "a part of the message msg_1 is not JSON",
        "the message msg_2 is not JSON",
    ]
    assert "lost" in kept(session)[1]
