"""Where Cursor keeps its sessions, and what people and models wrote in a line of one."""

from collections.abc import Iterator
from typing import Any

from support.agent_cases import strings

PLACE = "/home/ada/.cursor/projects/demo/agent-transcripts/0199/0199.jsonl"
SESSIONS = ["demo/agent-transcripts/0199.jsonl", "demo/agent-transcripts/0199/subagents/01.jsonl"]
OTHERS = ["demo/agent-transcripts/0199.txt", "demo/terminals/0199.jsonl"]
MOVED = [
    ({"CURSOR_CONFIG_DIR": "/srv/cursor"}, "/srv/cursor/projects"),
]


def written(line: dict[str, Any]) -> Iterator[str]:
    yield from strings([line.get("message")])
