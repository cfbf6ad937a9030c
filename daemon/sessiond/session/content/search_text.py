"""Extracts the text of an entry for full-text search: messages of users and models, and the input and output of tools.

Reasoning, images and data that only programs read are omitted.
"""

from datetime import datetime
from typing import Any, Final

import msgspec

from sessiond.session.content import preview
from sessiond.session.content.search_words import searchable
from sessiond.session.tree import lines

SAID: Final = 200_000
"""Limit of the characters of one entry that are indexed if a user or a model wrote them."""
TOLD: Final = 16_000
"""Limit of the characters of one tool call's input, and of one tool result, that are indexed."""
_LAST_MOMENT: Final = 253_402_300_800_000
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


def text_of(entry: dict[str, Any]) -> SearchText | None:
    """Return the searchable text of a decoded entry, or None if it has none."""
    kind = str(entry.get("type"))
    if kind == "custom_message" and entry.get("display") is False:
        return None
    message = entry.get("message") if kind == "message" else None
    if isinstance(message, dict):
        text = _said(message)
        role = _string(message.get("role")) or None
    elif kind in _SEARCHED:
        text, role = searchable(preview.text_of(entry), SAID), None
    else:
        return None
    if not text:
        return None
    target = entry.get("targetId") if kind == "label" else None
    return SearchText(
        _string(entry.get("id")), kind, role, _moment(entry, message), text,
        target if isinstance(target, str) else None,
    )  # fmt: skip


_SEARCHED: Final = frozenset(
    ("custom_message", "compaction", "branch_summary", "session_info", "title_change", "label",
     "session_init", "context_edit")
)  # fmt: skip


def _said(message: dict[str, Any]) -> str:
    role, content = message.get("role"), message.get("content")
    match role:
        case "toolResult":
            return searchable(f"{_string(message.get('toolName'))} {_text_of_content(content)}", TOLD)
        case "bashExecution" | "pythonExecution":
            ran = _string(message.get("command") or message.get("code"))
            output = message.get("output")
            return searchable(f"{ran[:TOLD]} {_string(output)}", 2 * TOLD)
        case "user" | "assistant" | "custom" | "hookMessage":
            return searchable(_text_of_content(content), SAID)
    return searchable(preview.text_of_message(message), SAID)


def _text_of_content(content: object) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return " ".join(filter(None, map(_text_of_block, blocks)))


def _text_of_block(block: object) -> str:
    if not isinstance(block, dict):
        return ""
    if block.get("type") == "toolCall":
        return f"{_string(block.get('name'))} {_values(block.get('arguments'))}"
    return _string(block.get("text")) if block.get("type") == "text" else ""


def _values(arguments: object) -> str:
    """Return the input of a tool call: the values alone if all of them are strings, or else JSON."""
    if isinstance(arguments, dict) and all(isinstance(value, str) for value in arguments.values()):
        return " ".join(value[:TOLD] for value in arguments.values())[:TOLD]
    return "" if not arguments else lines.dumps(arguments).decode()[:TOLD]


def _moment(entry: dict[str, Any], message: object) -> int | None:
    stamp = entry.get("timestamp")
    if isinstance(stamp, str):
        moment = milliseconds(stamp)
        if moment is not None:
            return moment
    own = message.get("timestamp") if isinstance(message, dict) else None
    return int(own) if isinstance(own, int | float) and 0 <= own < _LAST_MOMENT else None


def milliseconds(timestamp: str) -> int | None:
    """Return an ISO 8601 time in milliseconds since 1970, or None. Without a zone it is UTC."""
    try:
        moment = datetime.fromisoformat(timestamp)
        if moment.tzinfo is None:
            moment = datetime.fromisoformat(timestamp + "+00:00")
        return round(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
