"""Tokens: estimates of messages, usage that can be trusted, and the count of a context."""

import json  # noqa: TID251 - messages as agents write them
from typing import Any

import pytest

from sessiond.session.context import tokens
from sessiond.session.context.context import build_context, extend_context
from sessiond.session.context.tokens import Count
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
    tool_call,
    tool_result,
    user,
)


def estimate(**fields: Any) -> int:
    return tokens.estimate(json.dumps(fields).encode())


def used(**fields: Any) -> int | None:
    return tokens.used(json.dumps({"role": "assistant", "content": []} | fields).encode())


def usage(total: int) -> dict[str, int]:
    return {"input": total, "output": 0, "cacheRead": 0, "cacheWrite": 0}


def counted(*lines: Line) -> Count:
    return count_of(loaded(header(), *lines))


def count_of(log: Loaded) -> Count:
    return steps.run(tokens.count(log.tree, log.tree.leaf, log.context()))


# --- one message -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"role": "user", "content": ""}, 0),
        ({"role": "user", "content": "four"}, 1),
        ({"role": "user", "content": "and a half"}, 3),
        (
            {
                "role": "user",
                "content": [{"type": "text", "text": "four"}, {"type": "image", "data": "aGk="}],
            },
            1201,
        ),
        ({"role": "assistant", "content": [{"type": "thinking", "thinking": "hmm."}]}, 1),
        ({"role": "assistant", "content": [tool_call("read", {"path": "a", "n": 1.0, "m": None})]}, 8),
        ({"role": "assistant", "content": [tool_call("t", {"é": "\n😀"})]}, 4),
        ({"role": "toolResult", "content": [{"type": "text", "text": "12345678"}]}, 2),
        ({"role": "bashExecution", "command": "make", "output": "done"}, 2),
        ({"role": "compactionSummary", "summary": "short"}, 2),
        ({"role": "branchSummary", "summary": "short"}, 2),
        ({"role": "system", "content": "four", "sections": {"a": "more", "b": None}, "toolsAdded": [1]}, 3),
        ({"role": "pythonExecution", "code": "1+1+", "output": "four"}, 2),
        (
            {
                "role": "fileMention",
                "files": [{"path": "a", "content": "12345678"}, {"image": {"data": "x"}}],
            },
            1202,
        ),
        ({"role": "oracle", "content": "who knows"}, 0),
    ],
)
def test_a_message_takes_a_quarter_of_its_characters(fields: dict[str, Any], expected: int) -> None:
    assert estimate(**fields) == expected


def test_characters_are_counted_as_javascript_does() -> None:
    assert estimate(role="user", content="😀😀") == 1
    assert estimate(role="user", content="😀😀é") == 2


@pytest.mark.parametrize(
    "hostile",
    [
        b"", b"[]", b"null", b'{"role":7}', b'{"role":"user","content":7}', b'{"role":["user"],"content":"x"}',
        b'{"role":"assistant","content":[7,null,{"type":"toolCall","name":[],"arguments":{"a":1e999}}]}',
        b'{"role":"user","content":"\\ud800"}', b"\xff\xfe", b'{"role":"user","content":' + b"[" * 50_000,
        b'{"role":"assistant","usage":{"totalTokens":1e999}}', b'{"role":"assistant","usage":7}',
    ],
)  # fmt: skip
def test_nothing_that_stands_in_a_message_makes_it_fail(hostile: bytes) -> None:
    assert tokens.estimate(hostile) >= 0
    assert tokens.used(hostile) is None


def test_parts_of_a_message_that_are_no_parts_do_not_hide_the_others() -> None:
    assert (
        estimate(
            role="user", content=[7, None, {"type": "text", "text": 7}, {"type": "text", "text": "four"}]
        )
        == 1
    )


# --- usage -------------------------------------------------------------------------------------------------


def test_usage_is_the_total_or_else_the_sum_of_its_parts() -> None:
    assert used(usage={"totalTokens": 9, "input": 1, "output": 1}) == 9
    assert used(usage={"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4}) == 10


@pytest.mark.parametrize(
    "fields",
    [
        {"usage": usage(0)},
        {"usage": usage(9), "stopReason": "error"},
        {"usage": usage(9), "stopReason": "aborted"},
        {"usage": usage(9), "role": "user"},
        {"usage": usage(10**12)},
        {},
    ],
    ids=str,
)
def test_usage_of_a_failed_answer_or_of_nothing_is_not_trusted(fields: dict[str, Any]) -> None:
    assert used(**fields) is None


# --- a context ---------------------------------------------------------------------------------------------


def test_a_context_counts_what_the_last_answer_used_and_an_estimate_of_what_came_after() -> None:
    talk = [user("x" * 400), assistant("yes", usage=usage(500)), user("12345678"), tool_result("four")]
    assert counted(*talk) == Count(503, estimated=False)


def test_without_usage_all_is_an_estimate() -> None:
    assert counted(user("12345678"), assistant("four")) == Count(3, estimated=True)


def test_an_older_answer_is_trusted_when_the_last_one_failed() -> None:
    failed = assistant("four", stopReason="error", usage=usage(9_000))
    assert counted(user("a"), assistant("b", usage=usage(50)), failed) == Count(51, estimated=False)


@pytest.mark.parametrize(
    "since", [compaction("12345678", "e1"), entry("context_edit", targetId="e1", replacement=None)]
)
def test_usage_from_before_a_compaction_or_an_edit_is_not_trusted(since: Line) -> None:
    assert counted(user("four"), assistant("four", usage=usage(900)), since, user("four")).estimated


def test_usage_from_before_a_reset_says_nothing() -> None:
    log = [user("four"), assistant("four", usage=usage(900)), entry("reset_boundary"), user("four")]
    assert counted(*log) == Count(1, estimated=True)


def test_usage_on_another_branch_says_nothing() -> None:
    log = [user("four", id="a"), assistant("four", usage=usage(900)), assistant("four", parent="a")]
    assert counted(*log) == Count(2, estimated=True)


def test_system_messages_count_as_the_one_that_they_add_up_to() -> None:
    log = [
        message("system", "", sections={"style": "12345678"}),
        message("system", "", sections={"style": "four"}),
        user("four"),
    ]
    assert counted(*log) == Count(2, estimated=True)


def test_the_empty_context_has_no_tokens() -> None:
    log = loaded(header())
    context = steps.run(build_context(log.tree, -1, log.read))
    assert steps.run(tokens.count(log.tree, -1, context)) == Count(0, estimated=True)


def test_a_context_that_grew_is_counted_as_a_new_one() -> None:
    log = loaded(
        header(), user("a" * 40), assistant("b" * 40), user("c" * 40), assistant("d" * 40, usage=usage(7))
    )
    known = log.context("e2")
    assert steps.run(tokens.count(log.tree, log.row("e2"), known)) == Count(20, estimated=True)
    for name, expected in (("e3", Count(30, estimated=True)), ("e4", Count(7, estimated=False))):
        longer = steps.run(extend_context(log.tree, known, log.row("e2"), log.row(name), log.read))
        assert longer is not None
        assert steps.run(tokens.count(log.tree, log.row(name), longer)) == expected
