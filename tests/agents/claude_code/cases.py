"""Where Claude Code keeps its sessions, and what people and models wrote in a line of one."""

from collections.abc import Iterator
from typing import Any

from support.agent_cases import strings

PLACE = "/home/ada/.claude/projects/-srv-demo/6b1f0c1e-0000-4000-8000-000000000001.jsonl"
WRITES_VERSION = True
SESSIONS = ["demo/6b1f/subagents/agent-1.jsonl"]
OTHERS = ["demo/notes.md", "demo/6b1f/subagents/agent-1.meta.json", "demo/memory/other.jsonl"]
MOVED = [
    ({"CLAUDE_CONFIG_DIR": "/srv/claude"}, "/srv/claude/projects"),
    ({"CLAUDE_CONFIG_DIR": ""}, "/home/ada/.claude/projects"),
    ({"CLAUDE_CONFIG_DIR": "~/c"}, "/home/ada/c/projects"),
]


def written(line: dict[str, Any]) -> Iterator[str]:
    type, message = line.get("type"), line.get("message")
    message = message if isinstance(message, dict) else {}
    attachment = line.get("attachment") or {}
    if type in ("user", "assistant") and not line.get("isMeta"):
        blocks = message.get("content") or []
        blocks = [blocks] if isinstance(blocks, str) else blocks
        for block in blocks:
            is_result = isinstance(block, dict) and block.get("type") == "tool_result"
            yield from () if is_result else strings(block)
    if attachment.get("type") == "queued_command":
        yield from strings(attachment.get("prompt"))
    if attachment.get("type") == "file":
        yield from strings(((attachment.get("content") or {}).get("file") or {}).get("content"))
    if type == "queue-operation":
        yield from strings(line.get("content"))
    yield from (
        line[name] for name in ("customTitle", "agentName", "aiTitle") if isinstance(line.get(name), str)
    )
