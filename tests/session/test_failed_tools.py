"""A tool that failed is an error, in whatever form its agent says so."""

import json  # noqa: TID251 - a file as its program writes it
from typing import Any

import msgspec
import pytest

from support.dialect_files import item, meta
from support.dialects import as_log, entries, imported, jsonl

HEAD = "Chunk ID: ceb744\nWall time: 0.1000 seconds\nProcess exited with code {}\nOriginal token count: 5\nOutput:\nx\n"
OLDER = "Exit code: {}\nWall time: 0.1 seconds\nTotal output lines: 2\nOutput:\nx"


def result_of_codex(output: Any) -> dict[str, Any]:
    call = item("function_call", call_id="c1", name="exec_command", arguments="{}")
    session = imported(jsonl(meta(), call, item("function_call_output", call_id="c1", output=output)))
    [found] = [
        entry["message"] for entry in entries(session) if entry.get("message", {}).get("role") == "toolResult"
    ]
    return dict(found)


@pytest.mark.parametrize("code", [0, 1, 2, 127, 137, -1])
def test_every_exit_code_of_codex_but_zero_is_an_error(code: int) -> None:
    for head in (HEAD, OLDER, "Process exited with code {}"):
        text = head.format(code)
        outputs = [
            text, [{"type": "input_text", "text": text}], {"content": text, "success": True},
            {"content": [{"type": "input_text", "text": text}]},
        ]  # fmt: skip
        for output in outputs:
            found = result_of_codex(output)
            assert (found["isError"], found["content"][0]["text"]) == (code != 0, text)
    for wrapped in ({"output": "x", "metadata": {"exit_code": code}}, {"output": "x", "exit_code": code}):
        assert result_of_codex(wrapped)["isError"] is (code != 0)
    assert result_of_codex(json.dumps({"output": "x", "metadata": {"exit_code": code}}))["isError"] is (
        code != 0
    )


@pytest.mark.parametrize("text", [
    "The log says: Process exited with code 1", "Output:\nProcess exited with code 1", "Exit code: none", "",
    "Process exited with code 1 is the message to look for", "Script completed\nWall time 0.1 seconds\nOutput:\n",
    HEAD.format(0) + "Process exited with code 1\n",
])  # fmt: skip
def test_an_output_that_only_names_an_exit_code_is_no_error(text: str) -> None:
    assert result_of_codex(text)["isError"] is False


def test_a_script_of_codex_that_failed_is_an_error() -> None:
    assert result_of_codex(
        [{"type": "input_text", "text": "Script failed\nWall time 0.1 seconds\nOutput:\n"}]
    )["isError"]


def test_results_of_cline_that_are_lists_of_outcomes_are_texts_with_their_success() -> None:
    outcomes = [
        {"query": "ls", "result": "plum.txt\n", "success": True},
        {"query": "cat fig.txt", "result": "", "error": "no such file", "success": False, "durationMs": 3},
        {"query": {"path": "a", "start": 1}, "result": {"lines": ["x"]}, "success": True},
    ]
    call = {"type": "tool_use", "id": "call_1", "name": "run_commands", "input": {"commands": ["ls"]}}
    messages = [
        {"id": "m1", "role": "user", "content": "Look", "ts": 1795168800000},
        {"id": "m2", "role": "assistant", "content": [call], "ts": 1795168801000},
        {"id": "m3", "role": "user", "ts": 1795168802000, "content": [
            {"type": "tool_result", "tool_use_id": "call_1", "name": "run_commands", "content": outcomes},
        ]},
    ]  # fmt: skip
    document = {
        "version": 1,
        "updated_at": "2026-11-10T09:00:00.000Z",
        "sessionId": "s",
        "messages": messages,
    }
    session = imported(json.dumps(document).encode(), name="s.messages.json")
    [found] = [
        entry["message"] for entry in entries(session) if entry.get("message", {}).get("role") == "toolResult"
    ]
    assert [block["text"] for block in found["content"]] == [
        "ls: succeeded\nplum.txt\n", "cat fig.txt: failed\nno such file",
        '{"path":"a","start":1}: succeeded\n{"lines":["x"]}',
    ]  # fmt: skip
    assert {block["type"] for block in found["content"]} == {"text"}
    assert (found["isError"], found["content"][1]["durationMs"]) == (True, 3)


def test_a_reset_of_open_claw_starts_a_new_context() -> None:
    at = {"timestamp": "2026-01-01T00:00:01.000Z"}
    lines = [
        {"type": "session", "version": 3, "id": "s", "cwd": "/work", **at},
        {
            "type": "message",
            "id": "a",
            "parentId": None,
            **at,
            "message": {"role": "user", "content": "before"},
        },
        {"type": "reset", "id": "r", "parentId": "a", **at, "reason": "new"},
        {
            "type": "message",
            "id": "b",
            "parentId": "r",
            **at,
            "message": {"role": "user", "content": "after"},
        },
    ]
    log = as_log(imported(jsonl(*lines)))
    assert [msgspec.json.decode(value)["content"] for value in log.context().messages] == ["after"]
