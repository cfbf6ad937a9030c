"""Export as a transcript for people: Markdown in which everything that was said stands in a fence.

A fence is longer than any run of its character in what it holds, so nothing that was said can end it, be taken
for a heading, or become HTML. The rest is one line each, escaped.
"""

import re
from typing import Any, Final

from sessiond.session import preview
from sessiond.session.dialects import fields
from sessiond.session.dialects.exported import Losses, Whole, payload_of, type_of

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>()#+\-.!|~&])")
_LINE: Final = 200
_HIDDEN: Final = frozenset(("label", "leaf", "custom", "session_info", "title_change"))


def to_markdown(whole: Whole, losses: Losses) -> bytes:
    """The path to the leaf, as a transcript."""
    path = whole.on_path()
    labels: dict[str, str] = {}
    for entry in whole.entries:
        if type_of(entry) == "label":
            labels[fields.as_text(entry.get("targetId"))] = fields.as_text(entry.get("label"))
    parts = [f"# {_inline(whole.title or 'Session ' + whole.session_id)}", _facts(whole)]
    for entry in path:
        if type_of(entry) in _HIDDEN:
            losses.lose(f"{type_of(entry)} entry")
            continue
        parts += _entry(entry, labels, losses)
    off_path = len(whole.entries) - len(path)
    if off_path:
        losses.lost["entry off the path"] = off_path
    return ("\n\n".join(parts) + "\n").encode("utf-8", "replace")


def _facts(whole: Whole) -> str:
    facts = {
        "Session": whole.session_id, "Folder": whole.cwd, "Began": whole.timestamp,
        "Tags": ", ".join(whole.tags), "From": whole.parent_session or "",
    }  # fmt: skip
    return "\n".join(f"- {name}: {_inline(value)}" for name, value in facts.items() if value)


def _entry(entry: dict[str, Any], labels: dict[str, str], losses: Losses) -> list[str]:
    message = fields.mapping(entry.get("message"))
    about = [_inline(fields.as_text(entry.get("timestamp")))]
    if model := fields.text(message.get("model")):
        about.append(_inline(model))
    if label := labels.get(fields.as_text(entry.get("id"))):
        about.append(f"label: {_inline(label)}")
    if type_of(entry) == "message":
        heading, body = _said(message)
    else:
        heading, body = type_of(entry).replace("_", " ").capitalize() or "Entry", _other(entry)
    return [f"## {_inline(heading)}", " · ".join(filter(None, about)), *body]


def _said(message: dict[str, Any]) -> tuple[str, list[str]]:
    role = fields.as_text(message.get("role")) or "message"
    match role:
        case "toolResult":
            failed = " (error)" if message.get("isError") is True else ""
            return f"Result of {fields.as_text(message.get('toolName'))}{failed}", _content(
                message.get("content")
            )
        case "bashExecution":
            return "Command", [
                _fence(f"$ {fields.as_text(message.get('command'))}\n{fields.as_text(message.get('output'))}")
            ]
        case "branchSummary" | "compactionSummary":
            return "Summary", [_fence(fields.as_text(message.get("summary")))]
        case "user" | "assistant" | "system" | "developer" | "custom":
            return role.capitalize(), _content(message.get("content"))
    return role, [_fence(fields.dumps(fields.without(message, "role")).decode(), "json")]


def _other(entry: dict[str, Any]) -> list[str]:
    match type_of(entry):
        case "custom_message":
            return _content(entry.get("content"))
        case "compaction" | "branch_summary":
            return [_fence(fields.as_text(entry.get("summary")))]
    text = preview.text_of(entry)
    return [_fence(text)] if text else [_fence(fields.dumps(payload_of(entry)).decode(), "json")]


def _content(content: Any) -> list[str]:
    if isinstance(content, str):
        return [_fence(content)]
    return [part for block in fields.items(content) for part in _block(block)] or ["_Nothing._"]


def _block(block: Any) -> list[str]:
    block = {"type": "text", "text": block} if isinstance(block, str) else fields.mapping(block)
    match block.get("type"):
        case "text":
            return [_fence(fields.as_text(block.get("text")))]
        case "thinking":
            words = fields.text(block.get("thinking"))
            return [] if words is None else ["Thinking:", _fence(words)]
        case "toolCall":
            call = fields.dumps(fields.mapping(block.get("arguments"))).decode()
            return [f"Call of {_inline(fields.as_text(block.get('name')))}:", _fence(call, "json")]
        case "image":
            return [f"Image ({_inline(fields.as_text(block.get('mimeType')) or 'of unknown type')})."]
    return [f"Block of type {_inline(fields.as_text(block.get('type')))}."]


def _fence(text: str, language: str = "text") -> str:
    """Text in a fence that it cannot end. A carriage return ends a line in Markdown, so it is made one."""
    text = re.sub(r"\r\n?", "\n", text).rstrip("\n")
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _inline(text: str) -> str:
    """One line of text that means nothing to Markdown."""
    return _SPECIAL.sub(r"\\\1", preview.one_line(text, _LINE))
