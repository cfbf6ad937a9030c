"""Facts about each agent for tests: the modules `cases` in the folders of tests/agents, one for each row.

Attributes of such a module: `PLACE`, the path of a session in the home folder `/home/ada`, and, if they exist,
`SESSIONS` and `OTHERS`, further paths in a folder of the agent that are or are not sessions; `MOVED`, variables with
the folder that they lead to; `WRITES_VERSION` and `NEEDS_VERSION`, whether a session that is written for it has the
version of the agent, and whether it has one if that is not known; `written`, which returns the texts of people and
models in a line.
"""

import importlib.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from sessiond.agents.table import AGENTS

_FOLDER = Path(__file__).parent.parent / "agents"


@cache
def case_of(name: str) -> ModuleType:
    """Return the facts about an agent. Raises `OSError` if its folder has no module `cases`."""
    path = _FOLDER / name.replace("-", "_") / "cases.py"
    spec = importlib.util.spec_from_file_location(f"cases_of_{path.parent.name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def of_all(attribute: str) -> list[tuple[str, Any]]:
    """The values of one list in every case, each with the name of the agent."""
    return [(name, item) for name in AGENTS for item in getattr(case_of(name), attribute, ())]


def strings(value: object) -> Iterator[str]:
    """Every string in a value, at any depth, without reasoning and identifiers."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif (
        isinstance(value, dict)
        and value.get("type") not in ("thinking", "image")
        and not value.get("thought")
    ):
        for name, item in value.items():
            if name not in _NO_TEXT and not (name == "type" and isinstance(item, str)):
                yield from strings(item)


_NO_TEXT = {
    "id", "name", "call_id", "tool_use_id", "toolCallId", "signature", "data", "mimeType", "timestamp", "thought",
    "thinking", "redactedThinking", "is_error", "isError", "source", "inlineData", "image_url", "functionResponse",
    "namespace", "encrypted_content",
}  # fmt: skip


def texts_of_entries(line: Any) -> Iterator[str]:
    """pi, pi format 4, Go and operator: entries with a message, a summary, a label or a title."""
    for entry in line if isinstance(line, list) else [line]:
        message = entry.get("message") or {}
        if isinstance(message, dict) and message.get("role") in ("user", "assistant"):
            yield from strings([message.get("content"), message.get("contents")])
        compaction = entry.get("compaction") if isinstance(entry.get("compaction"), dict) else entry
        yield from strings(compaction.get("summary"))
        yield from strings([kept.get("content") for kept in entry.get("retainedTail") or []])
        if entry.get("namespace") == "pi.session.name":
            yield from strings(entry.get("value"))
        if entry.get("type") in ("session", "title"):
            yield from strings(entry.get("title"))
