"""Converts the items of a Codex rollout to messages. One item becomes one entry.

`encrypted_content` is stored beside the message, marked as unusable for other providers (decision 0023).
"""

import re
from collections.abc import Container
from dataclasses import dataclass
from typing import Any, Final

from sessiond.session.content import fields, typed_words
from sessiond.session.dialects.messages import image_of, timed

NAME: Final = "codex"
_ELEMENT: Final = re.compile(r"<([a-z][a-z_-]*)(?: [^<>]*)?>.*</\1>", re.DOTALL)
_CALLS: Final = {
    "function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action",
    "web_search_call": "action", "tool_search_call": "arguments",
}  # fmt: skip
"""The items that call a tool, and the field with the arguments of the call."""
_BARE: Final = frozenset((
    "message", "reasoning", "function_call", "function_call_output", "custom_tool_call",
    "custom_tool_call_output", "local_shell_call", "web_search_call", "compaction", "compaction_summary",
    "context_compaction", "image_generation_call", "tool_search_call",
))  # fmt: skip
"""Items that had a line of their own before Codex introduced the envelope."""
_OUTPUTS: Final = frozenset((
    "function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output",
    "tool_search_call_output", "mcp_tool_call_output",
))  # fmt: skip

_HEAD: Final = re.compile(
    r"(?:(?:Chunk ID|Wall time|Original token count|Total output lines)\b[^\n]*\n)*"
    r"(?:(?:Process exited with code|Exit code:) (-?[0-9]{1,12})|Script failed)\s*(?:\n|$)"
)
"""The lines before the output of a command or a script."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """The provider and model of an answer, from `session_meta` and the last `turn_context`."""

    provider: str
    model: str


@dataclass(frozen=True, slots=True)
class Item:
    """An entry type and payload made of an item. `kind` is its name in the import report."""

    kind: str
    type: str
    payload: dict[str, Any]
    is_user_turn: bool = False


def item_of(
    value: dict[str, Any], *, at: str, speaker: Speaker, tools: dict[str, str], fallback_id: str,
    typed: Container[str] = (),
) -> Item | None:  # fmt: skip
    """Return the entry for a response item, or None if it has no counterpart.

    Args:
        value: The item.
        at: The time of the line (ISO 8601).
        speaker: The provider and model of the answer.
        tools: Tool names by call id. Calls are added.
        fallback_id: The call id for a call without one.
        typed: Texts that events report as typed by the user.
    """
    type = fields.text(value.get("type"))
    if type == "message":
        return _message(value, at, speaker, typed)
    if type == "reasoning":
        return _reasoning(value, at, speaker)
    if type in _CALLS:
        return _call(value, at, speaker, tools, fallback_id)
    if type in _OUTPUTS:
        return _output(value, at, tools)
    return None


def unwrapped(value: dict[str, Any]) -> dict[str, Any] | None:
    """Return the response item of a line, with or without an envelope, or None."""
    if value.get("type") == "response_item" and isinstance(value.get("payload"), dict):
        return fields.mapping(value["payload"])
    return value if fields.text(value.get("type")) in _BARE and "payload" not in value else None


def said(role: str, text: str, *, at: str, speaker: Speaker) -> dict[str, Any]:
    """Return a message of a user or assistant with one text."""
    content = [{"type": "text", "text": text}]
    if role == "user":
        return timed({"role": "user", "content": content}, at)
    return _assistant(content, at, speaker, "stop")


def key_of(value: dict[str, Any]) -> str:
    """Return what distinguishes an item from others of the same time. A migration of the rollout keeps it."""
    call_id = fields.text(value.get("call_id"))
    parts = [part for name in ("summary", "content") for part in fields.items(value.get(name))]
    text = text_of(value) or "\n".join(fields.as_text(fields.mapping(part).get("text")) for part in parts)
    return "\0".join((fields.as_text(value.get("type")), fields.as_text(value.get("role")), call_id or text))


def text_of(value: dict[str, Any]) -> str:
    """Return the text of a message item."""
    return "\n".join(
        text
        for block in _blocks(value.get("content"))
        if (text := fields.text(block.get("text"))) is not None
    )


def is_typed(value: dict[str, Any], typed: Container[str] = ()) -> bool:
    """Return whether the user wrote a user message, and not Codex.

    Codex 0.169 names the origin of each part. Of older versions, text that consists of one XML element counts as
    written by Codex, unless it is in `typed`.
    """
    text = text_of(value).strip()
    if value.get("role") != "user":
        return False
    origins = fields.mapping(value.get("internal_chat_message_metadata_passthrough")).get(
        "content_item_kinds"
    )
    known = [origin for origin in fields.items(origins) if isinstance(origin, str) and origin != "unknown"]
    if known:
        return any(name.startswith("user.") for name in known)
    if typed_words.is_added(_blocks(value.get("content"))):
        return False
    return text in typed or _ELEMENT.fullmatch(text) is None


def _message(value: dict[str, Any], at: str, speaker: Speaker, typed: Container[str]) -> Item | None:
    content = value.get("content")
    if not isinstance(content, list | str):
        return None
    rest = _foreign(value, "type", "role", "content")
    match value.get("role"):
        case "assistant":
            message = _assistant(_blocks(content), at, speaker, "stop")
            return Item("assistant", "message", {"message": message, **rest})
        case "user" if is_typed(value, typed):
            message = timed({"role": "user", "content": _blocks(content)}, at)
            return Item("user", "message", {"message": message, **rest}, is_user_turn=True)
        case "user" | "developer" | "system" as role:
            kind = "injected" if role == "user" else role
            payload = {"customType": f"{NAME}.{kind}", "content": _blocks(content), "display": False}
            return Item(kind, "custom_message", {**payload, **rest})
    return None


def _reasoning(value: dict[str, Any], at: str, speaker: Speaker) -> Item:
    words = [fields.text(fields.mapping(part).get("text")) for part in fields.items(value.get("summary"))]
    if not any(words):
        words = [fields.text(fields.mapping(part).get("text")) for part in fields.items(value.get("content"))]
    thinking = {"type": "thinking", "thinking": "\n\n".join(filter(None, words))}
    rest = _foreign(value, "type", "summary", "content")
    if value.get("encrypted_content") is not None:
        rest["foreign"]["portable"] = False
    return Item("reasoning", "message", {"message": _assistant([thinking], at, speaker, "stop"), **rest})


def _call(value: dict[str, Any], at: str, speaker: Speaker, tools: dict[str, str], fallback_id: str) -> Item:
    type = fields.as_text(value.get("type"))
    given = value.get(_CALLS[type])
    name = fields.text(value.get("name")) or type.removesuffix("_call")
    if (namespace := fields.text(value.get("namespace"))) is not None:
        name = f"{namespace}.{name}"
    call_id = fields.text(value.get("call_id")) or fields.text(value.get("id")) or fallback_id
    tools[call_id] = name
    block = {"type": "toolCall", "id": call_id, "name": name, "arguments": fields.arguments(given)}
    rest = _foreign(value, "type", "name", "call_id", _CALLS[type])
    rest.setdefault("foreign", {})["type"] = type
    return Item("tool call", "message", {"message": _assistant([block], at, speaker, "toolUse"), **rest})


def _output(value: dict[str, Any], at: str, tools: dict[str, str]) -> Item:
    call_id = fields.text(value.get("call_id")) or ""
    given = fields.first(value, "output", "tools", "result")
    failed, content = _result(given)
    message = {
        "role": "toolResult", "toolCallId": call_id, "toolName": tools.get(call_id, "unknown"),
        "content": content, "isError": failed or value.get("success") is False,
    }  # fmt: skip
    rest = _foreign(value, "type", "call_id", "output", "success")
    return Item("tool result", "message", {"message": timed(message, at), **rest})


def _result(given: Any) -> tuple[bool, list[dict[str, Any]]]:
    """Return whether a tool failed, and its output as blocks. Older versions wrapped both into JSON."""
    if isinstance(given, list):
        content = _blocks(given)
        return _has_failed(fields.as_text(content[0].get("text")) if content else ""), content
    wrapped = given if isinstance(given, dict) else _unwrapped(given)
    if wrapped is None:
        text = fields.as_text(given)
        return _has_failed(text), [{"type": "text", "text": text}]
    code = fields.first(fields.mapping(wrapped.get("metadata")), "exit_code")
    if code is None:
        code = wrapped.get("exit_code")
    failed = wrapped.get("success") is False or (isinstance(code, int) and code != 0)
    content = fields.first(wrapped, "output", "content")
    if isinstance(content, list):
        inner_failed, inner = _result(content)
        return failed or inner_failed, inner
    text = fields.as_text(wrapped if content is None else content)
    return failed or _has_failed(text), [{"type": "text", "text": text}]


def _has_failed(text: str) -> bool:
    """Return whether the head of an output, which Codex writes before it, says that the command failed."""
    head = _HEAD.match(text)
    return head is not None and (head[1] is None or int(head[1]) != 0)


def _unwrapped(given: Any) -> dict[str, Any] | None:
    found = fields.arguments(given) if isinstance(given, str) and given.startswith("{") else {}
    is_wrapped = isinstance(found.get("output"), str) and isinstance(found.get("metadata"), dict)
    return found if is_wrapped else None


def _assistant(content: list[dict[str, Any]], at: str, speaker: Speaker, stop: str) -> dict[str, Any]:
    message = {
        "role": "assistant", "content": content, "api": "openai-responses", "provider": speaker.provider,
        "model": speaker.model, "stopReason": stop,
    }  # fmt: skip
    return timed(message, at)


def _blocks(content: Any) -> list[dict[str, Any]]:
    found = [content] if isinstance(content, str) else fields.items(content)
    return [_block(block) for block in found if isinstance(block, dict | str)]


def _block(block: dict[str, Any] | str) -> dict[str, Any]:
    if isinstance(block, str):
        return {"type": "text", "text": block}
    if block.get("type") in ("input_text", "output_text", "text") and isinstance(block.get("text"), str):
        return {"type": "text", "text": block["text"], **fields.without(block, "type", "text")}
    image = image_of(fields.as_text(block.get("image_url"))) if block.get("type") == "input_image" else None
    if image is not None:
        return {**image, **fields.without(block, "type", "image_url")}
    return block


def _foreign(value: dict[str, Any], *taken: str) -> dict[str, Any]:
    rest = {name: value for name, value in fields.without(value, *taken).items() if value is not None}
    return {"foreign": rest} if rest else {}
