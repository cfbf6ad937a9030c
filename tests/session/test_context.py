"""The context of a model at a leaf (decision 0015)."""

import json  # noqa: TID251  (messages hold lone surrogates, which msgspec refuses)
from typing import Any

import pytest

from sessiond.session.context.context import build_context, extend_context
from sessiond.session.tree import steps
from sessiond.session.tree.tree import NONE
from support.logs import (
    Line,
    Loaded,
    assistant,
    compaction,
    entry,
    header,
    label,
    leaf,
    loaded,
    log,
    message,
    tool_call,
    tool_result,
    user,
)


def messages(session: Loaded, leaf_id: str | None = None) -> list[Any]:
    return [json.loads(bytes(raw)) for raw in session.context(leaf_id).messages]


def said(session: Loaded, leaf_id: str | None = None) -> list[str]:
    """The messages in short: summaries in brackets, everything else as its text."""
    return [in_short(found) for found in messages(session, leaf_id)]


def in_short(found: dict[str, Any]) -> str:
    if "summary" in found:
        return f"[{found['summary']}]"
    content = found["content"]
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


def turns(count: int) -> list[Line]:
    """q1 a1 q2 a2 … as entries e1 e2 e3 e4 …"""
    spoken: list[Line] = []
    for number in range(1, count + 1):
        spoken += [user(f"q{number}"), assistant(f"a{number}")]
    return spoken


# --- messages ---------------------------------------------------------------------------------------------


def test_the_messages_of_a_path_come_in_its_order_with_their_entries() -> None:
    session = loaded(header(), *turns(2))
    assert said(session) == ["q1", "a1", "q2", "a2"]
    assert session.context().entry_ids == ["e1", "e2", "e3", "e4"]
    assert session.context().leaf_id == "e4"


def test_only_the_path_speaks_not_its_siblings() -> None:
    session = loaded(header(), *turns(2), user("other", parent="e2"))
    assert said(session) == ["q1", "a1", "other"]
    assert said(session, "e4") == ["q1", "a1", "q2", "a2"]


def test_before_the_first_entry_there_is_an_empty_context() -> None:
    session = loaded(header(), *turns(1))
    found = steps.run(build_context(session.tree, NONE, session.read))
    assert (found.messages, found.entry_ids, found.leaf_id, found.thinking_level) == ([], [], None, "off")


def test_a_message_is_cut_out_of_its_line_byte_for_byte() -> None:
    body = b'{ "role":"user" ,"content":"\\u0068i","n":1.0e2,"x":{"y": [ ]} }'
    line = b'{"type":"message","id":"e1","parentId":null,"timestamp":"t","message":' + body + b"}\n"
    session = loaded(header(), line)
    assert [bytes(raw) for raw in session.context().messages] == [body]


def test_entries_without_a_message_say_nothing() -> None:
    session = loaded(
        header(), user("q1"), entry("custom", customType="x"), label("e1", "l"), leaf("e1"),
        entry("session_init", systemPrompt="s"), entry("future_thing", message={"role": "user"}),
        entry("message"), entry("message", message="text"), entry("message", message=None), user("q2"),
    )  # fmt: skip
    assert said(session) == ["q1", "q2"]


def test_a_leaf_line_is_an_ordinary_link_of_a_path() -> None:
    session = loaded(header(), *turns(2), leaf("e2"), user("written by another program", parent="e5"))
    assert said(session) == ["q1", "a1", "written by another program"]


@pytest.mark.parametrize("role", ["developer", "bashExecution", "nobodyKnows"])
def test_messages_of_any_role_pass(role: str) -> None:
    session = loaded(header(), message(role, None, extra=[1]))
    assert messages(session) == [{"role": role, "content": None, "extra": [1]}]


@pytest.mark.parametrize(
    ("role", "empty"), [("user", []), ("assistant", []), ("toolResult", []), ("system", "")]
)
def test_null_and_missing_content_read_as_empty(role: str, empty: Any) -> None:
    without = entry("message", message={"role": role, "stopReason": "null"})
    session = loaded(header(), message(role, None), without)
    assert [found["content"] for found in messages(session)] == [empty, empty]


def test_tool_calls_without_a_result_stay() -> None:
    call = assistant([tool_call("read", {"path": "x"})], stopReason="toolUse")
    assert messages(loaded(header(), user("q"), call))[1]["content"][0]["name"] == "read"


def test_a_line_with_a_lone_surrogate_speaks_too() -> None:
    session = loaded(header(), user("broken \ud83d emoji"), assistant("a1"))
    assert messages(session)[0]["content"] == "broken \ud83d emoji"


def test_a_lone_surrogate_in_an_entry_that_holds_no_message_says_nothing() -> None:
    session = loaded(header(), entry("message", message="\ud83d"), user("q"))
    assert said(session) == ["q"]


def test_null_content_beside_a_lone_surrogate_reads_as_empty() -> None:
    found = messages(loaded(header(), message("user", None, name="\ud83d")))
    assert found == [{"role": "user", "content": [], "name": "\ufffd"}]


def test_a_custom_message_becomes_a_message_with_what_its_entry_has() -> None:
    session = loaded(
        header(),
        entry("custom_message", customType="note", content="mind", display=False, attribution="agent"),
        entry("custom_message", customType="note", content=None, display=True, details={"a": 1}),
    )  # fmt: skip
    assert messages(session) == [
        {
            "role": "custom", "customType": "note", "content": "mind", "display": False,
            "attribution": "agent", "timestamp": 1772352001000,
        },
        {
            "role": "custom", "customType": "note", "content": [], "display": True, "details": {"a": 1},
            "timestamp": 1772352002000,
        },
    ]  # fmt: skip


@pytest.mark.parametrize("summary", ["", None])
def test_a_branch_summary_speaks_when_it_has_a_summary(summary: str | None) -> None:
    session = loaded(
        header(), entry("branch_summary", summary="what was", fromId="e9"),
        entry("branch_summary", summary=summary, fromId="root"),
    )  # fmt: skip
    assert messages(session) == [
        {"role": "branchSummary", "summary": "what was", "fromId": "e9", "timestamp": 1772352001000}
    ]


@pytest.mark.parametrize(
    ("timestamp", "milliseconds"),
    [
        ("2026-03-01T08:00:00.500Z", 1772352000500),
        ("2026-03-01T09:00:00+01:00", 1772352000000),
        ("2026-03-01T08:00:00", 1772352000000),
        (1772352000000.7, 1772352000000),
        (1e300, None),
        ("yesterday", None),
        (True, None),
        (None, None),
    ],
)
def test_the_time_of_a_made_message_is_in_milliseconds(timestamp: Any, milliseconds: int | None) -> None:
    line = entry("custom_message", customType="x", content="c") | {"timestamp": timestamp}
    assert messages(loaded(header(), line))[0]["timestamp"] == milliseconds


# --- compaction -------------------------------------------------------------------------------------------

HISTORY = [*turns(2), label("e1", "mark"), assistant([tool_call("ls", {})]), tool_result("files")]
"""e1 q1, e2 a1, e3 q2, e4 a2, e5 a label, e6 a call, e7 its result."""


@pytest.mark.parametrize(
    ("first_kept", "kept"),
    [
        ("e3", ["q2", "a2", "", "files"]),
        ("e1", ["q1", "a1", "q2", "a2", "", "files"]),
        ("e7", ["files"]),
        ("e5", ["", "files"]),
        ("nowhere", []),
        ("e8", []),
        (None, []),
        (["e3"], []),
    ],
    ids=["a user", "the first", "a tool result", "a label", "missing", "itself", "null", "no id"],
)
def test_a_compaction_stands_for_what_it_does_not_keep(first_kept: Any, kept: list[str]) -> None:
    session = loaded(header(), *HISTORY, compaction("sum", first_kept), *turns(1))
    assert said(session) == ["[sum]", *kept, "q1", "a1"]
    assert said(session, "e8") == ["[sum]", *kept]


def test_an_entry_of_another_branch_is_not_kept() -> None:
    session = loaded(header(), *turns(1), user("other", parent="e1"), compaction("sum", "e2"), user("q"))
    assert said(session) == ["[sum]", "q"]


def test_before_a_compaction_and_beside_it_the_whole_path_speaks() -> None:
    session = loaded(header(), *turns(1), compaction("sum", "e2"), user("beside", parent="e2"))
    assert said(session, "e2") == ["q1", "a1"]
    assert said(session) == ["q1", "a1", "beside"]


def test_only_the_last_compaction_counts_and_what_it_keeps_may_reach_over_an_older_one() -> None:
    session = loaded(
        header(), *turns(2), compaction("one", "e3"), user("q3"), compaction("two", "e2"), user("q4")
    )
    assert said(session) == ["[two]", "a1", "q2", "a2", "q3", "q4"]


def test_an_empty_summary_is_a_summary() -> None:
    session = loaded(header(), *turns(1), compaction("", "e2"))
    assert said(session) == ["[]", "a1"]


def test_a_compaction_says_what_its_entry_has() -> None:
    full = compaction("sum", "e1", shortSummary="s", tokensAfter=7, method="m", warning="w", details={})
    session = loaded(header(), user("q"), full)
    assert messages(session)[0] == {
        "role": "compactionSummary", "summary": "sum", "shortSummary": "s", "tokensBefore": 42,
        "tokensAfter": 7, "method": "m", "warning": "w", "timestamp": 1772352002000,
    }  # fmt: skip


def test_a_system_message_before_a_compaction_is_not_kept_but_the_compaction_may_carry_one() -> None:
    system = message("system", "old rules")
    carried = {"role": "system", "content": "new rules"}
    session = loaded(
        header(), system, message("developer", "stays"), *turns(1),
        compaction("sum", "e1", systemMessage=carried), message("system", "later rules"),
    )  # fmt: skip
    assert said(session) == ["new rules", "[sum]", "stays", "q1", "a1", "later rules"]
    assert session.context().entry_ids[:2] == ["e5", "e5"]


def test_after_a_reset_boundary_the_context_starts_anew() -> None:
    session = loaded(
        header(), *turns(1), compaction("sum", "e1"), user("q2"), entry("reset_boundary"), user("fresh")
    )
    assert said(session) == ["fresh"]
    assert said(session, "e5") == []


def test_a_compaction_after_a_reset_boundary_counts() -> None:
    session = loaded(header(), *turns(1), entry("reset_boundary"), user("q2"), compaction("sum", "e2"))
    assert said(session) == ["[sum]", "a1", "q2"]


# --- edits ------------------------------------------------------------------------------------------------


def edit(target: str, replacement: Any) -> Line:
    return entry("context_edit", targetId=target, replacement=replacement)


def test_the_last_edit_of_an_entry_replaces_its_content() -> None:
    session = loaded(
        header(), *turns(1), tool_result("result"), edit("e1", {"content": "first"}),
        edit("e1", {"content": "second"}), edit("e2", {"content": "short"}), edit("e3", {"content": "cut"}),
    )  # fmt: skip
    user_now, assistant_now, result_now = messages(session)
    assert user_now == {"role": "user", "content": "second"}
    assert assistant_now["content"] == [{"type": "text", "text": "short"}]
    assert result_now["content"] == [{"type": "text", "text": "cut"}]


def test_blocks_replace_content_as_they_are() -> None:
    blocks = [{"type": "text", "text": "in blocks"}]
    session = loaded(header(), *turns(1), edit("e2", {"content": blocks}))
    assert messages(session)[1]["content"] == blocks


def test_custom_messages_can_be_edited_and_other_roles_and_summaries_cannot() -> None:
    session = loaded(
        header(), entry("custom_message", customType="x", content="c"), message("custom", "d"),
        message("developer", "e"), entry("branch_summary", summary="s", fromId="root"),
        *(edit(f"e{number}", {"content": "edited"}) for number in range(1, 5)),
    )  # fmt: skip
    assert said(session) == ["edited", "edited", "e", "[s]"]


def test_an_edit_to_null_leaves_any_entry_out() -> None:
    custom = entry("custom_message", customType="x", content="c")
    branch = entry("branch_summary", summary="s", fromId="root")
    session = loaded(
        header(), *turns(1), compaction("sum", "e1"), custom, branch, user("stays"),
        *(edit(f"e{number}", None) for number in range(1, 6)),
    )  # fmt: skip
    assert said(session) == ["stays"]


def test_an_edit_before_the_kept_part_does_not_count() -> None:
    session = loaded(header(), user("q1"), edit("e1", None), assistant("a1"), compaction("sum", "e3"))
    kept_too = loaded(header(), user("q1"), edit("e1", None), assistant("a1"), compaction("sum", "e1"))
    assert said(session) == ["[sum]", "a1"]
    assert said(kept_too) == ["[sum]", "a1"]


@pytest.mark.parametrize("replacement", [{}, "text", 5])
def test_an_edit_that_says_nothing_clear_changes_nothing(replacement: Any) -> None:
    unclear = entry("context_edit", targetId="e1")
    session = loaded(header(), user("q1"), edit("e1", replacement), unclear)
    assert said(session) == ["q1"]


def test_an_edited_message_keeps_its_other_fields_byte_for_byte() -> None:
    line = b'{"type":"message","id":"e1","parentId":null,"message":{"n":1.00,"content":"x","role":"user"}}\n'
    session = Loaded(log(header(), line) + log(edit("e1", {"content": "y"}) | {"id": "e2", "parentId": "e1"}))
    assert bytes(session.context().messages[0]) == b'{"n":1.00,"content":"y","role":"user"}'


# --- the cost ---------------------------------------------------------------------------------------------


def test_only_what_is_in_the_context_is_read() -> None:
    model = entry("model_change", model="anthropic/x")
    session = loaded(header(), model, *turns(200), compaction("sum", "e401"), user("q"))
    session.context()
    assert session.lines_read < 10


def test_a_long_path_is_worked_off_in_steps_by_number_and_by_size() -> None:
    many = loaded(header(), *turns(2_500))
    pauses = list(build_context(many.tree, many.tree.leaf, many.read))
    assert len(pauses) > 15
    big = loaded(header(), *(user("x" * 300_000) for _ in range(8)))
    pauses = list(build_context(big.tree, big.tree.leaf, big.read))
    assert len(pauses) >= 4


@pytest.mark.parametrize("known_at", range(12))
def test_a_context_that_is_extended_is_the_same_as_one_built_anew(known_at: int) -> None:
    session = loaded(
        header(),
        user("q1"),
        assistant("a1", provider="anthropic", model="claude"),
        entry("thinking_level_change", thinkingLevel="high"),
        user("q2"),
        entry("model_change", model="openai/gpt", role="default"),
        assistant("a2"),
        entry("ttsr_injection", injectedRules=["r1"]),
        entry("custom_message", customType="x", content="c", display=True),
        entry("mode_change", mode="plan", data={"a": 1}),
        user("q3"),
        assistant("a3", provider="google", model="gemini"),
        user("q4"),
    )
    tree, read = session.tree, session.read
    built = steps.run(build_context(tree, known_at + 1, read))
    extended = steps.run(extend_context(tree, built, known_at + 1, tree.leaf, read))
    assert extended == steps.run(build_context(tree, tree.leaf, read))


def test_a_context_is_not_extended_over_what_rewrites_it() -> None:
    session = loaded(header(), user("q1"), user("q2"), compaction("sum", "e2"), user("q3"))
    tree, read = session.tree, session.read
    built = steps.run(build_context(tree, 2, read))
    assert steps.run(extend_context(tree, built, 2, tree.leaf, read)) is None
    assert steps.run(extend_context(tree, built, 2, 1, read)) is None
