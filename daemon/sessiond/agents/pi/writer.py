"""Writes a session of pi or oh-my-pi: the entries of one path, whose compactions both programs apply themselves.

Both have the entry types of the home format, so thinking, usage and settings stay. Entries that only one of them
applies are applied here for the other: a reset for pi, edits of the context for oh-my-pi. Both read `usage` of an
answer without a check (decision 0016).
"""

from collections import Counter
from typing import Any, Final

from sessiond.agent_names import ADDING_TEXT
from sessiond.agents.formats import NativeWriter
from sessiond.session.content import fields
from sessiond.session.dialects import copy_mark, handing_over
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from sessiond.session.dialects.native_ids import NativeTarget
from sessiond.session.dialects.native_losses import is_ours
from sessiond.session.formats.build import NO_USAGE
from sessiond.session.tree import entries

_TITLES: Final = ("session_info", "title_change")
_OF_BLOCKS: Final = ("assistant", "toolResult")
_OF_CUSTOM: Final = ("customType", "content", "display")
_THINKING: Final = ("thinking", "redactedThinking")


def _of_pi(whole: ExportedSession, losses: ConversionLosses, target: NativeTarget) -> list[dict[str, Any]]:
    """Return the lines of a file of pi."""
    path = _path(whole, losses)
    types = [fields.type_of(entry) for entry in path]
    if "reset_boundary" in types:
        after = len(types) - types[::-1].index("reset_boundary")
        if "compaction" not in types[after:]:
            losses.lost["entry before a reset"] += after - 1
            path = path[after:]
    return _file(whole, target, path, "session_info")


def _of_oh_my_pi(
    whole: ExportedSession, losses: ConversionLosses, target: NativeTarget
) -> list[dict[str, Any]]:
    """Return the lines of a file of oh-my-pi."""
    path = _edited(_path(whole, losses))
    return _file(whole, target, path, "title_change")


def _path(whole: ExportedSession, losses: ConversionLosses) -> list[dict[str, Any]]:
    """Return the entries of the path, without moves of the leaf and what this program keeps for itself."""
    on_path = whole.on_path()
    ids = {entry.get("id") for entry in on_path}
    for entry in whole.entries:
        if entry.get("id") not in ids and fields.type_of(entry) not in ("leaf", "label"):
            losses.lose("entry of another branch")
    if whole.tags:
        losses.lose("tags")
    path = [entry for entry in on_path if fields.type_of(entry) != "leaf" and not is_ours(entry)]
    return path if whole.agent not in ADDING_TEXT else _handed_over(path, losses)


def _handed_over(path: list[dict[str, Any]], losses: ConversionLosses) -> list[dict[str, Any]]:
    """Return the entries of a session of another agent without what it added, and without thinking.

    pi gives a model the thinking of another one as text.
    """
    kept: list[dict[str, Any]] = []
    for entry, message in zip(
        path, handing_over.told([_message_in(entry) for entry in path], losses), strict=True
    ):
        if message is None:
            continue
        if message.get("role") == "assistant":
            content = fields.items(message.get("content"))
            said = [block for block in content if fields.mapping(block).get("type") not in _THINKING]
            losses.lost["thinking"] += len(content) - len(said)
            if not said and content:
                continue
            message = {**message, "content": said} if len(said) < len(content) else message
        if fields.type_of(entry) == "message":
            entry = {**entry, "message": message}
        elif message.get("role") == "user":
            entry = {**fields.without(entry, *_OF_CUSTOM), "type": "message", "message": message}
        kept.append(entry)
    losses.lost += Counter()  # without names that count nothing
    return kept


def _message_in(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the message of an entry, {} for one without."""
    if fields.type_of(entry) == "custom_message":
        return {"role": "custom", **{name: entry.get(name) for name in _OF_CUSTOM}}
    return fields.mapping(entry.get("message")) if fields.type_of(entry) == "message" else {}


def _edited(path: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries with the edits of the path applied, and without the edits."""
    edits = {
        fields.text(entry.get("targetId")): entry.get("replacement")
        for entry in path
        if fields.type_of(entry) == "context_edit"
    }
    if not edits:
        return path
    edited: list[dict[str, Any]] = []
    for entry in path:
        if entry.get("id") in edits and isinstance(entry.get("message"), dict):
            replacement = edits[entry["id"]]
            if replacement is None:
                continue
            content = fields.mapping(replacement).get("content")
            if isinstance(content, str) and entry["message"].get("role") in _OF_BLOCKS:
                content = [{"type": "text", "text": content}]
            if content is not None:
                entry = {**entry, "message": {**entry["message"], "content": content}}
        if fields.type_of(entry) != "context_edit":
            edited.append(entry)
    return edited


def _file(
    whole: ExportedSession, target: NativeTarget, path: list[dict[str, Any]], title_type: str
) -> list[dict[str, Any]]:
    header = {
        "type": "session", "version": entries.CURRENT_VERSION, "id": target.session_id,
        "timestamp": whole.timestamp, "cwd": whole.cwd,
    }  # fmt: skip
    if whole.title is not None:
        header["title"] = whole.title
    ids = [entry.get("id") for entry in path]
    kept = set(ids)
    order = [entry.get("id") for entry in whole.on_path()]
    lines: list[dict[str, Any]] = [header]
    above: object = None
    for entry in path:
        lines.append({**_complete(entry), "parentId": above, **_first_kept(entry, order, kept)})
        above = entry.get("id")
    if whole.title is not None and not any(fields.type_of(entry) in _TITLES for entry in path):
        name = "name" if title_type == "session_info" else "title"
        lines.append({
            "type": title_type, "id": fields.digest(target.seed, "title")[:8], "parentId": above,
            "timestamp": path[-1].get("timestamp") if path else whole.timestamp, name: whole.title,
        })  # fmt: skip
    header |= copy_mark.mark(whole, len(lines))
    return lines


def _complete(entry: dict[str, Any]) -> dict[str, Any]:
    """Return an entry with the fields that pi or oh-my-pi read without a check."""
    if fields.type_of(entry) == "model_change":
        provider, model = fields.model_parts(entry)
        return {**entry, **fields.model_change(provider, model)}
    message = entry.get("message")
    if isinstance(message, dict) and message.get("role") == "assistant" and not message.get("usage"):
        return {**entry, "message": {**message, "usage": NO_USAGE}}
    return entry


def _first_kept(entry: dict[str, Any], order: list[Any], kept: set[Any]) -> dict[str, Any]:
    """Return the first entry that a compaction keeps, if that entry is not written: the next one that is."""
    first = fields.text(entry.get("firstKeptEntryId"))
    if fields.type_of(entry) != "compaction" or first in kept or first not in order:
        return {}
    later = (entry_id for entry_id in order[order.index(first) :] if entry_id in kept)
    return {"firstKeptEntryId": next(later, entry.get("id"))}


PI: Final = NativeWriter("pi", _of_pi)
OH_MY_PI: Final = NativeWriter("oh-my-pi", _of_oh_my_pi)
