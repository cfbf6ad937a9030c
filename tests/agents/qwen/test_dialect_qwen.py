"""Sessions of Qwen Code are read (decision 0040)."""

from typing import Any

from support.dialect_files import QWEN
from support.dialects import as_log, entries, entry, imported, jsonl, kept, origin, path, tree


def read(*lines: Any, **how: Any) -> Any:
    return imported(jsonl(*lines), **how)


def line(name: str, parent: str | None, type: str, *parts: Any, **fields: Any) -> dict[str, Any]:
    message = (
        {"message": {"role": "model" if type == "assistant" else "user", "parts": list(parts)}}
        if parts
        else {}
    )
    return {
        "uuid": name, "parentUuid": parent, "sessionId": "session-1", "type": type, "cwd": "/work",
        "timestamp": "2026-01-01T00:00:01.000Z", "version": "0.15.10", **message, **fields,
    }  # fmt: skip


def compression(name: str, parent: str, *contents: tuple[str, Any]) -> dict[str, Any]:
    history = [{"role": role, "parts": [part]} for role, part in contents]
    return line(
        name, parent, "system", subtype="chat_compression", systemPayload={"compressedHistory": history}
    )


def said(text: str) -> dict[str, str]:
    return {"text": text}


def test_the_file_of_the_tests_becomes_a_tree_without_the_lines_of_the_program() -> None:
    session = read(*QWEN)
    assert path(session) == ["d1", "d3", "d4", "d5", "d6", "d11", "d12", "d13", "d14", "d15", "d16", "d17"]
    assert (entry(session, "d8")["parentId"], entry(session, "d9")["parentId"]) == ("d6", "d8")
    assert sorted(kept(session)) == [2, 10]
    assert (session.source_id, session.cwd) == ("44444444-2222-4333-8444-555555555555", "/work")
    assert origin(session)["sourceVersion"] == "0.15.10"
    assert as_log(session).tree.title == "The plan"


def test_a_repeated_title_is_one_title() -> None:
    assert [
        each_entry["name"] for each_entry in entries(read(*QWEN)) if each_entry["type"] == "session_info"
    ] == ["The plan"]


def test_an_answer_has_its_thoughts_calls_model_and_tokens() -> None:
    message = entry(read(*QWEN), "d3")["message"]
    assert [block["type"] for block in message["content"]] == ["thinking", "text", "toolCall", "toolCall"]
    assert (message["model"], message["provider"], message["stopReason"]) == ("qwen-test", "qwen", "toolUse")
    # 5 tokens of thoughts are among the 20 of the output: 100 and 20 are the total of 120.
    assert (message["usage"]["input"], message["usage"]["output"], message["usage"]["totalTokens"]) == (
        90,
        20,
        120,
    )


def test_a_result_names_its_call_and_says_whether_it_failed() -> None:
    results = [entry(read(*QWEN), name)["message"] for name in ("d4", "d5")]
    assert [(result["toolCallId"], result["toolName"], result["isError"]) for result in results] == [
        ("call_1", "read_file", False), ("call_2", "run_shell_command", True),
    ]  # fmt: skip


def test_a_compression_keeps_the_end_of_the_path_that_it_repeats() -> None:
    compaction = entry(read(*QWEN), "d15")
    assert (compaction["firstKeptEntryId"], compaction["tokensBefore"]) == ("d12", 900)
    assert "Summary: both steps were done." in compaction["summary"]
    assert "Got it." in compaction["summary"]
    assert list(as_log(read(*QWEN)).context().entry_ids) == ["d15", "d12", "d13", "d14", "d16", "d17"]


def test_a_compression_that_repeats_nothing_is_followed_by_its_other_contents() -> None:
    session = read(
        line("a", None, "user", said("one")), line("b", "a", "assistant", said("two")),
        compression("c", "b", ("user", said("They met.")), ("model", said("Got it."))),
        line("d", "c", "user", said("three")),
    )  # fmt: skip
    assert tree(session)[2:] == [("c", "b", "compaction"), ("c-2", "c", "assistant"), ("d", "c-2", "user")]
    assert entry(session, "c")["firstKeptEntryId"] is None


def test_a_compression_before_the_model_got_a_result_is_followed_by_the_result() -> None:
    calls = {"functionCall": {"id": "call_1", "name": "read_file", "args": {}}}
    result = {"functionResponse": {"id": "call_1", "name": "read_file", "response": {"output": "a heron"}}}
    session = read(
        line("a", None, "user", said("one")), line("b", "a", "assistant", calls), line("r", "b", "tool_result", result),
        compression("c", "r", ("user", said("They met.")), ("model", calls)),
        line("d", "c", "assistant", said("It is a heron.")),
    )  # fmt: skip
    context = as_log(session).context()
    assert list(context.entry_ids) == ["c", "c-2", "c-a1", "d"]
    found = entry(session, "c-a1")["message"]
    assert (found["toolCallId"], found["content"]) == ("call_1", [{"type": "text", "text": "a heron"}])


def test_text_of_the_program_in_the_name_of_the_user_is_no_message_of_the_user() -> None:
    session = read(
        line("a", None, "user", said("one")),
        line("b", "a", "user", said("<system-reminder>Be brief.</system-reminder>")),
        line("c", "b", "user", said("It has ended."), subtype="notification"),
        line("d", "c", "user", said("And be quick"), subtype="mid_turn_user_message"),
    )
    assert [kind for _, _, kind in tree(session)] == ["user", "custom_message", "custom_message", "user"]


def test_a_child_of_a_line_of_the_program_hangs_on_the_message_before_it() -> None:
    session = read(
        line("a", None, "user", said("one")), line("t", "a", "system", subtype="ui_telemetry", systemPayload={}),
        line("b", "t", "assistant", said("two")), line("u", "b", "system", subtype="ui_telemetry", systemPayload={}),
    )  # fmt: skip
    assert tree(session) == [("a", None, "user"), ("b", "a", "assistant")]
    assert session.leaf == "b"


def test_a_session_names_the_session_that_spawned_it_or_that_it_was_forked_from() -> None:
    spawned = line(
        "p", None, "system", subtype="parent_session", systemPayload={"parentSessionId": "session-0"}
    )
    assert read(spawned, line("a", "p", "user", said("x"))).parent_source == "session-0"
    forked = line("a", None, "user", said("x"), forkedFrom={"sessionId": "session-0", "messageUuid": "a"})
    assert read(forked).parent_source == "session-0"


def test_a_subagent_is_a_session_of_its_own_below_that_of_its_lines() -> None:
    session = read(line("a", None, "user", said("x"), isSidechain=True, agentId="explore-1"))
    assert (session.source_id, session.parent_source) == ("session-1/explore-1", "session-1")


def test_the_file_name_is_the_id_if_it_can_be_one() -> None:
    name = "6bae4b5b-844a-4034-a77f-fe48d0a6ec17.jsonl"
    assert read(line("a", None, "user", said("x")), name=name).source_id == name.removesuffix(".jsonl")
