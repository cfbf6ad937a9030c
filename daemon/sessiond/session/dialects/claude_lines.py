"""Classifies the lines of a Claude Code file before they become entries: chain lines, repeats, preserved messages.

Chain lines have a `uuid` and name a parent. All others are about the session as a whole (decision 0023).
"""

from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any, Final

from sessiond.session.content import fields
from sessiond.session.dialects.source import SourceLine

SPEAKING: Final = frozenset(("user", "assistant"))


@dataclass(slots=True)
class ChainLine:
    """A line of the chain; an assistant's has all the lines that its message was split into."""

    line: SourceLine
    value: dict[str, Any]
    uuid: str
    parent: str | None
    parts: list["ChainLine"] = field(default_factory=list)

    @property
    def type(self) -> str:
        return fields.as_text(self.value.get("type"))

    @property
    def message(self) -> dict[str, Any]:
        return fields.mapping(self.value.get("message"))

    @property
    def is_aside(self) -> bool:
        """Whether it belongs to a subagent, which older versions wrote into the same file."""
        return self.value.get("isSidechain") is True

    @property
    def is_visible(self) -> bool:
        """Whether a leaf may be here: somebody says something in the main conversation."""
        hidden = self.value.get("isMeta") is True or fields.text(self.value.get("teamName")) is not None
        return self.type in SPEAKING and not hidden

    @property
    def is_boundary(self) -> bool:
        return self.type == "system" and self.value.get("subtype") == "compact_boundary"

    @property
    def is_summary(self) -> bool:
        return self.type == "user" and self.value.get("isCompactSummary") is True

    @property
    def result_ids(self) -> list[str]:
        """The tool calls that a user line answers."""
        return [
            fields.as_text(block.get("tool_use_id"))
            for block in fields.items(self.message.get("content"))
            if isinstance(block, dict) and block.get("type") == "tool_result"
        ]


def chain_line(line: SourceLine) -> ChainLine | None:
    """The chain line in a line, or None."""
    value = line.value or {}
    uuid = fields.text(value.get("uuid"))
    if uuid is None or value.get("type") not in ("user", "assistant", "system", "attachment", "progress"):
        return None
    return ChainLine(line, value, uuid, fields.text(value.get("parentUuid")))


def merged(chain: list[ChainLine | SourceLine]) -> list[ChainLine | SourceLine]:
    """The lines with every assistant message in one: parts follow each other along the chain.

    Parts between which somebody else spoke (a tool that was quick) stay messages of their own.
    """
    found: list[ChainLine | SourceLine] = []
    through: dict[str, str | None] = {}
    speaking: ChainLine | None = None
    for it in chain:
        if not isinstance(it, ChainLine) or it.type not in SPEAKING:
            if isinstance(it, ChainLine):
                through[it.uuid] = through.get(it.parent or "", it.parent)
            found.append(it)
            continue
        if speaking is not None and _continues(speaking, it, through.get(it.parent or "", it.parent)):
            speaking.parts.append(it)
            continue
        it.parts = [it]
        speaking = it if it.type == "assistant" else None
        found.append(it)
    return found


def _continues(speaking: ChainLine, it: ChainLine, parent: str | None) -> bool:
    said, says = fields.text(speaking.message.get("id")), fields.text(it.message.get("id"))
    if it.type != "assistant" or said is None or said != says or it.is_aside != speaking.is_aside:
        return False
    uuids = {part.uuid for part in speaking.parts}
    return it.uuid not in uuids and (parent is None or parent in uuids or parent == speaking.parent)


@dataclass(frozen=True, slots=True)
class Preserved:
    """The messages that a compaction kept: they stand after the summary for the model, and stay where they were."""

    uuids: tuple[str, ...] = ()

    @property
    def head(self) -> str | None:
        return self.uuids[0] if self.uuids else None

    @property
    def tail(self) -> str | None:
        return self.uuids[-1] if self.uuids else None

    def before(self, uuid: str) -> str | None:
        """The one before, or None."""
        place = self.uuids.index(uuid)
        return self.uuids[place - 1] if place else None


def preserved(boundary: ChainLine) -> Preserved:
    """What a compact boundary says it preserved."""
    data = fields.mapping(boundary.value.get("compactMetadata"))
    segment = fields.mapping(data.get("preservedSegment"))
    uuids = [
        it
        for it in fields.items(fields.mapping(data.get("preservedMessages")).get("uuids"))
        if isinstance(it, str)
    ]
    if not uuids:
        ends = (fields.text(segment.get("headUuid")), fields.text(segment.get("tailUuid")))
        uuids = list(dict.fromkeys(it for it in ends if it is not None))
    return Preserved(tuple(dict.fromkeys(uuids)))


def tokens_before(boundary: ChainLine | None) -> int | float:
    """How many tokens the context had before a compaction, as the boundary says."""
    if boundary is None:
        return 0
    return fields.number(fields.mapping(boundary.value.get("compactMetadata")).get("preTokens"))


def in_place(whole: list[ChainLine | SourceLine]) -> tuple[list[ChainLine | SourceLine], set[str]]:
    """Preserved messages that are only written after their compaction go before it, where they were said.

    Answers the lines in this order, and which messages were moved.
    """
    seen: set[str] = set()
    moved: dict[int, ChainLine] = {}
    places = {it.uuid: place for place, it in enumerate(whole) if isinstance(it, ChainLine)}
    ordered: list[ChainLine | SourceLine] = []
    for place, it in enumerate(whole):
        if isinstance(it, ChainLine) and it.is_boundary:
            for uuid in preserved(it).uuids:
                late = places.get(uuid, -1)
                if uuid not in seen and late > place and isinstance(said := whole[late], ChainLine):
                    moved[late] = said
                    seen.add(uuid)
                    ordered.append(said)
        if place not in moved:
            ordered.append(it)
        if isinstance(it, ChainLine):
            seen.update(part.uuid for part in it.parts or [it])
    return ordered, {it.uuid for it in moved.values()}


def unfinished(whole: list[ChainLine | SourceLine], known: Container[str]) -> int | None:
    """Where the last message begins, if more of it may come: it is not taken before it is whole."""
    found = [
        (place, it)
        for place, it in enumerate(whole)
        if isinstance(it, ChainLine) and (it.type in SPEAKING or it.is_boundary)
    ]
    if not found:
        return None
    place, last = found[-1]
    split = last.type == "assistant" and fields.text(last.message.get("id")) is not None
    done = any(fields.text(part.message.get("stop_reason")) for part in last.parts)
    if last.is_summary and len(found) > 1 and _awaits_more(found[-2][1], known):
        return found[-2][0]
    return place if last.is_boundary or (split and not done) else None


def _awaits_more(it: ChainLine, known: Container[str]) -> bool:
    """Whether a boundary names messages that are not written yet."""
    if not it.is_boundary:
        return False
    named = {*preserved(it).uuids, fields.text(it.value.get("logicalParentUuid"))} - {None}
    return any(uuid not in known for uuid in named if uuid is not None)
