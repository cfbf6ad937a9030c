"""The session that an export converts, and the list of the data that its target format cannot represent."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from sessiond.session.content import fields
from sessiond.session.tree.origin import OriginStep

TUNNEL_TYPE: Final = "sessiond.entry"
"""`custom_type` of an entry that carries an entry of a type that the format does not have: {type, payload}."""


@dataclass(frozen=True, slots=True)
class ExportedSession:
    """A session to export: v3 entries in log order, and the leaf.

    `agent` is the one that it came from, if it is known. `lineage` has the sessions from which a session that is
    written for an agent goes on; it is empty for an export.
    """

    session_id: str
    timestamp: str
    cwd: str
    title: str | None
    tags: tuple[str, ...]
    parent_session: str | None
    entries: list[dict[str, Any]]
    leaf: str | None
    agent: str | None = None
    lineage: tuple[OriginStep, ...] = ()

    def on_path(self) -> list[dict[str, Any]]:
        """Return the entries from the root to the leaf."""
        by_id = {fields.as_text(entry.get("id")): entry for entry in self.entries}
        walk: list[dict[str, Any]] = []
        at = by_id.pop(self.leaf or "", None)
        while at is not None:
            walk.append(at)
            at = by_id.pop(fields.as_text(at.get("parentId")), None)
        return walk[::-1]


@dataclass(slots=True)
class ConversionLosses:
    """The data that a format cannot represent, by name, with counts.

    `lost` counts values that the export omits. `carried` counts entries that it stores in a form that the target
    program does not read.
    """

    lost: Counter[str] = field(default_factory=Counter)
    carried: Counter[str] = field(default_factory=Counter)

    def lose(self, kind: str) -> None:
        """Count something that the format cannot represent."""
        self.lost[kind] += 1

    def lose_rest(self, of: str, value: dict[str, Any], *known: str) -> None:
        """Count every field of `value` that is set and not in `known`."""
        for name, content in value.items():
            if name not in known and content is not None:
                self.lose(f"{of}.{name}")


def tunneled(entry: dict[str, Any], losses: ConversionLosses) -> dict[str, Any]:
    """Return the data of a custom entry that carries an entry of a type that the format does not have."""
    losses.carried[fields.type_of(entry)] += 1
    return {"type": fields.type_of(entry), "payload": fields.payload_of(entry)}


def header_entries(whole: ExportedSession) -> list[dict[str, Any]]:
    """Return title and tags as entries if only the header has them, for formats without these header fields."""
    made: list[dict[str, Any]] = []
    said = {fields.type_of(entry) for entry in whole.entries}
    if whole.title is not None and not said & {"session_info", "title_change"}:
        made.append({"type": "session_info", "id": "header-title", "name": whole.title})
    tagged = any(entry.get("customType") == "sessiond.tags" for entry in whole.entries)
    if whole.tags and not tagged:
        data = {"tags": list(whole.tags)}
        made.append({"type": "custom", "id": "header-tags", "customType": "sessiond.tags", "data": data})
    return [{**entry, "parentId": None, "timestamp": whole.timestamp} for entry in made]


def first_kept_id(entry: dict[str, Any]) -> str:
    """Return the id of the first entry that a compaction keeps; the compaction's id if it keeps no entry (pi 0.87)."""
    return fields.text(entry.get("firstKeptEntryId")) or fields.as_text(entry.get("id"))
