"""Small files of every dialect, written for these tests: one example of each thing that a reader must understand."""

import json  # noqa: TID251 - files of other programs are read as they write them
from pathlib import Path
from typing import Any

from sessiond.agents import known

DATA = Path(__file__).parent.parent / "data" / "dialects"
SESSION = "11111111-2222-4333-8444-555555555555"
Line = dict[str, Any]


def claude(type: str, uuid: str, parent: str | None, content: Any = None, **fields: Any) -> Line:
    """A chain line of Claude Code; an assistant's message has an id of its own unless it is given one."""
    line: Line = {
        "type": type, "uuid": uuid, "parentUuid": parent, "sessionId": SESSION, "cwd": "/work", "version": "2.1.0",
        "isSidechain": False, "timestamp": f"2026-01-01T00:00:{sum(uuid.encode()) % 60:02}.000Z",
    }  # fmt: skip
    if content is not None:
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        line["message"] = {"role": type, "content": blocks}
    if type == "assistant":
        message_id = fields.pop("message_id", f"msg_{uuid}")
        line["message"] |= {
            "id": message_id,
            "model": "claude-test-1",
            "stop_reason": fields.pop("stop", "end_turn"),
        }
        if "usage" in fields:
            line["message"]["usage"] = fields.pop("usage")
    return line | fields


def call(number: int) -> Line:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": "Read", "input": {"path": f"/{number}"}}


def answer(number: int, text: str = "content") -> Line:
    return {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text}


def codex(type: str, payload: Line, second: int = 0) -> Line:
    return {"timestamp": f"2026-01-01T00:00:{second % 60:02}.000Z", "type": type, "payload": payload}


def item(type: str, **fields: Any) -> Line:
    return codex("response_item", {"type": type, **fields})


def said(role: str, text: str) -> Line:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text}])


def event(type: str, **fields: Any) -> Line:
    return codex("event_msg", {"type": type, **fields})


def meta(**fields: Any) -> Line:
    return codex("session_meta", {"id": SESSION, "cwd": "/work", "model_provider": "openai", **fields})


def lines_of(name: str) -> list[Any]:
    """The lines of a file in tests/data/dialects."""
    return [json.loads(line) for line in (DATA / name).read_bytes().split(b"\n") if line]


def bytes_of(name: str) -> bytes:
    """A file in tests/data/dialects."""
    return (DATA / name).read_bytes()


CLAUDE = lines_of("claude-code.jsonl")
CODEX = lines_of("codex.jsonl")
OPERATOR = lines_of("operator.jsonl")
GO = lines_of("go.jsonl")
PI4 = lines_of("pi4.jsonl")
HOME = lines_of("pi.jsonl")
GEMINI = lines_of("gemini.jsonl")
QWEN = lines_of("qwen.jsonl")
COPILOT = lines_of("copilot.jsonl")
CURSOR = lines_of("cursor.jsonl")
CLINE: Line = json.loads((DATA / "cline.messages.json").read_bytes())
CLINE_TASK: list[Line] = json.loads((DATA / "cline-task.json").read_bytes())
OPENCODE: Line = json.loads((DATA / "opencode.json").read_bytes())
NOVA: Line = json.loads((DATA / "nova.json").read_bytes())

FILES: dict[str, list[Any]] = {
    name: lines_of(path.name) if path.suffix == ".jsonl" else [json.loads(path.read_bytes())]
    for name in known.DIALECTS
    for path in DATA.glob(f"{name}.*")
}
"""The lines of one file of each dialect, or its only object."""
