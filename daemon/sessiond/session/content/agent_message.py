"""Reads the parts of an agent's message that counting, cutting and summarizing need.

Reading never raises: a member of an unexpected type counts as absent. The shapes are those of pi and oh-my-pi
(decision 0008).
"""

from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw

from sessiond.session.tree import payloads


class Block(msgspec.Struct, gc=False):
    """One part of a message's content. The types of its fields are not checked."""

    type: Any = None
    text: Any = None
    thinking: Any = None
    id: Any = None
    name: Any = None
    arguments: Any = UNSET


class AgentMessage(msgspec.Struct, rename="camel"):
    """A message of any role. Only the type of `content` is checked."""

    role: Any = None
    content: list[Block] | str | None = None
    stop_reason: Any = None
    tool_call_id: Any = None
    nested_calls: Any = None
    command: Any = None
    code: Any = None
    output: Any = None
    exclude_from_context: Any = None
    summary: Any = None
    files: Any = None
    sections: Any = None
    tools_added: Any = UNSET

    @property
    def blocks(self) -> list[Block]:
        """The content as blocks; a string becomes one text block."""
        if isinstance(self.content, str):
            return [Block("text", self.content)]
        return self.content or []

    @property
    def tool_calls(self) -> list[Block]:
        """The tool calls of an assistant message."""
        blocks = self.blocks if self.role == "assistant" else []
        return [block for block in blocks if block.type == "toolCall"]


def read_message(message: bytes | Raw) -> AgentMessage:
    """Decode the JSON of one message, as in `Context.messages`. Never raises."""
    return payloads.part(_message, message) or _decode_leniently(message)


def message_of(entry: bytes) -> AgentMessage:
    """Decode the message of a `message` entry. Never raises."""
    decoded = payloads.part(_entry, entry)
    return AgentMessage() if decoded is None else read_message(decoded.message)


def text(value: object) -> str:
    """Return a string unchanged, and "" for any other value."""
    return value if isinstance(value, str) else ""


def texts(message: AgentMessage) -> list[str]:
    """Return the texts of a message's text blocks."""
    return [block.text for block in message.blocks if block.type == "text" and isinstance(block.text, str)]


class _Entry(msgspec.Struct):
    message: Raw


def _as_javascript(number: str) -> int | float:
    """Return a number as JavaScript writes it: 1.0 becomes 1."""
    value = float(number)
    return int(value) if value.is_integer() and abs(value) < _EXPONENT_FROM else value


_EXPONENT_FROM: Final = 1e21
"""The number from which JavaScript writes an exponent."""
_BLOCK_FIELDS: Final = frozenset(Block.__struct_fields__)
_NAMES: Final = {
    field.encode_name: field.name for field in msgspec.structs.fields(AgentMessage) if field.name != "content"
}
_message = msgspec.json.Decoder(AgentMessage, float_hook=_as_javascript)
_fields = msgspec.json.Decoder(dict[str, Any], float_hook=_as_javascript)
_entry = msgspec.json.Decoder(_Entry)


def _decode_leniently(message: bytes | Raw) -> AgentMessage:
    """Decode a message with invalid content: blocks that are objects are used, other content is ignored."""
    fields = payloads.part(_fields, message) or {}
    content = fields.get("content")
    blocks = [
        Block(**{name: value for name, value in block.items() if name in _BLOCK_FIELDS})
        for block in (content if isinstance(content, list) else ())
        if isinstance(block, dict)
    ]
    members = {name: fields[encoded] for encoded, name in _NAMES.items() if encoded in fields}
    return AgentMessage(content=blocks, **members)
