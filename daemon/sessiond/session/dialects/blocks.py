"""Converts blocks of message content of operator and the Go library to the shapes used here.

The readers accept nested blocks (`{"type": "text", "text": {"content": …}}`) and flat blocks (`{"type": "text",
"content": …}`), because both programs write both (decision 0023).
"""

from typing import Any

from sessiond.session.content import fields


def blocks(content: Any) -> list[dict[str, Any]]:
    """Return the content as blocks. A string becomes one text block."""
    found = [content] if isinstance(content, str) else fields.items(content)
    return [made for block in found if isinstance(block, dict | str) for made in _blocks_of(block)]


def results(content: Any) -> list[dict[str, Any]]:
    """Return the tool results of `content` as flat objects {id, content, isError, rest}. Other blocks are left out."""
    found = [block for block in fields.items(content) if isinstance(block, dict)]
    return [_result(block) for block in found if block.get("type") in ("tool_result", "toolResult")]


def beside_results(content: Any) -> Any:
    """Return the content without tool results."""
    if not isinstance(content, list):
        return content
    return [
        block
        for block in content
        if not (isinstance(block, dict) and block.get("type") in ("tool_result", "toolResult"))
    ]


def _blocks_of(block: dict[str, Any] | str) -> list[dict[str, Any]]:
    if isinstance(block, str):
        return [{"type": "text", "text": block}]
    match block.get("type"):
        case "text":
            inner = block.get("text")
            words = fields.mapping(inner).get("content") if isinstance(inner, dict) else inner
            if words is None:
                words = block.get("content")
            return [
                {
                    "type": "text",
                    "text": fields.as_text(words),
                    **fields.without(block, "type", "text", "content"),
                }
            ]
        case "thinking":
            inner = _inner(block, "thinking")
            words = fields.first(inner, "thinking", "content")
            signature = fields.first(inner, "thinkingSignature", "signature")
            signed = {"thinkingSignature": signature} if signature else {}
            rest = fields.without(inner, "type", "thinking", "content", "signature", "thinkingSignature")
            return [{"type": "thinking", "thinking": fields.as_text(words), **signed, **rest}]
        case "tool_use" | "tool_call" | "toolCall":
            return [_call(block)]
        case "image":
            return _images(block)
    return [block]


def _call(block: dict[str, Any]) -> dict[str, Any]:
    call = _inner(block, fields.as_text(block.get("type")))
    rest = fields.without(call, "type", "id", "name", "input", "args", "arguments")
    return {
        "type": "toolCall", "id": fields.as_text(call.get("id")), "name": fields.as_text(call.get("name")),
        "arguments": fields.arguments(fields.first(call, "input", "args", "arguments")),
        **{name: value for name, value in rest.items() if value not in (None, {})},
    }  # fmt: skip


def _result(block: dict[str, Any]) -> dict[str, Any]:
    result = _inner(block, fields.as_text(block.get("type")))
    return {
        "id": fields.as_text(fields.first(result, "tool_use_id", "tool_call_id", "toolCallId", "id")),
        "content": blocks(result.get("content")),
        "isError": fields.first(result, "is_error", "isError") is True,
        "rest": {
            name: value
            for name, value in (("details", result.get("metadata")), ("terminate", result.get("terminate")))
            if value not in (None, {}, False)
        },
    }


def _images(block: dict[str, Any]) -> list[dict[str, Any]]:
    if isinstance(block.get("data"), str) and isinstance(block.get("mimeType"), str):
        return [block]
    inner = _inner(block, "image")
    source = fields.mapping(inner.get("source"))
    if source.get("type") == "base64" and isinstance(source.get("data"), str):
        return [
            {
                "type": "image",
                "data": source["data"],
                "mimeType": fields.as_text(source.get("media_type")),
            }
        ]
    images = [image for image in fields.items(block.get("images")) if isinstance(image, str)]
    if images and len(images) == len(fields.items(block.get("images"))):
        return [_image(image) for image in images]
    return [block]


def _image(text: str) -> dict[str, Any]:
    """Return an image block for a data URL, another URL or bare base64. Only another URL stays a URL."""
    if text.startswith("data:") and ";base64," in text:
        head, _, data = text.partition(";base64,")
        return {"type": "image", "data": data, "mimeType": head.removeprefix("data:")}
    if "://" in text:
        return {"type": "image", "source": {"type": "url", "url": text}}
    return {"type": "image", "data": text, "mimeType": _mime_type(text)}


def _mime_type(data: str) -> str:
    known = {"/9j/": "image/jpeg", "R0lG": "image/gif", "UklG": "image/webp"}
    return known.get(data[:4], "image/png")


def _inner(block: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the object nested under the block's own type, or else the block."""
    inner = block.get(name)
    return inner if isinstance(inner, dict) else block
