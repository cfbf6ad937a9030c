"""Removes from a session that another agent continues the text that its first agent added.

Instructions, lists of skills, reminders and the output of the agent's own commands are not the user's text, and they
are wrong for another agent, which adds its own. Commands that the user ran, and their output, stay. A command to the
agent stays, as it was typed, if the model answered it. The session itself is not changed.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sessiond.agent_names import ADDING_TEXT
from sessiond.session.content import fields, typed_words
from sessiond.session.dialects.exported import ConversionLosses

_LEFT_OUT: Final = "text that the agent added: "
_COMMAND: Final = "command to the agent"
_COMMANDS: Final = ("command-name", "user-memory-input")
_PARTS_OF_COMMAND: Final = ("command-message", "command-args", "command-contents")
_CUSTOM: Final = ("custom", "hookMessage")

Message = Mapping[str, Any]


def told(messages: Sequence[Message], losses: ConversionLosses) -> list[Message | None]:
    """Return the messages as another agent receives them, with None for an omitted message.

    Args:
        messages: The messages of a path in order. Only those of users and custom ones need more than their role.
        losses: Receives what is left out.
    """
    found = [_told(message, losses) for message in messages]
    following: object = None
    for number in range(len(messages) - 1, -1, -1):
        mapping = found[number]
        if mapping is None and following == "assistant" and messages[number].get("role") == "user":
            command = typed_words.command_in(messages[number].get("content"))
            if command is not None:
                losses.lost[f"{_LEFT_OUT}{_COMMAND}"] -= 1
                mapping = found[number] = {**messages[number], "content": command}
        if mapping is not None:
            following = mapping.get("role", following)
    return found


def _told(message: Message, losses: ConversionLosses) -> Message | None:
    content = message.get("content")
    if message.get("role") == "user":
        left_out: Counter[str] = Counter()
        rest = _without_added(content, left_out)
        _lose(left_out, losses)
        return message if not left_out else {**message, "content": rest} if rest else None
    dialect, _, kind = fields.as_text(message.get("customType")).partition(".")
    if message.get("role") in _CUSTOM and message.get("display") is False and dialect in ADDING_TEXT:
        kept = typed_words.kept_in(content)
        added = [added for added in typed_words.added_to(content) if added not in typed_words.KEPT]
        _lose(Counter(added or ([] if kept else [kind])), losses)
        return {"role": "user", "content": kept} if kept else None
    return message


def _without_added(content: object, left_out: Counter[str]) -> object:
    """Return the content of a message of the user without what the agent added. Pictures stay."""
    if isinstance(content, str):
        return typed_words.told(content, left_out)
    rest: list[object] = []
    for block in fields.items(content):
        text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
        if isinstance(text, str):
            block = {**block, "text": typed_words.told(text, left_out)}
            if not block["text"]:
                continue
        rest.append(block)
    return rest


def _lose(kinds: Counter[str], losses: ConversionLosses) -> None:
    for kind, count in kinds.items():
        if kind not in _PARTS_OF_COMMAND:
            losses.lost[f"{_LEFT_OUT}{_COMMAND if kind in _COMMANDS else kind}"] += count
