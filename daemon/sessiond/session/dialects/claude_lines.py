"""Classifies the lines of a Claude Code file before they become entries: chain lines, repeats, preserved messages.

Chain lines have a `uuid` and name a parent. All other lines are about the session as a whole (decision 0023).
"""

from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any, Final

from sessiond.session.content import fields
from sessiond.session.dialects import claude_attachments
from sessiond.session.dialects.source import SourceLine

SPEAKING: Final = frozenset(("user", "assistant"))


@dataclass(slots=True)
class ChainLine:
    """A line of the chain.

    Attributes:
        line: The line as it is in the file.
        value: Its object.
        uuid: Its id.
        parent: The id of its parent; None for a root.
        parts: For an assistant message, all lines that the message was split into.
        type: The type of the line.
        message: The `message` object of the line; empty if it has none.
        result_ids: The ids of the tool calls that a user line answers.
    """

    line: SourceLine
    value: dict[str, Any]
    uuid: str
    parent: str | None
    parts: list["ChainLine"] = field(default_factory=list)
    type: str = field(init=False)
    message: dict[str, Any] = field(init=False)
    result_ids: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.type = fields.as_text(self.value.get("type"))
        self.message = fields.mapping(self.value.get("message"))
        self.result_ids = _result_ids(self.message) if self.type == "user" else []

    @property
    def attachment(self) -> dict[str, Any]:
        """The `attachment` object of the line; empty if it has none."""
        return fields.mapping(self.value.get("attachment")) if self.type == "attachment" else {}

    @property
    def has_text(self) -> bool:
        """Whether it is an attachment that becomes an entry."""
        return (
            bool(self.attachment)
            and claude_attachments.entry_of(self.attachment, custom_type="", at="") is not None
        )

    @property
    def is_aside(self) -> bool:
        """Whether it belongs to a subagent. Older versions wrote subagents into the same file."""
        return self.value.get("isSidechain") is True

    @property
    def is_visible(self) -> bool:
        """Whether it can be the leaf: a message of a user or assistant that the program does not hide."""
        if self.type == "attachment":
            return claude_attachments.is_prompt(self.attachment)
        hidden = self.value.get("isMeta") is True or fields.text(self.value.get("teamName")) is not None
        return self.type in SPEAKING and not hidden

    @property
    def is_boundary(self) -> bool:
        """Whether it is the boundary of a compaction."""
        return self.type == "system" and self.value.get("subtype") == "compact_boundary"

    @property
    def is_summary(self) -> bool:
        """Whether it is the user line with the summary of a compaction."""
        return self.type == "user" and self.value.get("isCompactSummary") is True


def _result_ids(message: dict[str, Any]) -> list[str]:
    return [
        fields.as_text(block.get("tool_use_id"))
        for block in fields.items(message.get("content"))
        if isinstance(block, dict) and block.get("type") == "tool_result"
    ]


def chain_line(line: SourceLine) -> ChainLine | None:
    """Return the line as a chain line, or None if it is none."""
    value = line.value or {}
    uuid = fields.text(value.get("uuid"))
    if uuid is None or value.get("type") not in ("user", "assistant", "system", "attachment", "progress"):
        return None
    return ChainLine(line, value, uuid, fields.text(value.get("parentUuid")))


def merged(chain: list[ChainLine | SourceLine]) -> list[ChainLine | SourceLine]:
    """Return the lines with the parts of every assistant message merged into one chain line.

    Parts follow each other along the chain. If another message is between two parts (the result of a fast tool),
    they stay separate messages.
    """
    found: list[ChainLine | SourceLine] = []
    through: dict[str, str | None] = {}
    speaking: ChainLine | None = None
    for it in chain:
        if not isinstance(it, ChainLine) or it.type not in SPEAKING:
            if isinstance(it, ChainLine) and not it.has_text:
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
    earlier_id, later_id = fields.text(speaking.message.get("id")), fields.text(it.message.get("id"))
    if (
        it.type != "assistant"
        or earlier_id is None
        or earlier_id != later_id
        or it.is_aside != speaking.is_aside
    ):
        return False
    uuids = {part.uuid for part in speaking.parts}
    return it.uuid not in uuids and (parent is None or parent in uuids or parent == speaking.parent)


@dataclass(frozen=True, slots=True)
class Preserved:
    """The messages that a compaction preserves.

    The model sees them after the summary. Their place in the log is unchanged.
    """

    uuids: tuple[str, ...] = ()

    @property
    def head(self) -> str | None:
        """The uuid of the first preserved message, or None."""
        return self.uuids[0] if self.uuids else None

    @property
    def tail(self) -> str | None:
        """The uuid of the last preserved message, or None."""
        return self.uuids[-1] if self.uuids else None

    def before(self, uuid: str) -> str | None:
        """Return the message before `uuid`, or None."""
        place = self.uuids.index(uuid)
        return self.uuids[place - 1] if place else None


def preserved(boundary: ChainLine) -> Preserved:
    """Return the messages that a compact boundary preserves."""
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
    """Return the tokens of the context before a compaction, from the boundary; 0 if it is unknown."""
    if boundary is None:
        return 0
    return fields.number(fields.mapping(boundary.value.get("compactMetadata")).get("preTokens"))


def in_place(whole: list[ChainLine | SourceLine]) -> tuple[list[ChainLine | SourceLine], set[str]]:
    """Move preserved messages that were written after their compaction to before it.

    Returns:
        The lines in the new order, and the uuids of the moved messages.
    """
    seen: set[str] = set()
    moved: dict[int, ChainLine] = {}
    places = {it.uuid: place for place, it in enumerate(whole) if isinstance(it, ChainLine)}
    ordered: list[ChainLine | SourceLine] = []
    for place, it in enumerate(whole):
        if isinstance(it, ChainLine) and it.is_boundary:
            for uuid in preserved(it).uuids:
                late = places.get(uuid, -1)
                if uuid not in seen and late > place and isinstance(line := whole[late], ChainLine):
                    moved[late] = line
                    seen.add(uuid)
                    ordered.append(line)
        if place not in moved:
            ordered.append(it)
        if isinstance(it, ChainLine):
            seen.update(part.uuid for part in it.parts or [it])
    return ordered, {it.uuid for it in moved.values()}


def unfinished(whole: list[ChainLine | SourceLine], known: Container[str]) -> int | None:
    """Return the index of the last message if the file may still get more of it, else None.

    Such a message is imported only when it is complete.
    """
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
    """Return whether a boundary names messages that are not in the file yet."""
    if not it.is_boundary:
        return False
    named = {*preserved(it).uuids, fields.text(it.value.get("logicalParentUuid"))} - {None}
    return any(uuid not in known for uuid in named if uuid is not None)
