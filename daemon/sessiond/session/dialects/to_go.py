"""Writes the Go library's format: a version 1 header, payloads nested under the entry's type, content as a union.

The format has no line for the leaf: the last entry is the leaf. If the leaf is another entry, a custom entry below it
ends the file (decision 0023).
"""

from typing import Any

from sessiond.session.content import fields
from sessiond.session.content.image_links import image_url
from sessiond.session.dialects.exported import (
    TUNNEL_TYPE,
    ConversionLosses,
    ExportedSession,
    first_kept_id,
    header_entries,
    tunneled,
)
from sessiond.session.dialects.go import LEAF_TYPE
from sessiond.session.formats.build import NO_USAGE


def to_go(whole: ExportedSession, losses: ConversionLosses) -> bytes:
    """Return the contents of the file. Data that the format cannot represent is counted in `losses`."""
    header: dict[str, Any] = {"type": "session", "id": whole.session_id, "version": 1}
    if whole.parent_session is not None:
        header["parent_session"] = whole.parent_session
    header |= {"timestamp": whole.timestamp, "cwd": whole.cwd}
    written = [fields.dumps(header)]
    targets = {
        entry.get("id"): entry.get("targetId") for entry in whole.entries if fields.type_of(entry) == "leaf"
    }
    last: object = None
    for entry in [*header_entries(whole), *whole.entries]:
        if fields.type_of(entry) == "leaf":
            continue
        type, payload = _payload(entry, losses)
        last = entry.get("id")
        made = {
            "type": type, "id": last, "parent_id": _above(entry.get("parentId"), targets),
            "timestamp": entry.get("timestamp"), type: payload,
        }  # fmt: skip
        written.append(fields.dumps(made))
    if last != whole.leaf:
        pointer = {
            "type": "custom", "id": f"leaf-{fields.digest(whole.leaf or '')[:8]}", "parent_id": whole.leaf,
            "timestamp": whole.timestamp, "custom": {"custom_type": LEAF_TYPE, "data": {}},
        }  # fmt: skip
        written.append(fields.dumps(pointer))
    return b"\n".join(written) + b"\n"


def _above(parent: object, targets: dict[Any, Any]) -> object:
    """Return the parent. A leaf line is replaced by its target."""
    seen: set[object] = set()
    while isinstance(parent, str) and parent in targets and parent not in seen:
        seen.add(parent)
        parent = targets[parent]
    return parent


def _payload(entry: dict[str, Any], losses: ConversionLosses) -> tuple[str, dict[str, Any]]:
    type, payload = fields.type_of(entry), fields.payload_of(entry)
    match type:
        case "message" if (message := _message(payload.get("message"), losses)) is not None:
            losses.lose_rest("message entry", payload, "message")
            return type, message
        case "model_change":
            return type, _model_change(payload, losses)
        case "thinking_level_change":
            losses.lose_rest(type, payload, "thinkingLevel")
            return "thinking_level", {"thinking_level": fields.text(payload.get("thinkingLevel")) or "off"}
        case "label":
            losses.lose_rest(type, payload, "targetId", "label")
            label = fields.text(payload.get("label"))
            return type, {"target_id": payload.get("targetId"), **({} if label is None else {"label": label})}
        case "session_info" | "title_change":
            losses.lose_rest(type, payload, "name", "title")
            return "session_info", {"name": fields.as_text(fields.first(payload, "name", "title"))}
        case "compaction":
            losses.lose_rest(type, payload, "summary", "firstKeptEntryId", "tokensBefore")
            return type, {
                "summary": fields.as_text(payload.get("summary")), "first_kept_entry_id": first_kept_id(entry),
                "tokens_before": int(fields.number(payload.get("tokensBefore"))),
            }  # fmt: skip
        case "branch_summary":
            losses.lose_rest(type, payload, "summary", "fromId")
            return type, {
                "summary": fields.as_text(payload.get("summary")),
                "from_id": fields.as_text(payload.get("fromId")),
            }
        case "custom_message":
            losses.lose_rest(type, payload, "content")
            return "message", {"role": "custom", "content": _content(payload.get("content"), losses)}
        case "custom" if isinstance(payload.get("data"), dict) and payload.keys() <= {"customType", "data"}:
            return type, {
                "custom_type": fields.as_text(payload.get("customType")),
                "data": payload["data"],
            }
    return "custom", {"custom_type": TUNNEL_TYPE, "data": tunneled(entry, losses)}


def _model_change(payload: dict[str, Any], losses: ConversionLosses) -> dict[str, Any]:
    provider, model = fields.model_parts(payload)
    losses.lose_rest("model_change", payload, "provider", "modelId", "model")
    return {"provider": provider, "model_id": model}


def _message(message: Any, losses: ConversionLosses) -> dict[str, Any] | None:
    if not isinstance(message, dict):
        return None
    role, content = message.get("role"), message.get("content")
    made: dict[str, Any]
    match role:
        case "assistant":
            unused = ("usage",) if message.get("usage") == NO_USAGE else ()
            losses.lose_rest("assistant", message, "role", "content", "provider", "model", *unused)
            made = {"role": role, "content": _content(content, losses)}
            name, owner = (
                fields.text(message.get("model")),
                fields.text(message.get("provider")),
            )
            if name is not None:
                made["model"] = f"{owner}/{name}" if owner else name
            elif owner is not None:
                losses.lose("the provider of a message without a model")
            return made
        case "toolResult":
            losses.lose_rest("toolResult", message, "role", "content", "toolCallId", "isError", "toolName")
            return {"role": "tool", "content": [_result(message, losses)]}
        case "bashExecution":
            losses.lose_rest("bashExecution", message, "role", "output")
            return {"role": role, "content": _content(fields.as_text(message.get("output")), losses)}
        case "branchSummary" | "compactionSummary":
            losses.lose_rest(role, message, "role", "summary")
            return {"role": role, "content": _content(fields.as_text(message.get("summary")), losses)}
        case "user" | "custom":
            losses.lose_rest(role, message, "role", "content")
            return {"role": role, "content": _content(content, losses)}
    return None


def _result(message: dict[str, Any], losses: ConversionLosses) -> dict[str, Any]:
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
    result = {
        "tool_use_id": fields.as_text(message.get("toolCallId")), "is_error": message.get("isError") is True,
        "content": "\n".join(words),
    }  # fmt: skip
    return {"type": "tool_result", "tool_result": result}


def _content(content: Any, losses: ConversionLosses) -> list[dict[str, Any]]:
    found = [{"type": "text", "text": content}] if isinstance(content, str) else fields.items(content)
    made: list[dict[str, Any]] = []
    for block in found:
        written = _block(block, losses) if isinstance(block, dict) else None
        if written is None:
            losses.lose(f"{fields.as_text(fields.mapping(block).get('type')) or 'unnamed'} block")
        else:
            made.append(written)
    return made


def _block(block: dict[str, Any], losses: ConversionLosses) -> dict[str, Any] | None:
    match block.get("type"):
        case "text":
            losses.lose_rest("text", block, "type", "text")
            return {"type": "text", "text": {"content": fields.as_text(block.get("text"))}}
        case "toolCall":
            losses.lose_rest("toolCall", block, "type", "id", "name", "arguments")
            call = {
                "id": fields.as_text(block.get("id")), "name": fields.as_text(block.get("name")),
                "input": fields.arguments(block.get("arguments")),
            }  # fmt: skip
            return {"type": "tool_use", "tool_use": call}
        case "image" if isinstance(block.get("data"), str):
            losses.lose_rest("image", block, "type", "data", "mimeType")
            source = {
                "type": "base64",
                "media_type": fields.as_text(block.get("mimeType")),
                "data": block["data"],
            }
            return {"type": "image", "image": {"source": source}}
        case "image" if (url := image_url(block)) is not None:
            kind = fields.text(block.get("mimeType"))
            kind = kind or fields.text(_source(block).get("media_type")) or ""
            source = {"type": "url", "media_type": kind, "data": url}
            return {"type": "image", "image": {"source": source}}
    return None


def _source(block: dict[str, Any]) -> dict[str, Any]:
    return fields.mapping(fields.mapping(block.get("image")).get("source") or block.get("source"))
