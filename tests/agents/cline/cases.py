"""Where Cline keeps its sessions, and what people and models wrote in a line of one."""

from collections.abc import Iterator
from typing import Any

from support.agent_cases import strings

PLACE = "/home/ada/.cline/data/sessions/0199/0199.messages.json"
SESSIONS = ["0199/explorer/01.messages.json", "0199/api_conversation_history.json"]
OTHERS = ["0199/0199.json", "0199/ui_messages.json"]
MOVED = [
    ({"CLINE_DIR": "/srv/cline"}, "/srv/cline/data/sessions"),
    ({"CLINE_DATA_DIR": "/srv/data"}, "/srv/data/sessions"),
    ({"CLINE_SESSION_DATA_DIR": "/srv/sessions"}, "/srv/sessions"),
]


def written(line: Any) -> Iterator[str]:
    for message in line["messages"] if isinstance(line, dict) else line:
        blocks = message["content"]
        for block in [{"text": blocks}] if isinstance(blocks, str) else blocks:
            if block.get("type") != "tool_result":
                text = str(block.get("text", "")).partition("<environment_details>")[0]
                yield from () if text.startswith("[") else [text]  # what a tool returned
                yield from strings([block.get("input"), block.get("content")])
