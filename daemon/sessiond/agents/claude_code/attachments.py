"""Converts attachments of Claude Code: what the program adds to the conversation beside the lines of messages.

A prompt that was typed while the model worked is a message of the user. Files, folders and selected lines that the
user named become a message that mentions files. Any other text, such as a reminder, becomes a custom message that is
not shown (decision 0041).
"""

from typing import Any, Final

from sessiond.agents.claude_code import messages as claude_messages
from sessiond.session.content import fields
from sessiond.session.dialects.messages import timed

_FILES: Final = frozenset(
    ("file", "directory", "selected_lines_in_ide", "selected_lines_in_diff", "already_read_file")
)
_TEXTS: Final = (
    "content", "snippet", "planContent", "text", "message", "stdout", "addedLines", "memories", "skills", "files",
)  # fmt: skip
"""Fields with text that the model was sent, the most important first."""
_LINE: Final = ("content", "subject", "text", "activeForm")


def is_prompt(attachment: dict[str, Any]) -> bool:
    """Return whether it is a prompt that a person typed while the model worked."""
    return (
        attachment.get("type") == "queued_command"
        and attachment.get("isMeta") is not True
        and attachment.get("commandMode") != "task-notification"
        and is_human(attachment.get("origin"))
        and bool(claude_messages.plain_text(attachment.get("prompt")).strip())
    )


def is_human(origin: object) -> bool:
    """Return whether a line with this `origin` was written by a person."""
    return fields.mapping(origin).get("kind") in (None, "human")


def entry_of(attachment: dict[str, Any], *, custom_type: str, at: str) -> tuple[str, dict[str, Any]] | None:
    """Return the entry type and payload of an attachment, or None if it has no text.

    Args:
        attachment: The attachment.
        custom_type: The `customType` of custom messages, without the type of the attachment.
        at: The time of the line (ISO 8601).
    """
    kind = fields.as_text(attachment.get("type"))
    if is_prompt(attachment):
        return "message", {"message": claude_messages.user(attachment.get("prompt"), at=at)}
    if kind in _FILES and (file := _file(attachment)) is not None:
        return "message", {"message": timed({"role": "fileMention", "files": [file]}, at)}
    text = claude_messages.plain_text(attachment.get("prompt")) or _text(attachment)
    if not text.strip():
        return None
    return "custom_message", {"customType": f"{custom_type}.{kind}", "content": text, "display": False}


def rest_of(attachment: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an attachment that `entry_of` does not take."""
    content = attachment.get("content")
    inner = fields.mapping(fields.mapping(content).get("file"))
    is_taken = (
        isinstance(content, str)
        or isinstance(inner.get("content"), str)
        or (fields.mapping(content).get("type") == "image" and isinstance(inner.get("base64"), str))
    )
    return fields.without(attachment, "prompt", *(("content",) if is_taken else ()))


def _file(attachment: dict[str, Any]) -> dict[str, Any] | None:
    """Return the file of an attachment as pi and oh-my-pi have it: path, and content or image."""
    path = fields.text(fields.first(attachment, "filename", "path", "displayPath"))
    content = attachment.get("content")
    inner = fields.mapping(fields.mapping(content).get("file"))
    path = path or fields.text(inner.get("filePath"))
    if path is None:
        return None
    data = inner.get("base64")
    if fields.mapping(content).get("type") == "image" and isinstance(data, str):
        return {
            "path": path,
            "content": "",
            "image": {"type": "image", "data": data, "mimeType": fields.as_text(inner.get("type"))},
        }
    text = content if isinstance(content, str) else _inner_text(inner)
    return None if text is None else {"path": path, "content": text}


def _inner_text(inner: dict[str, Any]) -> str | None:
    if isinstance(inner.get("content"), str):
        return str(inner["content"])
    cells = [fields.mapping(cell) for cell in fields.items(inner.get("cells"))]
    sources = [cell.get("source") for cell in cells]
    texts = [
        "".join(map(fields.as_text, source)) if isinstance(source, list) else fields.as_text(source)
        for source in sources
    ]
    return "\n\n".join(texts) if texts else None


def _text(attachment: dict[str, Any]) -> str:
    """Return the first text among the fields of an attachment."""
    found = (_words(attachment.get(name)) for name in _TEXTS)
    return next((text for text in found if text.strip()), "")


def _words(value: object) -> str:
    """Return the text of a field: a string, an object with a content, or a list of these, one a line."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        texts = [text for name in _LINE if isinstance(text := value.get(name), str) and text]
        named = fields.text(fields.first(value, "path", "name"))
        state = fields.text(value.get("status"))
        return " ".join([*filter(None, (named, state and f"[{state}]")), *texts[:1]]) if texts else ""
    if isinstance(value, list):
        return "\n".join(filter(None, map(_words, value)))
    return ""
