"""Reads the Go library: version 1 headers, UUIDs, payloads nested under the entry's type or flat beside it.

`thinking_level` becomes `thinking_level_change`; messages of role `tool` become tool results (decision 0023).
"""

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
from sessiond.session.dialects.source import Place, Source

NAME: Final = "go"
LEAF_TYPE: Final = "sessiond.leaf"
"""`custom_type` of an entry below the leaf. It marks the leaf, because Go uses the last entry of a file as the leaf.
"""

_BASE: Final = ("type", "id", "parent_id", "timestamp")


def detect(first: list[dict[str, Any]]) -> bool:
    """Return whether these are lines of the Go library: only it writes `version: 1` and gives its entries ids.

    One line with `parent_id` suffices, so that a damaged line does not make the file one of pi.
    """
    if not first or first[0].get("type") != "session" or "parentId" in first[0]:
        return False
    is_first_version = first[0].get("version") == 1 and not isinstance(first[0].get("version"), bool)
    return is_first_version and (
        any("id" in value and "parent_id" in value for value in first[1:])
        or all("id" in value and "parentId" not in value for value in first[1:])
    )


def read(source: Source) -> Imported:
    """Read the session in a file of the Go library."""
    builder = ImportBuilder(NAME, source)
    tools: dict[str, str] = {}
    linked: list[Linked] = []
    pointer: tuple[Place, str | None] | None = None
    pointers: dict[str, str | None] = {}
    begun = False
    for line in source.lines():
        value = line.value
        if value is None:
            builder.preserve_unreadable(line)
        elif not begun and value.get("type") == "session":
            begun = True
            builder.source_id = name_of(value, "id") or builder.source_id
            builder.cwd = fields.as_text(value.get("cwd"))
            builder.parent_source = fields.text(value.get("parent_session"))
            builder.time_of(value.get("timestamp"))
            builder.count("header")
            if fields.without(value, "type", "id", "version", "cwd", "parent_session", "timestamp"):
                builder.preserve(line, "header", "it has fields that a header does not have")
        elif _is_pointer(value):
            pointer = line.place, name_of(value, "parent_id")
            builder.record_leaf_move(line, pointer[1])
            if (name := name_of(value, "id")) is not None:
                pointers[name] = pointer[1]
        elif (name := name_of(value, "id")) is None:
            builder.preserve(line, fields.as_text(value.get("type")) or "without a type", "it has no id")
        else:
            linked.append(Linked(line, value, name, name_of(value, "parent_id", "parentId")))
    linked = without(
        without_repeats(linked, builder), pointers
    )  # an entry that Go added is a child of the last line
    names = add_linked(builder, linked, lambda entry, names: _parts(entry, names, tools))
    last = newest(linked)
    builder.report.held_back_count += source.is_torn
    builder.leaf = names.below(last)
    if pointer is not None and (last is None or last.line.place < pointer[0]):
        builder.leaf = names.of(pointer[1])
    return builder.finish()


def _is_pointer(value: dict[str, Any]) -> bool:
    """Return whether an entry only marks the leaf. Exports to this format may end with one."""
    return fields.mapping(value.get("custom")).get("custom_type") == LEAF_TYPE


def _parts(entry: Linked, names: Names, tools: dict[str, str]) -> list[Part]:
    type = fields.as_text(entry.value.get("type"))
    nested = entry.value.get(type)
    payload = nested if isinstance(nested, dict) else fields.without(entry.value, *_BASE)
    match type:
        case "message":
            return _messages(payload, tools)
        case "model_change":
            change = fields.model_change(payload.get("provider"), payload.get("model_id"))
            return [Part(type, {**change, **fields.without(payload, "provider", "model_id")})]
        case "thinking_level":
            level = fields.text(payload.get("thinking_level"))
            rest = fields.without(payload, "thinking_level")
            return [Part("thinking_level_change", {"thinkingLevel": level, **rest})]
        case "label":
            label = {"targetId": names.of(payload.get("target_id")) or "", "label": payload.get("label")}
            return [Part(type, {**label, **fields.without(payload, "target_id", "label")})]
        case "session_info":
            return [Part(type, payload)]
        case "compaction":
            kept = {
                "summary": fields.as_text(payload.get("summary")),
                "firstKeptEntryId": names.of(payload.get("first_kept_entry_id")),
                "tokensBefore": fields.number(payload.get("tokens_before")),
            }
            return [
                Part(
                    type,
                    {
                        **kept,
                        **fields.without(payload, "summary", "first_kept_entry_id", "tokens_before"),
                    },
                )
            ]
        case "branch_summary":
            left = {
                "summary": fields.as_text(payload.get("summary")),
                "fromId": names.of(payload.get("from_id")) or "root",
            }
            return [Part(type, {**left, **fields.without(payload, "summary", "from_id")})]
        case "custom":
            return [_custom(payload, names)]
    return []


def _custom(payload: dict[str, Any], names: Names) -> Part:
    custom_type, data = fields.as_text(payload.get("custom_type")), payload.get("data")
    part = carried(custom_type, data, names)
    if part is not None:
        return part
    rest = fields.without(payload, "custom_type", "data")
    return Part("custom", {"customType": custom_type, "data": data, **rest})


def _messages(payload: dict[str, Any], tools: dict[str, str]) -> list[Part]:
    role, content = fields.text(payload.get("role")), payload.get("content")
    if role is None:
        return []
    rest = fields.without(payload, "role", "content", "model")
    model = fields.text(payload.get("model"))
    found = blocks.results(content)
    if found and role in ("tool", "user"):
        return _results(found, blocks.blocks(blocks.beside_results(content)), rest, tools)
    made = blocks.blocks(content)
    words = "\n".join(fields.as_text(block.get("text")) for block in made if block.get("type") == "text")
    message: dict[str, Any]
    match role:
        case "assistant":
            message = {"role": role, "content": made, **_speaker(model), **rest}
            calls = [block for block in made if block.get("type") == "toolCall"]
            tools.update((block["id"], block["name"]) for block in calls)
            message.setdefault("stopReason", "toolUse" if calls else "stop")
        case "tool":
            message = {
                "role": "toolResult",
                "toolCallId": "",
                "toolName": "unknown",
                "content": made,
                "isError": False,
                **rest,
            }
        case "bashExecution":
            message = {"role": role, "command": "", "output": words, **rest}
        case "branchSummary" | "compactionSummary":
            message = {"role": role, "summary": words, **rest}
        case "custom":
            message = {"role": role, "customType": NAME, "content": made, "display": True, **rest}
        case _:
            message = {"role": role, "content": made, **rest}
    if model is not None and role != "assistant":
        message["model"] = model
    return [Part("message", {"message": message})]


def _speaker(model: str | None) -> dict[str, str]:
    """Return provider and model, which the Go library stores in one string."""
    if model is None:
        return {}
    provider, slash, name = model.partition("/")
    return {"provider": provider, "model": name} if slash else {"model": model}


def _results(
    found: list[dict[str, Any]], others: list[dict[str, Any]], rest: dict[str, Any], tools: dict[str, str]
) -> list[Part]:
    parts = [
        Part("message", {"message": {
            "role": "toolResult", "toolCallId": result["id"], "toolName": tools.get(result["id"], "unknown"),
            "content": result["content"], "isError": result["isError"], **rest,
        }})
        for result in found
    ]  # fmt: skip
    if others:
        parts.append(Part("message", {"message": {"role": "user", "content": others}}))
    return parts
