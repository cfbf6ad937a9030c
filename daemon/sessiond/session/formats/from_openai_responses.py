"""Reads items of OpenAI's Responses API: an input item, an item of an output, or a complete response."""

from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Raw

from sessiond.session.formats import build
from sessiond.session.formats.build import Json, ResponseDetails, TokenUsage, UnreadableMessage
from sessiond.session.formats.from_openai import custom_call, function_call, image_at

ITEM_TYPES: Final = frozenset(
    """
    additional_tools apply_patch_call apply_patch_call_output code_interpreter_call compaction_trigger computer_call
    computer_call_output configuration_update custom_tool_call custom_tool_call_output file_search_call function_call
    function_call_output image_generation_call item_reference local_shell_call local_shell_call_output
    mcp_approval_request mcp_approval_response mcp_call mcp_list_tools program program_output reasoning shell_call
    shell_call_output tool_search_call tool_search_output web_search_call
    """.split()  # noqa: SIM905 - a list of words is read more easily as prose
)
"""The types of all items except messages and `compaction`, which is also a type of entries.

Only calls of functions and custom tools, their outputs, and reasoning can be read. The others are listed so that they
are refused, and not stored as entries of an unknown type.
"""
_API: Final = "openai-responses"
_PROVIDER: Final = "openai"
_UNFINISHED: Final = ("queued", "in_progress")


class _InputText(msgspec.Struct, tag="input_text"):
    text: str


class _OutputText(msgspec.Struct, tag="output_text"):
    text: str


class _Refusal(msgspec.Struct, tag="refusal"):
    refusal: str


class _Image(msgspec.Struct, tag="input_image"):
    image_url: str | None = None
    detail: str | None = None


_Part: TypeAlias = _InputText | _OutputText | _Refusal | _Image


class _Message(msgspec.Struct, tag="message"):
    role: Literal["user", "assistant", "system", "developer"]
    content: str | list[_Part]


class _FunctionCall(msgspec.Struct, tag="function_call"):
    call_id: str
    name: str
    arguments: str = ""


class _CustomCall(msgspec.Struct, tag="custom_tool_call"):
    call_id: str
    name: str
    input: str = ""


class _FunctionOutput(msgspec.Struct, tag="function_call_output"):
    call_id: str
    output: str | list[_Part]
    name: str | None = None


class _CustomOutput(msgspec.Struct, tag="custom_tool_call_output"):
    call_id: str
    output: str | list[_Part]
    name: str | None = None


class _Thought(msgspec.Struct):
    text: str


class _Reasoning(msgspec.Struct, tag="reasoning"):
    summary: list[_Thought] | None = None
    content: list[_Thought] | None = None
    encrypted_content: str | None = None


_OutputItem: TypeAlias = _Message | _FunctionCall | _CustomCall | _Reasoning
_Item: TypeAlias = _OutputItem | _FunctionOutput | _CustomOutput


class _InputDetails(msgspec.Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _Usage(msgspec.Struct):
    input_tokens: int = 0
    output_tokens: int = 0
    input_tokens_details: _InputDetails | None = None


class _Incomplete(msgspec.Struct):
    reason: str | None = None


class _Error(msgspec.Struct):
    message: str | None = None


class _Response(msgspec.Struct):
    output: list[_OutputItem]
    id: str | None = None
    model: str | None = None
    status: str | None = None
    incomplete_details: _Incomplete | None = None
    error: _Error | None = None
    usage: _Usage | None = None


class _RawOutput(msgspec.Struct):
    output: list[Raw]


class _Kind(msgspec.Struct):
    type: Any = None
    role: Any = None
    output: Any = None


_kind = msgspec.json.Decoder(_Kind)
_message = msgspec.json.Decoder(_Message)
_item = msgspec.json.Decoder(_Item)
_response = msgspec.json.Decoder(_Response)
_raw_output = msgspec.json.Decoder(_RawOutput)


def read(item: bytes | Raw) -> list[Json]:
    """Return the agents' message for an item, or for all items of a complete response.

    Raises:
        UnreadableMessage: The item is not one of this format.
        msgspec.DecodeError: The item is not valid JSON, or not of the expected types.
    """
    kind = _kind.decode(item)
    if kind.type is None and kind.role is None and kind.output is not None:
        return [_of_response(_response.decode(item), _raw_output.decode(item).output)]
    decoded: _Item = _message.decode(item) if kind.type is None else _item.decode(item)
    match decoded:
        case _FunctionOutput() | _CustomOutput():
            content = _blocks(decoded.output, ".output")
            return [build.tool_result(decoded.call_id, decoded.name or "", content)]
        case _Message(role="system"):
            return [build.system(_joined_text(decoded))]
        case _Message(role="developer"):
            return [build.developer(_content(decoded))]
        case _Message(role="user"):
            return [build.user(_content(decoded))]
        case _:
            blocks = _assistant_blocks(decoded, item, "")
            return [
                build.assistant(blocks, ResponseDetails(_API, _PROVIDER, stop_reason=_stop_reason(blocks)))
            ]


def _of_response(response: _Response, raw_items: Sequence[Raw]) -> Json:
    if response.status in _UNFINISHED:
        raise UnreadableMessage("The response is not finished; send it when it is", ".status")
    blocks: list[Json] = []
    for number, (item, raw) in enumerate(zip(response.output, raw_items, strict=True)):
        if isinstance(item, _Message) and item.role != "assistant":
            raise UnreadableMessage(
                "The role of a message of a response must be `assistant`", f".output[{number}].role"
            )
        blocks += _assistant_blocks(item, raw, f".output[{number}]")
    reason, error = _stop_reason(blocks), None
    match response.status:
        case "failed":
            reason, error = "error", (response.error and response.error.message) or "The response failed."
        case "cancelled":
            reason = "aborted"
        case "incomplete" if response.incomplete_details and (
            response.incomplete_details.reason == "content_filter"
        ):
            reason, error = "error", "The content was filtered."
        case "incomplete":
            reason = "length"
    details = ResponseDetails(
        _API, _PROVIDER, model=response.model, usage=_usage(response.usage), stop_reason=reason, error=error,
        response_id=response.id,
    )  # fmt: skip
    return build.assistant(blocks, details)


def _stop_reason(blocks: Sequence[Json]) -> str:
    return "toolUse" if any(block["type"] == "toolCall" for block in blocks) else "stop"


def _assistant_blocks(item: _Item, raw: bytes | Raw, location: str) -> list[Json]:
    match item:
        case _Message():
            return _blocks(item.content, f"{location}.content")
        case _FunctionCall():
            return [function_call(item.call_id, item.name, item.arguments)]
        case _CustomCall():
            return [custom_call(item.call_id, item.name, item.input)]
        case _Reasoning():
            # The signature is the item as JSON, as pi stores it.
            thoughts = item.summary or item.content or ()
            signature = bytes(raw).decode() if item.encrypted_content is not None else None
            return [build.thinking("\n\n".join(thought.text for thought in thoughts), signature)]
    raise AssertionError("outputs of tools are no part of an assistant's message")


def _content(message: _Message) -> str | list[Json]:
    return message.content if isinstance(message.content, str) else _blocks(message.content, ".content")


def _blocks(content: str | list[_Part], location: str) -> list[Json]:
    if isinstance(content, str):
        return [build.text(content)] if content else []
    return [_block(part, f"{location}[{number}]") for number, part in enumerate(content)]


def _block(part: _Part, location: str) -> Json:
    match part:
        case _InputText() | _OutputText():
            return build.text(part.text)
        case _Refusal():
            return build.text(part.refusal)
    if part.image_url is None:
        raise UnreadableMessage("An image must have its data or its address in `image_url`", location)
    return image_at(part.image_url, None if part.detail == "auto" else part.detail)


def _joined_text(message: _Message) -> str:
    if isinstance(message.content, list) and any(isinstance(part, _Image) for part in message.content):
        raise UnreadableMessage("A system prompt must be text", ".content")
    return "\n\n".join(block["text"] for block in _blocks(message.content, ".content"))


def _usage(usage: _Usage | None) -> TokenUsage:
    if usage is None:
        return TokenUsage()
    details = usage.input_tokens_details or _InputDetails()
    read, cache_write = details.cached_tokens or 0, details.cache_write_tokens or 0
    return TokenUsage(max(0, usage.input_tokens - read - cache_write), usage.output_tokens, read, cache_write)
