"""The four streaming APIs of model providers, in a server: how it reads a request and sends an answer."""

import json  # noqa: TID251 - read and written as another program does it
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

Json = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """One part of a conversation that an agent sent: a text, a tool call or a tool result."""

    kind: Literal["user", "assistant", "call", "result"]
    text: str
    """The text; the arguments of a call as JSON; the text of a result."""
    name: str = ""
    call_id: str = ""


@dataclass(frozen=True)
class Answer:
    """The next answer of the model: a text, tool calls, or both."""

    text: str = ""
    calls: tuple[tuple[str, Json], ...] = ()
    """The tool calls: their names and arguments."""
    prompt_tokens: int = 11
    """The tokens of the request, as the model counts them."""


@dataclass(frozen=True)
class Api:
    """One API: its name, how its requests are read, and the events that stream an answer."""

    name: Literal["anthropic", "responses", "chat", "gemini"]
    conversation: Callable[[Json], Iterator[Part]]
    events: Callable[[Answer, str, str], Iterator[Json | str]]
    """Called with the answer, an id and the name of the model; returns JSON events, or a plain word as data."""
    names_events: bool = field(default=False)
    """Whether each event begins with a line `event:` that repeats its type."""


def _plain(content: Any) -> str:
    """The text of a content that is a string or a list of blocks."""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or () if isinstance(part, dict))


# --- Anthropic: /v1/messages ----------------------------------------------------------------------------------


def _read_anthropic(body: Json) -> Iterator[Part]:
    for message in body["messages"]:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            match block["type"]:
                case "text":
                    yield Part(message["role"], block["text"])
                case "tool_use":
                    yield Part("call", json.dumps(block["input"]), block["name"], block["id"])
                case "tool_result":
                    yield Part("result", _plain(block.get("content")), call_id=block["tool_use_id"])


def _stream_anthropic(answer: Answer, id: str, model: str) -> Iterator[Json | str]:
    usage = {
        "input_tokens": answer.prompt_tokens,
        "output_tokens": 7,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
    }
    head = {"id": f"msg_{id}", "type": "message", "role": "assistant", "model": model, "content": []}
    yield {
        "type": "message_start",
        "message": {**head, "stop_reason": None, "stop_sequence": None, "usage": usage},
    }
    blocks: list[tuple[Json, Json]] = []
    if answer.text:
        blocks.append(({"type": "text", "text": ""}, {"type": "text_delta", "text": answer.text}))
    for number, (name, arguments) in enumerate(answer.calls):
        block = {"type": "tool_use", "id": f"toolu_{id}{number}", "name": name, "input": {}}
        blocks.append((block, {"type": "input_json_delta", "partial_json": json.dumps(arguments)}))
    for index, (block, delta) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    reason = "tool_use" if answer.calls else "end_turn"
    delta = {"stop_reason": reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7}}
    yield {"type": "message_stop"}


# --- OpenAI: /v1/responses ------------------------------------------------------------------------------------


def _read_responses(body: Json) -> Iterator[Part]:
    for item in body["input"]:
        match item.get("type", "message"):
            case "message" if item["role"] in ("user", "assistant"):
                yield Part(item["role"], _plain(item["content"]))
            case "function_call":
                yield Part("call", item["arguments"], item["name"], item["call_id"])
            case "function_call_output":
                yield Part("result", _plain(item["output"]), call_id=item["call_id"])


def _stream_responses(answer: Answer, id: str, model: str) -> Iterator[Json | str]:
    yield {"type": "response.created", "response": {"id": f"resp_{id}", "model": model}}
    items: list[Json] = []
    if answer.text:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        message = {"type": "message", "role": "assistant", "id": f"msg_{id}", "status": "completed"}
        items.append({**message, "content": content})
    for number, (name, arguments) in enumerate(answer.calls):
        namespace, _, short = name.rpartition(".")  # Codex has the tools of an MCP server in a namespace
        call = {
            "type": "function_call",
            "id": f"fc_{id}{number}",
            "call_id": f"call_{id}{number}",
            "name": short,
            **({"namespace": namespace} if namespace else {}),
        }
        items.append({**call, "arguments": json.dumps(arguments)})
    for index, item in enumerate(items):
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    usage = {
        "input_tokens": answer.prompt_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": answer.prompt_tokens + 7,
    }
    whole = {"id": f"resp_{id}", "object": "response", "created_at": 1, "model": model, "status": "completed"}
    yield {"type": "response.completed", "response": {**whole, "output": items, "usage": usage}}


# --- OpenAI: /v1/chat/completions -----------------------------------------------------------------------------


def _read_chat(body: Json) -> Iterator[Part]:
    for message in body["messages"]:
        text = _plain(message.get("content"))
        match message["role"]:
            case "tool":
                yield Part("result", text, call_id=message["tool_call_id"])
            case "user" | "assistant" as role:
                if text:
                    yield Part(role, text)
                for call in message.get("tool_calls", ()):
                    function = call["function"]
                    yield Part("call", function["arguments"], function["name"], call["id"])


def _stream_chat(answer: Answer, id: str, model: str) -> Iterator[Json | str]:
    head = {
        "id": f"chatcmpl-{id}",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": model,
    }

    def chunk(delta: Json, reason: str | None = None) -> Json:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    yield chunk({"role": "assistant", "content": answer.text})
    for number, (name, arguments) in enumerate(answer.calls):
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"index": number, "id": f"call_{id}{number}", "type": "function", "function": function}
        yield chunk({"tool_calls": [call]})
    yield chunk({}, "tool_calls" if answer.calls else "stop")
    yield {
        **head,
        "choices": [],
        "usage": {
            "prompt_tokens": answer.prompt_tokens,
            "completion_tokens": 7,
            "total_tokens": answer.prompt_tokens + 7,
        },
    }
    yield "[DONE]"


# --- Gemini: /v1beta/models/MODEL:streamGenerateContent -------------------------------------------------------


def _read_gemini(body: Json) -> Iterator[Part]:
    for content in body["contents"]:
        for part in content["parts"]:
            if "functionCall" in part:
                call = part["functionCall"]
                yield Part("call", json.dumps(call.get("args", {})), call["name"], call.get("id", ""))
            elif "functionResponse" in part:
                result = part["functionResponse"]
                yield Part("result", json.dumps(result["response"]), result["name"], result.get("id", ""))
            elif part.get("text") and not part.get("thought"):
                yield Part("user" if content["role"] == "user" else "assistant", part["text"])


def _stream_gemini(answer: Answer, id: str, model: str) -> Iterator[Json | str]:
    parts: list[Json] = [{"text": answer.text}] if answer.text else []
    for number, (name, arguments) in enumerate(answer.calls):
        parts.append({"functionCall": {"id": f"call_{id}{number}", "name": name, "args": arguments}})
    yield {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": answer.prompt_tokens,
            "candidatesTokenCount": 7,
            "totalTokenCount": answer.prompt_tokens + 7,
        },
        "modelVersion": model,
        "responseId": id,
    }


ANTHROPIC = Api("anthropic", _read_anthropic, _stream_anthropic, names_events=True)
RESPONSES = Api("responses", _read_responses, _stream_responses, names_events=True)
CHAT = Api("chat", _read_chat, _stream_chat)
GEMINI = Api("gemini", _read_gemini, _stream_gemini)


def api_of(path: str) -> Api | None:
    """The API that a request to this path uses; None for another endpoint."""
    route = path.partition("?")[0]
    if route.endswith("/messages"):
        return ANTHROPIC
    if route.endswith("/responses"):
        return RESPONSES
    if route.endswith("/chat/completions"):
        return CHAT
    return GEMINI if route.endswith(("enerateContent",)) else None
