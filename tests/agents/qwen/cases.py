"""Where Qwen Code keeps its sessions, and what people and models wrote in a line of one."""

from collections.abc import Iterator
from typing import Any

from support.agent_cases import strings

PLACE = "/home/ada/.qwen/projects/-srv-demo/chats/6b1f0c1e-0000-4000-8000-000000000001.jsonl"
WRITES_VERSION = True
OTHERS = ["demo/telemetry.jsonl"]
MOVED = [
    ({"QWEN_RUNTIME_DIR": "/srv/qwen"}, "/srv/qwen/projects"),
    ({"QWEN_HOME": "/srv/q"}, "/srv/q/projects"),
    ({"QWEN_HOME": "/srv/q", "QWEN_RUNTIME_DIR": "/srv/r"}, "/srv/r/projects"),
]


def written(line: dict[str, Any]) -> Iterator[str]:
    payload = line.get("systemPayload") or {}
    if line.get("type") in ("user", "assistant"):
        parts = (line.get("message") or {}).get("parts") or []
        yield from strings(parts)
    yield from strings(payload.get("customTitle"))
