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


def prompt(it: SessionRecorder, text: str) -> None:
    it.prompt({"sessionId": "s", "prompt": [{"type": "text", "text": text}]})


def say(
    it: SessionRecorder, text: str, message_id: str | None = None, kind: str = "agent_message_chunk"
) -> None:
    found: Json = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
    it.update(found if message_id is None else {**found, "messageId": message_id})


def call(it: SessionRecorder, call_id: str, **known: Any) -> None:
    it.update({"sessionUpdate": "tool_call", "toolCallId": call_id, **known})


def change(it: SessionRecorder, call_id: str, **known: Any) -> None:
    it.update({"sessionUpdate": "tool_call_update", "toolCallId": call_id, **known})


def shown(text: str) -> list[Json]:
    return [{"type": "content", "content": {"type": "text", "text": text}}]


def test_chunks_of_one_message_become_one_entry_with_the_agents_id() -> None:
    it = recorder()
    prompt(it, "hello")
    for text in ("Good ", "", "day"):
        say(it, text, "msg_1")
    it.ended({"stopReason": "end_turn"})
    assert spoken(it.drafts) == [("user text", "hello"), ("assistant text", "Good day")]
    assert [entry["id"] for entry in it.drafts] == ["key-1", "msg_1", "key-3"]


def test_each_entry_is_below_the_one_before_it() -> None:
    it = recorder()
    prompt(it, "hello")
    say(it, "Good day")
    it.ended({"stopReason": "end_turn"})
    parents = [entry["parentId"] for entry in it.drafts]
    assert parents == ["above", *(entry["id"] for entry in it.drafts[:-1])]


def test_a_change_of_kind_or_of_message_closes_a_text() -> None:
    it = recorder()
    prompt(it, "hello")
    say(it, "Hm", kind="agent_thought_chunk")
    say(it, "One", "a")
    say(it, "Two", "b")
    it.ended({"stopReason": "end_turn"})
    assert spoken(it.drafts)[1:] == [
        ("assistant thinking", "Hm"), ("assistant text", "One"), ("assistant text", "Two"),
    ]  # fmt: skip


def test_without_ids_a_tool_call_closes_a_text() -> None:
    it = recorder()
    prompt(it, "hello")
    say(it, "Let me see.")
    call(it, "c", title="read", status="pending", rawInput={"path": "x"})
    change(it, "c", status="completed", content=shown("the file"))
    say(it, "I see.")
    it.ended({"stopReason": "end_turn"})
    assert spoken(it.drafts)[1:] == [
        ("assistant text", "Let me see."), ("assistant toolCall", "read"), ("toolResult text", "the file"),
        ("assistant text", "I see."),
    ]  # fmt: skip


def test_the_input_of_a_call_may_come_later() -> None:
    it = recorder()
    prompt(it, "hello")
    call(it, "c", title="Read", status="pending", rawInput={})
    change(it, "c", rawInput={"path": "x"})
    change(it, "c", status="completed", rawOutput={"lines": 3})
    [asked, result] = it.drafts[1:]
    assert asked["message"]["content"][0]["arguments"] == {"path": "x"}
    assert result["message"]["content"] == [{"type": "text", "text": '{"lines":3}'}]


def test_a_permission_may_be_the_first_message_of_a_call() -> None:
    it = recorder()
    prompt(it, "hello")
    params = {"options": [{"optionId": "yes"}], "toolCall": {"toolCallId": "c", "title": "write"}}
    it.permission(params)
    it.answered(params, {"outcome": "selected", "optionId": "yes"})
    change(it, "c", status="completed", content=shown("done"))
    assert spoken(it.drafts)[1:] == [("assistant toolCall", "write"), ("toolResult text", "done")]
    assert customs(it.drafts, PERMISSION_TYPE)[0]["outcome"] == {"outcome": "selected", "optionId": "yes"}


def test_a_failed_call_has_an_error_as_its_result() -> None:
    it = recorder()
    prompt(it, "hello")
    change(it, "c", title="run", status="failed", rawOutput="no such file")
    assert it.drafts[-1]["message"]["isError"] is True
    assert spoken(it.drafts)[-1] == ("toolResult text", "no such file")


def test_the_output_of_an_unfinished_call_is_kept_when_the_turn_ends() -> None:
    it = recorder()
    prompt(it, "hello")
    call(it, "c", title="run", status="in_progress", rawInput={"cmd": "make"})
    change(it, "c", content=shown("half of the output"))
    it.ended({"stopReason": "cancelled"})
    assert ("toolResult text", "half of the output") in spoken(it.drafts)


def test_the_last_text_has_the_reason_of_the_stop_and_the_usage() -> None:
    it = recorder()
    prompt(it, "hello")
    say(it, "Well")
    it.ended(
        {"stopReason": "cancelled", "usage": {"inputTokens": 5, "outputTokens": 2, "cachedReadTokens": 1}}
    )
    message = it.drafts[1]["message"]
    assert message["stopReason"] == "aborted"
    assert (message["usage"]["input"], message["usage"]["cacheRead"]) == (5, 1)
    assert customs(it.drafts, TURN_TYPE)[0]["stopReason"] == "cancelled"


def test_plans_and_unknown_updates_are_stored_and_commands_are_not() -> None:
    it = recorder()
    prompt(it, "hello")
    it.update({"sessionUpdate": "plan", "entries": [{"content": "look"}]})
    it.update({"sessionUpdate": "dance", "steps": 3})
    it.update({"sessionUpdate": "available_commands_update", "availableCommands": []})
    assert customs(it.drafts, PLAN_TYPE) == [{"entries": [{"content": "look"}]}]
    assert customs(it.drafts, UPDATE_TYPE) == [{"sessionUpdate": "dance", "steps": 3}]


def test_a_title_of_the_agent_is_taken_unless_the_session_has_one() -> None:
    update = {"sessionUpdate": "session_info_update", "title": "Birds"}
    it = recorder()
    it.update(update)
    assert [(entry["type"], entry["name"]) for entry in it.drafts] == [("session_info", "Birds")]
    titled = recorder()
    titled.takes_titles = False
    titled.update(update)
    assert customs(titled.drafts, UPDATE_TYPE) == [update]


def test_pieces_of_an_open_text_are_beside_the_path() -> None:
    it = recorder()
    prompt(it, "hello")
    say(it, "One ", "m")
    it.chunk()
    say(it, "two", "m")
    it.chunk()
    it.chunk()
    it.ended({"stopReason": "end_turn"})
    pieces = [entry for entry in it.drafts if entry.get("customType") == CHUNK_TYPE]
    assert [entry["data"]["text"] for entry in pieces] == ["One ", "two"]
    assert [entry["parentId"] for entry in pieces] == ["key-1", pieces[0]["id"]]
    whole = next(entry for entry in it.drafts if entry["id"] == "m")
    assert whole["parentId"] == "key-1"


def test_entries_do_not_depend_on_the_pieces_that_were_taken() -> None:
    made = []
    for takes_pieces in (False, True):
        it = recorder()
        prompt(it, "hello")
        for text in ("One", "Two"):
            say(it, text)
            if takes_pieces:
                it.chunk()
        call(it, "c", title="read", status="completed", rawOutput="x")
        it.ended({"stopReason": "end_turn"})
        made.append([entry for entry in it.drafts if entry.get("customType") != CHUNK_TYPE])
    assert made[0] == made[1]


def test_files_in_a_prompt_are_shown_as_text_and_kept_as_they_were_sent() -> None:
    it = recorder()
    blocks = [
        {"type": "resource_link", "uri": "file:///a.py", "name": "a.py"},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
    ]
    it.prompt({"prompt": blocks})
    [entry] = it.drafts
    assert entry["message"]["content"][0]["text"] == "[a.py](file:///a.py)"
    assert entry["message"]["content"][1] == {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    assert entry["acp"]["prompt"] == blocks


def test_messages_of_any_shape_are_taken_without_an_error() -> None:
    it = recorder()
    prompt(it, "hello")
    change(it, "c", content=3)
    change(it, "c", status="completed", content=[None, {"type": "diff"}])
    for update in (
        {}, {"sessionUpdate": None}, {"sessionUpdate": "agent_message_chunk"}, {"sessionUpdate": "tool_call"},
        {"sessionUpdate": "tool_call", "toolCallId": 7},
        {"sessionUpdate": "agent_message_chunk", "content": "text", "messageId": 4},
    ):  # fmt: skip
        it.update(update)
    it.permission({})
    it.answered({}, None)
    it.ended({})
    assert len({entry["id"] for entry in it.drafts}) == len(it.drafts)


def test_a_turn_has_the_model_that_the_agent_names_and_tokens_that_its_file_tells_are_left_to_it() -> None:
    quota = {"token_count": {"input_tokens": 5}, "model_usage": [{"model": "scripted-2"}]}
    for counts_usage, tokens in ((True, 5), (False, 0)):
        it = recorder(model="scripted-1")
        it.counts_usage = counts_usage
        prompt(it, "hello")
        say(it, "Well")
        it.ended({"stopReason": "end_turn", "_meta": {"quota": quota}})
        message = it.drafts[1]["message"]
        assert (message["model"], message["usage"]["input"]) == ("scripted-2", tokens)
        assert customs(it.drafts, TURN_TYPE)[0]["usage"]["inputTokens"] == 5
