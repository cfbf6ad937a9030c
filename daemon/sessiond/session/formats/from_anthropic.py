"""Reads a message of Anthropic's Messages API: a message of a request, or a complete response."""

from typing import Literal, TypeAlias

import msgspec
from msgspec import Raw

from sessiond.session.content import stop_reasons
from sessiond.session.formats import build
from sessiond.session.formats.build import Json, ResponseDetails, TokenUsage, UnreadableMessage


class _Text(msgspec.Struct, tag="text"):
    text: str


class _Base64(msgspec.Struct, tag="base64"):
    media_type: str
    data: str


class _Url(msgspec.Struct, tag="url"):
    url: str


class _Image(msgspec.Struct, tag="image"):
    source: _Base64 | _Url


class _ToolUse(msgspec.Struct, tag="tool_use"):
    id: str
    name: str
    input: Raw


class _ToolResult(msgspec.Struct, tag="tool_result"):
    tool_use_id: str
    content: str | list[_Text | _Image] | None = None
    is_error: bool = False


class _Thinking(msgspec.Struct, tag="thinking"):
    thinking: str
    signature: str | None = None


class _Redacted(msgspec.Struct, tag="redacted_thinking"):
    data: str


_Block: TypeAlias = _Text | _Image | _ToolUse | _ToolResult | _Thinking | _Redacted


class _Usage(msgspec.Struct):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _Message(msgspec.Struct):
    role: Literal["user", "assistant", "system"]
    content: str | list[_Block]
    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: _Usage | None = None


_message = msgspec.json.Decoder(_Message)


def read(message: bytes | Raw) -> list[Json]:
    """Return the agents' messages for a message: one, or one for each tool result and each run of blocks between them.

    Raises:
        UnreadableMessage: The message is not one of this format.
        msgspec.DecodeError: The message is not valid JSON, or not of the expected types.
    """
    decoded = _message.decode(message)
    if decoded.role == "assistant":
        return [build.assistant(_assistant_content(decoded.content), _details(decoded))]
    if decoded.role == "system":
        return [build.system(_joined_text(decoded.content))]
    return _user_messages(decoded.content)


def _user_messages(content: str | list[_Block]) -> list[Json]:
    if isinstance(content, str):
        return [build.user(content)]
    messages: list[Json] = []
    current: list[Json] | None = None
    for number, block in enumerate(content):
        if isinstance(block, _ToolResult):
            messages.append(_result(block))
            current = None
        else:
            if current is None:
                current = []
                messages.append(build.user(current))
            current.append(_of_user(block, f".content[{number}]"))
    return messages or [build.user([])]


def _of_user(block: _Block, location: str) -> Json:
    match block:
        case _Text():
            return build.text(block.text)
        case _Image():
            return _image(block)
    raise UnreadableMessage("A user message cannot contain this block", location)


def _result(block: _ToolResult) -> Json:
    content = block.content or []
    blocks = [build.text(content)] if isinstance(content, str) else [
        build.text(each.text) if isinstance(each, _Text) else _image(each) for each in content
    ]  # fmt: skip
    return build.tool_result(block.tool_use_id, "", blocks, is_error=block.is_error)


def _image(block: _Image) -> Json:
    source = block.source
    if isinstance(source, _Url):
        return build.linked_image(source.url)
    return build.image(source.media_type, source.data)


def _assistant_content(content: str | list[_Block]) -> list[Json]:
    if isinstance(content, str):
        return [build.text(content)]
    return [_of_assistant(block, f".content[{number}]") for number, block in enumerate(content)]


def _of_assistant(block: _Block, location: str) -> Json:
    match block:
        case _Text():
            return build.text(block.text)
        case _Thinking():
            return build.thinking(block.thinking, block.signature)
        case _Redacted():
            return build.redacted_thinking(block.data)
        case _ToolUse():
            return build.call(block.id, block.name, build.an_object(block.input, f"{location}.input"))
    raise UnreadableMessage("An assistant message cannot contain this block", location)


def _joined_text(content: str | list[_Block]) -> str:
    if isinstance(content, str):
        return content
    texts: list[str] = []
    for number, block in enumerate(content):
        if not isinstance(block, _Text):
            raise UnreadableMessage("A system prompt must be text", f".content[{number}]")
        texts.append(block.text)
    return "\n\n".join(texts)


def _details(decoded: _Message) -> ResponseDetails:
    calls = not isinstance(decoded.content, str) and any(
        isinstance(block, _ToolUse) for block in decoded.content
    )
    reason = "toolUse" if calls else "stop"
    if decoded.stop_reason is not None:
        reason = stop_reasons.OF_ANTHROPIC.get(decoded.stop_reason, reason)
    return ResponseDetails(
        api="anthropic-messages",
        provider="anthropic",
        model=decoded.model,
        usage=TokenUsage() if decoded.usage is None else _usage(decoded.usage),
        stop_reason=reason,
        error="The model refused." if reason == "error" else None,
        response_id=decoded.id,
    )


def _usage(usage: _Usage) -> TokenUsage:
    read, cache_write = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    return TokenUsage(usage.input_tokens, usage.output_tokens, read, cache_write)
