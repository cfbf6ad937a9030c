"""Counts the messages in an agent's own store, without the readers that they check."""

import contextlib
import json  # noqa: TID251 - files of other programs are read as other programs read them
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from support.real_agents import NativeSession

Json = dict[str, Any]
Message = tuple[str, str]
"""The role of a message, `assistant` or `toolResult`, and an identifier among the messages of its role."""


def count(name: str, session: NativeSession) -> Counter[str]:
    """The number of answers and of results of tools that an agent stored for one session, by role.

    The texts of a person are not counted: agents store texts of their own in the same way.
    """
    if name == "opencode":
        return _in_database(session)
    lines = [json.loads(line) for line in session.data.splitlines()]
    return Counter(role for role, _ in {row for line in lines for row in _MESSAGES[name](line)})


def _claude_code(line: Json) -> Iterator[Message]:
    if line["type"] == "assistant":
        yield "assistant", line["message"].get("id") or line["uuid"]
    elif line["type"] == "user" and not isinstance(line["message"]["content"], str):
        for block in line["message"]["content"]:
            if block["type"] == "tool_result":
                yield "toolResult", block["tool_use_id"]


def _codex(line: Json) -> Iterator[Message]:
    item = line.get("payload", {})
    if line["type"] != "response_item":
        return
    match item["type"]:
        case "message" if item["role"] == "assistant":
            yield "assistant", item.get("id") or json.dumps(item)
        case "function_call":
            yield "assistant", item["call_id"]
        case "function_call_output":
            yield "toolResult", item["call_id"]


def _copilot(line: Json) -> Iterator[Message]:
    if line["type"] == "assistant.message":
        yield "assistant", line["id"]
    elif line["type"] == "tool.execution_complete":
        yield "toolResult", line["id"]


def _gemini(line: Json) -> Iterator[Message]:
    if line.get("type") == "gemini" and line.get("tokens", {}) is not None:  # a copy of a message has null
        yield "assistant", line["id"]
        for call in line.get("toolCalls", ()):
            if "result" in call:
                yield "toolResult", call["id"]


def _qwen(line: Json) -> Iterator[Message]:
    if line["type"] in ("assistant", "tool_result"):
        yield "assistant" if line["type"] == "assistant" else "toolResult", line["uuid"]


_MESSAGES: dict[str, Callable[[Json], Iterator[Message]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "copilot": _copilot,
    "gemini": _gemini,
    "qwen": _qwen,
}
"""The messages of one line of each agent."""


def _in_database(session: NativeSession) -> Counter[str]:
    asked = {
        "assistant": "select count(*) from message where session_id = ? and json_extract(data, '$.role') = 'assistant'",
        "toolResult": "select count(*) from part where session_id = ? and json_extract(data, '$.type') = 'tool'",
    }
    with contextlib.closing(sqlite3.connect(f"file:{session.file}?mode=ro", uri=True)) as database:
        return Counter(
            {role: database.execute(text, [session.name]).fetchone()[0] for role, text in asked.items()}
        )
