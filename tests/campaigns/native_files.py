"""Session files as agents write them, made at random. Each text has a word that no other text has.

The shapes are those of `tests/data/dialects`. None of the product's writers is used: a fault that a reader and a writer
share would not be found.
"""

import json  # noqa: TID251  (what is checked here must not be made with the product's own means)
import random
import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

Line = dict[str, Any]
START = 1_790_000_000
"""The time of the first record, in seconds."""


@dataclass(frozen=True)
class Record:
    """A line, the words in its texts, and the request to a model that it names, with the tokens of that request."""

    line: Line
    words: tuple[str, ...] = ()
    request: str = ""
    tokens: int = 0


@dataclass(frozen=True)
class NativeFile:
    """The session file of an agent.

    `path` is below the home of the user, `copy_path` another place where the agent keeps sessions, and `beside` has the
    texts of files that tell its folder. `id_name` and `parent_name` are the fields with the id of a line, and with
    that of the line before it; empty: the format has none. `unknown` is a line of an unknown type without these.
    A document has `head` before its records, which commas separate, and `end` behind them; both are empty for lines.
    """

    agent: str
    session_id: str
    cwd: str
    path: str
    copy_path: str
    records: list[Record]
    unknown: Line
    id_name: str = ""
    parent_name: str = ""
    beside: dict[str, str] = field(default_factory=dict)
    head: bytes = b""
    end: bytes = b""


class Pen:
    """Writes the records of one file."""

    def __init__(self, dice: random.Random, cwd: str) -> None:
        self.dice = dice
        self.cwd = cwd
        self.folder = re.sub("[^A-Za-z0-9]", "-", cwd)
        self.records: list[Record] = []
        self.call = ""
        self.last: str | None = None
        self.session_id = self.uuid()
        self.tokens = 0
        self._second = START + dice.randrange(100_000)

    def uuid(self) -> str:
        return str(uuid.UUID(int=self.dice.getrandbits(128), version=4))

    def text(self, word: str) -> str:
        return f"{word} " + "é words " * self.dice.choice((0, 3, 60))

    def seconds(self) -> int:
        self._second += self.dice.randrange(1, 9)
        return self._second

    def time(self) -> str:
        return _iso(self.seconds())

    def turns(self) -> Iterator[tuple[str, str]]:
        """Yield the steps of a conversation with their words: prompts, calls with their results, answers."""
        for _ in range(self.dice.choice((2, 5, 12))):
            calls = self.dice.choice((0, 0, 1, 2))
            for kind in ("user", *("call", "result") * calls, "assistant"):
                word = f"w{self.dice.getrandbits(64):016x}"
                if kind == "call":
                    self.call = f"call_{word}"
                yield kind, word

    def link(self) -> tuple[str, str | None]:
        """Return the id of the next line of a chain, and that of the line before it."""
        above, self.last = self.last, self.uuid()
        return self.last, above

    def put(self, line: Line, *words: str, request: str = "") -> None:
        """Add a record; with a request, its tokens are those of `spent`."""
        self.records.append(Record(line, words, request, self.tokens if request else 0))

    def spend(self) -> int:
        """Choose the tokens of the next request."""
        self.tokens = self.dice.randrange(1, 500)
        return self.tokens


def native_file(agent: str, dice: random.Random, cwd: str) -> NativeFile:
    """Make a session of an agent, one of `AGENTS`, in a folder."""
    return AGENTS[agent](Pen(dice, cwd))


def _claude_code(pen: Pen) -> NativeFile:
    base = {"isSidechain": False, "cwd": pen.cwd, "version": "2.1.332", "sessionId": pen.session_id}

    def linked(type: str, **fields: Any) -> Line:
        own, above = pen.link()
        return {"parentUuid": above, "type": type, "uuid": own, "timestamp": pen.time(), **base, **fields}

    for kind, word in pen.turns():
        if kind == "user":
            pen.put(linked("user", message={"role": "user", "content": pen.text(word)}), word)
        elif kind == "result":
            block = {"type": "tool_result", "tool_use_id": pen.call, "content": pen.text(word)}
            pen.put(linked("user", message={"role": "user", "content": [block]}), word)
        else:
            content: list[Line] = [{"type": "text", "text": pen.text(word)}]
            if kind == "call":
                content.append(
                    {"type": "tool_use", "id": pen.call, "name": "Bash", "input": {"command": "ls"}}
                )
            message = {
                "id": f"msg_{word}", "type": "message", "role": "assistant", "model": "claude-test-1",
                "content": content, "stop_reason": "tool_use" if kind == "call" else "end_turn",
                "usage": {"input_tokens": pen.spend(), "output_tokens": 0},
            }  # fmt: skip
            pen.put(linked("assistant", message=message), word, request=word)
        if kind == "assistant":
            if pen.dice.random() < 0.5:
                prompt = "x" * pen.dice.choice((9, 120_000))
                pen.put(
                    linked("attachment", attachment={"type": "prompt_snapshot", "systemPrompt": [prompt]})
                )
            pen.put(
                {"type": "last-prompt", "lastPrompt": "…", "leafUuid": pen.last, "sessionId": pen.session_id}
            )
    folder, name = f".claude/projects/{pen.folder}", f"{pen.session_id}.jsonl"
    return NativeFile(
        "claude-code", pen.session_id, pen.cwd, f"{folder}/{name}", f"{folder}-moved/{name}", pen.records,
        {"type": "from_the_future", "timestamp": pen.time(), **base}, "uuid", "parentUuid",
    )  # fmt: skip


def _codex(pen: Pen) -> NativeFile:
    def item(type: str, payload: Line) -> Line:
        return {"timestamp": pen.time(), "type": type, "payload": payload}

    pen.put(item("session_meta", {
        "id": pen.session_id, "timestamp": _iso(START), "cwd": pen.cwd, "originator": "codex_cli_rs", "source": "cli",
        "cli_version": "0.171.0", "model_provider": "openai",
    }))  # fmt: skip
    pen.put(item("turn_context", {"cwd": pen.cwd, "model": "gpt-test-codex"}))
    total = 0
    for kind, word in pen.turns():
        if kind == "result":
            output = {"type": "function_call_output", "call_id": pen.call, "output": pen.text(word)}
            pen.put(item("response_item", output), word)
            continue
        role, block = ("user", "input_text") if kind == "user" else ("assistant", "output_text")
        message = {"type": "message", "role": role, "content": [{"type": block, "text": pen.text(word)}]}
        pen.put(item("response_item", message), word)
        if kind == "call":
            call = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": pen.call}
            pen.put(item("response_item", call))
        if kind != "user":
            total += pen.spend()
            record = {
                "thread_id": pen.session_id, "response_id": f"resp_{word}", "usage": _codex_tokens(pen.tokens),
                "thread_token_usage": _codex_tokens(total),
            }  # fmt: skip
            pen.put(item("token_usage_record", record), request=word)
    month, name = ".codex/sessions/2026/09", f"rollout-2026-09-21T10-00-00-{pen.session_id}.jsonl"
    return NativeFile(
        "codex", pen.session_id, pen.cwd, f"{month}/21/{name}", f"{month}/22/{name}", pen.records,
        item("from_the_future", {"x": pen.uuid()}),
    )  # fmt: skip


def _codex_tokens(count: int) -> Line:
    return {"input_tokens": count, "cached_input_tokens": 0, "output_tokens": 0, "total_tokens": count}


def _gemini(pen: Pen) -> NativeFile:
    pen.put({"sessionId": pen.session_id, "projectHash": "0f", "startTime": _iso(START), "kind": "main"})
    said = ""
    answer: Line = {}
    for kind, word in pen.turns():
        if kind == "result":  # the message is written again, with its call and the result
            response = {
                "functionResponse": {"id": pen.call, "name": "ls", "response": {"output": pen.text(word)}}
            }
            call = {"id": pen.call, "name": "ls", "args": {}, "status": "success", "result": [response]}
            pen.put({**answer, "toolCalls": [call]}, said, word, request=said)
            continue
        line = {"id": pen.uuid(), "timestamp": pen.time()}
        if kind == "user":
            pen.put({**line, "type": "user", "content": [{"text": pen.text(word)}]}, word)
            continue
        said, tokens = word, pen.spend()
        counts = {"input": tokens, "output": 0, "cached": 0, "thoughts": 0, "tool": 0, "total": tokens}
        answer = {
            **line,
            "type": "gemini",
            "content": pen.text(word),
            "model": "gemini-test",
            "tokens": counts,
        }
        pen.put(answer, word, request=word)
    project = f".gemini/tmp/{pen.folder.lower()}"
    name = f"{pen.session_id[:8]}.jsonl"
    return NativeFile(
        "gemini", pen.session_id, pen.cwd, f"{project}/chats/session-2026-09-21T10-00-{name}",
        f"{project}/chats/session-2026-09-22T10-00-{name}", pen.records, {"$fromTheFuture": {"x": pen.uuid()}}, "id",
        beside={f"{project}/.project_root": pen.cwd},
    )  # fmt: skip


def _qwen(pen: Pen) -> NativeFile:
    base = {"sessionId": pen.session_id, "cwd": pen.cwd, "version": "0.24.4"}

    def linked(type: str, role: str, *parts: Line, **fields: Any) -> Line:
        own, above = pen.link()
        message = {"role": role, "parts": list(parts)}
        return {
            "uuid": own,
            "parentUuid": above,
            "timestamp": pen.time(),
            "type": type,
            "message": message,
            **base,
            **fields,
        }

    for kind, word in pen.turns():
        text = {"text": pen.text(word)}
        if kind == "user":
            pen.put(linked("user", "user", text), word)
        elif kind == "result":
            response = {
                "functionResponse": {"id": pen.call, "name": "ls", "response": {"output": pen.text(word)}}
            }
            pen.put(linked("tool_result", "user", response), word)
        else:
            tokens = pen.spend()
            spent = {"promptTokenCount": tokens, "candidatesTokenCount": 0, "totalTokenCount": tokens}
            calls = [{"functionCall": {"id": pen.call, "name": "ls", "args": {}}}] if kind == "call" else []
            line = linked("assistant", "model", text, *calls, model="qwen-test", usageMetadata=spent)
            pen.put(line, word, request=word)
    folder, name = f".qwen/projects/{pen.folder}", f"chats/{pen.session_id}.jsonl"
    return NativeFile(
        "qwen", pen.session_id, pen.cwd, f"{folder}/{name}", f"{folder}-moved/{name}", pen.records,
        {"type": "from_the_future", "timestamp": pen.time(), **base}, "uuid", "parentUuid",
    )  # fmt: skip


def _copilot(pen: Pen) -> NativeFile:
    def linked(type: str, **data: Any) -> Line:
        own, above = pen.link()
        return {"type": type, "data": data, "id": own, "timestamp": pen.time(), "parentId": above}

    start = {"producer": "copilot-agent", "copilotVersion": "1.0.102", "context": {"cwd": pen.cwd}}
    pen.put(linked("session.start", sessionId=pen.session_id, version=1, startTime=_iso(START), **start))
    for number, (kind, word) in enumerate(pen.turns(), 1):
        if kind == "user":
            pen.put(linked("user.message", content=pen.text(word)), word)
        elif kind == "result":
            result = {"content": pen.text(word)}
            pen.put(linked("tool.execution_complete", toolCallId=pen.call, success=True, result=result), word)
        else:
            asked = (
                [{"toolCallId": pen.call, "name": "bash", "arguments": {"command": "ls"}}]
                if kind == "call"
                else []
            )
            message = linked(
                "assistant.message", messageId=f"m{number}", content=pen.text(word), toolRequests=asked
            )
            pen.put(message, word)
            usage = {
                "model": "model-a", "inputTokens": pen.spend(), "outputTokens": 0, "cacheReadTokens": 0,
                "cacheWriteTokens": 0, "cost": 0.0, "initiator": "user", "apiCallId": f"api_{word}",
                "accounting": {"sourceSessionId": pen.session_id, "sequence": number, "usageId": f"api_{word}"},
            }  # fmt: skip
            pen.put(linked("session.usage_record", usage=usage), request=word)
    place = f".copilot/session-state/{pen.session_id}"
    return NativeFile(
        "copilot", pen.session_id, pen.cwd, f"{place}/events.jsonl", f"{place}.jsonl", pen.records,
        {"type": "from.the_future", "data": {}, "timestamp": pen.time()}, "id", "parentId",
    )  # fmt: skip


def _cursor(pen: Pen) -> NativeFile:
    for kind, word in pen.turns():
        if kind == "user":
            content: list[Line] = [{"type": "text", "text": f"<user_query>\n{pen.text(word)}\n</user_query>"}]
            pen.put({"role": "user", "message": {"content": content}}, word)
        elif kind != "result":  # Cursor writes no results
            call = {"type": "tool_use", "name": "Shell", "input": {"command": "ls"}}
            content = [{"type": "text", "text": pen.text(word)}, *([call] if kind == "call" else [])]
            pen.put({"role": "assistant", "message": {"content": content}}, word)
    folder, name = (
        f".cursor/projects/{pen.folder.strip('-')}",
        f"agent-transcripts/{pen.session_id}/{pen.session_id}.jsonl",
    )
    trusted = json.dumps({"workspacePath": pen.cwd})
    return NativeFile(
        "cursor", pen.session_id, pen.cwd, f"{folder}/{name}", f"{folder}-moved/{name}", pen.records,
        {"type": "from_the_future", "x": pen.uuid()},
        beside={f"{text}/.workspace-trusted": trusted for text in (folder, f"{folder}-moved")},
    )  # fmt: skip


def _pi(pen: Pen) -> NativeFile:
    pen.put({"type": "session", "version": 3, "id": pen.session_id, "timestamp": _iso(START), "cwd": pen.cwd})
    for kind, word in pen.turns():
        at = pen.seconds()
        text: Line = {"type": "text", "text": pen.text(word)}
        if kind == "user":
            message: Line = {"role": "user", "content": [text]}
        elif kind == "result":
            message = {
                "role": "toolResult",
                "toolCallId": pen.call,
                "toolName": "bash",
                "content": [text],
                "isError": False,
            }
        else:
            call = {"type": "toolCall", "id": pen.call, "name": "bash", "arguments": {}}
            none = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0)
            usage = {
                "input": pen.spend(),
                "output": 0,
                "cacheRead": 0,
                "cacheWrite": 0,
                "totalTokens": pen.tokens,
            }
            message = {
                "role": "assistant", "content": [text, *([call] if kind == "call" else [])], "provider": "acme",
                "model": "one", "api": "openai-completions", "stopReason": "toolUse" if kind == "call" else "stop",
                "usage": {**usage, "cost": none},
            }  # fmt: skip
        own, above = pen.link()
        line = {"type": "message", "id": own, "parentId": above, "timestamp": _iso(at)}
        request = word if kind in ("call", "assistant") else ""
        pen.put({**line, "message": {**message, "timestamp": at * 1000}}, word, request=request)
    folder, name = f".pi/agent/sessions/-{pen.folder}--", f"2026-09-21T10-00-00-000Z_{pen.session_id}.jsonl"
    return NativeFile(
        "pi", pen.session_id, pen.cwd, f"{folder}/{name}", f"{folder}moved--/{name}", pen.records,
        {"type": "from_the_future", "timestamp": pen.time()}, "id", "parentId",
    )  # fmt: skip


def _cline(pen: Pen) -> NativeFile:
    for number, (kind, word) in enumerate(pen.turns()):
        line: Line = {"id": f"msg_{number}_{pen.uuid()[:8]}", "ts": pen.seconds() * 1000}
        text: Line = {"type": "text", "text": pen.text(word)}
        if kind == "user":
            text["text"] = f'<user_input mode="act">{text["text"]}</user_input>'
            pen.put({**line, "role": "user", "content": [text]}, word)
        elif kind == "result":
            result = {
                "type": "tool_result",
                "tool_use_id": pen.call,
                "name": "run_commands",
                "content": [text],
            }
            pen.put({**line, "role": "user", "content": [result]}, word)
        else:
            call = {"type": "tool_use", "id": pen.call, "name": "run_commands", "input": {"commands": ["ls"]}}
            spoken = {"role": "assistant", "content": [text, *([call] if kind == "call" else [])]}
            model = {"id": "model-a", "provider": "anthropic", "family": "model"}
            metrics = {"inputTokens": pen.spend(), "outputTokens": 0}
            pen.put({**line, **spoken, "modelInfo": model, "metrics": metrics}, word, request=word)
    name, folder = f"{START}000_{pen.session_id[:5]}", ".cline/data/sessions"
    file = f"{name}.messages.json"
    manifest = json.dumps({"version": 1, "session_id": name, "cwd": pen.cwd, "metadata": {"title": "Herons"}})
    head = {"version": 1, "updated_at": _iso(START), "agent": "lead", "sessionId": name}
    return NativeFile(
        "cline", name, pen.cwd, f"{folder}/{name}/{file}", f"{folder}/copy of {name}/{file}",
        pen.records, {"id": pen.uuid(), "role": "narrator", "content": [], "ts": pen.seconds() * 1000}, "id",
        beside={f"{folder}/{part}/{name}.json": manifest for part in (name, f"copy of {name}")},
        head=json.dumps(head).encode()[:-1] + b', "messages": [', end=b"]}",
    )  # fmt: skip


def _iso(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


AGENTS: dict[str, Callable[[Pen], NativeFile]] = {
    "claude-code": _claude_code, "codex": _codex, "gemini": _gemini, "qwen": _qwen, "copilot": _copilot,
    "cursor": _cursor, "pi": _pi, "cline": _cline,
}  # fmt: skip
"""The agents whose sessions are files: lines, or one document."""
