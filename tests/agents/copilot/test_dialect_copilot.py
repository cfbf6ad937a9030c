"""The reader of Copilot CLI: a log of events becomes a conversation, and sub-agents branch off."""

from typing import Any

from sessiond.agents import known
from support import dialects
from support.dialect_files import COPILOT
from support.dialects import entries, entry, imported, jsonl, tree

SESSION = imported(jsonl(*COPILOT))


def id_of(type: str, number: int = 0) -> str:
    """The id of the nth event of a type."""
    return str([item["id"] for item in COPILOT if item["type"] == type][number])


def message(type: str, number: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = entry(SESSION, id_of(type, number))["message"]
    return found


def test_the_session_has_the_id_folder_and_version_of_its_start() -> None:
    assert SESSION.source_id == COPILOT[0]["data"]["sessionId"]
    assert SESSION.cwd == "/work"
    assert entries(SESSION)[0]["data"]["sourceVersion"] == "1.0.41"


def test_the_path_has_what_was_said_in_order() -> None:
    said = [text for text in dialects.path(SESSION) if entry(SESSION, text)["type"] == "message"]
    assert [entry(SESSION, line)["message"]["role"] for line in said] == [
        "user", "assistant", "toolResult", "toolResult", "assistant", "toolResult", "assistant", "user", "assistant",
    ]  # fmt: skip
    assert SESSION.leaf == id_of("assistant.message", -1)


def test_an_answer_has_its_thinking_text_calls_model_and_tokens() -> None:
    answer = message("assistant.message")
    assert [block["type"] for block in answer["content"]] == ["thinking", "text", "toolCall", "toolCall"]
    assert answer["content"][2]["arguments"] == {"path": "/work/notes.txt"}
    assert (answer["model"], answer["stopReason"], answer["usage"]["output"]) == ("model-a", "toolUse", 31)
    assert message("assistant.message", 3)["model"] == "model-b"


def test_results_belong_to_their_calls_and_errors_say_so() -> None:
    results = [message("tool.execution_complete", number) for number in range(2)]
    assert [(result["toolCallId"], result["toolName"], result["isError"]) for result in results] == [
        ("call_1", "view", False), ("call_2", "bash", True),
    ]  # fmt: skip
    assert [result["content"][0]["text"] for result in results] == ["three herons", "Exit code 1"]
    assert results[0]["details"]["result"] == {"detailedContent": "1. three herons"}


def test_a_prompt_keeps_its_images_and_what_the_program_made_of_it() -> None:
    prompt = entry(SESSION, id_of("user.message"))
    assert [block["type"] for block in prompt["message"]["content"]] == ["text", "image"]
    assert prompt["foreign"]["transformedContent"].endswith("Which birds are in notes.txt?")
    assert [attachment["displayName"] for attachment in prompt["foreign"]["attachments"]] == ["notes.txt"]


def test_a_subagent_is_a_branch_and_its_prompt_is_not_of_the_user() -> None:
    prompt = entry(SESSION, id_of("user.message", 1))
    answer = entry(SESSION, id_of("assistant.message", 2))
    assert (prompt["type"], prompt["display"]) == ("custom_message", False)
    assert answer["parentId"] == prompt["id"]
    assert prompt["parentId"] == id_of("assistant.message", 1)
    assert not {prompt["id"], answer["id"]} & set(dialects.path(SESSION))


def test_a_compaction_has_its_summary() -> None:
    compaction = entry(SESSION, id_of("session.compaction_complete"))
    assert (compaction["summary"], compaction["tokensBefore"]) == ("They counted herons and owls.", 64000)


def test_a_text_of_a_skill_is_not_shown() -> None:
    skill = entry(SESSION, id_of("skill.invoked"))
    assert (skill["content"], skill["display"]) == ("Birds are counted twice.", False)


def test_other_events_are_stored_unchanged_and_repeated_calls_add_nothing() -> None:
    assert set(SESSION.report.preserved) == {
        "session.info", "system.message", "assistant.turn_start", "assistant.turn_end", "subagent.started",
        "session.compaction_start", "session.shutdown",
    }  # fmt: skip
    assert SESSION.report.converted["repeated"] == 2
    assert SESSION.report.problems == []


def test_a_file_that_grows_only_appends() -> None:
    whole = [each_entry.id for each_entry in SESSION.entries]
    for count in range(1, len(COPILOT)):
        part = imported(jsonl(*COPILOT[:count]), growing=True)
        assert {each_entry.id for each_entry in part.entries} <= set(whole)
        assert all(
            any(line.line == each_entry.line for line in SESSION.entries) for each_entry in part.entries
        )


def test_events_that_were_taken_back_leave_a_branch() -> None:
    prompt = {**COPILOT[-3], "id": "7f009999-1111-4222-8333-444455556666", "parentId": COPILOT[14]["id"]}
    after = imported(jsonl(*COPILOT[:15], prompt))
    assert tree(after)[-1][1] == id_of("tool.execution_complete", 2)


def test_a_file_without_its_start_and_one_of_the_old_form_are_recognized() -> None:
    assert known.detect(jsonl(*COPILOT[3:5])) == "copilot"
    assert known.detect(jsonl({"type": "user.message", "data": "none", "id": "x", "parentId": None})) is None


def test_a_result_without_its_call_and_an_event_without_an_id_are_kept() -> None:
    lost = {**COPILOT[8], "data": {**COPILOT[8]["data"], "toolCallId": "other"}}
    nameless = {"type": "user.message", "data": {"content": "hello"}, "parentId": None}
    found = imported(jsonl(COPILOT[0], lost, nameless, b"torn{"))
    assert found.report.preserved == {"user.message": 1, "unreadable": 1}
    assert "toolResult" in [each_entry.role for each_entry in found.entries]
    assert [problem.line for problem in found.report.problems] == [2, 4]


def happened(type: str, id: str, **data: Any) -> dict[str, Any]:
    return {"type": type, "id": id, "parentId": None, "timestamp": "2026-11-28T09:15:26.458Z", "data": data}


def recorded(id: str, call: str, session: str = "s1", **tokens: Any) -> dict[str, Any]:
    accounting = {"sourceSessionId": session, "sequence": 1, "usageId": call}
    usage = {"model": "model-a", "apiCallId": call, "cost": 1.0, "accounting": accounting, **tokens}
    return happened("session.usage_record", id, usage=usage)


def usages(*lines: dict[str, Any]) -> list[dict[str, Any]]:
    """The usages of a file, in requests of their own or in answers."""
    start = happened("session.start", "e0", sessionId="s1", copilotVersion="1.0.102", selectedModel="model-a")
    found = entries(imported(jsonl(start, *lines)))
    return [line.get("message", line)["usage"] for line in found if "usage" in line.get("message", line)]


def test_a_recorded_request_counts_with_its_cache_and_its_reasoning() -> None:
    record = recorded(
        "e1",
        "chatcmpl-1",
        inputTokens=100,
        outputTokens=9,
        cacheReadTokens=40,
        cacheWriteTokens=5,
        reasoningTokens=4,
    )
    [usage] = usages(record)
    kinds = ("input", "output", "cacheRead", "cacheWrite", "reasoningTokens", "totalTokens")
    assert [usage[kind] for kind in kinds] == [
        55, 9, 40, 5, 4, 109,
    ]  # fmt: skip
    assert usage["cost"]["total"] == 0


def test_an_answer_whose_request_is_recorded_counts_once() -> None:
    answer = happened("assistant.message", "e2", content="Two.", apiCallId="chatcmpl-1", outputTokens=9)
    assert [
        usage["totalTokens"]
        for usage in usages(recorded("e1", "chatcmpl-1", inputTokens=100, outputTokens=9), answer)
    ] == [109]
    assert [usage["totalTokens"] for usage in usages(answer)] == [9]


def test_requests_of_sub_agents_and_repeated_ids_are_requests_of_their_own() -> None:
    tokens: dict[str, Any] = {"inputTokens": 50, "outputTokens": 5}
    records = [
        recorded("e1", "call-1", **tokens),
        recorded("e2", "call-1", "s2", **tokens),
        recorded("e3", "call-2", **tokens),
    ]
    start = happened("session.start", "e0", sessionId="s1", copilotVersion="1.0.102")
    found = entries(imported(jsonl(start, *records)))
    assert [line["requestKey"] for line in found if line["type"] == "model_usage"] == [
        "s1/call-1",
        "s2/call-1",
        "s1/call-2",
    ]


def test_the_request_of_a_compaction_counts_also_if_it_gave_no_summary() -> None:
    spent = {"requestCount": 1, "inputTokens": 50, "outputTokens": 5}
    for summary in ({"summaryContent": "Birds."}, {}):
        line = happened("session.compaction_complete", "e1", compactionTokensUsed=spent, **summary)
        assert [usage["totalTokens"] for usage in usages(line)] == [55]
