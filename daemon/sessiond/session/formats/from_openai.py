"""Reads a message of OpenAI's Chat Completions: a message of a request, or a complete response."""

import re
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Raw

from sessiond.session.formats import made
from sessiond.session.formats.conversation import MADE_ID
from sessiond.session.formats.made import AnswerDetails, Json, NotReadable, TokenUsage

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
        NotReadable: The message is not one of this format.
        msgspec.DecodeError: The message is not valid JSON, or not of the expected types.
    """
    if _kind.decode(message).choices is not None:
        return [_of_completion(_completion.decode(message))]
    said = _message.decode(message)
    match said.role:
        case "assistant":
            return [_assistant(said, None, None)]
        case "system":
            return [made.system(_words(said))]
        case "developer":
            return [made.developer(_content(said))]
        case "user":
            return [made.user(_content(said))]
    return [_result(said)]


def _of_completion(completion: _Completion) -> Json:
    if len(completion.choices) != 1:
        raise NotReadable(
            "A completion with one choice can be kept; send another choice's message alone", ".choices"
        )
    choice = completion.choices[0]
    if choice.message.role != "assistant":
        raise NotReadable("The choice of a completion is the assistant's", ".choices[0].message.role")
    return _assistant(choice.message, choice.finish_reason, completion)


def _assistant(said: _Message, finish_reason: str | None, completion: _Completion | None) -> Json:
    content: list[Json] = []
    if said.reasoning_content:
        content.append(made.thinking(said.reasoning_content, None))
    content += _blocks(said.content)
    if said.refusal:
        content.append(made.text(said.refusal))
    calls = [_call(call) for call in said.tool_calls or ()]
    if said.function_call is not None:
        name = said.function_call.name
        calls.append(_function_call(f"{MADE_ID}{name}_0", said.function_call))
    reason = "toolUse" if calls else "stop"
    if finish_reason is not None:
        reason = _FINISH_REASONS.get(finish_reason, reason)
    beside = completion or _Completion([])
    return made.assistant(
        content + calls,
        AnswerDetails(
            api="openai-completions",
            provider="openai",
            model=beside.model,
            usage=TokenUsage() if beside.usage is None else _usage(beside.usage),
            stop_reason=reason,
            error="The content was filtered." if reason == "error" else None,
            response_id=beside.id,
        ),
    )


def _call(call: _FunctionCall | _CustomCall) -> Json:
    if isinstance(call, _CustomCall):
        return made.call(call.id, call.custom.name, Raw(msgspec.json.encode({"input": call.custom.input})))
    return _function_call(call.id, call.function)


def _function_call(call_id: str, function: _Function) -> Json:
    """Return a call. Arguments that are not a JSON object are stored as text in `unparsedArguments`."""
    try:
        text = function.arguments.strip().encode()
        _fields.decode(text or b"{}")
    except msgspec.DecodeError:
        block = made.call(call_id, function.name, _NO_ARGUMENTS)
        return {**block, "unparsedArguments": function.arguments}
    return made.call(call_id, function.name, Raw(text) if text else _NO_ARGUMENTS)


def _result(said: _Message) -> Json:
    if said.role == "function":
        call_id = f"{MADE_ID}{said.name or ''}_0"
    elif said.tool_call_id is None:
        raise NotReadable("A tool's message names the call that it answers", ".tool_call_id")
    else:
        call_id = said.tool_call_id
    return made.tool_result(call_id, said.name or "", _blocks(said.content))


def _content(said: _Message) -> str | list[Json]:
    return said.content if isinstance(said.content, str) else _blocks(said.content)


def _blocks(content: str | list[_Part] | None) -> list[Json]:
    if isinstance(content, str):
        return [made.text(content)] if content else []
    return [_block(part) for part in content or ()]


def _block(part: _Part) -> Json:
    match part:
        case _Text():
            return made.text(part.text)
        case _Refusal():
            return made.text(part.refusal)
    inside = _data_url(part.image_url.url)
    block = made.linked_image(part.image_url.url) if inside is None else made.image(inside[1], inside[2])
    return block if part.image_url.detail is None else {**block, "detail": part.image_url.detail}


def _words(said: _Message) -> str:
    if isinstance(said.content, list) and any(isinstance(part, _Image) for part in said.content):
        raise NotReadable("A system prompt is text", ".content")
    return "\n\n".join(block["text"] for block in _blocks(said.content))


def _usage(usage: _Usage) -> TokenUsage:
    details = usage.prompt_tokens_details or _PromptDetails()
    read, wrote = details.cached_tokens or 0, details.cache_write_tokens or 0
    return TokenUsage(max(0, usage.prompt_tokens - read - wrote), usage.completion_tokens, read, wrote)
