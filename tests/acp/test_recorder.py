"""The entries that the messages of a turn become."""

from typing import Any

from sessiond.acp.recorder import (
    CHUNK_TYPE,
    PERMISSION_TYPE,
    PLAN_TYPE,
    TURN_TYPE,
    UPDATE_TYPE,
    SessionRecorder,
)
from support.acp_editors import customs, spoken

Json = dict[str, Any]


def recorder(**options: Any) -> SessionRecorder:
    return SessionRecorder("scripted", "key", "above", **options)


def prompt(recording: SessionRecorder, text: str) -> None:
    recording.prompt({"sessionId": "s", "prompt": [{"type": "text", "text": text}]})


def say(
    recording: SessionRecorder, text: str, message_id: str | None = None, kind: str = "agent_message_chunk"
) -> None:
    found: Json = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
    recording.update(found if message_id is None else {**found, "messageId": message_id})


def call(recording: SessionRecorder, call_id: str, **known: Any) -> None:
    recording.update({"sessionUpdate": "tool_call", "toolCallId": call_id, **known})


def change(recording: SessionRecorder, call_id: str, **known: Any) -> None:
    recording.update({"sessionUpdate": "tool_call_update", "toolCallId": call_id, **known})


def shown(text: str) -> list[Json]:
    return [{"type": "content", "content": {"type": "text", "text": text}}]


def test_chunks_of_one_message_become_one_entry_with_the_agents_id() -> None:
    recording = recorder()
    prompt(recording, "hello")
    for text in ("Good ", "", "day"):
        say(recording, text, "msg_1")
    recording.ended({"stopReason": "end_turn"})
    assert spoken(recording.drafts) == [("user text", "hello"), ("assistant text", "Good day")]
    assert [entry["id"] for entry in recording.drafts] == ["key-1", "msg_1", "key-3"]


def test_each_entry_is_below_the_one_before_it() -> None:
    recording = recorder()
    prompt(recording, "hello")
    say(recording, "Good day")
    recording.ended({"stopReason": "end_turn"})
    parents = [entry["parentId"] for entry in recording.drafts]
    assert parents == ["above", *(entry["id"] for entry in recording.drafts[:-1])]


def test_a_change_of_kind_or_of_message_closes_a_text() -> None:
    recording = recorder()
    prompt(recording, "hello")
    say(recording, "Hm", kind="agent_thought_chunk")
    say(recording, "One", "a")
    say(recording, "Two", "b")
    recording.ended({"stopReason": "end_turn"})
    assert spoken(recording.drafts)[1:] == [
        ("assistant thinking", "Hm"), ("assistant text", "One"), ("assistant text", "Two"),
    ]  # fmt: skip


def test_without_ids_a_tool_call_closes_a_text() -> None:
    recording = recorder()
    prompt(recording, "hello")
    say(recording, "Let me see.")
    call(recording, "c", title="read", status="pending", rawInput={"path": "x"})
    change(recording, "c", status="completed", content=shown("the file"))
    say(recording, "I see.")
    recording.ended({"stopReason": "end_turn"})
    assert spoken(recording.drafts)[1:] == [
        ("assistant text", "Let me see."), ("assistant toolCall", "read"), ("toolResult text", "the file"),
        ("assistant text", "I see."),
    ]  # fmt: skip


def test_the_input_of_a_call_may_come_later() -> None:
    recording = recorder()
    prompt(recording, "hello")
    call(recording, "c", title="Read", status="pending", rawInput={})
    change(recording, "c", rawInput={"path": "x"})
    change(recording, "c", status="completed", rawOutput={"lines": 3})
    [asked, result] = recording.drafts[1:]
    assert asked["message"]["content"][0]["arguments"] == {"path": "x"}
    assert result["message"]["content"] == [{"type": "text", "text": '{"lines":3}'}]


def test_a_permission_may_be_the_first_message_of_a_call() -> None:
    recording = recorder()
    prompt(recording, "hello")
    params = {"options": [{"optionId": "yes"}], "toolCall": {"toolCallId": "c", "title": "write"}}
    recording.permission(params)
    recording.answered(params, {"outcome": "selected", "optionId": "yes"})
    change(recording, "c", status="completed", content=shown("done"))
    assert spoken(recording.drafts)[1:] == [("assistant toolCall", "write"), ("toolResult text", "done")]
    assert customs(recording.drafts, PERMISSION_TYPE)[0]["outcome"] == {
        "outcome": "selected",
        "optionId": "yes",
    }


def test_a_failed_call_has_an_error_as_its_result() -> None:
    recording = recorder()
    prompt(recording, "hello")
    change(recording, "c", title="run", status="failed", rawOutput="no such file")
    assert recording.drafts[-1]["message"]["isError"] is True
    assert spoken(recording.drafts)[-1] == ("toolResult text", "no such file")


def test_the_output_of_an_unfinished_call_is_kept_when_the_turn_ends() -> None:
    recording = recorder()
    prompt(recording, "hello")
    call(recording, "c", title="run", status="in_progress", rawInput={"cmd": "make"})
    change(recording, "c", content=shown("half of the output"))
    recording.ended({"stopReason": "cancelled"})
    assert ("toolResult text", "half of the output") in spoken(recording.drafts)


def test_the_last_text_has_the_reason_of_the_stop_and_the_usage() -> None:
    recording = recorder()
    prompt(recording, "hello")
    say(recording, "Well")
    recording.ended(
        {"stopReason": "cancelled", "usage": {"inputTokens": 5, "outputTokens": 2, "cachedReadTokens": 1}}
    )
    message = recording.drafts[1]["message"]
    assert message["stopReason"] == "aborted"
    assert (message["usage"]["input"], message["usage"]["cacheRead"]) == (5, 1)
    assert customs(recording.drafts, TURN_TYPE)[0]["stopReason"] == "cancelled"


def test_plans_and_unknown_updates_are_stored_and_commands_are_not() -> None:
    recording = recorder()
    prompt(recording, "hello")
    recording.update({"sessionUpdate": "plan", "entries": [{"content": "look"}]})
    recording.update({"sessionUpdate": "dance", "steps": 3})
    recording.update({"sessionUpdate": "available_commands_update", "availableCommands": []})
    assert customs(recording.drafts, PLAN_TYPE) == [{"entries": [{"content": "look"}]}]
    assert customs(recording.drafts, UPDATE_TYPE) == [{"sessionUpdate": "dance", "steps": 3}]


def test_a_title_of_the_agent_is_taken_unless_the_session_has_one() -> None:
    update = {"sessionUpdate": "session_info_update", "title": "Birds"}
    recording = recorder()
    recording.update(update)
    assert [(entry["type"], entry["name"]) for entry in recording.drafts] == [("session_info", "Birds")]
    titled = recorder()
    titled.takes_titles = False
    titled.update(update)
    assert customs(titled.drafts, UPDATE_TYPE) == [update]


def test_pieces_of_an_open_text_are_beside_the_path() -> None:
    recording = recorder()
    prompt(recording, "hello")
    say(recording, "One ", "m")
    recording.chunk()
    say(recording, "two", "m")
    recording.chunk()
    recording.chunk()
    recording.ended({"stopReason": "end_turn"})
    pieces = [entry for entry in recording.drafts if entry.get("customType") == CHUNK_TYPE]
    assert [entry["data"]["text"] for entry in pieces] == ["One ", "two"]
    assert [entry["parentId"] for entry in pieces] == ["key-1", pieces[0]["id"]]
    whole = next(entry for entry in recording.drafts if entry["id"] == "m")
    assert whole["parentId"] == "key-1"


def test_entries_do_not_depend_on_the_pieces_that_were_taken() -> None:
    made = []
    for takes_pieces in (False, True):
        recording = recorder()
        prompt(recording, "hello")
        for text in ("One", "Two"):
            say(recording, text)
            if takes_pieces:
                recording.chunk()
        call(recording, "c", title="read", status="completed", rawOutput="x")
        recording.ended({"stopReason": "end_turn"})
        made.append([entry for entry in recording.drafts if entry.get("customType") != CHUNK_TYPE])
    assert made[0] == made[1]


def test_files_in_a_prompt_are_shown_as_text_and_kept_as_they_were_sent() -> None:
    recording = recorder()
    blocks = [
        {"type": "resource_link", "uri": "file:///a.py", "name": "a.py"},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
    ]
    recording.prompt({"prompt": blocks})
    [entry] = recording.drafts
    assert entry["message"]["content"][0]["text"] == "[a.py](file:///a.py)"
    assert entry["message"]["content"][1] == {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    assert entry["acp"]["prompt"] == blocks


def test_messages_of_any_shape_are_taken_without_an_error() -> None:
    recording = recorder()
    prompt(recording, "hello")
    change(recording, "c", content=3)
    change(recording, "c", status="completed", content=[None, {"type": "diff"}])
    for update in (
        {}, {"sessionUpdate": None}, {"sessionUpdate": "agent_message_chunk"}, {"sessionUpdate": "tool_call"},
        {"sessionUpdate": "tool_call", "toolCallId": 7},
        {"sessionUpdate": "agent_message_chunk", "content": "text", "messageId": 4},
    ):  # fmt: skip
        recording.update(update)
    recording.permission({})
    recording.answered({}, None)
    recording.ended({})
    assert len({entry["id"] for entry in recording.drafts}) == len(recording.drafts)


def test_a_turn_has_the_model_that_the_agent_names_and_tokens_that_its_file_tells_are_left_to_it() -> None:
    quota = {"token_count": {"input_tokens": 5}, "model_usage": [{"model": "scripted-2"}]}
    for counts_usage, tokens in ((True, 5), (False, 0)):
        recording = recorder(model="scripted-1")
        recording.counts_usage = counts_usage
        prompt(recording, "hello")
        say(recording, "Well")
        recording.ended({"stopReason": "end_turn", "_meta": {"quota": quota}})
        message = recording.drafts[1]["message"]
        assert (message["model"], message["usage"]["input"]) == ("scripted-2", tokens)
        assert customs(recording.drafts, TURN_TYPE)[0]["usage"]["inputTokens"] == 5
