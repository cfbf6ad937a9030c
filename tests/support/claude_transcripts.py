"""Transcripts of Claude Code as files, and their imports."""

import os
from pathlib import Path
from typing import Any

from support.daemons import Peer
from support.dialects import jsonl

OLD = 1_700_000_000
"""A time at which no program writes to the file any more."""
SESSION = "11111111-2222-4333-8444-555555555555"


def turn(number: int, text: str = "", **fields: Any) -> dict[str, Any]:
    """A line of Claude Code: even lines are of the user, and each line is a child of the previous one."""
    role = "assistant" if number % 2 else "user"
    message: dict[str, Any] = {"role": role, "content": [{"type": "text", "text": text or f"text {number}"}]}
    if role == "assistant":
        message |= {"id": f"msg_{number}", "model": "claude-test-1", "stop_reason": "end_turn"}
    return {
        "type": role, "uuid": f"turn-{number}", "parentUuid": f"turn-{number - 1}" if number else None,
        "sessionId": SESSION, "cwd": "/work/claude", "timestamp": f"2026-01-01T00:00:{number:02}.000Z",
        "message": message, **fields,
    }  # fmt: skip


def write(path: Path, *lines: Any, at: float = OLD) -> Path:
    """Write a transcript that was last changed at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(jsonl(*lines))
    os.utime(path, (at, at))
    return path


async def imported(peer: Peer, path: Path, **params: Any) -> dict[str, Any]:
    """Import one session, and return its report."""
    result = await peer.call("session/import", path=str(path), **params)
    assert not result["skipped"], result["skipped"]
    [session] = result["sessions"]
    return dict(session)
