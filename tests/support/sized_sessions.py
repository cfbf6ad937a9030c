"""Sessions of a given size as each agent stores them, with a text of some kilobytes in each message."""

import json  # noqa: TID251 - files of other programs are written as they write them
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from support import dialect_files
from support.dialect_files import SESSION
from support.dialects import jsonl
from support.writing_opencode import WritingOpenCode

TEXT: Final = "heron " * 2_000
"""The text of a message of a large session: 12 kB."""
AT: Final = "2026-01-01T00:00:00.000Z"

Line = dict[str, Any]


def texts_of(size: int) -> list[str]:
    """Return the texts of a session of about a given size in bytes: alternating prompts and answers, each different."""
    step = min(len(TEXT), max(50, size // 4))
    count = max(2, size // step // 2 * 2)
    return [f"{number} {TEXT}"[:step] for number in range(count)]


def claude_code(home: Path, texts: list[str]) -> None:
    """One file of lines."""
    lines = (
        dialect_files.claude(_role(index), f"u{index}", f"u{index - 1}" if index else None, text)
        for index, text in enumerate(texts)
    )
    _write(home / f".claude/projects/-work/{SESSION}.jsonl", lines)


def codex(home: Path, texts: list[str]) -> None:
    """One rollout."""

    def lines() -> Iterator[Line]:
        yield dialect_files.meta()
        for index, text in enumerate(texts):
            yield {**dialect_files.said(_role(index), text), "timestamp": f"2026-01-01T00:00:00.{index:06}Z"}

    _write(home / f".codex/sessions/2026/01/01/rollout-2026-01-01T00-00-00-{SESSION}.jsonl", lines())


def gemini(home: Path, texts: list[str]) -> None:
    """A header and messages, as lines."""

    def lines() -> Iterator[Line]:
        yield _gemini_header()
        yield from _gemini_messages(texts)

    _write(home / ".gemini/tmp/heron/chats/session-2026-01-01T00-00-11111111.jsonl", lines())


def gemini_document(home: Path, texts: list[str]) -> None:
    """One document, as earlier versions of Gemini CLI wrote it."""
    document = {**_gemini_header(), "messages": list(_gemini_messages(texts))}
    _write_document(home / ".gemini/tmp/heron/chats/session-2026-01-01T00-00-11111111.json", document)


def qwen(home: Path, texts: list[str]) -> None:
    """One file of lines."""
    lines = (
        {
            "uuid": f"u{index}", "parentUuid": f"u{index - 1}" if index else None, "sessionId": SESSION,
            "timestamp": AT, "type": _role(index), "cwd": "/work", "version": "0.15.10",
            "message": {"role": "model" if index % 2 else "user", "parts": [{"text": text}]},
        }
        for index, text in enumerate(texts)
    )  # fmt: skip
    _write(home / f".qwen/projects/-work/chats/{SESSION}.jsonl", lines)


def copilot(home: Path, texts: list[str]) -> None:
    """One file of events."""

    def lines() -> Iterator[Line]:
        about = {"sessionId": SESSION, "version": 1, "producer": "copilot-agent", "context": {"cwd": "/work"}}
        yield {"type": "session.start", "data": about, "id": "e", "timestamp": AT, "parentId": None}
        for index, text in enumerate(texts):
            data = {"content": text, "messageId": f"m{index}"} if index % 2 else {"content": text}
            above = f"e{index - 1}" if index else "e"
            yield {
                "type": f"{_role(index)}.message",
                "data": data,
                "id": f"e{index}",
                "timestamp": AT,
                "parentId": above,
            }

    _write(home / f".copilot/session-state/{SESSION}/events.jsonl", lines())


def cursor(home: Path, texts: list[str]) -> None:
    """One file of lines."""
    lines = (
        {"role": _role(index), "message": {"content": [{"type": "text", "text": text}]}}
        for index, text in enumerate(texts)
    )
    _write(home / f".cursor/projects/work/agent-transcripts/{SESSION}/{SESSION}.jsonl", lines)


def cline(home: Path, texts: list[str]) -> None:
    """One document, which is written anew with each message."""
    messages = [
        {
            "id": f"m{index}",
            "role": _role(index),
            "content": [{"type": "text", "text": text}],
            "ts": 1772352000000 + index,
        }
        for index, text in enumerate(texts)
    ]
    about = {"version": 1, "updated_at": AT, "agent": "lead", "origin": {"source": "cli", "mode": "user"}}
    document = {**about, "sessionId": SESSION, "messages": messages, "systemPrompt": ""}
    _write_document(home / f".cline/data/sessions/{SESSION}/{SESSION}.messages.json", document)


def opencode(home: Path, texts: list[str]) -> None:
    """A database."""
    writing = WritingOpenCode(home / ".local/share/opencode/opencode.db")
    writing.begins()
    for index, text in enumerate(texts):
        (writing.says if index % 2 else writing.asks)(text)
    writing.close()


def pi(home: Path, texts: list[str]) -> None:
    """One file of lines."""

    def lines() -> Iterator[Line]:
        yield {"type": "session", "version": 3, "id": SESSION, "timestamp": AT, "cwd": "/work"}
        for index, text in enumerate(texts):
            message = {"role": _role(index), "content": [{"type": "text", "text": text}]}
            above = f"u{index - 1}" if index else None
            yield {
                "type": "message",
                "id": f"u{index}",
                "parentId": above,
                "timestamp": AT,
                "message": message,
            }

    _write(home / f".pi/agent/sessions/--work--/2026-01-01T00-00-00-000Z_{SESSION}.jsonl", lines())


WRITERS: Final[dict[str, tuple[str, Callable[[Path, list[str]], None]]]] = {
    "claude-code": ("claude-code", claude_code), "codex": ("codex", codex), "gemini": ("gemini", gemini),
    "gemini-document": ("gemini", gemini_document), "qwen": ("qwen", qwen), "copilot": ("copilot", copilot),
    "cursor": ("cursor", cursor), "cline": ("cline", cline), "opencode": ("opencode", opencode), "pi": ("pi", pi),
}  # fmt: skip
"""The name of the agent and the function that writes a session with these texts below a home folder."""


def _role(number: int) -> str:
    return "assistant" if number % 2 else "user"


def _gemini_header() -> Line:
    return {"sessionId": SESSION, "projectHash": "x", "startTime": AT, "lastUpdated": AT, "kind": "main"}


def _gemini_messages(texts: list[str]) -> Iterator[Line]:
    for index, text in enumerate(texts):
        yield {
            "id": f"m{index}",
            "timestamp": AT,
            "type": "gemini" if index % 2 else "user",
            "content": text if index % 2 else [{"text": text}],
        }


def _write(path: Path, lines: Iterator[Line]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for line in lines:
            file.write(jsonl(line))


def _write_document(path: Path, document: Line) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")
