"""Writes operator's format as its program reads it: a `session` header of version 3, snake_case, `contents`, floats.

Its document has other names for some entries (`session_header`, `branch`, `custom_info`). Its program does not
recognize a file with those names, and overwrites it (decision 0023). It also drops each line that has another value
than it expects, silently. So an entry that it would not read is carried in a custom entry, and every line has all
the fields that operator itself writes.
"""

from collections import Counter
from typing import Any, Final

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
from sessiond.session.dialects.operator import CHANNEL_TYPE, SNAKE, STOPS

_ROLES: Final = {
    "user": "user", "assistant": "assistant", "toolResult": "tool", "system": "system", "custom": "custom",
    "branchSummary": "branch_summary", "compactionSummary": "compaction_summary",
}  # fmt: skip
_USAGE: Final = {
    "input": "input_tokens", "output": "output_tokens", "cacheRead": "cache_read_tokens",
    "cacheWrite": "cache_write_tokens", "totalTokens": "total_tokens",
}  # fmt: skip
_COST: Final = {"cacheRead": "cache_read", "cacheWrite": "cache_write"}
_WORDS: Final = {here: theirs for theirs, here in STOPS.items()}
_LEVELS: Final = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
_KINDS: Final = ("read", "write", "execute", "web")
_BLOCKS: Final = ("text", "image", "audio", "thinking", "tool_call")
_OF_CUSTOM: Final = ("text", "image")
_ENDS_OF_LINES: Final = {"\x85": b"\\u0085", "\u2028": b"\\u2028", "\u2029": b"\\u2029"}
"""Characters at which Python's `splitlines` ends a line, and JSON does not escape."""
_TEXT: Final = (str,)
_OR_NONE: Final = (str, type(None))
_EXPECTED: Final[dict[str, dict[str, tuple[type, ...]]]] = {
    "session_info": {"name": _OR_NONE},
    "label": {"target_id": _TEXT, "label": _OR_NONE},
    "leaf": {"target_id": _OR_NONE},
    "branch_summary": {"from_id": _TEXT, "summary": _TEXT, "from_hook": (bool,)},
    "compaction": {
        "summary": _TEXT, "first_kept_entry_id": _TEXT, "tokens_before": (int,), "from_hook": (bool,)
    },
    "custom": {"custom_type": _TEXT},
    "custom_message": {"custom_type": _TEXT, "display": (bool,)},
    "thinking_level_change": {"thinking_level": _TEXT},
    "channel": {"name": _TEXT, "chat_id": _OR_NONE, "user_id": _OR_NONE},
    "custom message": {"custom_type": _TEXT},
    "branch_summary message": {"from_id": _TEXT, "summary": _TEXT},
    "compaction_summary message": {"summary": _TEXT, "tokens_before": (int,)},
}  # fmt: skip
"""The types of values that operator expects, by the kind of a line, or of the message in it."""
_REQUIRED: Final = (
    "target_id",
    "from_id",
    "summary",
    "custom_type",
    "thinking_level",
    "name",
    "tokens_before",
)


def to_operator(whole: ExportedSession, losses: ConversionLosses) -> bytes:
    """Return the contents of the file. Data that the format cannot represent is counted in `losses`."""
    header = {
        "type": "session", "version": 3, "id": whole.session_id, "timestamp": _seconds(whole.timestamp),
        "cwd": whole.cwd, "parent_session": whole.parent_session,
    }  # fmt: skip
    made: list[dict[str, Any]] = []
    for entry in [*header_entries(whole), *whole.entries]:
        base = {
            "type": fields.type_of(entry), "id": entry.get("id"), "parent_id": entry.get("parentId"),
            "timestamp": _seconds(entry.get("timestamp")),
        }  # fmt: skip
        made.append({**base, **_payload(entry, losses)})
    written = [fields.dumps(line) for line in [header, *_joined(made, whole)]]
    last = whole.entries[-1] if whole.entries else {}
    if whole.leaf is not None and last.get("id") != whole.leaf and fields.type_of(last) != "leaf":
        leaf = {
            "type": "leaf", "id": f"leaf-{fields.digest(whole.leaf)[:8]}", "parent_id": last.get("id"),
            "timestamp": _seconds(last.get("timestamp")), "target_id": whole.leaf,
        }  # fmt: skip
        written.append(fields.dumps(leaf))
    data = b"\n".join(written) + b"\n"
    for character, escaped in _ENDS_OF_LINES.items():
        data = data.replace(character.encode(), escaped)
    return data


def _joined(made: list[dict[str, Any]], whole: ExportedSession) -> list[dict[str, Any]]:
    """Return the lines with the results of one message of operator in one line again.

    Reading makes an entry of each result. Only the last one has the id of the line, and nothing refers to the others.
    """
    named = Counter(
        entry.get(name) for entry in whole.entries for name in ("parentId", "targetId", "fromId", "firstKeptEntryId")
        if isinstance(entry.get(name), str)
    )  # fmt: skip
    lines: list[dict[str, Any]] = []
    for entry in made:
        message = fields.mapping(entry.get("message"))
        before = lines[-1] if lines else {}
        former = fields.mapping(before.get("message"))
        is_one = message.get("role") == former.get("role") == "tool" and message.get("id") is not None
        if (
            is_one and message["id"] == former.get("id") and entry["parent_id"] == before["id"]
            and named[before["id"]] == 1 and before["id"] != whole.leaf
        ):  # fmt: skip
            lines.pop()
            message = {**message, "contents": [*former["contents"], *message["contents"]]}
            entry = {**entry, "parent_id": before["parent_id"], "message": message}
        lines.append(entry)
    return lines


def _payload(entry: dict[str, Any], losses: ConversionLosses) -> dict[str, Any]:
    """Return the fields of a line for an entry, or of one that carries it if operator would not read them."""
    type, payload = fields.type_of(entry), fields.payload_of(entry)
    if type == "model_change":
        return _model_change(payload)
    if type == "message":
        message = _message(payload.get("message"), _seconds(entry.get("timestamp")), losses)
        found: dict[str, Any] | None = {**_snake(fields.without(payload, "message")), "message": message}
        is_read = message is not None and _is_meta(payload.get("meta"))
    else:
        found = _of_entry(entry, type, payload, losses)
        is_read = found is not None and _is_read(fields.as_text(found.get("type", type)), found)
    if found is None or not is_read:
        return {"type": "custom", "custom_type": TUNNEL_TYPE, "data": tunneled(entry, losses)}
    if type == "title_change":
        losses.carried[type] += 1
    return found


def _of_entry(
    entry: dict[str, Any], type: str, payload: dict[str, Any], losses: ConversionLosses
) -> dict[str, Any] | None:
    """Return the fields of a line for an entry beside messages; None if operator has no such line."""
    found: dict[str, Any] = _snake(payload)
    match type:
        case "title_change":
            found = {"type": "session_info", "name": payload.get("title")}
            found |= _snake(fields.without(payload, "title"))
        case "compaction":
            found["first_kept_entry_id"] = first_kept_id(entry)
            found["tokens_before"] = int(fields.number(payload.get("tokensBefore")))
        case "custom_message":
            found["content"] = _contents(payload.get("content"), losses, _OF_CUSTOM)
        case "custom" if payload.get("customType") == CHANNEL_TYPE and isinstance(payload.get("data"), dict):
            found = {**payload["data"], "type": "channel"}
        case "thinking_level_change" if payload.get("thinkingLevel") not in _LEVELS:
            return None
        case "session_info" | "label" | "leaf" | "branch_summary" | "custom" | "thinking_level_change":
            pass
        case _:
            return None
    return {
        name: value
        for name, value in found.items()
        if value is not None or name not in ("from_hook", "display")
    }


def _is_read(kind: str, value: dict[str, Any]) -> bool:
    """Return whether operator reads a line, or a message, with these values."""
    return all(
        isinstance(value.get(name), types) and not (types == (int,) and isinstance(value[name], bool))
        if name in value or name in _REQUIRED
        else True
        for name, types in _EXPECTED[kind].items()
    )


def _is_meta(value: object) -> bool:
    """Return whether operator reads a value as facts about a message of a channel."""
    meta = fields.mapping(value)
    attachments = [fields.mapping(attachment) for attachment in fields.items(meta.get("attachments"))]
    reactions = fields.items(meta.get("reactions"))
    return (
        isinstance(value, dict | None)
        and isinstance(meta.get("reply_to"), str | None)
        and isinstance(meta.get("attachments"), list | None)
        and isinstance(meta.get("reactions"), list | None)
        and all(isinstance(reaction, str) for reaction in reactions)
        and all(isinstance(attachment.get("path"), str) for attachment in attachments)
        and all(isinstance(attachment.get("mime_type"), str | None) for attachment in attachments)
    )


def _model_change(payload: dict[str, Any]) -> dict[str, Any]:
    """Return provider and model as separate fields. The single field of oh-my-pi is split."""
    provider, model = fields.model_parts(payload)
    rest = fields.without(payload, "provider", "modelId")
    return {**_snake(rest), "provider_id": provider, "model_id": model}


def _message(message: Any, at: float, losses: ConversionLosses) -> dict[str, Any] | None:
    """Return a message of a role that operator has, or None for another role, or if operator would not read it."""
    if not isinstance(message, dict) or fields.text(message.get("role")) not in _ROLES:
        return None
    role = _ROLES[message["role"]]
    given = message.get("timestamp")
    if isinstance(given, int | float) and not isinstance(given, bool):
        at = given / 1000
    elif role in ("user", "assistant", "tool", "system"):
        at = 0.0
    made: dict[str, Any] = {"role": role, **({"timestamp": at} if at else {})}
    if isinstance(usage := message.get("usage"), dict):
        made["usage"] = _usage(usage)
    rest = _snake(fields.without(message, "role", "timestamp", "usage", "content"))
    if not isinstance(rest.get("id"), str | None):
        rest["id"] = fields.as_text(rest["id"])
    if rest.get("id") is None:
        rest.pop("id", None)
    if role == "assistant":
        rest = {**fields.without(rest, "stop_reason", "error_message", "error"), **_end(message, losses)}
    if role == "tool":
        made["contents"] = [_result(message, losses)]
        rest = fields.without(rest, "tool_call_id", "is_error", "details", "terminate")
        if "details" in message and not isinstance(message["details"], dict):
            losses.lose("toolResult.details")
    elif "content" in message:
        admitted = _OF_CUSTOM if role == "custom" else _BLOCKS
        made["contents"] = _contents(message["content"], losses, admitted)
    kind = f"{role} message"
    return {**made, **rest} if kind not in _EXPECTED or _is_read(kind, {**made, **rest}) else None


def _end(message: dict[str, Any], losses: ConversionLosses) -> dict[str, Any]:
    """Return why an answer stopped, in the words of operator, and its error."""
    made: dict[str, Any] = {}
    stop, error = message.get("stopReason"), message.get("errorMessage")
    if stop is not None:
        word = _WORDS.get(stop) if isinstance(stop, str) else None
        made["stop_reason"] = word or "stop"
        if word is None:
            losses.lose(f"the reason why an answer stopped: {fields.as_text(stop):.40}")
    if error is not None:
        made["error"] = fields.as_text(error)
    return made


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
        "is_error": message.get("isError") is True, "metadata": fields.mapping(message.get("details")),
        "terminate": message.get("terminate") is True,
    }  # fmt: skip


def _contents(content: Any, losses: ConversionLosses, admitted: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the blocks of a message. Operator has one block for the images that follow each other."""
    found = [{"type": "text", "text": content}] if isinstance(content, str) else fields.items(content)
    made: list[dict[str, Any]] = []
    for block in found:
        written = _block(block, losses) if isinstance(block, dict) else None
        if written is None or written["type"] not in admitted:
            losses.lose(f"{fields.as_text(fields.mapping(block).get('type')) or 'unnamed'} block")
        elif written["type"] == "image" and made and made[-1]["type"] == "image":
            made[-1]["images"] += written["images"]
        else:
            made.append(written)
    return made


def _block(block: dict[str, Any], losses: ConversionLosses) -> dict[str, Any] | None:
    match block.get("type"):
        case "text":
            words = fields.as_text(block.get("text"))
            return {"type": "text", "content": words, **fields.without(block, "type", "text", "content")}
        case "thinking":
            rest = fields.without(block, "type", "thinking", "thinkingSignature", "content", "signature")
            signature = fields.as_text(block.get("thinkingSignature"))
            words = fields.as_text(block.get("thinking"))
            return {"type": "thinking", "content": words, "signature": signature, **rest}
        case "toolCall":
            rest = fields.without(block, "type", "id", "name", "arguments", "args", "metadata")
            if rest.get("kind") is not None and rest["kind"] not in _KINDS:
                losses.lose("toolCall.kind")
                del rest["kind"]
            return {
                "type": "tool_call", "id": fields.as_text(block.get("id")), "name": fields.as_text(block.get("name")),
                "args": fields.arguments(block.get("arguments")),
                "metadata": fields.mapping(block.get("metadata")), **rest,
            }  # fmt: skip
        case "image" if (image := _image(block)) is not None:
            return {"type": "image", "images": [image]}
        case "audio" if all(isinstance(part, str) for part in fields.items(block.get("audio"))):
            return {"type": "audio", "audio": fields.items(block.get("audio"))}
    return None


def _image(block: dict[str, Any]) -> str | None:
    """Return an image in the form of operator: base64 without a type, which operator detects, or an address."""
    if isinstance(block.get("data"), str) and isinstance(block.get("mimeType"), str):
        return str(block["data"])
    return image_url(block)


def _usage(usage: dict[str, Any]) -> dict[str, Any]:
    """Return the usage, with whole numbers of tokens and without what operator would not read."""
    made: dict[str, Any] = {_USAGE.get(name, name): value for name, value in usage.items()}
    for name in _USAGE.values():
        if name in made:
            made[name] = int(fields.number(made[name]))
    if isinstance(cost := made.pop("cost", None), dict):
        costs = {_COST.get(name, name): value for name, value in cost.items()}
        made["cost"] = {name: value for name, value in costs.items() if isinstance(value, int | float)}
    return made


def _snake(value: dict[str, Any]) -> dict[str, Any]:
    return {SNAKE.get(name, name): field for name, field in value.items()}


def _seconds(value: object) -> float:
    return fields.seconds(value) or 0.0
