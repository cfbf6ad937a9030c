"""Session files like those of long days of work: messages of 1.4 KB on average, with occasional branches."""

import random
from collections.abc import Iterator
from pathlib import Path

import msgspec

TIMESTAMP = "2026-01-01T00:00:00.000Z"
MEAN_TEXT = 880
"""Bytes of text in an average line, whose total length is 1.4 KB."""


def write_session(
    path: Path,
    session_id: str,
    entries: int,
    *,
    cwd: str = "/tmp",
    branch_every: int = 100,
    mean_text: int = MEAN_TEXT,
) -> str:
    """Write a session file and return the id of its last entry; with `branch_every` 0 it is one chain."""
    path.parent.mkdir(parents=True, exist_ok=True)
    header = {"type": "session", "version": 3, "id": session_id, "timestamp": TIMESTAMP, "cwd": cwd}
    with path.open("wb", buffering=1 << 20) as file:
        file.write(msgspec.json.encode(header) + b"\n")
        for line in _lines(entries, branch_every, mean_text):
            file.write(line)
    return f"{entries - 1:08x}"


def session_name(session_id: str) -> str:
    """The file name of a session."""
    return f"2026-01-01T00-00-00-000Z_{session_id}.jsonl"


def user_message(text: str) -> dict[str, object]:
    return {"role": "user", "content": text, "timestamp": 1_767_225_600_000}


def assistant_message(text: str) -> dict[str, object]:
    return {
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
        "api": "openai-completions",
        "provider": "example",
        "model": "example-1",
        "usage": {
            "input": 100,
            "output": 20,
            "cacheRead": 0,
            "cacheWrite": 0,
            "totalTokens": 120,
            "cost": {"total": 0},
        },
        "stopReason": "stop",
        "timestamp": 1_767_225_600_000,
    }


def _lines(entries: int, branch_every: int, mean_text: int) -> Iterator[bytes]:
    chance = random.Random(0)
    # A few hundred bodies, encoded once: generating a million lines must not take longer than reading them.
    bodies = [_body(chance, number, mean_text) for number in range(500)]
    parent = "null"
    for number in range(entries):
        yield (
            b'{"type":"message","id":"%08x","parentId":%b,"timestamp":"%b","message":%b}\n'
            % (number, parent.encode(), TIMESTAMP.encode(), bodies[number % len(bodies)])
        )
        leaves_chain = branch_every and number % branch_every == branch_every - 1
        parent = f'"{max(0, number - 10) if leaves_chain else number:08x}"'


def _body(chance: random.Random, number: int, mean_text: int) -> bytes:
    length = min(20_000, int(chance.expovariate(1 / mean_text)))
    words = 'a line of "code" with é and → in it;\n\t'
    text = (words * (length // len(words) + 1))[:length]
    return msgspec.json.encode(user_message(text) if number % 2 == 0 else assistant_message(text))
