"""Valid messages for providers, checked against the types of their own SDKs, and against rules that types lack.

`check(format, messages, system)` raises an AssertionError, or pydantic's ValidationError. The SDKs are imported
when they are first needed: that takes seconds.
"""

import base64
import json  # noqa: TID251 - what is sent is read as another program reads it
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Literal

Provider = Literal["openai", "openai-responses", "anthropic", "google"]
PROVIDERS: tuple[Provider, ...] = ("openai", "openai-responses", "anthropic", "google")
Message = dict[str, Any]


def check(format: Provider, messages: Sequence[Message], system: Any = None) -> None:
    """Check that a provider would accept a request with these messages."""
    check_types(format, messages, system)
    _RULES[format](messages, system)


def check_types(format: Provider, messages: Sequence[Message], system: Any = None) -> None:
    """Check that the SDK's own types accept these messages, without unknown keys."""
    accept = _accept(format)
    for message in messages:
        accept(message)
    if format == "google" and system is not None:
        accept(system)


@cache
def _accept(format: Provider) -> Callable[[Message], object]:
    if format == "google":
        from google.genai import types

        # As JSON, because JSON has the form of bytes on the wire. The SDK's models forbid unknown keys.
        return lambda content: types.Content.model_validate_json(json.dumps(content))
    from pydantic import TypeAdapter
    from pydantic_core import SchemaValidator

    if format == "openai":
        from openai.types.chat import ChatCompletionMessageParam

        adapter: Any = TypeAdapter(ChatCompletionMessageParam)
    elif format == "openai-responses":
        from openai.types.responses import ResponseInputItemParam

        adapter = TypeAdapter(ResponseInputItemParam)
    else:
        from anthropic.types import MessageParam

        adapter = TypeAdapter(MessageParam)
    validator = SchemaValidator(_strict(adapter.core_schema))
    return lambda message: validator.validate_python(message, strict=True)


def _strict(schema: Any) -> Any:
    """A schema that forbids unknown keys, and that validates iterables immediately."""
    if isinstance(schema, list | tuple):
        return type(schema)(_strict(each) for each in schema)
    if not isinstance(schema, dict):
        return schema
    stricter = {name: _strict(value) for name, value in schema.items() if name != "metadata"}
    if schema.get("type") == "typed-dict":
        stricter["extra_behavior"] = "forbid"
    elif schema.get("type") == "generator":
        stricter["type"] = "list"
    return stricter


# --- OpenAI --------------------------------------------------------------------------------------------------


def _check_openai(messages: Sequence[Message], system: Any) -> None:
    assert system is None, "the system prompt is a message"
    waiting: list[str] = []
    for message in messages:
        role, content = message["role"], message.get("content")
        if role == "tool":
            assert message["tool_call_id"] in waiting, "a result stands right behind its call, once"
            waiting.remove(message["tool_call_id"])
            assert content is not None
            continue
        assert not waiting, f"calls without a result: {waiting}"
        calls = message.get("tool_calls", [])
        waiting = [call["id"] for call in calls]
        assert len(set(waiting)) == len(waiting), "two calls with one id"
        assert all(1 <= len(call_id) <= 40 for call_id in waiting), "an id has 1 to 40 characters"
        for call in calls:
            assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call["function"]["name"])
        assert content or calls, "an empty message"
        for text in _texts(content):
            assert text.strip(), "blank text"
        for part in content if isinstance(content, list) else ():
            if part["type"] == "image_url":
                assert role == "user", "only a user shows images"
                _check_url(part["image_url"]["url"])
    assert not waiting, f"calls without a result: {waiting}"


def _check_url(url: str) -> None:
    if url.startswith("data:"):
        kind, _, data = url.removeprefix("data:").partition(";base64,")
        assert kind.startswith("image/")
        assert base64.b64decode(data, validate=True)
    else:
        assert url.startswith(("http://", "https://"))


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif content is not None:
        yield from (part["text"] for part in content if part["type"] == "text")


# --- OpenAI's Responses API -----------------------------------------------------------------------------------


def _check_openai_responses(items: Sequence[Message], system: Any) -> None:
    assert system is None, "the system prompt is an item"
    known: set[str] = set()
    waiting: list[str] = []
    for item in items:
        match item.get("type", "message"):
            case "function_call":
                assert 1 <= len(item["call_id"]) <= 64, "an id has 1 to 64 characters"
                assert item["call_id"] not in known, "an id is used twice"
                assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", item["name"])
                known.add(item["call_id"])
                waiting.append(item["call_id"])
            case "function_call_output":
                assert item["call_id"] in waiting, "an output stands behind its call, once"
                waiting.remove(item["call_id"])
                _check_input(item["output"], "user")
            case "message":
                assert not waiting, f"calls without an output: {waiting}"
                assert item["content"], "an empty message"
                assert item["role"] != "assistant" or isinstance(item["content"], str), (
                    "no output without ids"
                )
                _check_input(item["content"], item["role"])
            case other:
                raise AssertionError(f"an item that is not written: {other}")
    assert not waiting, f"calls without an output: {waiting}"


def _check_input(content: Any, role: str) -> None:
    assert not isinstance(content, str) or content.strip() or role == "user"
    for part in content if isinstance(content, list) else ():
        if part["type"] == "input_image":
            assert role == "user", "only users and tools show images"
            _check_url(part["image_url"])
        else:
            assert part["text"].strip(), "blank text"


# --- Anthropic -----------------------------------------------------------------------------------------------


def _check_anthropic(messages: Sequence[Message], system: Any) -> None:
    assert system is None or (isinstance(system, str) and system.strip())
    _check_roles([message["role"] for message in messages], "assistant")
    known: set[str] = set()
    waiting: list[str] = []
    for message in messages:
        blocks = message["content"]
        blocks = [{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks
        assert blocks, "an empty message"
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        assert sorted(answered) == sorted(waiting), "each call has its result in the next message"
        assert all(block["type"] == "tool_result" for block in blocks[: len(answered)]), "results come first"
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        assert not known.intersection(waiting), "an id is used twice"
        known.update(waiting)
        for block in blocks:
            _check_block(block, message["role"])
        assert blocks[-1]["type"] not in ("thinking", "redacted_thinking"), "thinking at the end of a turn"
    assert not waiting, f"calls without a result: {waiting}"
    if messages and messages[-1]["role"] == "assistant" and blocks[-1]["type"] == "text":
        assert blocks[-1]["text"] == blocks[-1]["text"].rstrip(), "white space at the end"


def _check_block(block: Message, role: str) -> None:
    match block["type"]:
        case "text":
            assert block["text"].strip(), "blank text"
        case "image":
            assert role == "user", "only a user shows images"
            if block["source"]["type"] == "url":
                assert block["source"]["url"].startswith("https://")
            else:
                assert base64.b64decode(block["source"]["data"], validate=True)
        case "tool_use":
            assert role == "assistant"
            assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", block["id"])
            assert re.fullmatch(r"[A-Za-z0-9_-]{1,128}", block["name"])
        case "tool_result":
            assert role == "user"
            content = block.get("content", "")
            for inner in content if isinstance(content, list) else ():
                assert inner["type"] == "text" or not block.get("is_error"), "an error shows no images"
                _check_block(inner, role)
        case "thinking" | "redacted_thinking":
            assert role == "assistant"


def _check_roles(roles: Sequence[str], assistant: str) -> None:
    assert roles[::2] == ["user"] * len(roles[::2]), "roles alternate, the user first"
    assert roles[1::2] == [assistant] * len(roles[1::2]), "roles alternate, the user first"


# --- Google --------------------------------------------------------------------------------------------------


def _check_google(messages: Sequence[Message], system: Any) -> None:
    if system is not None:
        assert all(part["text"].strip() for part in system["parts"])
    _check_roles([message["role"] for message in messages], "model")
    waiting: list[Message] = []
    for message in messages:
        parts = message["parts"]
        assert parts, "an empty message"
        answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
        named = [(call.get("id"), call["name"]) for call in waiting]
        assert [(answer.get("id"), answer["name"]) for answer in answers] == named, "each call has its answer"
        assert all("functionResponse" in part for part in parts[: len(answers)]), "answers come first"
        waiting = [part["functionCall"] for part in parts if "functionCall" in part]
        for part in parts:
            kinds = part.keys() - {"thought", "thoughtSignature"}
            assert len(kinds) == 1, f"a part is one thing: {kinds}"
            assert message["role"] == "model" or kinds <= {
                "text",
                "inlineData",
                "fileData",
                "functionResponse",
            }
            if "text" in part and "thoughtSignature" not in part:
                assert part["text"].strip(), "blank text"
            if "functionCall" in part:
                assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}", part["functionCall"]["name"])
    assert not waiting, f"calls without an answer: {waiting}"


_RULES: dict[Provider, Callable[[Sequence[Message], Any], None]] = {
    "openai": _check_openai,
    "openai-responses": _check_openai_responses,
    "anthropic": _check_anthropic,
    "google": _check_google,
}
