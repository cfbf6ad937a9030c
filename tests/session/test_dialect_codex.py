"""What a Codex rollout becomes, entry by entry (decision 0023)."""

from typing import Any

from support.dialect_files import CODEX, SESSION, event, meta, said
from support.dialects import as_log, entries, entry, imported, jsonl, kept, path, tree


def read(*lines: Any, **how: Any) -> Any:
    return imported(jsonl(*lines), **how)


def test_codex_becomes_a_path_and_what_was_rolled_back_a_branch() -> None:
    session = read(*CODEX)
    assert tree(session) == [
        ("line-2", None, "model_change"), ("line-2-v2", "line-2", "thinking_level_change"),
        ("line-3", "line-2-v2", "custom_message"), ("line-4", "line-3", "user"), ("line-6", "line-4", "assistant"),
        ("line-7", "line-6", "assistant"), ("line-8", "line-7", "toolResult"), ("line-9", "line-8", "assistant"),
        ("line-10", "line-9", "assistant"), ("line-11", "line-10", "model_usage"), ("line-12", "line-11", "user"),
        ("line-13", "line-12", "assistant"), ("line-15", "line-11", "compaction"), ("line-16", "line-15", "user"),
    ]  # fmt: skip
    log = as_log(session).tree
    assert log.labels["line-13"].text == "rolled-back"
    assert log.title == "Greetings"
    assert log.leaf_id == "line-16"
    assert session.parent_source == "99999999-2222-4333-8444-555555555555"
    assert session.report.converted["mirror"] == 1
    assert set(kept(session)) == {2, 18}


def test_calls_and_results_of_codex_belong_together() -> None:
    session = read(*CODEX)
    made = entry(session, "line-7")["message"]["content"]
    assert made == [{"type": "toolCall", "id": "c1", "name": "shell", "arguments": {"cmd": "ls"}}]
    result = entry(session, "line-8")["message"]
    assert (result["toolCallId"], result["toolName"], result["isError"]) == ("c1", "shell", True)
    assert result["content"] == [{"type": "text", "text": "no"}]


def test_what_codex_encrypted_is_kept_and_marked() -> None:
    reasoning = entry(read(*CODEX), "line-6")
    assert reasoning["message"]["content"] == [{"type": "thinking", "thinking": "hm"}]
    assert reasoning["foreign"] == {"encrypted_content": "xyz", "portable": False}


def test_a_compaction_of_codex_keeps_its_replacement_and_its_tokens() -> None:
    compaction = entry(read(*CODEX), "line-15")
    assert (compaction["summary"], compaction["tokensBefore"]) == ("A greeting", 9)
    assert compaction["details"] == {"replacement_history": [{"type": "message"}]}


def test_tokens_are_counted_once_each() -> None:
    count = event(
        "token_count",
        info={
            "total_token_usage": {"total_tokens": 9},
            "last_token_usage": {
                "input_tokens": 5,
                "cached_input_tokens": 2,
                "output_tokens": 4,
                "total_tokens": 9,
            },
        },
    )
    session = read(meta(), said("user", "x"), said("assistant", "y"), count, count)
    usages = [it["usage"] for it in entries(session) if it["type"] == "model_usage"]
    assert [(it["input"], it["cacheRead"], it["output"]) for it in usages] == [(3, 2, 4)]


def test_turns_are_rolled_back_by_what_people_typed() -> None:
    def rolled_back(*more: Any, turns: int) -> Any:
        return read(
            meta(),
            said("user", "one"),
            said("assistant", "1"),
            *more,
            event("thread_rolled_back", num_turns=turns),
            said("user", "new"),
        )

    injected = said("user", "# AGENTS.md instructions for x")
    assert path(rolled_back(injected, said("user", "two"), said("assistant", "2"), turns=1)) == [
        "line-2",
        "line-3",
        "line-4",
        "line-8",
    ]
    assert path(rolled_back(turns=1)) == ["line-5"]
    assert len(rolled_back(turns=5).report.problems) == 1


def test_text_in_an_element_was_put_in_unless_an_event_says_it_was_typed() -> None:
    element = "<mystery_context>\nx\n</mystery_context>"
    assert [it[2] for it in tree(read(meta(), said("user", element)))] == ["custom_message"]
    assert [
        it[2] for it in tree(read(meta(), said("user", element), event("user_message", message=element)))
    ] == ["user"]
    assert [it[2] for it in tree(read(meta(), said("user", f"Look: {element}")))] == ["user"]


def test_rollouts_of_before_the_envelope_are_read() -> None:
    session = read(
        {"id": SESSION, "timestamp": "2025-05-01T00:00:00.000Z", "instructions": None, "git": {}},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]},
        {"record_type": "state"},
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]},
    )
    assert session.source_id == SESSION
    assert [it[2] for it in tree(session)] == ["user", "assistant", "assistant"]
    assert set(kept(session)) == {3}


def test_the_first_meta_names_the_session_and_a_mirror_without_its_item_is_kept() -> None:
    session = read(
        meta(), meta(id="other"), event("agent_message", message="nobody else said this"), said("user", "x")
    )
    assert session.source_id == SESSION
    assert set(kept(session)) == {2, 3}
