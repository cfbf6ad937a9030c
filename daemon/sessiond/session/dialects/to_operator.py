"""Writes operator's format as its program reads it: a `session` header of version 3, snake_case, `contents`, floats.

Its document has other names for some entries (`session_header`, `branch`, `custom_info`). Its program does not
recognize a file with those names, and overwrites it (decision 0023).
"""

from typing import Any, Final

from sessiond.session.content import fields
from sessiond.session.dialects.exported import (
    TUNNEL_TYPE,
    ConversionLosses,
    ExportedSession,
    first_kept_id,
    header_entries,
    tunneled,
)
from sessiond.session.dialects.operator import SNAKE

_ROLES: Final = {
    "user": "user", "assistant": "assistant", "toolResult": "tool", "system": "system", "custom": "custom",
    "branchSummary": "branch_summary", "compactionSummary": "compaction_summary",
}  # fmt: skip
_PLAIN: Final = frozenset(
    ("session_info", "label", "leaf", "branch_summary", "custom", "thinking_level_change")
)
_USAGE: Final = {
    "input": "input_tokens", "output": "output_tokens", "cacheRead": "cache_read_tokens",
    "cacheWrite": "cache_write_tokens", "totalTokens": "total_tokens",
}  # fmt: skip
COST: Final = {"cacheRead": "cache_read", "cacheWrite": "cache_write"}


def to_operator(whole: ExportedSession, losses: ConversionLosses) -> bytes:
    """Return the contents of the file. Data that the format cannot represent is counted in `losses`."""
    header = {
        "type": "session", "version": 3, "id": whole.session_id, "timestamp": _seconds(whole.timestamp),
        "cwd": whole.cwd, "parent_session": whole.parent_session,
    }  # fmt: skip
    written = [fields.dumps(header)]
    for entry in [*header_entries(whole), *whole.entries]:
        base = {
            "type": fields.type_of(entry), "id": entry.get("id"), "parent_id": entry.get("parentId"),
            "timestamp": _seconds(entry.get("timestamp")),
        }  # fmt: skip
        written.append(fields.dumps({**base, **_payload(entry, losses)}))
    last = whole.entries[-1] if whole.entries else {}
    if whole.leaf is not None and last.get("id") != whole.leaf and fields.type_of(last) != "leaf":
        leaf = {
            "type": "leaf", "id": f"leaf-{fields.digest(whole.leaf)[:8]}", "parent_id": last.get("id"),
            "timestamp": _seconds(last.get("timestamp")), "target_id": whole.leaf,
        }  # fmt: skip
        written.append(fields.dumps(leaf))
    return b"\n".join(written) + b"\n"


def _payload(entry: dict[str, Any], losses: ConversionLosses) -> dict[str, Any]:
    type, payload = fields.type_of(entry), fields.payload_of(entry)
    match type:
        case "message" if (message := _message(payload.get("message"), losses)) is not None:
            return {**_snake(fields.without(payload, "message")), "message": message}
        case "model_change":
            return _model_change(payload)
        case "title_change":
            losses.carried[type] += 1
            return {
                "type": "session_info",
                "name": payload.get("title"),
                **_snake(fields.without(payload, "title")),
            }
        case "compaction":
            first = {"first_kept_entry_id": first_kept_id(entry)}
            return {
                **_snake(payload),
                **first,
                "tokens_before": int(fields.number(payload.get("tokensBefore"))),
            }
        case "custom_message":
            content = _contents(payload.get("content"), losses)
            return {**_snake(fields.without(payload, "content")), "content": content}
    if type in _PLAIN:
        return _snake(payload)
    return {"type": "custom", "custom_type": TUNNEL_TYPE, "data": tunneled(entry, losses)}


def _model_change(payload: dict[str, Any]) -> dict[str, Any]:
    """Return provider and model as separate fields. The single field of oh-my-pi is split."""
    provider, model = fields.model_parts(payload)
    rest = fields.without(payload, "provider", "modelId")
    owner = {"provider_id": provider} if provider else {}
    return {**owner, "model_id": model, **_snake(rest)}


def _message(message: Any, losses: ConversionLosses) -> dict[str, Any] | None:
    """Return a message of a role that operator has, or None for another role."""
    if not isinstance(message, dict) or fields.text(message.get("role")) not in _ROLES:
        return None
    role = _ROLES[message["role"]]
    made: dict[str, Any] = {"role": role}
    if isinstance(at := message.get("timestamp"), int | float):
        made["timestamp"] = at / 1000
    if isinstance(usage := message.get("usage"), dict):
        made["usage"] = _usage(usage)
    rest = _snake(fields.without(message, "role", "timestamp", "usage", "content"))
    if role == "tool":
        made["contents"] = [_result(message, losses)]
        rest = fields.without(rest, "tool_call_id", "is_error")
    elif "content" in message:
        made["contents"] = _contents(message["content"], losses)
    return {**made, **rest}


def _result(message: dict[str, Any], losses: ConversionLosses) -> dict[str, Any]:
    """Return a tool result. Operator has one text for it, so its texts are joined and other blocks are lost."""
    words: list[str] = []
    for block in (
        [message["content"]]
        if isinstance(message.get("content"), str)
        else fields.items(message.get("content"))
    ):
        if isinstance(block, str):
            words.append(block)
        elif isinstance(block, dict) and block.get("type") == "text":
            words.append(fields.as_text(block.get("text")))
        else:
            losses.lose(f"{fields.as_text(fields.mapping(block).get('type')) or 'block'} in a tool's result")
    if len(words) > 1:
        losses.lose("where one text of a tool's result ends")
    return {
        "type": "tool_result", "id": fields.as_text(message.get("toolCallId")), "content": "\n".join(words),
        "is_error": message.get("isError") is True,
    }  # fmt: skip


def _contents(content: Any, losses: ConversionLosses) -> list[dict[str, Any]]:
    found = [{"type": "text", "text": content}] if isinstance(content, str) else fields.items(content)
    made = [_block(block) for block in found if isinstance(block, dict)]
    for block, written in zip([it for it in found if isinstance(it, dict)], made, strict=True):
        if written is None:
            losses.lose(f"{fields.as_text(block.get('type')) or 'unnamed'} block")
    return [block for block in made if block is not None]


def _block(block: dict[str, Any]) -> dict[str, Any] | None:
    match block.get("type"):
        case "text":
            return {
                "type": "text",
                "content": fields.as_text(block.get("text")),
                **fields.without(block, "type", "text"),
            }
        case "thinking":
            rest = fields.without(block, "type", "thinking", "thinkingSignature")
            signature = fields.as_text(block.get("thinkingSignature"))
            return {
                "type": "thinking",
                "content": fields.as_text(block.get("thinking")),
                "signature": signature,
                **rest,
            }
        case "toolCall":
            rest = fields.without(block, "type", "id", "name", "arguments")
            return {
                "type": "tool_call", "id": fields.as_text(block.get("id")), "name": fields.as_text(block.get("name")),
                "args": fields.arguments(block.get("arguments")), **rest,
            }  # fmt: skip
        case "image" if isinstance(block.get("data"), str) and isinstance(block.get("mimeType"), str):
            return {"type": "image", "images": [f"data:{block['mimeType']};base64,{block['data']}"]}
    return None


def _usage(usage: dict[str, Any]) -> dict[str, Any]:
    made = {_USAGE.get(name, name): value for name, value in usage.items()}
    if isinstance(cost := made.get("cost"), dict):
        made["cost"] = {COST.get(name, name): value for name, value in cost.items()}
    return made


def _snake(value: dict[str, Any]) -> dict[str, Any]:
    return {SNAKE.get(name, name): it for name, it in value.items()}


def _seconds(value: object) -> float:
    return fields.seconds(value) or 0.0
