"""Extracts the text of an entry for full-text search.

It has messages of users and models, files that users mention, the input and output of tools, and the files that an
agent wrote beside its transcript, but no copies of files. Reasoning, images and data that only programs read are
omitted.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Final

import msgspec

from sessiond.session.content import attachments, preview, typed_words
from sessiond.session.content.search_words import searchable
from sessiond.session.tree import lines
from sessiond.session.tree.entries import ATTACHMENT_TYPE

MAX_MESSAGE_CHARS: Final = 200_000
"""Limit of the characters of one entry that are indexed if a user or a model wrote them."""
MAX_TOOL_CHARS: Final = 16_000
"""Limit of the characters of one tool call's input, of one tool result, and of one file, that are indexed."""
HEAD_OF_FILE: Final = 384 * 1024
TAIL_OF_FILE: Final = 128 * 1024
"""Bytes at the beginning and at the end of a file beside a transcript that are indexed; of a short one, all."""
_OMITTED_FILES: Final = frozenset(("fileSnapshot", "image"))
_END_OF_TIME: Final = 253_402_300_800_000
"""Milliseconds from 1970 to the year 10000, which no timestamp can represent."""


class SearchText(msgspec.Struct, frozen=True):
    """The searchable text of an entry. `at` is in milliseconds since 1970; `target_id` is the target of a label."""

    entry_id: str
    type: str
    role: str | None
    at: int | None
    text: str
    target_id: str | None = None


def text_of_entry(entry: bytes) -> SearchText | None:
    """Return the searchable text of an entry (`Tree.entry`), or None if it has none."""
    return text_of(preview.decoded(entry))


def text_of_attachment(entry: bytes, read: Callable[[str, int, int], bytes]) -> SearchText | None:
    """Return the searchable text of a file beside a transcript; None for another entry, or a file without text.

    It is found as the result whose whole output it is.

    Args:
        entry: The entry.
        read: Returns a number of bytes of the blob with a hash, from an offset on.
    """
    if entry.find(_ATTACHMENT) < 0:
        return None
    decoded = preview.decoded(entry)
    found = attachments.attachment_of(decoded)
    if found is None or found.head is None or found.kind in _OMITTED_FILES:
        return None
    text = found.head
    if found.digest:
        head = HEAD_OF_FILE if found.size_bytes > HEAD_OF_FILE + TAIL_OF_FILE else found.size_bytes
        text = read(found.digest, 0, head).decode("utf-8", "replace")
        if head < found.size_bytes:
            tail = read(found.digest, found.size_bytes - TAIL_OF_FILE, TAIL_OF_FILE)
            text = f"{text} … {tail.decode('utf-8', 'replace')}"
    text = f"{found.name} {text}"
    kind, role = ("custom", None) if found.target_id is None else ("message", "toolResult")
    return SearchText(
        found.target_id or _string(decoded.get("id")), kind, role, _time_of(decoded, None),
        searchable(text, len(text)),
    )  # fmt: skip


def text_of(entry: dict[str, Any]) -> SearchText | None:
    """Return the searchable text of a decoded entry, or None if it has none."""
    kind = str(entry.get("type"))
    if kind == "custom_message" and entry.get("display") is False:
        return None
    message = entry.get("message") if kind == "message" else None
    if isinstance(message, dict):
        text = _message_text(message)
        role = _string(message.get("role")) or None
    elif kind in _SEARCHED_TYPES:
        text, role = searchable(preview.text_of(entry), MAX_MESSAGE_CHARS), None
    else:
        return None
    if not text:
        return None
    target = entry.get("targetId") if kind == "label" else None
    return SearchText(
        _string(entry.get("id")), kind, role, _time_of(entry, message), text,
        target if isinstance(target, str) else None,
    )  # fmt: skip


_ATTACHMENT: Final = ATTACHMENT_TYPE.encode()
_SEARCHED_TYPES: Final = frozenset(
    ("custom_message", "compaction", "branch_summary", "session_info", "title_change", "label",
     "session_init", "context_edit")
)  # fmt: skip


def _message_text(message: dict[str, Any]) -> str:
    role, content = message.get("role"), message.get("content")
    match role:
        case "toolResult":
            return searchable(
                f"{_string(message.get('toolName'))} {_text_of_content(content)}", MAX_TOOL_CHARS
            )
        case "bashExecution" | "pythonExecution":
            command = _string(message.get("command") or message.get("code"))
            output = message.get("output")
            return searchable(f"{command[:MAX_TOOL_CHARS]} {_string(output)}", 2 * MAX_TOOL_CHARS)
        case "user":
            return searchable(typed_words.told_content(_texts_in(content)), MAX_MESSAGE_CHARS)
        case "assistant" | "custom" | "hookMessage":
            return searchable(_text_of_content(content), MAX_MESSAGE_CHARS)
        case "fileMention":
            return searchable(_text_of_files(message.get("files")), MAX_MESSAGE_CHARS)
    return searchable(preview.text_of_message(message), MAX_MESSAGE_CHARS)


def _text_of_content(content: object) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return " ".join(filter(None, map(_text_of_block, blocks)))


def _texts_in(content: object) -> object:
    blocks = content if isinstance(content, list) else None
    return (
        content
        if blocks is None
        else [block for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    )


def _text_of_block(block: object) -> str:
    if not isinstance(block, dict):
        return ""
    if block.get("type") == "toolCall":
        return f"{_string(block.get('name'))} {_values(block.get('arguments'))}"
    return _string(block.get("text")) if block.get("type") == "text" else ""


def _text_of_files(files: object) -> str:
    """Return the path and the content of each file that a user mentioned."""
    found = [file for file in files if isinstance(file, dict)] if isinstance(files, list) else []
    return " ".join(
        f"{_string(file.get('path'))} {_string(file.get('content'))[:MAX_TOOL_CHARS]}" for file in found
    )


def _values(arguments: object) -> str:
    """Return the input of a tool call: the values alone if all of them are strings, or else names and values."""
    if isinstance(arguments, dict) and all(isinstance(value, str) for value in arguments.values()):
        return " ".join(value[:MAX_TOOL_CHARS] for value in arguments.values())[:MAX_TOOL_CHARS]
    return " ".join(_names_and_values(arguments))[:MAX_TOOL_CHARS]


def _names_and_values(value: object) -> Iterator[str]:
    """Yield the names and values of nested data. JSON would join the words around a line break by its escape."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield str(name)
            yield from _names_and_values(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _names_and_values(inner)
    elif isinstance(value, str):
        yield value[:MAX_TOOL_CHARS]
    elif value is not None:
        yield lines.dumps(value).decode()


def _time_of(entry: dict[str, Any], message: object) -> int | None:
    timestamp = entry.get("timestamp")
    if isinstance(timestamp, str):
        time = milliseconds(timestamp)
        if time is not None:
            return time
    message_time = message.get("timestamp") if isinstance(message, dict) else None
    return (
        int(message_time)
        if isinstance(message_time, int | float) and 0 <= message_time < _END_OF_TIME
        else None
    )


def milliseconds(timestamp: str) -> int | None:
    """Return an ISO 8601 time in milliseconds since 1970, or None. Without a zone it is UTC."""
    try:
        time = datetime.fromisoformat(timestamp)
        if time.tzinfo is None:
            time = datetime.fromisoformat(timestamp + "+00:00")
        return round(time.timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
