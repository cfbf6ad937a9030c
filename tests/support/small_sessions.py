"""The smallest session of each agent: one prompt, and the answers that follow it, as the agent writes them."""

import json  # noqa: TID251 - files of other programs are written as they write them
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from support import dialect_files
from support.dialects import jsonl
from support.writing_opencode import WritingOpenCode

_AT: Final = "2026-01-01T00:00:00.000Z"


@dataclass(frozen=True)
class Place:
    """The place of an agent's sessions.

    Attributes:
        folder: The folder of all its sessions, relative to the home folder.
        path: Returns the path below it for a name of a folder and one of a file.
    """

    folder: str
    path: Callable[[str, str], str]


PLACES: Final = {
    "claude-code": Place(".claude/projects", lambda folder, name: f"{folder}/{name}.jsonl"),
    "codex": Place(".codex/sessions", lambda folder, name: f"{folder}/rollout-{name}.jsonl"),
    "gemini": Place(".gemini/tmp", lambda folder, name: f"{folder}/chats/session-{name}.jsonl"),
    "opencode": Place(".local/share/opencode", lambda _folder, name: f"opencode-{name}.db"),
    "qwen": Place(".qwen/projects", lambda folder, name: f"{folder}/chats/{name}.jsonl"),
    "pi": Place(".pi/agent/sessions", lambda folder, name: f"{folder}/{name}.jsonl"),
    "oh-my-pi": Place(".omp/agent/sessions", lambda folder, name: f"{folder}/{name}.jsonl"),
    "copilot": Place(".copilot/session-state", lambda folder, _name: f"{folder}/events.jsonl"),
    "cursor": Place(
        ".cursor/projects", lambda folder, name: f"{folder}/agent-transcripts/{name}/{name}.jsonl"
    ),
    "cline": Place(".cline/data/sessions", lambda folder, _name: f"{folder}/{folder}.messages.json"),
}
"""By the name of the agent."""


def write(agent: str, path: Path, session_id: str, prompt: str, answers: int) -> None:
    """Write a session with a prompt and a number of answers. An existing session gets the answers that it lacks.

    Args:
        agent: The name of the agent.
        path: The file.
        session_id: A UUID.
        prompt: The prompt.
        answers: The number of answers.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if agent == "opencode":
        _write_opencode(path, session_id, prompt, answers)
    elif agent == "cline":
        texts = [("user", prompt), *(("assistant", f"answer {number}") for number in range(answers))]
        messages = [
            {"id": f"m{number}", "role": role, "content": [{"type": "text", "text": text}]}
            for number, (role, text) in enumerate(texts)
        ]
        document = {
            "version": 1,
            "updated_at": _AT,
            "agent": "lead",
            "sessionId": session_id,
            "messages": messages,
        }
        path.write_text(json.dumps(document), encoding="utf-8")
    else:
        lines = _LINES[agent](session_id, prompt, answers)
        there = path.read_bytes().count(b"\n") if path.exists() else 0
        with path.open("ab") as file:
            file.write(jsonl(*lines[there:]))


def _write_opencode(path: Path, session_id: str, prompt: str, answers: int) -> None:
    name = f"ses_{session_id}"
    with closing(WritingOpenCode(path)) as program:
        there = _count(path, name)
        if there == 0:
            program.begins(name)
            program.asks(prompt, name)
        for number in range(max(0, there - 1), answers):
            program.says(f"answer {number}", name)


def _count(path: Path, name: str) -> int:
    with closing(sqlite3.connect(path)) as database:
        [[count]] = database.execute("SELECT count(*) FROM message WHERE session_id = ?", [name])
        return int(count)


def _claude(session_id: str, prompt: str, answers: int) -> list[Any]:
    said = [("user", prompt), *(("assistant", f"answer {number}") for number in range(answers))]
    return [
        {
            **dialect_files.claude(
                role, f"{session_id}-{at}", f"{session_id}-{at - 1}" if at else None, text
            ),
            "sessionId": session_id,
        }
        for at, (role, text) in enumerate(said)
    ]


def _codex(session_id: str, prompt: str, answers: int) -> list[Any]:
    said = [dialect_files.said("assistant", f"answer {number}") for number in range(answers)]
    return [dialect_files.meta(id=session_id), dialect_files.said("user", prompt), *said]


def _gemini(session_id: str, prompt: str, answers: int) -> list[Any]:
    asked = {"id": f"{session_id}-u", "timestamp": _AT, "type": "user", "content": [{"text": prompt}]}
    said = [
        {"id": f"{session_id}-{number}", "timestamp": _AT, "type": "gemini", "content": f"answer {number}"}
        for number in range(answers)
    ]
    header = {
        "sessionId": session_id,
        "projectHash": "0f",
        "startTime": _AT,
        "lastUpdated": _AT,
        "kind": "main",
    }
    return [header, asked, *said]


def _qwen(session_id: str, prompt: str, answers: int) -> list[Any]:
    said = [
        ("user", "user", prompt),
        *(("assistant", "model", f"answer {number}") for number in range(answers)),
    ]
    return [
        {
            "uuid": f"{session_id}-{at}", "parentUuid": f"{session_id}-{at - 1}" if at else None,
            "sessionId": session_id, "timestamp": _AT, "type": kind, "cwd": "/work", "version": "0.15.10",
            "message": {"role": role, "parts": [{"text": text}]},
        }
        for at, (kind, role, text) in enumerate(said)
    ]  # fmt: skip


def _pi(session_id: str, prompt: str, answers: int) -> list[Any]:
    said = [("user", prompt), *(("assistant", f"answer {number}") for number in range(answers))]
    lines: list[Any] = [{"type": "session", "version": 3, "id": session_id, "timestamp": _AT, "cwd": "/work"}]
    above: str | None = None
    for at, (role, text) in enumerate(said):
        name = f"{session_id[:4]}{at:04}"
        message = {"role": role, "content": [{"type": "text", "text": text}]}
        lines.append({"type": "message", "id": name, "parentId": above, "timestamp": _AT, "message": message})
        above = name
    return lines


def _copilot(session_id: str, prompt: str, answers: int) -> list[Any]:
    def event(number: int, kind: str, data: dict[str, Any]) -> dict[str, Any]:
        above = f"{session_id}-{number - 1}" if number else None
        return {
            "type": kind,
            "data": data,
            "id": f"{session_id}-{number}",
            "timestamp": _AT,
            "parentId": above,
        }

    start = {
        "sessionId": session_id, "version": 1, "producer": "copilot-agent", "copilotVersion": "1.0.41",
        "startTime": _AT, "context": {"cwd": "/work"},
    }  # fmt: skip
    said = [
        event(2 + number, "assistant.message", {"messageId": f"{session_id}-m{number}", "content": f"answer {number}"})
        for number in range(answers)
    ]  # fmt: skip
    return [event(0, "session.start", start), event(1, "user.message", {"content": prompt}), *said]


def _cursor(_session_id: str, prompt: str, answers: int) -> list[Any]:
    said = [("user", prompt), *(("assistant", f"answer {number}") for number in range(answers))]
    return [{"role": role, "message": {"content": [{"type": "text", "text": text}]}} for role, text in said]


_LINES: Final[dict[str, Callable[[str, str, int], list[Any]]]] = {
    "claude-code": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "qwen": _qwen,
    "pi": _pi,
    "oh-my-pi": _pi,
    "copilot": _copilot,
    "cursor": _cursor,
}
