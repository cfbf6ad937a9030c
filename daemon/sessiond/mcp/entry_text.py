"""The text of an entry for a model: all that was said and done, without reasoning and without images."""

from typing import Any, Final

from sessiond.session.content import preview, typed_words

_HIDDEN: Final = frozenset((
    "model_change", "thinking_level_change", "mode_change", "session_info", "title_change", "label", "custom",
    "service_tier_change", "usage", "model_usage", "credential_pin", "leaf",
))  # fmt: skip
"""Types of entries without information for a reader of a conversation."""


def text_of_entry(entry: dict[str, Any]) -> str:
    """Return the text of an entry; "" if it has none."""
    message = entry.get("message")
    if entry.get("type") != "message" or not isinstance(message, dict):
        return "" if entry.get("display") is False else preview.text_of(entry)
    if message.get("role") == "user":
        return typed_words.told_content(message.get("content"))
    text = preview.text_of_message(message)
    if message.get("role") in ("bashExecution", "pythonExecution"):
        output = message.get("output")
        return f"{text}\n{output}" if isinstance(output, str) else text
    return text


def is_conversation(entry: dict[str, Any]) -> bool:
    """Return whether an entry belongs to the conversation, as a reader wants to see it."""
    return entry.get("type") not in _HIDDEN and bool(text_of_entry(entry).strip())


def role_of(entry: dict[str, Any]) -> str | None:
    """Return the role of the message of an entry; None for another entry."""
    message = entry.get("message")
    role = message.get("role") if isinstance(message, dict) else None
    return role if isinstance(role, str) else None
