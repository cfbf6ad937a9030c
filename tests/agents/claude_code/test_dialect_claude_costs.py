"""Tokens and costs of Claude Code: of messages, and of requests that are only in its sums."""

from typing import Any

import pytest

from support.dialect_files import claude
from support.dialects import entries, entry, imported, jsonl

MODEL = "claude-test-1"


def spent(input: int, output: int) -> dict[str, int]:
    return {"input_tokens": input, "output_tokens": output}


def sums(input: int, output: int, *, model: str = MODEL, **more: int) -> dict[str, Any]:
    """Return a line with the sums of all requests of a session."""
    counts = {"inputTokens": input, "outputTokens": output, "cacheReadInputTokens": 0,
              "cacheCreationInputTokens": 0, **more}  # fmt: skip
    return {"type": "cost-state", "sessionId": "s", "startTime": 1, "modelUsage": {model: counts}}


def turn(name: str, input: int, output: int, parent: str | None = None) -> list[dict[str, Any]]:
    """Return a prompt and its answer, all of one time."""
    at = {"timestamp": "2026-01-01T00:01:00.000Z"}
    return [
        claude("user", f"q{name}", parent, "Go on.", **at),
        claude("assistant", f"a{name}", f"q{name}", "Done.", usage=spent(input, output), **at),
    ]


def others(*lines: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the usages of requests that are in no message."""
    return [line for line in entries(imported(jsonl(*lines))) if line["type"] == "model_usage"]


def totals(*lines: dict[str, Any]) -> list[int]:
    return [item["usage"]["totalTokens"] for item in others(*lines)]


BOUNDARY = claude("system", "cb", None, subtype="compact_boundary", logicalParentUuid="a1", isMeta=False,
                  timestamp="2026-01-01T00:01:00.000Z")  # fmt: skip
SUMMARY = claude(
    "user", "cs", "cb", "The summary.", isCompactSummary=True, timestamp="2026-01-01T00:01:00.000Z"
)


def test_a_cost_that_an_old_version_recorded_is_the_cost_of_the_answer() -> None:
    lines = [
        claude("user", "q", None, "Go."),
        claude("assistant", "a", "q", "Done.", usage=spent(10, 2), costUSD=1.25),
    ]
    assert entry(imported(jsonl(*lines)), "a")["message"]["usage"]["cost"]["total"] == 1.25


def test_the_cost_of_an_answer_in_several_lines_is_that_of_one_request() -> None:
    parts = [
        claude("assistant", name, above, text, message_id="msg_1", usage=spent(10, output), costUSD=1.25)
        for name, above, text, output in (("a", "q", "One.", 1), ("b", "a", "Two.", 2))
    ]
    usage = entry(imported(jsonl(claude("user", "q", None, "Go."), *parts)), "b")["message"]["usage"]
    assert (usage["output"], usage["cost"]["total"]) == (2, 1.25)


@pytest.mark.parametrize("cost", [-1, True, "1", 1e300], ids=repr)
def test_a_value_that_is_no_cost_costs_nothing(cost: object) -> None:
    lines = [
        claude("user", "q", None, "Go."),
        claude("assistant", "a", "q", "Done.", usage=spent(1, 1), costUSD=cost),
    ]
    assert entry(imported(jsonl(*lines)), "a")["message"]["usage"]["cost"]["total"] == 0


def test_the_request_of_a_compaction_is_what_the_sums_have_and_no_message() -> None:
    lines = [
        *turn("1", 11, 7),
        sums(11, 7),
        BOUNDARY,
        SUMMARY,
        sums(33, 21),
        *turn("2", 11, 7, "cs"),
        sums(44, 28),
    ]
    [found] = others(*lines)
    assert (found["usage"]["input"], found["usage"]["output"], found["model"]) == (22, 14, MODEL)
    assert found["provider"] == "anthropic"


def test_the_first_sums_of_a_session_begin_at_zero_and_repeated_sums_add_nothing() -> None:
    assert totals(*turn("1", 11, 7), sums(20, 8), sums(20, 8)) == [10]


def test_a_side_request_to_another_model_is_counted_with_its_model() -> None:
    both = sums(11, 7)
    both["modelUsage"] |= sums(5, 1, model="claude-small[1m]")["modelUsage"]
    [found] = others(*turn("1", 11, 7), both)
    assert (found["model"], found["usage"]["totalTokens"]) == ("claude-small", 6)


def test_tokens_that_a_cache_keeps_for_an_hour_are_those_of_the_request() -> None:
    line = sums(11, 7, cacheCreationInputTokens=9, cacheCreationEphemeral1hInputTokens=4)
    [found] = others(*turn("1", 11, 7), line)
    assert found["usage"]["cttl"] == {"ephemeral5m": 5, "ephemeral1h": 4}


def test_sums_that_include_the_requests_of_sub_agents_are_not_taken_apart() -> None:
    result = claude("user", "r", "a1", [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}],
                    toolUseResult={"agentId": "a55"})  # fmt: skip
    assert (
        totals(*turn("1", 11, 7), sums(11, 7), result, sums(500, 40), BOUNDARY, SUMMARY, sums(900, 60)) == []
    )


def test_the_sums_of_a_copied_session_are_not_taken_apart() -> None:
    copied = [
        {**line, "forkedFrom": {"sessionId": "other", "messageUuid": line["uuid"]}}
        for line in turn("1", 11, 7)
    ]
    assert totals(*copied, sums(500, 40)) == []
    assert totals(BOUNDARY, SUMMARY, *turn("1", 11, 7, "cs"), sums(500, 40)) == []
    asked = {
        "type": "queue-operation",
        "operation": "dequeue",
        "sessionId": "s",
        "timestamp": "2026-01-01T00:01:02Z",
    }
    assert totals(asked, *turn("1", 11, 7), sums(500, 40)) == []
    at_once = {**asked, "timestamp": "2026-01-01T00:01:00.500Z"}
    kept = {"preservedMessages": {"anchorUuid": "cs", "uuids": ["q1", "a1"]}}
    boundary = {**BOUNDARY, "compactMetadata": kept}
    assert totals(at_once, boundary, SUMMARY, *turn("1", 11, 7, "cs"), sums(500, 40)) == []


def test_sums_that_lack_a_message_or_its_model_are_not_taken_apart() -> None:
    assert totals(*turn("1", 11, 7), sums(10, 100)) == []
    assert totals(*turn("1", 11, 7), sums(500, 40, model="claude-other")) == []
    assert totals(*turn("1", 11, 7), sums(10, 7), *turn("2", 11, 7, "a1"), sums(25, 14)) == [4]


def test_a_line_with_sums_is_kept_as_it_is() -> None:
    assert imported(jsonl(*turn("1", 11, 7), sums(20, 8))).report.preserved["cost-state"] == 1
