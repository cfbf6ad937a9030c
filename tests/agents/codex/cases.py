"""Where Codex keeps its sessions, and what people and models wrote in a line of one."""

import json  # noqa: TID251 - files of other programs are read as they write them
from collections.abc import Iterator
from typing import Any

from support.agent_cases import strings

PLACE = "/home/ada/.codex/sessions/2026/11/20/rollout-2026-11-20T10-00-00-0199.jsonl"
WRITES_VERSION = True
NEEDS_VERSION = True
OTHERS = ["2026/11/20/notes.jsonl"]
MOVED = [
    ({"CODEX_HOME": "/srv/codex"}, "/srv/codex/sessions"),
]


def written(line: dict[str, Any]) -> Iterator[str]:
    payload = line.get("payload") or {}
    type = payload.get("type")
    if (
        line.get("type") == "response_item"
        and type == "message"
        and payload.get("role") in ("user", "assistant")
    ):
        yield from strings(payload.get("content"))
    if type in ("function_call", "custom_tool_call"):
        yield from strings(json.loads(payload["arguments"]) if "arguments" in payload else payload["input"])
    if type in ("user_message", "agent_message"):
        yield from strings(payload.get("message"))
    if type == "item_completed" and payload["item"]["type"] in ("UserMessage", "AgentMessage"):
        yield from (block["text"] for block in payload["item"]["content"])
    if line.get("type") == "compacted":
        yield from strings(payload.get("message"))
        for message in payload.get("replacement_history") or []:
            yield from strings(message.get("content")) if message.get("role") == "user" else ()
    if type == "thread_name_updated":
        yield from strings(payload.get("thread_name"))
