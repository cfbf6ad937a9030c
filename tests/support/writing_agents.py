"""Agents that write: each appends to its session file as the program does, one line or several at a time."""

import json  # noqa: TID251 - files of other programs are written as they write them
from pathlib import Path
from typing import Any

from support import dialect_files
from support.dialects import jsonl


class WritingClaude:
    """Claude Code, which writes one session."""

    def __init__(self, home: Path, session: str = dialect_files.SESSION, project: str = "-work") -> None:
        self.session = session
        self.path = home / ".claude/projects" / project / f"{session}.jsonl"
        self.first = f"{session[:8]}-0001"
        """The uuid of its first line."""
        self._last: str | None = None
        self._count = 0

    @property
    def last(self) -> str | None:
        """The uuid of its last line."""
        return self._last

    def says(self, text: str, *, parent: str | None = "", **fields: Any) -> str:
        """A finished answer."""
        return self.line("assistant", text, parent=parent, **fields)

    def asks(self, text: str, *, parent: str | None = "", **fields: Any) -> str:
        """Write a prompt of a person."""
        return self.line("user", text, parent=parent, **fields)

    def line(self, type: str, text: str, *, parent: str | None = "", **fields: Any) -> str:
        """Append a line of the chain; below the last one, or below `parent`. Returns its uuid."""
        self._count += 1
        uuid = f"{self.session[:8]}-{self._count:04}"
        above = self._last if parent == "" else parent
        self.write({**dialect_files.claude(type, uuid, above, text, **fields), "sessionId": self.session})
        self._last = uuid
        return uuid

    def titles(self, title: str) -> None:
        """Rename the session as the user does in the program."""
        self.write({"type": "custom-title", "customTitle": title, "sessionId": self.session})

    def write(self, *lines: dict[str, Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.write(jsonl(*lines))

    def write_half(self, text: str) -> bytes:
        """Append the first half of an answer's line. Returns the rest."""
        self._count += 1
        uuid = f"{self.session[:8]}-{self._count:04}"
        line = {**dialect_files.claude("assistant", uuid, self._last, text), "sessionId": self.session}
        data = json.dumps(line).encode() + b"\n"
        self._last = uuid
        with self.path.open("ab") as file:
            file.write(data[: len(data) // 2])
        return data[len(data) // 2 :]

    def append(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)


def write_codex(home: Path, *lines: Any, name: str = "0199", day: str = "2026/01/01") -> Path:
    """Append lines to a rollout of Codex; the first append creates it."""
    path = home / f".codex/sessions/{day}/rollout-2026-01-01T00-00-00-{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(jsonl(*lines))
    return path
