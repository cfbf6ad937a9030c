"""The messages of Claude Code, in the shapes that pi and oh-my-pi have them here.

What a block says stays; what there is no place for stays in the block under its own name. Prices are not in
the source, so costs are 0.
"""

from typing import Any, Final

from sessiond.session.content import fields

_STOPS: Final = {
    "end_turn": "stop", "stop_sequence": "stop", "tool_use": "toolUse", "max_tokens": "length",
    "refusal": "error", "pause_turn": "stop",
}  # fmt: skip


def assistant(parts: list[dict[str, Any]], *, at: str, synthetic_is_error: bool = False) -> dict[str, Any]:
    """One assistant message out of the lines that it was split into: their `message` objects, in order."""
    last = parts[-1]
    content = [block for part in parts for block in blocks(part.get("content"))]
    calls = any(block.get("type") == "toolCall" for block in content)
    stop = next(
        (part["stop_reason"] for part in reversed(parts) if fields.text(part.get("stop_reason"))),
        None,
    )
    message: dict[str, Any] = {
        "role": "assistant", "content": content, "api": "anthropic-messages", "provider": "anthropic",
        "model": fields.text(last.get("model")) or "unknown",
    }  # fmt: skip
    spent = next((fields.mapping(part["usage"]) for part in reversed(parts) if part.get("usage")), None)
    if spent is not None:
        message["usage"] = usage(spent)
    message["stopReason"] = _STOPS.get(str(stop), "toolUse" if calls else "stop")
    if synthetic_is_error:
        message["stopReason"] = "error"
        message["errorMessage"] = plain_text(content)
    if (response := fields.text(last.get("id"))) is not None:
        message["responseId"] = response
    return _timed(message, at)


def user(content: Any, *, at: str) -> dict[str, Any]:
    """A user message; a text stays a text."""
    return _timed({"role": "user", "content": content if isinstance(content, str) else blocks(content)}, at)


def tool_result(block: dict[str, Any], name: str, *, at: str) -> dict[str, Any]:
    """The result of a tool call; `name` is that of the tool, as the call had it."""
    return _timed(
        {
            "role": "toolResult", "toolCallId": fields.text(block.get("tool_use_id")) or "",
            "toolName": name, "content": blocks(block.get("content")),
            "isError": block.get("is_error") is True,
        },
        at,
    )  # fmt: skip


def blocks(content: Any) -> list[dict[str, Any]]:
    """Content as blocks; a text is one, and so is each text among blocks."""
    found = [content] if isinstance(content, str) else fields.items(content)
    return [_block(block) for block in found if isinstance(block, dict | str)]


def plain_text(content: Any) -> str:
    """What content says in words."""
    if isinstance(content, str):
        return content
    texts = (fields.text(fields.mapping(block).get("text")) for block in fields.items(content))
    return "\n".join(filter(None, texts))


def usage(spent: dict[str, Any]) -> dict[str, Any]:
    """Tokens as pi counts them."""
    counted = {
        "input": fields.number(spent.get("input_tokens")),
        "output": fields.number(spent.get("output_tokens")),
        "cacheRead": fields.number(spent.get("cache_read_input_tokens")),
        "cacheWrite": fields.number(spent.get("cache_creation_input_tokens")),
    }
    return {**counted, "totalTokens": sum(counted.values()), "cost": no_cost()}


def no_cost() -> dict[str, int]:
    """Costs where the source knows none."""
    return {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}


def _timed(message: dict[str, Any], at: str) -> dict[str, Any]:
    said_at = fields.milliseconds(at)
    return message if said_at is None else {**message, "timestamp": said_at}


def _block(block: dict[str, Any] | str) -> dict[str, Any]:
    if isinstance(block, str):
        return {"type": "text", "text": block}
    match block.get("type"):
        case "thinking":
            rest = fields.without(block, "type", "thinking", "signature")
            signature = fields.text(block.get("signature"))
            signed = {} if signature is None else {"thinkingSignature": signature}
            return {
                "type": "thinking",
                "thinking": fields.as_text(block.get("thinking")),
                **signed,
                **rest,
            }
        case "redacted_thinking":
            return {"type": "redactedThinking", **fields.without(block, "type")}
        case "tool_use":
            rest = fields.without(block, "type", "id", "name", "input")
            return {
                "type": "toolCall", "id": fields.as_text(block.get("id")),
                "name": fields.as_text(block.get("name")),
                "arguments": fields.arguments(block.get("input")), **rest,
            }  # fmt: skip
        case "image":
            return _image(block)
    return block


def _image(block: dict[str, Any]) -> dict[str, Any]:
    source = fields.mapping(block.get("source"))
    data, mime_type = source.get("data"), source.get("media_type")
    if source.get("type") != "base64" or not isinstance(data, str) or not isinstance(mime_type, str):
        return block
    return {
        "type": "image",
        "data": data,
        "mimeType": mime_type,
        **fields.without(block, "type", "source"),
    }
