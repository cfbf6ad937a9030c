"""Migrates entries of version 1 to 2 and of 2 to 3, one pure function each, and both for a line as it is read.

Version 1 entries get ids and linear parents, and `firstKeptEntryIndex` becomes `firstKeptEntryId`. The version 2 role
`hookMessage` becomes `custom`. The new ids derive from the position of the line, so that all readers agree
(decision 0011).
"""

from collections.abc import Callable
from typing import Any

from sessiond.session.tree import lines

IdAt = Callable[[int], str | None]
"""The id of the file entry with an index, the header being 0; None when there is none."""


def derived_id(row: int) -> str:
    """The id of a v1 line: its row as 8 hex characters."""
    return f"{row:08x}"


def upgrade(line: bytes, version: int, place: tuple[str | None, str | None], id_at: IdAt) -> bytes:
    """An entry of version 1 or 2 as v3 has it. A line that is no entry stays as it is."""
    try:
        entry = lines.loads(line)
    except lines.NotAnEntry:
        return line
    if version < 2:
        entry = to_v2(entry, place, id_at)
    return lines.dumps(to_v3(entry))


def upgrade_header(line: bytes) -> bytes:
    """The header with the current version, everything else kept."""
    header = lines.loads(line)
    rest = {key: value for key, value in header.items() if key not in ("type", "version")}
    return lines.dumps({"type": "session", "version": 3, **rest})


def to_v2(entry: dict[str, Any], place: tuple[str | None, str | None], id_at: IdAt) -> dict[str, Any]:
    """Give an entry its id and parent, and turn a compaction's index into an id."""
    entry_id, parent_id = place
    changed = {"type": entry.get("type"), "id": entry_id, "parentId": parent_id}
    changed |= {key: value for key, value in entry.items() if key not in ("type", "id", "parentId")}
    if entry.get("type") == "compaction" and "firstKeptEntryIndex" in entry:
        index = changed.pop("firstKeptEntryIndex")
        kept = id_at(index) if isinstance(index, int) else None
        if kept is not None:
            changed["firstKeptEntryId"] = kept
    return changed


def to_v3(entry: dict[str, Any]) -> dict[str, Any]:
    """Rename the role `hookMessage`."""
    message = entry.get("message")
    if entry.get("type") == "message" and isinstance(message, dict) and message.get("role") == "hookMessage":
        return {**entry, "message": {**message, "role": "custom"}}
    return entry
