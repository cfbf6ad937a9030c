"""Where Copilot CLI keeps its sessions, and what people and models wrote in a line of one."""

from collections.abc import Iterator
from typing import Any

from support.agent_cases import strings

PLACE = "/home/ada/.copilot/session-state/0199/events.jsonl"


def written(line: dict[str, Any]) -> Iterator[str]:
    data = line["data"]
    if line["type"] in ("user.message", "assistant.message"):
        yield from strings(data.get("content"))
        yield from strings([call.get("arguments") for call in data.get("toolRequests") or []])
    yield from strings(data.get("summaryContent"))
