"""Transcripts of five agents, of any size: what a person's home has after months of work.

The texts are those of this project's own files, so they have the structure of prose, code and output. In each session,
a third of the words is replaced by words of that session, because otherwise a thousand sessions would repeat a few
megabytes, and every archive would look small. As in real transcripts, most bytes are outputs of tools, Claude Code
writes an output twice, Gemini CLI writes an answer again with its calls, and each compaction of Codex repeats the
history so far.
"""

import os
import random
import re
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
from scripts.benchmarks.results import ROOT

MEAN_SESSION: Final = 330_000
"""Bytes of an average session."""
SHARES: Final = {"claude-code": 0.55, "codex": 0.25, "opencode": 0.08, "gemini": 0.06, "pi": 0.06}
"""The share of each agent in the bytes."""
_STARTED: Final = 1_767_225_600_000
"""The time of the first session, in milliseconds since 1970. A session follows every two hours."""
_WORD: Final = re.compile(r"[A-Za-z]{5,}")
_SYLLABLES: Final = (
    "ba", "de", "fi", "go", "lu", "ma", "ne", "pi", "ro", "sa", "te", "vu", "ki", "lo", "ran", "der", "mel", "tis",
    "por", "gan",
)  # fmt: skip
OPENCODE_TABLES: Final = """
CREATE TABLE session(id TEXT PRIMARY KEY, parent_id TEXT, slug TEXT, directory TEXT, title TEXT, version TEXT,
    revert TEXT, time_created INTEGER, time_updated INTEGER);
CREATE TABLE message(id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
CREATE TABLE part(id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER,
    data TEXT);
CREATE TABLE event_sequence(aggregate_id TEXT PRIMARY KEY, seq INTEGER NOT NULL);
CREATE INDEX message_session ON message(session_id, time_created, id);
CREATE INDEX part_message ON part(message_id, id);
CREATE INDEX part_session ON part(session_id);
"""


@dataclass(frozen=True)
class Call:
    """A call of a tool."""

    tool: str
    command: str
    output: str


@dataclass(frozen=True)
class Turn:
    """A prompt, the calls that the model made, and its answer."""

    prompt: str
    thinking: str
    calls: list[Call]
    answer: str


@dataclass(frozen=True)
class Mix:
    """The files of an agent that were written.

    Attributes:
        sizes: The bytes of each agent.
        session_count: The number of sessions.
        word: Returns the word that only the first prompt of the session with a number has.
    """

    sizes: dict[str, int]
    session_count: int
    word: Callable[[int], str]

    @property
    def size(self) -> int:
        """The bytes of all agents."""
        return sum(self.sizes.values())


def word_of(number: int) -> str:
    """Return the word that only the first prompt of the session with this number has."""
    return f"heron{number:06}mark"


def write_mix(home: Path, size: int) -> Mix:
    """Write about `size` bytes of sessions into a home, for all agents. Equal sizes give equal files."""
    sizes = dict.fromkeys(SHARES, 0)
    writers: dict[str, Callable[[int, str, list[Turn]], int]] = {
        "claude-code": lambda *session: _write_claude(home, *session),
        "codex": lambda *session: _write_codex(home, *session),
        "gemini": lambda *session: _write_gemini(home, *session),
        "pi": lambda *session: _write_pi(home, *session),
    }
    with _OpenCode(home / ".local/share/opencode/opencode.db") as opencode:
        writers["opencode"] = opencode.write
        number = 0
        while (written := sum(sizes.values())) < size:
            agent = min(SHARES, key=lambda name: sizes[name] / SHARES[name])
            room = max(MEAN_SESSION // 10, min(size - written, 40 * MEAN_SESSION))
            cwd = f"/home/ada/src/project-{number % 23:02}"
            sizes[agent] += writers[agent](number, cwd, _turns(number, room))
            number += 1
    return Mix(sizes, number, word_of)


# --- what was said ---------------------------------------------------------------------------------------


@cache
def _corpus() -> tuple[list[str], list[str]]:
    """Return the lines of the documents and of the code of this project."""
    documents = sorted((ROOT / "daemon").rglob("*.md"))
    code = sorted((ROOT / "daemon/sessiond").rglob("*.py")) + sorted((ROOT / "editors").rglob("*.lua"))
    return _lines_of(documents), _lines_of(code)


def _lines_of(paths: list[Path]) -> list[str]:
    return [line for path in paths for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


class _Words:
    """The texts of one session."""

    def __init__(self, number: int) -> None:
        self.chance = random.Random(number)
        self._own: dict[str, str] = {}
        self._places = [self.chance.randrange(len(lines)) for lines in _corpus()]

    def prose(self, length: int) -> str:
        return self._text(0, length)

    def code(self, length: int) -> str:
        return self._text(1, length)

    def _text(self, kind: int, length: int) -> str:
        """Return lines of about `length` characters. They go on where the last ones ended."""
        lines = _corpus()[kind]
        taken: list[str] = []
        while length > 0:
            line = lines[self._places[kind]][: max(length, 80)]
            self._places[kind] = (self._places[kind] + 1) % len(lines)
            taken.append(line)
            length -= len(line) + 1
        return _WORD.sub(self._replaced, "\n".join(taken))

    def _replaced(self, found: re.Match[str]) -> str:
        word = found[0]
        own = self._own.get(word)
        if own is None:
            made = "".join(self.chance.choices(_SYLLABLES, k=max(2, len(word) // 2)))
            own = self._own[word] = made if self.chance.random() < 1 / 3 else word
        return own


def _turns(number: int, room: int) -> list[Turn]:
    """Return the turns of a session of at most about `room` bytes in the files of its agent."""
    words = _Words(number)
    size = min(room, int(words.chance.lognormvariate(0, 1) * MEAN_SESSION * 0.6) + 5_000)
    turns: list[Turn] = []
    while size > 0:
        calls = [_call(words) for _ in range(words.chance.randrange(1, 9))]
        prompt = words.prose(int(words.chance.expovariate(1 / 300)) + 20)
        if not turns:
            prompt = f"{word_of(number)} {prompt}"
        turn = Turn(prompt, words.prose(200), calls, words.prose(int(words.chance.expovariate(1 / 900)) + 50))
        turns.append(turn)
        size -= len(prompt) + len(turn.answer) + 500 + sum(len(call.output) * 3 // 2 + 600 for call in calls)
    return turns


def _call(words: _Words) -> Call:
    length = int(words.chance.paretovariate(1.3) * 400)
    kind = words.chance.randrange(3)
    if kind == 0:
        return Call(
            "Read", f"/home/ada/src/{words.chance.choice(_SYLLABLES)}.py", words.code(min(length * 3, 60_000))
        )
    if kind == 1:
        paths = (
            f"src/{'/'.join(words.chance.choices(_SYLLABLES, k=3))}.py:{words.chance.randrange(900)}:"
            for _ in range(min(length // 60, 400) + 1)
        )
        return Call(
            "Bash",
            f"rg {words.chance.choice(_SYLLABLES)}",
            "\n".join(path + words.code(40) for path in paths),
        )
    return Call("Bash", f"pytest -q {words.chance.choice(_SYLLABLES)}", words.code(min(length, 30_000)))


# --- how each agent writes it ------------------------------------------------------------------------------


class _Clock:
    """The times of a session: three seconds pass between two lines."""

    def __init__(self, number: int) -> None:
        self.now = _STARTED + number * 7_200_000

    def stamp(self) -> str:
        """Return the next time as ISO 8601."""
        self.now += 3_000
        return f"{datetime.fromtimestamp(self.now / 1000, UTC):%Y-%m-%dT%H:%M:%S}.000Z"


def _write_lines(path: Path, lines: Iterator[dict[str, Any]], clock: _Clock) -> int:
    """Write a file, whose modification time is that of its last line, and return its size in bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    path.write_bytes(data)
    os.utime(path, (clock.now / 1000, clock.now / 1000))
    return len(data)


def _id_of(number: int, kind: int) -> str:
    return f"{number:08x}-{kind:04x}-4222-8333-444444444444"


def _write_claude(home: Path, number: int, cwd: str, turns: list[Turn]) -> int:
    clock, session = _Clock(number), _id_of(number, 1)
    path = home / ".claude/projects" / cwd.replace("/", "-") / f"{session}.jsonl"
    return _write_lines(path, _claude(session, cwd, turns, clock), clock)


def _claude(session: str, cwd: str, turns: list[Turn], clock: _Clock) -> Iterator[dict[str, Any]]:
    parent: str | None = None
    count = 0

    def line(kind: str, message: dict[str, Any], **more: Any) -> dict[str, Any]:
        nonlocal parent, count
        count += 1
        uuid = f"{session[:8]}-0002-4222-8333-{count:012x}"
        made = {
            "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": cwd, "sessionId": session,
            "version": "2.1.332", "gitBranch": "main", "type": kind, "message": message, "uuid": uuid,
            "timestamp": clock.stamp(), **more,
        }  # fmt: skip
        parent = uuid
        return made

    def said(message_id: str, block: dict[str, Any], reason: str | None) -> dict[str, Any]:
        usage = {
            "input_tokens": 12, "cache_creation_input_tokens": 900, "cache_read_input_tokens": 40 * count,
            "output_tokens": 200, "service_tier": "standard",
        }  # fmt: skip
        message = {
            "id": message_id, "type": "message", "role": "assistant", "model": "claude-opus-4-6", "content": [block],
            "stop_reason": reason, "stop_sequence": None, "usage": usage,
        }  # fmt: skip
        return line("assistant", message, requestId=f"req_{message_id}")

    for number, turn in enumerate(turns):
        yield line("user", {"role": "user", "content": turn.prompt})
        for place, call in enumerate(turn.calls):
            message_id, call_id = f"msg_{number}_{place}", f"toolu_{session[:8]}_{number}_{place}"
            yield said(message_id, {"type": "thinking", "thinking": turn.thinking, "signature": "e30="}, None)
            name = "file_path" if call.tool == "Read" else "command"
            use = {"type": "tool_use", "id": call_id, "name": call.tool, "input": {name: call.command}}
            yield said(message_id, use, "tool_use")
            result = {
                "tool_use_id": call_id,
                "type": "tool_result",
                "content": call.output,
                "is_error": False,
            }
            beside = {"stdout": call.output, "stderr": "", "interrupted": False, "isImage": False}
            yield line("user", {"role": "user", "content": [result]}, toolUseResult=beside)
        yield said(f"msg_{number}", {"type": "text", "text": turn.answer}, "end_turn")


def _write_codex(home: Path, number: int, cwd: str, turns: list[Turn]) -> int:
    clock, session = _Clock(number), _id_of(number, 2)
    started = clock.stamp()
    name = f"rollout-{started[:19].replace(':', '-')}-{session}.jsonl"
    path = home / ".codex/sessions" / started[:10].replace("-", "/") / name
    return _write_lines(path, _codex(session, cwd, turns, clock), clock)


def _codex(session: str, cwd: str, turns: list[Turn], clock: _Clock) -> Iterator[dict[str, Any]]:
    history: list[dict[str, Any]] = []

    def line(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        return {"timestamp": clock.stamp(), "type": kind, "payload": payload}

    def item(payload: dict[str, Any]) -> dict[str, Any]:
        history.append(payload)
        return line("response_item", payload)

    def message(role: str, kind: str, text: str) -> dict[str, Any]:
        return item({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})

    yield line(
        "session_meta",
        {"id": session, "timestamp": clock.stamp(), "cwd": cwd, "originator": "codex_cli_rs", "cli_version": "0.171.0"},
    )  # fmt: skip
    for number, turn in enumerate(turns):
        yield line(
            "turn_context",
            {"turn_id": f"t{number}", "cwd": cwd, "model": "gpt-5.5", "effort": "high", "approval_policy": "never"},
        )  # fmt: skip
        yield message("user", "input_text", turn.prompt)
        yield line("event_msg", {"type": "user_message", "message": turn.prompt})
        for place, call in enumerate(turn.calls):
            call_id = f"call_{number}_{place}"
            yield item(
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": turn.thinking}], "content": None}
            )  # fmt: skip
            arguments = msgspec.json.encode({"command": ["bash", "-lc", call.command]}).decode()
            yield item({"type": "function_call", "name": "shell", "arguments": arguments, "call_id": call_id})
            yield item({"type": "function_call_output", "call_id": call_id, "output": call.output})
            counts = {
                "input_tokens": 900,
                "cached_input_tokens": 40,
                "output_tokens": 200,
                "total_tokens": 1100,
            }
            info = {"total_token_usage": counts, "last_token_usage": counts, "model_context_window": 272000}
            yield line("event_msg", {"type": "token_count", "info": info})
        yield message("assistant", "output_text", turn.answer)
        yield line("event_msg", {"type": "agent_message", "message": turn.answer})
        if number % 12 == 11:
            yield line("compacted", {"message": turn.thinking, "replacement_history": list(history)})


def _write_gemini(home: Path, number: int, cwd: str, turns: list[Turn]) -> int:
    clock, session = _Clock(number), _id_of(number, 3)
    project = cwd.rpartition("/")[2]
    folder = home / ".gemini/tmp" / project
    started = clock.stamp()[:16].replace(":", "-")
    size = _write_lines(
        folder / f"chats/session-{started}-{session[:8]}.jsonl", _gemini(session, turns, clock), clock
    )
    (folder / ".project_root").write_text(cwd, encoding="utf-8")
    return size


def _gemini(session: str, turns: list[Turn], clock: _Clock) -> Iterator[dict[str, Any]]:
    began = clock.stamp()
    yield {
        "sessionId": session,
        "projectHash": "0f",
        "startTime": began,
        "lastUpdated": began,
        "kind": "main",
    }
    count = 0
    for turn in turns:
        count += 1
        yield {
            "id": f"m{count}",
            "timestamp": clock.stamp(),
            "type": "user",
            "content": [{"text": turn.prompt}],
        }
        for place, call in enumerate(turn.calls):
            count += 1
            tokens = {"input": 900, "output": 200, "cached": 40, "thoughts": 5, "tool": 0, "total": 1145}
            thought = {"subject": "Plan", "description": turn.thinking, "timestamp": clock.stamp()}
            answer = {
                "id": f"m{count}", "timestamp": clock.stamp(), "type": "gemini", "content": "", "thoughts": [thought],
                "tokens": tokens, "model": "gemini-3-pro",
            }  # fmt: skip
            yield answer
            call_id = f"shell_{count}_{place}"
            response = {"id": call_id, "name": "run_shell_command", "response": {"output": call.output}}
            made = {
                "id": call_id, "name": "run_shell_command", "args": {"command": call.command},
                "result": [{"functionResponse": response}], "status": "success", "timestamp": clock.stamp(),
            }  # fmt: skip
            yield answer | {"toolCalls": [made]}
        count += 1
        yield {
            "id": f"m{count}", "timestamp": clock.stamp(), "type": "gemini", "content": turn.answer, "thoughts": [],
            "model": "gemini-3-pro",
        }  # fmt: skip


def _write_pi(home: Path, number: int, cwd: str, turns: list[Turn]) -> int:
    clock, session = _Clock(number), _id_of(number, 4)
    started = clock.stamp()
    name = f"{re.sub('[:.]', '-', started)}_{session}.jsonl"
    path = home / ".pi/agent/sessions" / f"--{cwd.lstrip('/').replace('/', '-')}--" / name
    return _write_lines(path, _pi(session, cwd, turns, clock), clock)


def _pi(session: str, cwd: str, turns: list[Turn], clock: _Clock) -> Iterator[dict[str, Any]]:
    yield {"type": "session", "version": 3, "id": session, "timestamp": clock.stamp(), "cwd": cwd}
    parent: str | None = None
    count = 0

    def line(message: dict[str, Any]) -> dict[str, Any]:
        nonlocal parent, count
        count += 1
        name = f"{count:08x}"
        made = {
            "type": "message", "id": name, "parentId": parent, "timestamp": clock.stamp(),
            "message": message | {"timestamp": clock.now},
        }  # fmt: skip
        parent = name
        return made

    def answer(block: dict[str, Any], reason: str) -> dict[str, Any]:
        cost = {"input": 0.001, "output": 0.002, "cacheRead": 0, "cacheWrite": 0, "total": 0.003}
        usage = {
            "input": 900,
            "output": 200,
            "cacheRead": 40,
            "cacheWrite": 0,
            "totalTokens": 1140,
            "cost": cost,
        }
        return line(
            {
                "role": "assistant", "content": [block], "api": "anthropic-messages", "provider": "anthropic",
                "model": "claude-opus-4-6", "usage": usage, "stopReason": reason,
            }
        )  # fmt: skip

    for number, turn in enumerate(turns):
        yield line({"role": "user", "content": [{"type": "text", "text": turn.prompt}]})
        for place, call in enumerate(turn.calls):
            call_id = f"call_{number}_{place}"
            yield answer(
                {"type": "toolCall", "id": call_id, "name": "bash", "arguments": {"command": call.command}}, "toolUse"
            )  # fmt: skip
            text = {"type": "text", "text": call.output}
            yield line(
                {"role": "toolResult", "toolCallId": call_id, "toolName": "bash", "content": [text], "isError": False}
            )  # fmt: skip
        yield answer({"type": "text", "text": turn.answer}, "stop")


class _OpenCode:
    """The database of OpenCode."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True)
        self._database = sqlite3.connect(path)
        self._database.executescript(OPENCODE_TABLES)

    def __enter__(self) -> "_OpenCode":
        return self

    def __exit__(self, *_error: object) -> None:
        self._database.commit()
        self._database.close()

    def write(self, number: int, cwd: str, turns: list[Turn]) -> int:
        """Add a session. Returns the bytes of its messages and parts."""
        clock, session = _Clock(number), f"ses_{number:08x}"
        before = self._database.total_changes
        size = 0
        values = (session, None, "x", cwd, f"Session {number}", "1.18.33", None, clock.now, clock.now)
        self._database.execute("INSERT INTO session VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        for turn in turns:
            size += self._message(session, clock, {"role": "user"}, [{"type": "text", "text": turn.prompt}])
            parts: list[dict[str, Any]] = []
            for place, call in enumerate(turn.calls):
                state = {
                    "status": "completed", "input": {"command": call.command}, "output": call.output,
                    "title": call.tool, "metadata": {"exit": 0}, "time": {"start": clock.now, "end": clock.now + 10},
                }  # fmt: skip
                parts.append({"type": "tool", "callID": f"call_{place}", "tool": "bash", "state": state})
            parts.append({"type": "text", "text": turn.answer})
            about = {
                "role": "assistant", "modelID": "gpt-5.5", "providerID": "openai", "cost": 0.01, "finish": "stop",
                "tokens": {"input": 900, "output": 200, "reasoning": 0, "cache": {"read": 40, "write": 0}},
            }  # fmt: skip
            size += self._message(session, clock, about, parts)
        events = self._database.total_changes - before
        self._database.execute("INSERT INTO event_sequence VALUES(?, ?)", (session, events))
        self._database.execute("UPDATE session SET time_updated = ? WHERE id = ?", (clock.now, session))
        return size

    def _message(
        self, session: str, clock: _Clock, about: dict[str, Any], parts: list[dict[str, Any]]
    ) -> int:
        clock.stamp()
        name = f"msg_{clock.now:012x}_{session[4:]}"
        data = msgspec.json.encode(
            about | {"time": {"created": clock.now, "completed": clock.now + 1}}
        ).decode()
        self._database.execute(
            "INSERT INTO message VALUES(?, ?, ?, ?, ?)", (name, session, clock.now, clock.now, data)
        )
        size = len(data)
        for place, part in enumerate(parts):
            encoded = msgspec.json.encode(part).decode()
            row = (f"prt_{name[4:]}_{place:04}", name, session, clock.now, clock.now, encoded)
            self._database.execute("INSERT INTO part VALUES(?, ?, ?, ?, ?, ?)", row)
            size += len(encoded)
        return size
