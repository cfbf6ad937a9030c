"""Classifies the lines of a Claude Code file before they become entries: chain lines, repeats, preserved messages.

Chain lines have a `uuid` and name a parent. All other lines are about the session as a whole (decision 0023).
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from sessiond.agents.claude_code import attachments as claude_attachments
from sessiond.session.content import fields
from sessiond.session.dialects.source import SourceLine

SPEAKING: Final = frozenset(("user", "assistant"))
_BY_PERSON: Final = frozenset(("typed", "queued", "suggestion_accepted"))
"""Values of `promptSource` for prompts of a person."""
_AUTOMATED: Final = frozenset(("sdk-cli", "sdk-ts", "sdk-py"))
"""Values of `entrypoint` in runs without a person: `claude -p` and the SDKs."""


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
    def chain(self) -> str:
        """The id of the subagent that it belongs to; "" for the main chain."""
        if not self.is_aside:
            return ""
        return fields.text(self.value.get("agentId")) or "a subagent"

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
    """Return the line as a chain line, or None if it has no `uuid`. The type of the line does not matter."""
    value = line.value or {}
    uuid = fields.text(value.get("uuid"))
    if uuid is None:
        return None
    return ChainLine(line, value, uuid, fields.text(value.get("parentUuid")))


def merged(chain: list[ChainLine | SourceLine]) -> list[ChainLine | SourceLine]:
    """Return the lines with the parts of every assistant message merged into one chain line.

    Parts follow each other along the chain, until one of them is the last. If another message is between two parts
    (the result of a fast tool), they stay separate messages.
    """
    found: list[ChainLine | SourceLine] = []
    through: dict[str, str | None] = {}
    speaking: ChainLine | None = None
    for line in chain:
        if not isinstance(line, ChainLine) or line.type not in SPEAKING:
            if isinstance(line, ChainLine) and not line.has_text:
                through[line.uuid] = through.get(line.parent or "", line.parent)
            found.append(line)
            continue
        if speaking is not None and _continues(speaking, line, through.get(line.parent or "", line.parent)):
            speaking.parts.append(line)
            continue
        line.parts = [line]
        speaking, through = (line if line.type == "assistant" else None), {}
        found.append(line)
    return found


def _continues(speaking: ChainLine, line: ChainLine, parent: str | None) -> bool:
    earlier_id, later_id = fields.text(speaking.message.get("id")), fields.text(line.message.get("id"))
    if (
        line.type != "assistant"
        or earlier_id is None
        or earlier_id != later_id
        or line.is_aside != speaking.is_aside
        or is_complete(speaking)
    ):
        return False
    uuids = {part.uuid for part in speaking.parts}
    return line.uuid not in uuids and (parent is None or parent in uuids or parent == speaking.parent)


def is_complete(message: ChainLine) -> bool:
    """Return whether an assistant message has its last part: one with the reason for which the model stopped.

    If the answer was not streamed, each part has the reason. The last part then calls a tool, or has a text.
    """
    stops = [
        reason
        for part in message.parts
        if (reason := fields.text(part.message.get("stop_reason"))) is not None
    ]
    if not stops:
        return False
    kinds = [kind for part in message.parts for kind in _kinds(part)]
    if stops[-1] == "tool_use":
        return any(kind.endswith("tool_use") for kind in kinds)
    return stops[-1] not in ("end_turn", "stop_sequence") or any(
        not kind.endswith("thinking") for kind in kinds
    )


def _kinds(part: ChainLine) -> list[str]:
    content = part.message.get("content")
    if isinstance(content, str):
        return ["text"]
    return [fields.as_text(fields.mapping(block).get("type")) for block in fields.items(content)]


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
        uuid
        for uuid in fields.items(fields.mapping(data.get("preservedMessages")).get("uuids"))
        if isinstance(uuid, str)
    ]
    if not uuids:
        ends = (fields.text(segment.get("headUuid")), fields.text(segment.get("tailUuid")))
        uuids = list(dict.fromkeys(end for end in ends if end is not None))
    return Preserved(tuple(dict.fromkeys(uuids)))


def prompter(value: Mapping[str, Any]) -> Literal["person", "program"] | None:
    """Return whether a person or a program gives the prompts, as a line says; None if the line does not say it.

    `promptSource` is about the line's own prompt, `entrypoint` about the process that wrote the line. An editor uses
    the SDK for the prompts of a person, so "sdk" counts only where no entrypoint is named.
    """
    source, entrypoint = fields.text(value.get("promptSource")), fields.text(value.get("entrypoint"))
    if source in _BY_PERSON:
        return "person"
    if entrypoint is not None:
        return "program" if entrypoint in _AUTOMATED else "person"
    return "program" if source == "sdk" else None


def tokens_before(boundary: ChainLine | None) -> int | float:
    """Return the tokens of the context before a compaction, from the boundary; 0 if it is unknown."""
    if boundary is None:
        return 0
    return fields.number(fields.mapping(boundary.value.get("compactMetadata")).get("preTokens"))


def in_place(
    whole: list[ChainLine | SourceLine], there: Container[str]
) -> tuple[list[ChainLine | SourceLine], dict[str, Preserved]]:
    """Move preserved messages that were written after their compaction, before any other message, to before it.

    Args:
        whole: The lines.
        there: The uuids of the lines before them.

    Returns:
        The lines in the new order, and the preserved messages of its compaction for each uuid that was moved.
    """
    moved: dict[str, Preserved] = {}
    ordered: list[ChainLine | SourceLine] = []
    seen: set[str] = set()
    for place, item in enumerate(whole):
        if isinstance(item, ChainLine) and item.is_boundary:
            segment = preserved(item)
            late = {line.uuid: line for line in _late(whole[place + 1 :], segment)} if segment.uuids else {}
            for uuid in segment.uuids:
                if uuid in late and uuid not in seen and uuid not in there:
                    moved[uuid] = segment
                    ordered.append(late[uuid])
        if not isinstance(item, ChainLine) or item.uuid not in moved or item.uuid in seen:
            ordered.append(item)
        if isinstance(item, ChainLine):
            seen.update(part.uuid for part in item.parts or [item])
    return ordered, moved


def _late(after: Iterable[ChainLine | SourceLine], segment: Preserved) -> Iterator[ChainLine]:
    """Yield the messages that a compaction preserves among the lines after its boundary."""
    for line in after:
        if not isinstance(line, ChainLine):
            continue
        if line.uuid in segment.uuids:
            yield line
        elif (line.type in SPEAKING and not line.is_summary) or line.is_boundary:
            return


def in_order(
    whole: list[ChainLine | SourceLine], there: Container[str], moved: Container[str]
) -> list[ChainLine | SourceLine]:
    """Move each line whose parent comes later to after the parent. Lines that lead back to themselves keep their order.

    Args:
        whole: The lines.
        there: The uuids of the lines before them.
        moved: The uuids that `in_place` moved to before a compaction. They do not wait for their parents, which may
            be its summary.
    """
    missing = {part.uuid for line in whole if isinstance(line, ChainLine) for part in line.parts or [line]}
    waiting: dict[str, list[ChainLine]] = {}
    ordered: list[ChainLine | SourceLine] = []

    def place(line: ChainLine | SourceLine) -> None:
        ready = [line]
        while ready:
            line = ready.pop()
            ordered.append(line)
            for part in (line.parts or [line]) if isinstance(line, ChainLine) else ():
                missing.discard(part.uuid)
                ready += reversed(waiting.pop(part.uuid, []))

    for line in whole:
        if isinstance(line, ChainLine) and not line.is_boundary and line.uuid not in moved:
            parent, own = line.parent, [part.uuid for part in line.parts or [line]]
            if parent in missing and parent not in there and parent not in own:
                waiting.setdefault(parent, []).append(line)
                continue
        place(line)
    while waiting:
        first = min((line for some in waiting.values() for line in some), key=lambda line: line.line.place)
        some = waiting[first.parent or ""]
        some.remove(first)
        if not some:
            del waiting[first.parent or ""]
        place(first)
    return ordered


def unfinished(whole: list[ChainLine | SourceLine], known: Container[str]) -> int | None:
    """Return the index of the last message if the file may still get more of it, else None.

    Such a message is imported only when it is complete. A compaction waits for its summary, and for the messages that
    it names, until another message follows.

    Args:
        whole: The lines at the end of the file.
        known: The uuids of all lines of the file.
    """
    said = [
        (place, line)
        for place, line in enumerate(whole)
        if isinstance(line, ChainLine) and (line.type in SPEAKING or line.is_boundary)
    ]
    if not said:
        return None
    place, last = said[-1]
    if last.is_boundary:
        return place
    boundary = next(((at, line) for at, line in reversed(said) if line.is_boundary), None)
    if boundary is not None and _awaits_more(boundary[1], known):
        named = preserved(boundary[1]).uuids
        if all(line.is_summary or line.uuid in named for at, line in said if at > boundary[0]):
            return boundary[0]
    is_split = last.type == "assistant" and fields.text(last.message.get("id")) is not None
    return place if is_split and not is_complete(last) else None


def _awaits_more(boundary: ChainLine, known: Container[str]) -> bool:
    """Return whether a boundary names messages that are not in the file yet."""
    named = {*preserved(boundary).uuids, fields.text(boundary.value.get("logicalParentUuid"))} - {None}
    return any(uuid not in known for uuid in named if uuid is not None)
