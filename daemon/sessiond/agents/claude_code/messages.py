"""Converts messages of Claude Code to the shapes of pi and oh-my-pi.

Fields of a block that have no counterpart stay in the block under their own name. Only versions up to 1.0 record costs
(`costUSD`); the costs of others are 0.
"""

from typing import Any

from sessiond.session.content import fields, stop_reasons
from sessiond.session.dialects.messages import timed
from sessiond.session.formats.build import NO_COST


def assistant(
    parts: list[dict[str, Any]], *, at: str, cost: float = 0, synthetic_is_error: bool = False
) -> dict[str, Any]:
    """Return one assistant message made of the lines that it was split into.

    Args:
        parts: The `message` objects of the lines, in order.
        at: The time of the message (ISO 8601).
        cost: The cost of the request in US dollars, if the program recorded it.
        synthetic_is_error: Whether the program wrote the message about a failed request.
    """
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
    if spent is not None or cost:
        message["usage"] = {**usage(spent or {}), "cost": {**NO_COST, "total": cost}}
    message["stopReason"] = stop_reasons.OF_ANTHROPIC.get(str(stop), "toolUse" if calls else "stop")
    if synthetic_is_error:
        message["stopReason"] = "error"
        message["errorMessage"] = plain_text(content)
    if (response := fields.text(last.get("id"))) is not None:
        message["responseId"] = response
    return timed(message, at)


def user(content: Any, *, at: str) -> dict[str, Any]:
    """Return a user message. Content that is a string stays a string."""
    return timed({"role": "user", "content": content if isinstance(content, str) else blocks(content)}, at)


def tool_result(block: dict[str, Any], name: str, *, at: str) -> dict[str, Any]:
    """Return the result of a tool call. `name` is the tool's name from the call."""
    return timed(
        {
            "role": "toolResult", "toolCallId": fields.text(block.get("tool_use_id")) or "",
            "toolName": name, "content": blocks(block.get("content")),
            "isError": block.get("is_error") is True,
        },
        at,
    )  # fmt: skip


def blocks(content: Any) -> list[dict[str, Any]]:
    """Return the content as blocks. A string becomes one text block, and so does each string in a list."""
    found = [content] if isinstance(content, str) else fields.items(content)
    return [_block(block) for block in found if isinstance(block, dict | str)]


def plain_text(content: Any) -> str:
    """Return the text of the content, one line for each text block."""
    if isinstance(content, str):
        return content
    texts = (fields.text(fields.mapping(block).get("text")) for block in fields.items(content))
    return "\n".join(filter(None, texts))


def usage(spent: dict[str, Any]) -> dict[str, Any]:
    """Return the usage with the names of pi, and with `totalTokens`.

    Tokens with other prices are added with the names of oh-my-pi: `cttl` for tokens that a cache keeps for an hour.
    `speed` has the name that the provider gives it.
    """
    counted = {
        "input": fields.number(spent.get("input_tokens")),
        "output": fields.number(spent.get("output_tokens")),
        "cacheRead": fields.number(spent.get("cache_read_input_tokens")),
        "cacheWrite": fields.number(spent.get("cache_creation_input_tokens")),
    }
    made: dict[str, Any] = {**counted, "totalTokens": sum(counted.values()), "cost": NO_COST}
    written = fields.mapping(spent.get("cache_creation"))
    if long_lived := fields.number(written.get("ephemeral_1h_input_tokens")):
        made["cttl"] = {
            "ephemeral5m": fields.number(written.get("ephemeral_5m_input_tokens")), "ephemeral1h": long_lived,
        }  # fmt: skip
    if (speed := fields.text(spent.get("speed"))) is not None and speed != "standard":
        made["speed"] = speed
    return made


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
