"""Every text that a person or a model wrote in a recorded file is found by a search (decision 0041).

The texts are extracted here by walking the lines of a file, without any code of its reader. Left out are reasoning,
which is not searched, texts that a program inserted, and NOVA, whose file has a state and no conversation.
"""

import json  # noqa: TID251 - files of other programs are read as they write them
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sessiond.agents import known
from support.daemons import running
from support.dialect_files import DATA
from support.dialects import samples

OLD = 1_700_000_000
RECORDED = DATA.parent / "agents"
FILES = [
    *(it for it in sorted(DATA.glob("*.jsonl"))),
    *(it for it in sorted(DATA.glob("cline*.json"))),
    *(it for it in sorted(RECORDED.glob("*.jsonl"))),
    *(it for it in samples().values()),
]
_INSERTED = re.compile(
    r"\s*(<|# AGENTS\.md|Caveat: The messages below were generated|.*\(a text of the program\))"
)


def strings(value: object) -> Iterator[str]:
    """Every string in a value, at any depth, without reasoning and identifiers."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for it in value:
            yield from strings(it)
    elif (
        isinstance(value, dict)
        and value.get("type") not in ("thinking", "image")
        and not value.get("thought")
    ):
        for name, it in value.items():
            if name not in _NO_TEXT and not (name == "type" and isinstance(it, str)):
                yield from strings(it)


_NO_TEXT = {
    "id", "name", "call_id", "tool_use_id", "toolCallId", "signature", "data", "mimeType", "timestamp", "thought",
    "thinking", "redactedThinking", "is_error", "isError", "source", "inlineData", "image_url", "functionResponse",
    "namespace", "encrypted_content",
}  # fmt: skip


def claude(line: dict[str, Any]) -> Iterator[str]:
    type, message = line.get("type"), line.get("message")
    message = message if isinstance(message, dict) else {}
    attachment = line.get("attachment") or {}
    if type in ("user", "assistant") and not line.get("isMeta"):
        blocks = message.get("content") or []
        blocks = [blocks] if isinstance(blocks, str) else blocks
        for block in blocks:
            is_result = isinstance(block, dict) and block.get("type") == "tool_result"
            yield from () if is_result else strings(block)
    if attachment.get("type") == "queued_command":
        yield from strings(attachment.get("prompt"))
    if attachment.get("type") == "file":
        yield from strings(((attachment.get("content") or {}).get("file") or {}).get("content"))
    if type == "queue-operation":
        yield from strings(line.get("content"))
    yield from (line[it] for it in ("customTitle", "agentName", "aiTitle") if isinstance(line.get(it), str))


def codex(line: dict[str, Any]) -> Iterator[str]:
    payload = line.get("payload") or {}
    type = payload.get("type")
    if (
        line.get("type") == "response_item"
        and type == "message"
        and payload.get("role") in ("user", "assistant")
    ):
        yield from strings(payload.get("content"))
    if type in ("function_call", "custom_tool_call"):
        yield from strings(json.loads(payload["arguments"]) if "arguments" in payload else payload["input"])
    if type in ("user_message", "agent_message"):
        yield from strings(payload.get("message"))
    if type == "item_completed" and payload["item"]["type"] in ("UserMessage", "AgentMessage"):
        yield from (it["text"] for it in payload["item"]["content"])
    if line.get("type") == "compacted":
        yield from strings(payload.get("message"))
        for it in payload.get("replacement_history") or []:
            yield from strings(it.get("content")) if it.get("role") == "user" else ()
    if type == "thread_name_updated":
        yield from strings(payload.get("thread_name"))


def gemini(line: dict[str, Any]) -> Iterator[str]:
    for it in [line, *((line.get("$set") or {}).get("messages") or [])]:
        if it.get("type") in ("user", "gemini"):
            yield from strings(it.get("content"))
            yield from strings([call.get("args") for call in it.get("toolCalls") or []])
    yield from strings((line.get("$set") or {}).get("summary"))


def qwen(line: dict[str, Any]) -> Iterator[str]:
    payload = line.get("systemPayload") or {}
    if line.get("type") in ("user", "assistant"):
        parts = (line.get("message") or {}).get("parts") or []
        yield from strings(parts)
    yield from strings(payload.get("customTitle"))


def copilot(line: dict[str, Any]) -> Iterator[str]:
    data = line["data"]
    if line["type"] in ("user.message", "assistant.message"):
        yield from strings(data.get("content"))
        yield from strings([call.get("arguments") for call in data.get("toolRequests") or []])
    yield from strings(data.get("summaryContent"))


def cline(line: Any) -> Iterator[str]:
    for it in line["messages"] if isinstance(line, dict) else line:
        blocks = it["content"]
        for block in [{"text": blocks}] if isinstance(blocks, str) else blocks:
            if block.get("type") != "tool_result":
                text = str(block.get("text", "")).partition("<environment_details>")[0]
                yield from () if text.startswith("[") else [text]  # what a tool returned
                yield from strings([block.get("input"), block.get("content")])


def cursor(line: dict[str, Any]) -> Iterator[str]:
    yield from strings([line.get("message")])


def entries(line: Any) -> Iterator[str]:
    """pi, pi format 4, Go and operator: entries with a message, a summary, a label or a title."""
    for it in line if isinstance(line, list) else [line]:
        message = it.get("message") or {}
        if isinstance(message, dict) and message.get("role") in ("user", "assistant"):
            yield from strings([message.get("content"), message.get("contents")])
        compaction = it.get("compaction") if isinstance(it.get("compaction"), dict) else it
        yield from strings(compaction.get("summary"))
        yield from strings([kept.get("content") for kept in it.get("retainedTail") or []])
        if it.get("namespace") == "pi.session.name":
            yield from strings(it.get("value"))
        if it.get("type") in ("session", "title"):
            yield from strings(it.get("title"))


WRITTEN = {
    "claude-code": claude, "codex": codex, "gemini": gemini, "qwen": qwen, "go": entries, "operator": entries,
    "pi": entries, "pi4": entries, "copilot": copilot,
    "cline": cline, "cursor": cursor,
}  # fmt: skip


def objects(data: bytes) -> Iterator[Any]:
    if data.startswith(b"{\n"):  # one object on many lines
        yield json.loads(data)
        return
    for line in data.split(b"\n"):
        try:
            value = json.loads(line.decode("utf-8-sig"))
        except ValueError:
            continue
        if isinstance(value, dict) or (isinstance(value, list) and value and isinstance(value[0], dict)):
            yield value


def texts_in(data: bytes) -> set[str]:
    """The texts that people and models wrote."""
    written = WRITTEN[known.detect(data) or ""]
    found = (text for line in objects(data) for text in written(line))
    return {it.strip() for it in found if re.search(r"\w", it) and not _INSERTED.match(it)}


def phrase_of(text: str) -> str:
    """The beginning of a text as a phrase of a query."""
    return '"' + " ".join(re.findall(r"[^\W_]+", text)[:8]) + '"'


def test_every_dialect_with_a_conversation_has_its_texts_counted() -> None:
    assert {known.detect(it.read_bytes()) for it in FILES} == set(WRITTEN)
    assert set(WRITTEN) | {"nova", "opencode"} >= set(known.DIALECTS)


@pytest.mark.parametrize("file", FILES, ids=lambda it: it.name[:50])
async def test_every_text_that_was_written_is_found(tmp_path: Path, file: Path) -> None:
    source = tmp_path / file.name
    source.write_bytes(file.read_bytes())
    os.utime(source, (OLD, OLD))
    texts = texts_in(file.read_bytes())
    missing = []
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        [session] = (await peer.call("session/import", path=str(source)))["sessions"]
        for text in sorted(texts):
            answer = await peer.call("session/search", query=phrase_of(text), limit=100)
            if session["sessionId"] not in {hit["sessionId"] for hit in answer["hits"]}:
                missing.append(text)
    assert texts
    assert missing == []
