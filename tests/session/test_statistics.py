"""Counts of the parts of entries (decision 0017)."""

import json  # noqa: TID251 - lines are written as another program may write them
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from sessiond.session.state.statistics import Share, Tally, tally_rows, tally_tree, times
from sessiond.session.state.token_counts import Cost, Tokens
from sessiond.session.tree import steps
from support.logs import (
    Line,
    Loaded,
    assistant,
    compaction,
    entry,
    header,
    loaded,
    message,
    time_of,
    tool_call,
    tool_result,
    user,
)

USAGE = {
    "input": 100, "output": 20, "cacheRead": 7, "cacheWrite": 3, "totalTokens": 130,
    "cost": {"input": 0.25, "output": 0.5, "cacheRead": 0.125, "cacheWrite": 0.0625, "total": 0.9375},
}  # fmt: skip
ONCE = Tokens(100, 20, 7, 3, 130), Cost(0.25, 0.5, 0.125, 0.0625, 0.9375)
TWICE = Tokens(200, 40, 14, 6, 260), Cost(0.5, 1.0, 0.25, 0.125, 1.875)
SONNET = {"provider": "anthropic", "model": "sonnet"}


def tally(session: Loaded) -> Tally:
    found = Tally()
    steps.run(tally_tree(found, session.tree, session.read))
    return found


def tally_of(*lines: Line | bytes) -> Tally:
    return tally(loaded(header(), *lines))


def spent(*lines: Line | bytes) -> tuple[Tokens, Cost]:
    found = tally_of(*lines)
    return found.tokens, found.cost


def test_an_empty_session_is_made_of_nothing() -> None:
    assert tally_of() == Tally()
    assert times(Tally(), loaded(header()).read) == (None, None)


def test_messages_are_counted_by_role_and_tools_by_name() -> None:
    found = tally_of(
        user("q"),
        assistant([tool_call("read", {}), tool_call("bash", {}, call="2"), {"type": "text", "text": "x"}]),
        tool_result("ok"), tool_result("no", isError=True, call="2", name="bash"),
        assistant([tool_call("read", {})]), message("bashExecution", None, command="ls"), message("custom", "c"),
        user("q"),
    )  # fmt: skip
    assert found.entries == 8
    assert found.messages == {
        "user": 2, "assistant": 2, "toolResult": 2, "bashExecution": 1, "custom": 1,
    }  # fmt: skip
    assert (found.tool_calls, found.tool_errors, found.tools) == (3, 1, {"read": 2, "bash": 1})


def test_entries_that_are_no_messages_are_entries_all_the_same() -> None:
    found = tally_of(
        entry("model_change", model="a/b"), entry("of_another_program"), user("q"), compaction("s", "e3"),
        entry("branch_summary", summary="s", fromId="e3"), entry("label", targetId="e3", label="x"),
    )  # fmt: skip
    assert (found.entries, found.compactions, found.branch_summaries) == (6, 1, 1)
    assert found.messages == {"user": 1}


def test_the_times_are_those_of_the_first_and_the_last_entry() -> None:
    session = loaded(header(), user("a"), assistant("b"), entry("custom", customType="x", timestamp=7))
    assert times(tally(session), session.read) == (time_of(1), None)


@pytest.mark.parametrize(
    ("line", "model"),
    [
        (assistant("a", usage=USAGE, **SONNET), "anthropic/sonnet"),
        (assistant("a", usage=USAGE, model="sonnet"), "sonnet"),
        (assistant("a", usage=USAGE, **SONNET, responseModel="sonnet-2"), "anthropic/sonnet-2"),
        (assistant("a", usage=USAGE), None),
        (tool_result("r", usage=USAGE), None),
        (tool_result("r", name="task", details={"usage": USAGE}), None),
        (compaction("s", "e1", usage=USAGE), None),
        (entry("branch_summary", summary="s", fromId="root", usage=USAGE), None),
        (entry("usage", kind="title", usage=USAGE, **SONNET), "anthropic/sonnet"),
        (entry("model_usage", purpose="title", usage=USAGE, **SONNET), "anthropic/sonnet"),
    ],
    ids=[
        "answer", "answer-without-provider", "answer-of-a-routed-model", "answer-of-nobody", "tool-result",
        "task-tool", "compaction", "branch-summary", "usage-of-pi", "model-usage-of-oh-my-pi",
    ],
)  # fmt: skip
def test_spent_tokens_are_found_wherever_they_stand(line: Line, model: str | None) -> None:
    found = tally_of(line)
    assert (found.tokens, found.cost) == ONCE
    assert list(found.models) == [model]
    assert (found.models[model].tokens, found.models[model].cost) == ONCE


def test_only_the_task_tool_has_usage_in_its_details() -> None:
    assert spent(tool_result("r", name="read", details={"usage": USAGE})) == (Tokens(), Cost())


def test_a_task_that_has_its_usage_twice_counts_once() -> None:
    assert spent(tool_result("r", name="task", usage=USAGE, details={"usage": USAGE})) == ONCE


def test_each_model_has_its_share() -> None:
    found = tally_of(
        assistant("a", usage=USAGE, **SONNET), assistant("b", usage=USAGE, provider="openai", model="gpt"),
        assistant("c", **SONNET), tool_result("r", usage=USAGE),
    )  # fmt: skip
    assert found.models == {
        "anthropic/sonnet": Share(2, *ONCE), "openai/gpt": Share(1, *ONCE), None: Share(0, *ONCE),
    }  # fmt: skip
    assert found.tokens == Tokens(300, 60, 21, 9, 390)


def test_totals_that_nobody_told_are_sums() -> None:
    parts = {"input": 3, "output": 4, "cost": {"input": 0.5, "output": 0.25}}
    assert spent(assistant("a", usage=parts)) == (Tokens(3, 4, 0, 0, 7), Cost(0.5, 0.25, 0.0, 0.0, 0.75))


def test_a_total_alone_counts() -> None:
    assert spent(assistant("a", usage={"totalTokens": 9, "cost": 0.5})) == (
        Tokens(total=9), Cost(total=0.5),
    )  # fmt: skip


# --- what others may have written --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "number",
    [
        b"1e999", b"-1e999", b"-5", b'"many"', b"true", b"null", b"[]", b"{}", b"1e300",
        b"99999999999999999999999999", b"9" * 5000,
    ],
    ids=lambda number: number[:12].decode(),
)  # fmt: skip
@pytest.mark.parametrize("name", ["input", "totalTokens", "cost", "total"])
def test_a_number_that_cannot_be_one_counts_nothing_and_spoils_nothing(name: str, number: bytes) -> None:
    odd = b'{"cost":{"total":%b}}' % number if name == "total" else b'{"%b":%b}' % (name.encode(), number)
    line = (
        b'{"type":"message","id":"odd","parentId":null,"timestamp":"t",'
        b'"message":{"role":"assistant","content":[],"usage":%b}}\n' % odd
    )
    found = tally_of(line, assistant("a", usage=USAGE))
    assert (found.tokens, found.cost) == ONCE
    assert found.messages["assistant"] == 2


def test_usages_that_are_absurd_together_can_still_be_told() -> None:
    most = {"input": 10**12, "totalTokens": 10**12, "cost": {"total": 1e9}}
    found = tally_of(*(assistant("a", usage=most) for _ in range(100)))
    assert (found.tokens.input, found.cost.total) == (10**14, 1e11)
    msgspec.json.encode(found.tokens)


_anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(
        st.sampled_from(("input", "output", "cost", "total", "totalTokens", "usage", "type", "name")), inner,
        max_size=3,
    ),
    max_leaves=5,
)  # fmt: skip


@given(
    role=st.sampled_from(["assistant", "toolResult", "user", "other"]) | _anything,
    fields=st.dictionaries(
        st.sampled_from(
            ("content", "usage", "provider", "model", "responseModel", "toolName", "details", "isError")
        ),
        _anything,
        max_size=5,
    ),
)
def test_no_message_makes_it_fail(role: Any, fields: dict[str, Any]) -> None:
    line = entry("message", message={"role": role, **fields})
    found = tally_of(line, entry("compaction", **fields), entry("usage", **fields), assistant("a"))
    assert found.entries == 4
    assert found.tokens.input >= 0
    assert 0 <= found.cost.total <= 1e12


def test_calls_are_found_among_blocks_that_are_none() -> None:
    content: list[Any] = [7, None, "toolCall", {"type": "toolCall", "name": 7}, tool_call("read", {})]
    assert tally_of(assistant(content)).tools == {"": 1, "read": 1}


def test_text_that_speaks_of_tool_calls_is_none() -> None:
    assert tally_of(message("assistant", 'say "toolCall"')).tool_calls == 0
    assert tally_of(assistant('"type":"toolCall"')).tool_calls == 0


def test_a_name_without_end_is_cut() -> None:
    assert [len(name) for name in tally_of(message("x" * 10_000, "y")).messages] == [200]


def test_of_two_entries_with_one_id_the_later_counts() -> None:
    found = tally_of(assistant("a", id="same", usage=USAGE), assistant("b", id="same", usage=USAGE))
    assert (found.entries, found.tokens.input) == (1, 100)


def test_lines_that_cannot_be_read_are_passed_over() -> None:
    assert spent(b"{nonsense\n", assistant("a", usage=USAGE)) == ONCE


# --- paths, and going on -----------------------------------------------------------------------------------


def test_a_path_is_tallied_without_its_siblings() -> None:
    session = loaded(
        header(), user("q"), assistant("a", usage=USAGE), assistant("b", usage=USAGE, parent="e1")
    )
    path = Tally()
    steps.run(tally_rows(path, session.tree, session.tree.path(session.row("e3")), session.read))
    assert (path.entries, path.tokens) == (2, ONCE[0])
    assert tally(session).tokens == TWICE[0]


@given(st.lists(st.sampled_from([user("q"), assistant("a", usage=USAGE), tool_result("r")]), max_size=12))
def test_a_tally_goes_on_with_what_is_new(lines: list[Line]) -> None:
    known, data = Tally(), json.dumps
    session = loaded(header())
    steps.run(tally_tree(known, session.tree, session.read))
    for number, line in enumerate(lines, 1):
        more = line | {"id": f"e{number}", "parentId": f"e{number - 1}" if number > 1 else None}
        more["timestamp"] = time_of(number)
        added = data(more, separators=(",", ":")).encode() + b"\n"
        session.data += added
        session.tree.read(added)
        session.tree.finish()
        steps.run(tally_tree(known, session.tree, session.read))
    assert known == tally_of(*lines)


def test_two_that_tally_at_once_count_nothing_twice() -> None:
    session = loaded(header(), *(assistant("a", usage=USAGE) for _ in range(1_000)))
    found = Tally()
    one, two = (tally_tree(found, session.tree, session.read) for _ in "ab")
    next(one)
    next(two)
    steps.run(one)
    steps.run(two)
    assert (found.entries, found.tokens.input) == (1_000, 100_000)


def test_a_long_session_is_tallied_in_steps() -> None:
    session = loaded(header(), *(assistant("a", usage=USAGE) for _ in range(5_000)))
    assert len(list(tally_tree(Tally(), session.tree, session.read))) > 30


def test_prompts_are_counted_without_being_read() -> None:
    session = loaded(header(), *(user("q") for _ in range(500)))
    assert tally(session).messages == {"user": 500}
    assert session.lines_read == 0
