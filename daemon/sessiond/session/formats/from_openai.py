"""Reads a message of OpenAI's Chat Completions: a message of a request, or a complete response."""

import re
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Raw

from sessiond.session.formats import build
from sessiond.session.formats.build import Json, ResponseDetails, TokenUsage, UnreadableMessage
from sessiond.session.formats.conversation import GENERATED_ID_PREFIX

_FINISH_REASONS: Final = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "toolUse",
    "function_call": "toolUse",
    "content_filter": "error",
}
_NO_ARGUMENTS: Final = Raw(b"{}")
_data_url = re.compile(r"data:([^;,]+);base64,(.*)", re.DOTALL).fullmatch


class _Text(msgspec.Struct, tag="text"):
    text: str


class _Refusal(msgspec.Struct, tag="refusal"):
    refusal: str


class _Link(msgspec.Struct):
    url: str
    detail: str | None = None


class _Image(msgspec.Struct, tag="image_url"):
    image_url: _Link


_Part: TypeAlias = _Text | _Refusal | _Image


class _Function(msgspec.Struct):
    name: str
    arguments: str = ""


class _Custom(msgspec.Struct):
    name: str
    input: str = ""


class _FunctionCall(msgspec.Struct, tag="function"):
    id: str
    function: _Function


class _CustomCall(msgspec.Struct, tag="custom"):
    id: str
    custom: _Custom


class _Message(msgspec.Struct):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[_Part] | None = None
    name: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[_FunctionCall | _CustomCall] | None = None
    function_call: _Function | None = None
    tool_call_id: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _PromptDetails(msgspec.Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: _PromptDetails | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    id: str | None = None
    model: str | None = None
    usage: _Usage | None = None


class _Kind(msgspec.Struct):
    choices: Any = None


_kind = msgspec.json.Decoder(_Kind)
_message = msgspec.json.Decoder(_Message)
_completion = msgspec.json.Decoder(_Completion)
_fields = msgspec.json.Decoder(dict[str, Raw])


def read(message: bytes | Raw) -> list[Json]:
    """Return the agents' message for a message, or for the only choice of a completion.

    Raises:
        UnreadableMessage: The message is not one of this format.
        msgspec.DecodeError: The message is not valid JSON, or not of the expected types.
    """
    if _kind.decode(message).choices is not None:
        return [_of_completion(_completion.decode(message))]
    decoded = _message.decode(message)
    match decoded.role:
        case "assistant":
            return [_assistant(decoded, None, None)]
        case "system":
            return [build.system(_joined_text(decoded))]
        case "developer":
            return [build.developer(_content(decoded))]
        case "user":
            return [build.user(_content(decoded))]
    return [_result(decoded)]


def _of_completion(completion: _Completion) -> Json:
    if len(completion.choices) != 1:
        raise UnreadableMessage(
            "A completion must have one choice; send the message of another choice separately", ".choices"
        )
    choice = completion.choices[0]
    if choice.message.role != "assistant":
        raise UnreadableMessage(
            "The role of a completion's choice must be `assistant`", ".choices[0].message.role"
        )
    return _assistant(choice.message, choice.finish_reason, completion)


def _assistant(decoded: _Message, finish_reason: str | None, completion: _Completion | None) -> Json:
    content: list[Json] = []
    if decoded.reasoning_content:
        content.append(build.thinking(decoded.reasoning_content, None))
    content += _blocks(decoded.content)
    if decoded.refusal:
        content.append(build.text(decoded.refusal))
    calls = [_call(call) for call in decoded.tool_calls or ()]
    if decoded.function_call is not None:
        name = decoded.function_call.name
        calls.append(function_call(f"{GENERATED_ID_PREFIX}{name}_0", name, decoded.function_call.arguments))
    reason = "toolUse" if calls else "stop"
    if finish_reason is not None:
        reason = _FINISH_REASONS.get(finish_reason, reason)
    completion_data = completion or _Completion([])
    return build.assistant(
        content + calls,
        ResponseDetails(
            api="openai-completions",
            provider="openai",
            model=completion_data.model,
            usage=TokenUsage() if completion_data.usage is None else _usage(completion_data.usage),
            stop_reason=reason,
            error="The content was filtered." if reason == "error" else None,
            response_id=completion_data.id,
        ),
    )


def _call(call: _FunctionCall | _CustomCall) -> Json:
    if isinstance(call, _CustomCall):
        return custom_call(call.id, call.custom.name, call.custom.input)
    return function_call(call.id, call.function.name, call.function.arguments)


def custom_call(call_id: str, name: str, text: str) -> Json:
    """Return a call of a tool whose input is a text."""
    return build.call(call_id, name, Raw(msgspec.json.encode({"input": text})))


def function_call(call_id: str, name: str, arguments: str) -> Json:
    """Return a call. Arguments that are not a JSON object are stored as text in `unparsedArguments`."""
    try:
        text = arguments.strip().encode()
        _fields.decode(text or b"{}")
    except msgspec.DecodeError:
        return {**build.call(call_id, name, _NO_ARGUMENTS), "unparsedArguments": arguments}
    return build.call(call_id, name, Raw(text) if text else _NO_ARGUMENTS)


def _result(decoded: _Message) -> Json:
    if decoded.role == "function":
        call_id = f"{GENERATED_ID_PREFIX}{decoded.name or ''}_0"
    elif decoded.tool_call_id is None:
        raise UnreadableMessage("A tool message must name its call", ".tool_call_id")
    else:
        call_id = decoded.tool_call_id
    return build.tool_result(call_id, decoded.name or "", _blocks(decoded.content))


def _content(decoded: _Message) -> str | list[Json]:
    return decoded.content if isinstance(decoded.content, str) else _blocks(decoded.content)


def _blocks(content: str | list[_Part] | None) -> list[Json]:
    if isinstance(content, str):
        return [build.text(content)] if content else []
    return [_block(part) for part in content or ()]


def _block(part: _Part) -> Json:
    match part:
        case _Text():
            return build.text(part.text)
        case _Refusal():
            return build.text(part.refusal)
    return image_at(part.image_url.url, part.image_url.detail)


def image_at(url: str, detail: str | None) -> Json:
    """Return the image of an address, which may be a data URL. `detail` is OpenAI's hint."""
    data_url = _data_url(url)
    block = build.linked_image(url) if data_url is None else build.image(data_url[1], data_url[2])
    return block if detail is None else {**block, "detail": detail}


def _joined_text(decoded: _Message) -> str:
    if isinstance(decoded.content, list) and any(isinstance(part, _Image) for part in decoded.content):
        raise UnreadableMessage("A system prompt must be text", ".content")
    return "\n\n".join(block["text"] for block in _blocks(decoded.content))


def _usage(usage: _Usage) -> TokenUsage:
    details = usage.prompt_tokens_details or _PromptDetails()
    read, cache_write = details.cached_tokens or 0, details.cache_write_tokens or 0
    return TokenUsage(
        max(0, usage.prompt_tokens - read - cache_write), usage.completion_tokens, read, cache_write
    )
