"""Reads a message of Anthropic's Messages API: a message of a request, or a complete response."""

from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Raw

from sessiond.session.formats import made
from sessiond.session.formats.made import AnswerDetails, Json, NotReadable, TokenUsage

_STOP_REASONS: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "toolUse",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "error",
}


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
        NotReadable: The message is not one of this format.
        msgspec.DecodeError: The message is not valid JSON, or not of the expected types.
    """
    said = _message.decode(message)
    if said.role == "assistant":
        return [made.assistant(_answer(said.content), _made(said))]
    if said.role == "system":
        return [made.system(_words(said.content))]
    return _asked(said.content)


def _asked(content: str | list[_Block]) -> list[Json]:
    if isinstance(content, str):
        return [made.user(content)]
    messages: list[Json] = []
    between: list[Json] | None = None
    for number, block in enumerate(content):
        if isinstance(block, _ToolResult):
            messages.append(_result(block))
            between = None
        else:
            if between is None:
                between = []
                messages.append(made.user(between))
            between.append(_of_user(block, f".content[{number}]"))
    return messages or [made.user([])]


def _of_user(block: _Block, place: str) -> Json:
    match block:
        case _Text():
            return made.text(block.text)
        case _Image():
            return _image(block)
    raise NotReadable("This block is not for a user to say", place)


def _result(block: _ToolResult) -> Json:
    content = block.content or []
    blocks = [made.text(content)] if isinstance(content, str) else [
        made.text(each.text) if isinstance(each, _Text) else _image(each) for each in content
    ]  # fmt: skip
    return made.tool_result(block.tool_use_id, "", blocks, is_error=block.is_error)


def _image(block: _Image) -> Json:
    source = block.source
    if isinstance(source, _Url):
        return made.linked_image(source.url)
    return made.image(source.media_type, source.data)


def _answer(content: str | list[_Block]) -> list[Json]:
    if isinstance(content, str):
        return [made.text(content)]
    return [_of_assistant(block, f".content[{number}]") for number, block in enumerate(content)]


def _of_assistant(block: _Block, place: str) -> Json:
    match block:
        case _Text():
            return made.text(block.text)
        case _Thinking():
            return made.thinking(block.thinking, block.signature)
        case _Redacted():
            return made.redacted_thinking(block.data)
        case _ToolUse():
            return made.call(block.id, block.name, made.an_object(block.input, f"{place}.input"))
    raise NotReadable("This block is not for an assistant to say", place)


def _words(content: str | list[_Block]) -> str:
    if isinstance(content, str):
        return content
    texts: list[str] = []
    for number, block in enumerate(content):
        if not isinstance(block, _Text):
            raise NotReadable("A system prompt is text", f".content[{number}]")
        texts.append(block.text)
    return "\n\n".join(texts)


def _made(said: _Message) -> AnswerDetails:
    calls = not isinstance(said.content, str) and any(isinstance(block, _ToolUse) for block in said.content)
    reason = "toolUse" if calls else "stop"
    if said.stop_reason is not None:
        reason = _STOP_REASONS.get(said.stop_reason, reason)
    return AnswerDetails(
        api="anthropic-messages",
        provider="anthropic",
        model=said.model,
        usage=TokenUsage() if said.usage is None else _usage(said.usage),
        stop_reason=reason,
        error="The model refused." if reason == "error" else None,
        response_id=said.id,
    )


def _usage(usage: _Usage) -> TokenUsage:
    read, wrote = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    return TokenUsage(usage.input_tokens, usage.output_tokens, read, wrote)
