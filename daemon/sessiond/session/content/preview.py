"""Converts an entry to text for people: all of it for a search, one clean line of it for a list."""

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from sessiond.session.tree import lines, payloads
from sessiond.session.tree.entries import ATTACHMENT_TYPE

_TERMINAL_CODES: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_INVISIBLE: Final = re.compile(r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
_object = msgspec.json.Decoder(dict[str, Any])
_DESCRIPTIVE_ARGUMENTS: Final = (
    "command",
    "path",
    "file_path",
    "filePath",
    "pattern",
    "query",
    "url",
    "prompt",
)
"""The arguments that describe a tool call best, in order of preference."""


def one_line(text: str, limit: int) -> str:
    """Return text as one line of at most `limit` characters, cleaned and with white space collapsed."""
    text = text.lstrip()
    beginning = text[: limit * 2]
    if "\x1b" not in beginning:  # otherwise a terminal code may extend beyond it
        line = " ".join(clean(beginning).split())
        if len(line) > limit:
            return line[: limit - 1].rstrip() + "…"
    text = " ".join(clean(text[: limit * 20]).split())
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def clean(text: str) -> str:
    """Return text for people: without terminal codes and bidirectional overrides, with a space for a control character.

    A control character separates words, so that "a" and "b" around it are not read as "ab". White space is unchanged.
    """
    if "\x1b" in text:
        text = _TERMINAL_CODES.sub("", text)
    return _INVISIBLE.sub("", _CONTROLS.sub(" ", text))


def decoded(entry: bytes) -> dict[str, Any]:
    """Return an entry as a dict of valid Unicode; {} if it cannot be decoded."""
    return payloads.part(_object, entry) or {}


def text_of(entry: dict[str, Any]) -> str:
    """Return the text of an entry, depending on its type; "" for unknown types."""
    text_of_type = _TEXTS.get(str(entry.get("type")))
    return "" if text_of_type is None else text_of_type(entry)


def text_of_message(message: object) -> str:
    """Return the text of a message, with its tool calls."""
    if not isinstance(message, dict):
        return ""
    content = text_of_content(message.get("content"))
    match message.get("role"):
        case "toolResult":
            title = "error" if message.get("isError") else "result"
            return f"[{title}: {_string(message.get('toolName'))}] {content}"
        case "bashExecution":
            return f"$ {_string(message.get('command'))}"
        case "pythonExecution":
            return f">>> {_string(message.get('code'))}"
        case "fileMention":
            return _text_of_files(message.get("files"))
        case "branchSummary" | "compactionSummary":
            return _string(message.get("summary"))
    return content


def text_of_content(content: object) -> str:
    """Return the text of a message's content: a string, or blocks. Tool calls and images are shown in brackets."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return " ".join(filter(None, map(_text_of_block, blocks)))


def _text_of_block(block: object) -> str:
    if not isinstance(block, dict):
        return ""
    match block.get("type"):
        case "text":
            return _string(block.get("text"))
        case "toolCall":
            arguments = text_of_arguments(block.get("arguments"))
            return f"[tool: {_string(block.get('name'))}] {arguments}".rstrip()
        case "image":
            return "[image]"
    return ""


def _text_of_files(files: object) -> str:
    objects = [file for file in files if isinstance(file, dict)] if isinstance(files, list) else []
    return " ".join(_string(file.get("path")) for file in objects)


def text_of_arguments(arguments: object) -> str:
    """Return the argument that describes a tool call best, or else all arguments as JSON."""
    if not isinstance(arguments, dict):
        return ""
    for name in _DESCRIPTIVE_ARGUMENTS:
        if isinstance(arguments.get(name), str):
            return str(arguments[name])
    return lines.dumps(arguments).decode() if arguments else ""


def _text_of_model_change(entry: dict[str, Any]) -> str:
    model = _string(entry.get("model")) or "/".join(
        filter(None, (_string(entry.get("provider")), _string(entry.get("modelId"))))
    )
    role = _string(entry.get("role"))
    return f"{role}: {model}" if role and role != "default" else model


def _text_of_edit(entry: dict[str, Any]) -> str:
    target, replacement = _string(entry.get("targetId")), entry.get("replacement")
    if not isinstance(replacement, dict):
        return f"{target} omitted"
    return f"{target} replaced by: {text_of_content(replacement.get('content'))}"


def _text_of_summary(entry: dict[str, Any]) -> str:
    return " ".join(filter(None, (_string(entry.get("shortSummary")), _string(entry.get("summary")))))


def _text_of_rules(entry: dict[str, Any]) -> str:
    rules = entry.get("injectedRules")
    return ", ".join(map(_string, rules)) if isinstance(rules, list) else ""


def _text_of_tier(entry: dict[str, Any]) -> str:
    tier = entry.get("serviceTier")
    return _string(tier) or ("" if tier is None else lines.dumps(tier).decode())


def _text_of_usage(entry: dict[str, Any]) -> str:
    names = (entry.get("kind") or entry.get("purpose"), entry.get("model"))
    return " ".join(filter(None, map(_string, names)))


def _text_of_custom(entry: dict[str, Any]) -> str:
    data = entry.get("data")
    name = data.get("name") if isinstance(data, dict) else None
    kind = _string(entry.get("customType"))
    return f"{kind} {name}" if kind == ATTACHMENT_TYPE and isinstance(name, str) else kind


def _field(name: str) -> Callable[[dict[str, Any]], str]:
    return lambda entry: _string(entry.get(name))


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


_TEXTS: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "message": lambda entry: text_of_message(entry.get("message")),
    "custom_message": lambda entry: text_of_content(entry.get("content")),
    "compaction": _text_of_summary,
    "branch_summary": _text_of_summary,
    "model_change": _text_of_model_change,
    "thinking_level_change": _field("thinkingLevel"),
    "mode_change": _field("mode"),
    "session_info": _field("name"),
    "title_change": _field("title"),
    "label": _field("label"),
    "custom": _text_of_custom,
    "ttsr_injection": _text_of_rules,
    "session_init": _field("task"),
    "context_edit": _text_of_edit,
    "service_tier_change": _text_of_tier,
    "usage": _text_of_usage,
    "model_usage": _text_of_usage,
    "credential_pin": _field("provider"),
}
