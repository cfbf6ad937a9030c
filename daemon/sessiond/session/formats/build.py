"""Builds messages in the agents' own format, as pi and oh-my-pi write them, from data of provider formats.

Fields that a provider did not send are omitted, with one exception: an assistant message always has a usage, of zeros
if it is unknown, because both programs read it without a check (decision 0016).
"""

from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Raw

from sessiond.error_text import TemplatedError

Json: TypeAlias = dict[str, Any]

NO_COST: Final = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
"""The costs of an answer whose costs are unknown."""
NO_USAGE: Final = {
    "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": NO_COST,
}  # fmt: skip
"""The usage of an answer whose usage is unknown."""
_fields = msgspec.json.Decoder(dict[str, Raw])


class UnreadableMessage(TemplatedError):
    """Raised when a client's message does not have the given format."""

    sentence = "{reason}{where}"

    def __init__(self, reason: str, location: str = "") -> None:
        super().__init__(reason=reason, where=f" - at `${location}`" if location else "")


class TokenUsage(msgspec.Struct, frozen=True):
    """Token counts of agents. `input` counts tokens that were neither read from a cache nor written to one."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


class ResponseDetails(msgspec.Struct, frozen=True):
    """The fields of a provider's answer besides its content, with the agents' values."""

    api: str
    provider: str
    model: str | None = None
    usage: TokenUsage = TokenUsage()
    stop_reason: str = "stop"
    error: str | None = None
    response_id: str | None = None


def user(content: str | list[Json]) -> Json:
    """Return a user message."""
    return {"role": "user", "content": content}


def system(content: str) -> Json:
    """Return a system message."""
    return {"role": "system", "content": content}


def developer(content: str | list[Json]) -> Json:
    """Return a message of oh-my-pi's role `developer`."""
    return {"role": "developer", "content": content}


def assistant(content: list[Json], details: ResponseDetails) -> Json:
    """Return an assistant message with the fields of the provider's response."""
    usage = details.usage
    total = usage.input + usage.output + usage.cache_read + usage.cache_write
    message = {
        "role": "assistant",
        "content": content,
        "api": details.api,
        "provider": details.provider,
        "model": details.model,
        "responseId": details.response_id,
        "usage": {
            "input": usage.input, "output": usage.output, "cacheRead": usage.cache_read,
            "cacheWrite": usage.cache_write, "totalTokens": total, "cost": NO_COST,
        },
        "stopReason": details.stop_reason,
        "errorMessage": details.error,
    }  # fmt: skip
    return {name: value for name, value in message.items() if value is not None}


def tool_result(call_id: str, name: str, content: list[Json], *, is_error: bool = False) -> Json:
    """Return the message of a tool result."""
    return {
        "role": "toolResult", "toolCallId": call_id, "toolName": name, "content": content, "isError": is_error,
    }  # fmt: skip


def text(text: str, signature: str | None = None) -> Json:
    """Return a text block; `signature` is Google's."""
    block = {"type": "text", "text": text}
    return block if signature is None else {**block, "textSignature": signature}


def image(media_type: str, data: str) -> Json:
    """Return an image block with base64 data."""
    return {"type": "image", "data": data, "mimeType": media_type}


def linked_image(url: str, media_type: str | None = None) -> Json:
    """Return an image at a URL. pi and oh-my-pi only know images inside the message."""
    block = {"type": "image", "url": url}
    return block if media_type is None else {**block, "mimeType": media_type}


def thinking(thought: str, signature: str | None) -> Json:
    """Return a thinking block."""
    block = {"type": "thinking", "thinking": thought}
    return block if signature is None else {**block, "thinkingSignature": signature}


def redacted_thinking(data: str) -> Json:
    """Return redacted thinking in pi's form, thinking without text, which oh-my-pi also reads."""
    return {"type": "thinking", "thinking": "", "thinkingSignature": data, "redacted": True}


def call(call_id: str, name: str, arguments: Raw, signature: str | None = None) -> Json:
    """Return a tool call block; `arguments` is a JSON object."""
    block = {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}
    return block if signature is None else {**block, "thoughtSignature": signature}


def an_object(value: Raw, location: str) -> Raw:
    """Return `value` if it is a JSON object.

    Args:
        value: Any JSON value.
        location: The position of the value in the message, for the error.

    Raises:
        UnreadableMessage: The value is not an object.
    """
    try:
        _fields.decode(value)
    except msgspec.DecodeError:
        raise UnreadableMessage("Expected `object`", location) from None
    return value
