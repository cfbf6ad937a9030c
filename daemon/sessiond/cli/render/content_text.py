"""The text of entries and messages for people: the parts of the content, in short or in full."""

from __future__ import annotations

from sessiond.text import lines, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TITLES = {
    "model_change": "model",
    "thinking_level_change": "thinkingLevel",
    "label": "label",
    "session_info": "name",
    "leaf": "targetId",
    "mode_change": "mode",
    "compaction": "summary",
    "branch_summary": "summary",
    "custom": "customType",
}


def speaker(entry: dict[str, Any]) -> str:
    """Return the speaker of an entry: the role of a message, else the type of the entry."""
    message = entry.get("message")
    role = message.get("role") if isinstance(message, dict) else None
    return one_line(str(role or entry.get("type") or "?"))


def is_for_models_only(entry: dict[str, Any]) -> bool:
    """Return whether an extension hides the entry from people. It can still be shown by its id."""
    return entry.get("type") == "custom_message" and entry.get("display") is False


def in_short(entry: dict[str, Any]) -> str:
    """Return one line with the text of the entry."""
    if is_for_models_only(entry):
        return "(hidden)"
    message = entry.get("message")
    if isinstance(message, dict):
        return one_line(" ".join(parts(message)))
    if entry.get("content"):
        return one_line(" ".join(parts(entry)))
    return one_line(str(entry.get(_TITLES.get(str(entry.get("type")), ""), "") or ""))


def in_full(message: dict[str, Any]) -> list[str]:
    """Return all lines of a message."""
    return [line for part in parts(message) for line in lines(part)]


def parts(message: dict[str, Any]) -> list[str]:
    """Return the parts of a message's content as text; a part that is not text is named in brackets."""
    content = message.get("content", message.get("summary", message.get("output")))
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        return []
    return [_part(part) for part in content if isinstance(part, dict)]


def _part(part: dict[str, Any]) -> str:
    match part.get("type"):
        case "text":
            return str(part.get("text", ""))
        case "thinking":
            return f"(thinking) {part.get('thinking', '')}"
        case "toolCall":
            return f"[{part.get('name', 'tool')} {_arguments(part.get('arguments'))}]"
        case other:
            return f"[{other or 'unknown'}]"


def _arguments(arguments: Any) -> str:
    if not isinstance(arguments, dict):
        return ""
    return ", ".join(
        f"{name}={value!r}" if isinstance(value, str) else f"{name}={value}"
        for name, value in arguments.items()
    )
