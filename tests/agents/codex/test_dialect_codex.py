"""Rollouts of Codex are read entry by entry (decision 0023)."""

import json  # noqa: TID251 - messages are compared as other programs read them
from typing import Any

from sessiond.session.content import preview
from support.dialect_files import CODEX, SESSION, bytes_of, codex, event, meta, said
from support.dialects import as_log, entries, entry, imported, jsonl, kept, path, tree


def read(*lines: Any, **how: Any) -> Any:
    return imported(jsonl(*lines), **how)


def at(session: Any, number: int) -> dict[str, Any]:
    """The entry of the conversation at a place, counted from 1."""
    return entry(session, tree(session)[number - 1][0])


def places(session: Any) -> list[tuple[int, int, str]]:
    """The conversation: the place of each entry, that of its parent (0: none), and its type or role."""
    found = {name: number for number, (name, _, _) in enumerate(tree(session), 1)}
    return [(found[name], found.get(parent or "", 0), kind) for name, parent, kind in tree(session)]


def test_codex_becomes_a_path_and_what_was_rolled_back_a_branch() -> None:
    session = read(*CODEX)
    assert places(session) == [
        (1, 0, "model_change"), (2, 1, "thinking_level_change"), (3, 2, "custom_message"), (4, 3, "user"),
        (5, 4, "assistant"), (6, 5, "assistant"), (7, 6, "toolResult"), (8, 7, "assistant"), (9, 8, "assistant"),
        (10, 9, "model_usage"), (11, 10, "user"), (12, 11, "assistant"), (13, 10, "compaction"), (14, 13, "user"),
    ]  # fmt: skip
    log = as_log(session).tree
    assert log.labels[at(session, 12)["id"]].text == "rolled-back"
    assert log.title == "Greetings"
    assert log.leaf_id == at(session, 14)["id"]
    assert session.parent_source == "99999999-2222-4333-8444-555555555555"
    assert session.report.converted["mirror"] == 1
    assert set(kept(session)) == {2, 18}


def test_calls_and_results_of_codex_belong_together() -> None:
    session = read(*CODEX)
    made = at(session, 6)["message"]["content"]
    assert made == [{"type": "toolCall", "id": "c1", "name": "shell", "arguments": {"cmd": "ls"}}]
    result = at(session, 7)["message"]
    assert (result["toolCallId"], result["toolName"], result["isError"]) == ("c1", "shell", True)
    assert result["content"] == [{"type": "text", "text": "no"}]


def test_content_that_codex_encrypted_is_kept_and_marked() -> None:
    reasoning = at(read(*CODEX), 5)
    assert reasoning["message"]["content"] == [{"type": "thinking", "thinking": "hm"}]
    assert reasoning["foreign"] == {"encrypted_content": "xyz", "portable": False}


def test_a_compaction_of_codex_keeps_its_replacement_and_its_tokens() -> None:
    compaction = at(read(*CODEX), 13)
    assert (compaction["summary"], compaction["tokensBefore"]) == ("A greeting", 9)
    assert compaction["details"] == {"replacement_history": [{"type": "message"}]}


def test_messages_of_the_user_that_a_compaction_retains_follow_it() -> None:
    history = [said("user", "one")["payload"], said("user", "never seen before")["payload"],
               said("user", "<environment_context>x</environment_context>")["payload"],
               said("user", "Another model said: it was about numbers")["payload"]]  # fmt: skip
    session = read(
        meta(), said("user", "one"), said("assistant", "1"),
        codex("compacted", {"message": "it was about numbers", "replacement_history": history}),
        said("user", "two"),
    )  # fmt: skip
    assert texts_of(as_log(session).context().messages) == [
        "it was about numbers", "one", "never seen before", "two",
    ]  # fmt: skip


def texts_of(messages: Any) -> list[str]:
    """The texts of messages."""
    return [preview.text_of_message(json.loads(bytes(message))).strip() for message in messages]


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
    usages = [line["usage"] for line in entries(session) if line["type"] == "model_usage"]
    assert [(usage["input"], usage["cacheRead"], usage["output"]) for usage in usages] == [(3, 2, 4)]


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
    session = rolled_back(injected, said("user", "two"), said("assistant", "2"), turns=1)
    assert path(session) == [at(session, place)["id"] for place in (1, 2, 3, 6)]
    assert len(path(rolled_back(turns=1))) == 1
    assert len(rolled_back(turns=5).report.problems) == 1


def test_text_in_an_element_was_put_in_unless_an_event_says_it_was_typed() -> None:
    element = "<mystery_context>\nx\n</mystery_context>"
    assert [row[2] for row in tree(read(meta(), said("user", element)))] == ["custom_message"]
    assert [
        row[2] for row in tree(read(meta(), said("user", element), event("user_message", message=element)))
    ] == ["user"]
    assert [row[2] for row in tree(read(meta(), said("user", f"Look: {element}")))] == ["user"]


def test_rollouts_of_before_the_envelope_are_read() -> None:
    session = read(
        {"id": SESSION, "timestamp": "2025-05-01T00:00:00.000Z", "instructions": None, "git": {}},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]},
        {"record_type": "state"},
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]},
    )
    assert session.source_id == SESSION
    assert [row[2] for row in tree(session)] == ["user", "assistant", "assistant"]
    assert set(kept(session)) == {3}


def test_the_first_meta_names_the_session() -> None:
    session = read(meta(), meta(id="other"), said("user", "x"))
    assert session.source_id == SESSION
    assert set(kept(session)) == {2}


def test_a_message_that_only_an_event_reports_is_beside_the_path() -> None:
    session = read(
        meta(), said("user", "x"), event("agent_message", message="only shown"), said("assistant", "y"),
        event("item_completed", item={"type": "UserMessage", "id": "i", "content": [{"type": "text", "text": "z"}]}),
    )  # fmt: skip
    assert places(session) == [(1, 0, "user"), (2, 1, "assistant"), (3, 1, "assistant"), (4, 3, "user")]
    assert path(session) == [at(session, 1)["id"], at(session, 3)["id"]]
    assert at(session, 2)["message"]["content"] == [{"type": "text", "text": "only shown"}]


def test_an_event_does_not_mirror_an_item_of_a_later_turn() -> None:
    session = read(
        meta(), event("user_message", message="continue"), said("user", "other"), said("assistant", "1"),
        said("user", "continue"), event("user_message", message="continue"), said("assistant", "2"),
    )  # fmt: skip
    assert session.report.converted["unsent message"] == 1
    assert session.report.converted["mirror"] == 1


def test_a_sub_agent_hangs_under_the_session_that_it_works_for() -> None:
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": "the-parent", "depth": 1}}}
    assert read(meta(source=spawn), said("user", "x")).parent_source == "the-parent"
    assert read(meta(source={"subagent": "review"}), said("user", "x")).parent_source is None
    assert read(meta(source="cli", forked_from_id="f"), said("user", "x")).parent_source == "f"


def test_a_migrated_rollout_adds_nothing() -> None:
    before, after = (bytes_of(f"codex-{name}.jsonl") for name in ("legacy", "migrated"))
    ids = {each_entry.id: each_entry.line for each_entry in imported(before).entries}
    added = [each_entry.id for each_entry in imported(after).entries if each_entry.id not in ids]
    assert added == []
    assert imported(after).entries[-1].id in ids


def test_the_usage_of_a_request_is_counted_once_in_both_of_its_lines() -> None:
    spent = {"input_tokens": 9, "cached_input_tokens": 4, "cache_write_input_tokens": 1, "output_tokens": 2,
             "total_tokens": 11}  # fmt: skip
    session = read(
        meta(), said("user", "x"), said("assistant", "y"),
        codex("token_usage_record", {"usage": spent, "thread_token_usage": spent}),
        event("token_count", info={"total_token_usage": spent, "last_token_usage": spent}),
    )  # fmt: skip
    [usage] = [line["usage"] for line in entries(session) if line["type"] == "model_usage"]
    assert [usage[name] for name in ("input", "cacheRead", "cacheWrite", "output")] == [4, 4, 1, 2]


def test_the_usage_of_a_request_is_counted_once_where_an_earlier_version_began_the_rollout() -> None:
    spent = {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11}
    twice = {name: 2 * number for name, number in spent.items()}
    newer = {**spent, "cache_write_input_tokens": 0}
    session = read(
        meta(), said("user", "x"), said("assistant", "y"),
        event("token_count", info={"total_token_usage": spent, "last_token_usage": spent}),
        said("user", "z"), said("assistant", "w"),
        codex("token_usage_record", {"usage": newer, "thread_token_usage": newer, "response_id": "resp_1"}),
        event("token_count", info={"total_token_usage": twice, "last_token_usage": newer}),
        event("token_count", info={"total_token_usage": twice, "last_token_usage": newer}),
    )  # fmt: skip
    assert len([line for line in entries(session) if line["type"] == "model_usage"]) == 2


def test_codex_names_the_origin_of_each_part() -> None:
    def spoken(kind: str) -> list[str]:
        named = {"content_item_kinds": [kind]}
        item = said("user", "<note>typed</note>")
        item["payload"]["internal_chat_message_metadata_passthrough"] = named
        return [row[2] for row in tree(read(meta(), item))]

    assert spoken("user.text") == ["user"]
    assert spoken("environments.environment_context") == ["custom_message"]
    assert spoken("unknown") == ["custom_message"]


def test_a_line_that_is_there_twice_is_one_entry() -> None:
    lines = [
        meta(),
        said("user", "one"),
        said("assistant", "two"),
        said("user", "three"),
        said("assistant", "four"),
    ]
    lines = [{**line, "timestamp": f"2026-01-01T00:00:{second:02}.000Z"} for second, line in enumerate(lines)]
    once = imported(jsonl(*lines))
    for again in ([*lines, *lines[1:3]], [*lines[:3], lines[2], *lines[3:]], [*lines, *lines]):
        twice = imported(jsonl(*again))
        assert [each_entry.id for each_entry in twice.entries] == [
            each_entry.id for each_entry in once.entries
        ]
        assert twice.leaf == once.leaf
        assert twice.report.converted["repeated"] == len(again) - len(lines)


def test_lines_that_a_fork_copies_at_one_time_may_be_said_twice() -> None:
    lines = [
        meta(),
        said("user", "go on"),
        said("assistant", "done"),
        said("user", "go on"),
        said("assistant", "done"),
    ]
    assert imported(jsonl(*lines)).conversation_count == 4
