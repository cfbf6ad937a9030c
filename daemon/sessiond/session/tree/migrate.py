"""Migrates entries of version 1 to 2 and of 2 to 3, with one pure function for each step.

Version 1 entries get ids and linear parents, and `firstKeptEntryIndex` becomes `firstKeptEntryId`. The version 2 role
`hookMessage` becomes `custom`. New ids are derived from the position of the line, so that all readers agree (decision
0011). Entries that have ids and parents are not of version 1, whatever the header says: they are not migrated.
"""

from collections.abc import Callable
from typing import Any, Final

from sessiond.session.tree import lines

IdAt = Callable[[int], str | None]
"""Returns the id of the file entry at an index, or None if there is none. The header has index 0."""


WRONG_VERSION: Final = (
    "the header has version 1, but the entries have ids and parents; they are read as version 3"
)
"""The problem of a log whose header has a version that its entries do not have."""


def has_links(entry: dict[str, Any]) -> bool:
    """Return whether an entry has an id and a parent, as from version 2 on."""
    return isinstance(entry.get("id"), str) and "parentId" in entry


def derived_id(row: int) -> str:
    """Return the id of a version 1 line: its row as 8 hexadecimal digits."""
    return f"{row:08x}"


def upgrade(line: bytes, version: int, place: tuple[str | None, str | None], id_at: IdAt) -> bytes:
    """Return an entry of version 1 or 2 in the form of version 3. A line without an entry is returned unchanged.

    Args:
        line: The stored line.
        version: The version of the log.
        place: The id of the entry and the id of its parent.
        id_at: Returns the id of the entry at an index of the file.

    """
    try:
        entry = lines.loads(line)
    except lines.NotAnEntry:
        return line
    if version < 2:
        entry = to_v2(entry, place, id_at)
    return lines.dumps(to_v3(entry))


def upgrade_header(line: bytes) -> bytes:
    """Return the header with version 3; all other members are unchanged."""
    header = lines.loads(line)
    rest = {key: value for key, value in header.items() if key not in ("type", "version")}
    return lines.dumps({"type": "session", "version": 3, **rest})


def to_v2(entry: dict[str, Any], place: tuple[str | None, str | None], id_at: IdAt) -> dict[str, Any]:
    """Return an entry with its id and parent, and with the index in a compaction replaced by an id."""
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
    """Return an entry with the role `hookMessage` renamed to `custom`."""
    message = entry.get("message")
    if entry.get("type") == "message" and isinstance(message, dict) and message.get("role") == "hookMessage":
        return {**entry, "message": {**message, "role": "custom"}}
    return entry
