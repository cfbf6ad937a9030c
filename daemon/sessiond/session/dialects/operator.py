"""Reads operator: snake_case entries, times as floats, `leaf` lines. Its document and its code differ; both are read.

Accepted names are `session_header` or `session`, `custom_info` or `custom`, `branch` or `branch_summary`, and messages
with `content` or `contents`. `channel` has no counterpart and becomes a `custom` entry (decision 0023).
"""

from datetime import UTC, datetime
from typing import Any, Final

from sessiond.session.content import fields
from sessiond.session.dialects import blocks
from sessiond.session.dialects.import_builder import ImportBuilder, Imported
from sessiond.session.dialects.linking import (
    Linked,
    Names,
    Part,
    add_linked,
    carried,
    name_of,
    newest,
    without,
    without_repeats,
)
from sessiond.session.dialects.source import Place, Source, SourceLine

NAME: Final = "operator"
CHANNEL_TYPE: Final = "operator.channel"

_BASE: Final = ("type", "id", "parent_id", "timestamp")
_CAMEL: Final = {
    "first_kept_entry_id": "firstKeptEntryId", "tokens_before": "tokensBefore", "short_summary": "shortSummary",
    "from_id": "fromId", "target_id": "targetId", "custom_type": "customType", "thinking_level": "thinkingLevel",
    "model_id": "modelId", "provider_id": "provider", "from_hook": "fromHook",
    "injected_rules": "injectedRules", "system_prompt": "systemPrompt", "output_schema": "outputSchema",
    "stop_reason": "stopReason", "error_message": "errorMessage", "tool_call_id": "toolCallId",
    "tool_name": "toolName", "is_error": "isError", "response_id": "responseId",
    "exit_code": "exitCode", "preserve_data": "preserveData", "from_extension": "fromExtension",
    "exclude_from_context": "excludeFromContext", "full_output_path": "fullOutputPath",
    "previous_title": "previousTitle", "service_tier": "serviceTier",
}  # fmt: skip
"""Field names of entries and messages in operator, and the names here."""
SNAKE: Final = {camel: snake for snake, camel in _CAMEL.items() if camel != "provider"}
_TYPES: Final = {"branch": "branch_summary", "custom_info": "custom"}
_ROLES: Final = {"branch_summary": "branchSummary", "compaction_summary": "compactionSummary"}
_USAGE: Final = {
    "input_tokens": "input", "output_tokens": "output", "cache_read_tokens": "cacheRead",
    "cache_write_tokens": "cacheWrite", "cache_read": "cacheRead", "cache_write": "cacheWrite",
    "total_tokens": "totalTokens",
}  # fmt: skip
_MILLISECONDS: Final = 1e11
"""A number above this is a time in milliseconds: in seconds it would be the year 5138."""
STOPS: Final = {
    "stop": "stop", "length": "length", "tool_calls": "toolUse", "error": "error", "abort": "aborted",
    "content_filter": "content_filter",
}  # fmt: skip
"""The reasons why an answer of operator stopped, and the names here."""
_STOPS: Final = {**STOPS, "tool_use": "toolUse", "end_turn": "stop", "max_tokens": "length"}


def detect(first: list[dict[str, Any]]) -> bool:
    """Return whether these are lines of operator."""
    if not first or first[0].get("type") not in ("session_header", "session"):
        return False
    header = first[0]
    if header["type"] == "session_header":
        return True
    if header.get("version") == 1 or any("parentId" in value for value in first[1:]):
        return False
    return isinstance(header.get("timestamp"), float) or any("parent_id" in value for value in first[1:])


def read(source: Source) -> Imported:
    """Read the session in a file of operator."""
    builder = ImportBuilder(NAME, source)
    tools: dict[str, str] = {}
    linked: list[Linked] = []
    leaves: list[tuple[Place, Any]] = []
    targets: dict[str, str | None] = {}
    for line in source.lines():
        value = line.value
        if value is not None and isinstance(value.get("timestamp"), float):
            value = {**value, "timestamp": _time(value["timestamp"])}
        if value is None:
            builder.preserve_unreadable(line)
        elif not leaves and not linked and value.get("type") in ("session_header", "session"):
            _take_header(builder, line, value)
        elif value.get("type") == "leaf":
            target = name_of(value, "target_id", "targetId")
            leaves.append((line.place, target))
            builder.record_leaf_move(line, target)
            if (name := name_of(value, "id")) is not None:
                targets[name] = target
        elif (name := name_of(value, "id")) is None:
            builder.preserve(line, fields.as_text(value.get("type")) or "without a type", "it has no id")
        else:
            linked.append(Linked(line, value, name, name_of(value, "parent_id", "parentId")))
    linked = without(without_repeats(linked, builder), targets)
    names = add_linked(builder, linked, lambda entry, names: _parts(entry, names, tools))
    last = newest(linked)
    builder.leaf = names.below(last)
    if leaves and (last is None or last.line.place < leaves[-1][0]):
        builder.leaf = names.of(leaves[-1][1])
    return builder.finish()


def _take_header(builder: ImportBuilder, line: SourceLine, value: dict[str, Any]) -> None:
    builder.source_id = name_of(value, "id") or builder.source_id
    builder.cwd = fields.as_text(value.get("cwd"))
    parent = fields.text(fields.first(value, "parent_session", "parentSession"))
    builder.parent_source = None if parent is None else _id_in(parent)
    builder.title = fields.text(value.get("title")) or fields.text(value.get("name"))
    builder.time_of(value.get("timestamp"))
    builder.count("header")
    rest = fields.without(
        value, "type", "id", "cwd", "parent_session", "parentSession", "title", "name", "timestamp", "version"
    )
    if any(value is not None for value in rest.values()):
        builder.preserve(line, "header", "it has fields that a header does not have")


def _id_in(parent: str) -> str:
    """Return the id of a session at the end of the path of its file, `…/<time>_<id>.jsonl`; an id is unchanged."""
    name = parent.replace("\\", "/").rpartition("/")[2]
    stem = name.removesuffix(".jsonl")
    return (stem.rpartition("_")[2] if stem != name else stem) or parent


def _time(at: float) -> str | None:
    """Return a time in seconds as ISO 8601, with microseconds if it has any."""
    found = fields.time(at)
    if found is None or round(at * 1000, 3).is_integer():
        return found
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _parts(entry: Linked, names: Names, tools: dict[str, str]) -> list[Part]:
    value = entry.value
    type = fields.as_text(value.get("type"))
    type = _TYPES.get(type, type)
    payload = _camel(fields.without(value, *_BASE, "parentId"))
    match type:
        case "message":
            rest = fields.without(payload, "message")
            return _messages(
                value.get("message"),
                {name: value for name, value in rest.items() if value is not None},
                tools,
            )
        case "channel":
            data = fields.without(value, *_BASE, "parentId")
            return [Part("custom", {"customType": CHANNEL_TYPE, "data": data})]
        case "model_change":
            if payload.get("provider") == "":  # operator has no line for a change of only the model
                del payload["provider"]
            if fields.text(payload.get("modelId")) is not None and fields.text(payload.get("model")) is None:
                payload |= fields.model_change(payload.pop("provider", None), payload.pop("modelId"))
        case "custom_message":
            content = payload.get("content", payload.pop("contents", None))
            payload["content"] = content if isinstance(content, str) else blocks.blocks(content)
        case "custom" if (part := carried(payload.get("customType"), payload.get("data"), names)) is not None:
            return [part]
        case "":
            return []
    for name in ("firstKeptEntryId", "fromId", "targetId"):
        if isinstance(payload.get(name), str) and not (name == "fromId" and payload[name] == "root"):
            payload[name] = names.of(payload[name])
    return [Part(type, payload)]


def _messages(value: Any, rest: dict[str, Any], tools: dict[str, str]) -> list[Part]:
    """Return the messages of a line. Each tool result becomes a separate message."""
    if not isinstance(value, dict) or not fields.text(value.get("role")):
        return []
    content = value.get("content") if "content" in value else value.get("contents")
    message = _fields_of(value)
    role = message["role"]
    if role == "assistant":
        message["content"] = blocks.blocks(content)
        for block in message["content"]:
            if block.get("type") == "toolCall":
                tools[fields.as_text(block.get("id"))] = fields.as_text(block.get("name"))
        return [Part("message", {"message": message, **rest})]
    found = blocks.results(content) if role in ("tool", "user") else []
    parts = [
        Part("message", {"message": {
            **fields.without(message, "role"), "role": "toolResult", "toolCallId": result["id"],
            "toolName": message.get("toolName") or tools.get(result["id"], "unknown"),
            "content": result["content"], "isError": result["isError"], **result["rest"],
        }})
        for result in found
    ]  # fmt: skip
    others = blocks.beside_results(content)
    if role == "tool" and not found:
        call = fields.as_text(message.get("toolCallId"))
        message = {
            **message, "role": "toolResult", "toolCallId": call, "content": blocks.blocks(content),
            "toolName": message.get("toolName") or tools.get(call, "unknown"),
            "isError": message.get("isError") is True,
        }  # fmt: skip
        parts.append(Part("message", {"message": message}))
    elif others or not found:
        if content is not None:
            message["content"] = others if isinstance(others, str) else blocks.blocks(others)
        parts.append(Part("message", {"message": message}))
    parts[-1] = Part("message", {**parts[-1].payload, **rest})
    return parts


def _fields_of(value: dict[str, Any]) -> dict[str, Any]:
    """Return a message without its content, with the names and units used here."""
    message = _camel(fields.without(value, "content", "contents"))
    message["role"] = _ROLES.get(value["role"], value["role"])
    if isinstance(at := message.get("timestamp"), float) and abs(at) < _MILLISECONDS:
        exact = round(at * 1000, 3)
        message["timestamp"] = int(exact) if exact.is_integer() else exact
    if isinstance(usage := message.get("usage"), dict):
        message["usage"] = {_USAGE.get(name, name): value for name, value in usage.items()}
        if isinstance(cost := usage.get("cost"), dict):
            message["usage"]["cost"] = {_USAGE.get(name, name): value for name, value in cost.items()}
    if isinstance(stop := message.get("stopReason"), str):
        message["stopReason"] = _STOPS.get(stop, stop)
    if isinstance(error := message.get("error"), str):  # empty without one
        del message["error"]
        if error:
            message["errorMessage"] = error
    return message


def _camel(value: dict[str, Any]) -> dict[str, Any]:
    return {_CAMEL.get(name, name): field for name, field in value.items()}
