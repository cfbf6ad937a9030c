"""The sessions that are written for Claude Code."""

from itertools import pairwise

from support.logs import assistant, compaction, message, tool_call, user
from support.native_sessions import PICTURE, a_task, exported, native


def test_claude_code_has_a_chain_of_lines_with_uuids() -> None:
    lines, _ = native("claude-code", a_task(title="Notes"))
    *chain, title = lines
    assert title == {"type": "custom-title", "customTitle": "Notes", "sessionId": chain[0]["sessionId"]}
    assert [entry["type"] for entry in chain] == ["user", "assistant", "user", "user", "assistant"]
    assert chain[0]["parentUuid"] is None
    assert all(below["parentUuid"] == above["uuid"] for above, below in pairwise(chain))
    assert all(item["timestamp"] and item["cwd"] == "/home/dev/clock" for item in chain)
    answers = [entry["message"] for entry in chain if entry["type"] == "assistant"]
    assert [answer["model"] for answer in answers] == ["claude-opus-4-8"] * 2
    assert [block["type"] for block in answers[0]["content"]] == ["text", "tool_use", "tool_use"]
    [result] = chain[3]["message"]["content"]
    assert (result["type"], result["content"], result["is_error"]) == ("tool_result", "Exit code 1", True)
    assert result["tool_use_id"] == answers[0]["content"][2]["id"]


def test_claude_code_always_has_the_model_of_an_answer() -> None:
    lines, _ = native("claude-code", exported(user("hi"), assistant("yo")))
    assert lines[1]["message"]["model"] == "unknown"


def test_claude_code_has_a_compaction_as_its_own() -> None:
    lines, _ = native("claude-code", exported(user("old"), compaction("they met", None), user("new")))
    boundary, summary, _ = lines
    assert (boundary["subtype"], boundary["parentUuid"]) == ("compact_boundary", None)
    assert summary["isCompactSummary"] is True
    assert summary["parentUuid"] == boundary["uuid"]


def test_claude_code_has_an_image_of_a_failed_tool_beside_the_result() -> None:
    failed = message(
        "toolResult",
        [{"type": "text", "text": "no"}, PICTURE],
        toolCallId="call-1",
        toolName="read",
        isError=True,
    )
    lines, _ = native("claude-code", exported(user("go"), assistant([tool_call("read", {})]), failed))
    assert [block["type"] for block in lines[2]["message"]["content"]] == ["tool_result", "image"]
