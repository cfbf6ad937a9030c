"""Where Gemini CLI keeps its sessions, and what people and models wrote in a line of one."""

from collections.abc import Iterator
from typing import Any

from support.agent_cases import strings

PLACE = "/home/ada/.gemini/tmp/demo/chats/session-2026-11-20T10-00-0a1b2c3d.jsonl"
OTHERS = ["demo/logs.json"]
MOVED = [
    ({"GEMINI_CLI_HOME": "/srv/g"}, "/srv/g/.gemini/tmp"),
]


def written(line: dict[str, Any]) -> Iterator[str]:
    for message in [line, *((line.get("$set") or {}).get("messages") or [])]:
        if message.get("type") in ("user", "gemini"):
            yield from strings(message.get("content"))
            yield from strings([call.get("args") for call in message.get("toolCalls") or []])
    yield from strings((line.get("$set") or {}).get("summary"))
