"""Reads pi format 4: one write a line, or several in an array line.

Writes of the package `pi-agent-core` are `entry`, `value` (names, labels, and tips of branches), `list` and `usage`.
An earlier draft had `entry`, `lane`, `fact` and `record`. Both are read. Lanes become branches. The leaf is that of
the lane `main` or of the lane that moved last. Messages that a compaction retained become entries that it keeps.
Records of operations are stored unchanged (decision 0023).
"""

from typing import Any, Final

import msgspec

from sessiond.session.content import fields
from sessiond.session.dialects.import_builder import ImportBuilder, Imported
from sessiond.session.dialects.linking import (
    Linked,
    Names,
    Part,
    add_linked,
    name_of,
    without,
    without_repeats,
)
from sessiond.session.dialects.source import Source, SourceLine

NAME: Final = "pi4"

_BASE: Final = ("kind", "lane", "seq", "id", "parentId", "type", "timestamp", "v")
_ENTRY: Final = ("entry",)
_NAME: Final = "pi.session.name"
_LABEL: Final = "pi.entry.label"
_TIP: Final = "pi.branch.tip"
"""Namespaces of values: the name of the session, a label by entry, and the last entry of a branch by its name."""


def detect(first: list[dict[str, Any]]) -> bool:
    """Return whether these are lines of format 4."""
    return bool(first) and first[0].get("kind") == "header"


def read(source: Source) -> Imported:
    """Read the session in a file of format 4."""
    return _Reader(source).read()


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._builder = ImportBuilder(NAME, source)
        self._linked: list[Linked] = []
        self._lanes: dict[str, str | None] = {}
        self._facts: list[tuple[SourceLine, dict[str, Any]]] = []
        self._others: dict[str, str | None] = {}  # the parents of lines with an id that are no entries
        self._begun = False

    def read(self) -> Imported:
        builder = self._builder
        for line in self._source.lines():
            values = [line.value] if line.value is not None else _transaction(line)
            if not values:
                builder.preserve_unreadable(line)
            for value in values:
                self._take(line, value)
        names = add_linked(builder, without(without_repeats(self._linked, builder), self._others), _parts)
        for line, value in self._facts:
            self._take_fact(line, value, names)
        lane = "main" if "main" in self._lanes else next(reversed(self._lanes), None)
        builder.leaf = builder.last if lane is None else names.of(self._lanes[lane])
        return builder.finish()

    def _take(self, line: SourceLine, value: dict[str, Any]) -> None:
        kind = value.get("kind")
        if kind == "header" and not self._begun:
            self._begun = True
            self._take_header(line, value)
        elif kind in _ENTRY and (name := name_of(value, "id")) is not None and fields.text(value.get("type")):
            self._take_entry(line, value, name)
        elif kind == "lane" and (lane := fields.text(value.get("lane"))) is not None:
            self._set_lane(lane, name_of(value, "leafId"))
            self._builder.record_leaf_move(line, self._lanes[lane])
        elif kind == "value" and value.get("namespace") == _TIP and (key := fields.text(value.get("key"))):
            self._take_tip(line, value, key)
        elif kind == "value" and (fact := _fact(value)) is not None:
            self._facts.append((line, fact))
        elif kind == "fact":
            self._facts.append((line, value))
        else:
            self._preserve(line, value)

    def _set_lane(self, lane: str, leaf: str | None) -> None:
        """Set the leaf of a lane, which becomes the newest one."""
        self._lanes.pop(lane, None)
        self._lanes[lane] = leaf

    def _take_entry(self, line: SourceLine, value: dict[str, Any], name: str) -> None:
        value = {**value, "timestamp": _time(value.get("timestamp"))}
        lane = fields.text(value.get("lane"))
        self._linked.append(Linked(_alone(line, value), value, name, name_of(value, "parentId"), lane or ""))
        if lane is not None:
            self._set_lane(lane, name)

    def _take_tip(self, line: SourceLine, value: dict[str, Any], lane: str) -> None:
        self._lanes.pop(lane, None)
        self._builder.count("tip")
        if value.get("op") != "set":
            return
        self._lanes[lane] = name_of(value, "value")
        newest = self._linked[-1].id if self._linked else None
        if self._lanes[lane] != newest:  # no entry of the same transaction moves it
            self._builder.record_leaf_move(line, self._lanes[lane])

    def _preserve(self, line: SourceLine, value: dict[str, Any]) -> None:
        if "parentId" in value and (name := name_of(value, "id")) is not None:
            self._others[name] = name_of(value, "parentId")
        subject = fields.as_text(fields.first(value, "type", "namespace", "register"))
        kind = f"{fields.as_text(value.get('kind'))} {subject}".strip()
        self._builder.preserve(line, kind or "without a kind", "it has no counterpart in sessiond")

    def _take_header(self, line: SourceLine, value: dict[str, Any]) -> None:
        builder = self._builder
        builder.source_id = name_of(value, "id") or builder.source_id
        builder.origin["agent"] = "pi"
        builder.cwd = fields.as_text(value.get("cwd"))
        builder.parent_source = fields.text(fields.first(value, "parentSessionId", "legacyParentSessionPath"))
        builder.time_of(_time(value.get("createdAt")))
        builder.count("header")
        if value.get("metadata"):
            builder.preserve(line, "header", "it has fields that a header does not have")

    def _take_fact(self, line: SourceLine, value: dict[str, Any], names: Names) -> None:
        builder, fact = self._builder, value.get("fact")
        at = _time(value.get("timestamp"))
        if fact in ("name", "session.name"):
            name = fields.first(value, "name", "value")
            builder.add_beside(line, "session_info", {"name": name if isinstance(name, str) else None}, at=at)
            builder.count("title")
        elif fact == "label" and (target := names.of(value.get("targetId"))) is not None:
            label = fields.first(value, "label", "value")
            payload = {"targetId": target, "label": label if isinstance(label, str) else None}
            builder.add_beside(line, "label", payload, at=at)
            builder.count("label")
        else:
            builder.preserve(line, f"fact {fields.as_text(fact)}", "it has no counterpart in sessiond")


def _parts(entry: Linked, names: Names) -> list[Part]:
    type, payload = fields.as_text(entry.value.get("type")), fields.without(entry.value, *_BASE)
    for name in ("targetId", "fromId", "firstKeptEntryId"):
        if isinstance(payload.get(name), str) and payload[name] != "root":
            payload[name] = names.of(payload[name])
    if type == "compaction" and "firstKeptEntryId" not in payload:
        payload["firstKeptEntryId"] = None
        tail = [message for message in fields.items(payload.get("retainedTail")) if isinstance(message, dict)]
        return [Part(type, payload, own=True), *(Part("message", {"message": message}) for message in tail)]
    return [Part(type, payload)]


def _transaction(line: SourceLine) -> list[dict[str, Any]]:
    """Return the mutations of an array line."""
    try:
        found = msgspec.json.decode(line.raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
    values = fields.items(found)
    return values if values and all(isinstance(value, dict) for value in values) else []


def _fact(value: dict[str, Any]) -> dict[str, Any] | None:
    """Return a name or label that is a `value` in the form of a `fact`. A deleted one has no value."""
    given = value.get("value") if value.get("op") == "set" else None
    if value.get("namespace") == _NAME:
        return {"fact": "name", "value": given}
    if value.get("namespace") == _LABEL:
        return {"fact": "label", "targetId": value.get("key"), "value": given}
    return None


def _alone(line: SourceLine, value: dict[str, Any]) -> SourceLine:
    return SourceLine(line.number, line.raw, value, part=line.part)


def _time(value: object) -> str | None:
    return fields.time(value, unit=0.001)
