"""Renders entries as Markdown in which all content of the session is in fences.

A fence is longer than any run of backticks in its content, so no content can end it, become a heading, or become HTML.
Everything else is escaped and on one line.
"""

import re
from typing import Any, Final

from sessiond.session.content import attachments, fields, preview

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>()!|~&])")
_BEGINNING: Final = re.compile(r"^(\d+(?=[.)])|)([#+\-=.)])")
"""Characters with a meaning only at the start of a line: headings, lists, underlines."""
_LINE: Final = 200


def entry(entry: dict[str, Any], label: str | None) -> tuple[str, str, list[str]]:
    """Render an entry.

    Args:
        entry: The decoded entry.
        label: The label of the entry, or None.

    Returns:
        The heading without `#`, a line of facts, and the content as paragraphs.

    """
    message = fields.mapping(entry.get("message"))
    about = [inline(fields.as_text(entry.get("timestamp")))]
    if model := fields.text(message.get("model")):
        about.append(inline(model))
    if label:
        about.append(f"label: {inline(label)}")
    if fields.type_of(entry) == "message":
        heading, body = _message_parts(message)
    else:
        heading, body = fields.type_of(entry).replace("_", " ").capitalize() or "Entry", _entry_parts(entry)
    return inline(heading), " · ".join(filter(None, about)), body


def truncate(paragraphs: list[str], max_characters: int) -> list[str]:
    """Return the first paragraphs up to a limit; a fence that exceeds it is cut and closed.

    Args:
        paragraphs: The paragraphs of an entry.
        max_characters: Limit of the characters.

    """
    included: list[str] = []
    for paragraph in paragraphs:
        if len(paragraph) <= max_characters:
            included.append(paragraph)
            max_characters -= len(paragraph)
            continue
        if paragraph.startswith("```"):
            opening, _, rest = paragraph.partition("\n")
            closing = paragraph.rpartition("\n")[2]
            included.append(f"{opening}\n{rest[: max(max_characters, 0)].removesuffix(closing)}…\n{closing}")
        included.append("_Truncated here: the entry has the full content._")
        break
    return included


def _message_parts(message: dict[str, Any]) -> tuple[str, list[str]]:
    role = fields.as_text(message.get("role")) or "message"
    match role:
        case "toolResult":
            failed = " (error)" if message.get("isError") is True else ""
            return f"Result of {fields.as_text(message.get('toolName'))}{failed}", _content(
                message.get("content")
            )
        case "bashExecution":
            return "Command", [
                fence(f"$ {fields.as_text(message.get('command'))}\n{fields.as_text(message.get('output'))}")
            ]
        case "branchSummary" | "compactionSummary":
            return "Summary", [fence(fields.as_text(message.get("summary")))]
        case "user" | "assistant" | "system" | "developer" | "custom":
            return role.capitalize(), _content(message.get("content"))
    return role, [fence(fields.dumps(fields.without(message, "role")).decode(), "json")]


def _entry_parts(entry: dict[str, Any]) -> list[str]:
    match fields.type_of(entry):
        case "custom_message":
            return _content(entry.get("content"))
        case "compaction" | "branch_summary":
            return [fence(fields.as_text(entry.get("summary")))]
    if (attached := attachments.attachment_of(entry)) is not None:
        facts = inline(f"{attached.name}: {attached.size_bytes:,} bytes")
        return [facts] if attached.head is None else [facts, fence(attached.head)]
    text = preview.text_of(entry)
    return [fence(text)] if text else [fence(fields.dumps(fields.payload_of(entry)).decode(), "json")]


def _content(content: Any) -> list[str]:
    if isinstance(content, str):
        return [fence(content)]
    return [part for block in fields.items(content) for part in _block(block)] or ["_No content._"]


def _block(block: Any) -> list[str]:
    block = {"type": "text", "text": block} if isinstance(block, str) else fields.mapping(block)
    match block.get("type"):
        case "text":
            return [fence(fields.as_text(block.get("text")))]
        case "thinking":
            thinking = fields.text(block.get("thinking"))
            return [] if thinking is None else ["Thinking:", fence(thinking)]
        case "toolCall":
            call = fields.dumps(fields.mapping(block.get("arguments"))).decode()
            return [f"Call of {inline(fields.as_text(block.get('name')))}:", fence(call, "json")]
        case "image":
            return [f"Image ({inline(fields.as_text(block.get('mimeType')) or 'of unknown type')})."]
    return [f"Block of type {inline(fields.as_text(block.get('type')))}."]


def fence(text: str, language: str = "text") -> str:
    """Return text in a fence that it cannot end.

    Carriage returns become newlines, because they end a line in Markdown.
    """
    text = re.sub(r"\r\n?", "\n", text).rstrip("\n")
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def inline(text: str) -> str:
    """Return text as one escaped line without Markdown."""
    text = _SPECIAL.sub(r"\\\1", preview.one_line(text, _LINE))
    return _BEGINNING.sub(r"\1\\\2", text)
