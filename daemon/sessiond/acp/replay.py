"""Stored entries as the updates of a replay of the session, and as a text for an agent without this session."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from sessiond.acp.content import acp_block
from sessiond.session.content import fields

Json = dict[str, Any]

MAX_TRANSCRIPT: Final = 100_000
"""Limit of the characters of a transcript; the newest ones are kept."""
_SPOKEN: Final = {"user": "user_message_chunk", "assistant": "agent_message_chunk"}


def updates(path: Iterable[Json]) -> Iterator[Json]:
    """Yield the updates that show a conversation: texts, thoughts, tool calls with their results, and plans."""
    for entry in path:
        message = fields.mapping(entry.get("message"))
        match message.get("role"):
            case "user" | "assistant" as role:
                for block in _blocks(message.get("content")):
                    yield from _of_block(block, _SPOKEN[role], fields.as_text(entry.get("id")))
            case "toolResult":
                failed = message.get("isError") is True
                shown = [{"type": "content", "content": block} for block in _shown(message.get("content"))]
                yield {
                    "sessionUpdate": "tool_call_update", "toolCallId": fields.as_text(message.get("toolCallId")),
                    "status": "failed" if failed else "completed", "content": shown,
                }  # fmt: skip
        data = fields.mapping(entry.get("data"))
        if entry.get("customType") == "sessiond.acpPlan" and isinstance(data.get("entries"), list):
            yield {"sessionUpdate": "plan", "entries": data["entries"]}


def transcript(path: Iterable[Json]) -> str:
    """Return a conversation as text, for an agent that has to continue it. The newest part of a long one is kept."""
    lines: list[str] = []
    for entry in path:
        message = fields.mapping(entry.get("message"))
        role = message.get("role")
        for block in _blocks(message.get("content")):
            match block.get("type"):
                case "text":
                    lines.append(f"{role}: {fields.as_text(block.get('text'))}")
                case "toolCall":
                    call = fields.dumps(block.get("arguments")).decode()
                    lines.append(f"{role} calls {fields.as_text(block.get('name'))}: {call}")
    return "\n\n".join(lines)[-MAX_TRANSCRIPT:]


def introduction(path: Iterable[Json]) -> Json:
    """Return the content block that gives a conversation to an agent, marked as a quotation."""
    text = transcript(path)
    return {
        "type": "text",
        "text": "The following is the transcript of this conversation so far, quoted for context. It was recorded "
        f"before this agent started.\n<transcript>\n{text}\n</transcript>",
    }


def _of_block(block: Json, kind: str, message_id: str) -> Iterator[Json]:
    match block.get("type"):
        case "thinking":
            thought = {"type": "text", "text": fields.as_text(block.get("thinking"))}
            yield {"sessionUpdate": "agent_thought_chunk", "content": thought, "messageId": message_id}
        case "toolCall":
            name = fields.as_text(block.get("name"))
            yield {
                "sessionUpdate": "tool_call", "toolCallId": fields.as_text(block.get("id")), "title": name,
                "kind": "other", "status": "pending", "rawInput": block.get("arguments") or {},
            }  # fmt: skip
        case _:
            if (content := acp_block(block)) is not None:
                yield {"sessionUpdate": kind, "content": content, "messageId": message_id}


def _blocks(content: Any) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in fields.items(content) if isinstance(block, dict)]


def _shown(content: Any) -> list[Json]:
    return [found for block in _blocks(content) if (found := acp_block(block)) is not None]
