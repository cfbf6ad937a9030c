"""Builds the turns that a native session of an agent is written from: the context of a leaf, in legal order.

Compactions, summaries and edits are applied. Each tool call is followed by its result; a call without a result gets
one that says so. Thinking is omitted, because only the provider that signed it accepts it (decision 0037).
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from sessiond.session.content import fields
from sessiond.session.content.typed_words import OPENING
from sessiond.session.context.context import Context, build_context
from sessiond.session.dialects import handing_over, native_losses
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from sessiond.session.formats.agent import read_turn
from sessiond.session.formats.build import NO_USAGE
from sessiond.session.formats.conversation import Image, Reasons, Result, Role, TextPart, Thinking, Turn
from sessiond.session.formats.fitting import ProviderLimits, fit
from sessiond.session.formats.legal import legal
from sessiond.session.tree import entries, lines, payloads, steps
from sessiond.session.tree.tree import Tree

UNKNOWN_MODEL: Final = "unknown"
"""The model of an answer that names none, for agents that require one."""

_NAME_LENGTH: Final = 64


@dataclass(frozen=True, slots=True)
class NativeTurn:
    """A turn, its time, and the model of an answer.

    `is_summary`: whether the turn is the summary of a compaction, which comes first. `summary` has its text.
    """

    turn: Turn
    time_ms: int
    model: str | None
    summary: str | None = None

    @property
    def time(self) -> str:
        """The time as ISO 8601 in UTC."""
        return iso(self.time_ms)


@dataclass(slots=True)
class NativeConversation:
    """The turns of a session in order, the time of its beginning, and its other data."""

    started_ms: int
    cwd: str
    title: str | None
    turns: list[NativeTurn] = field(default_factory=list)

    @property
    def ended_ms(self) -> int:
        """The time of the last turn, in milliseconds since 1970."""
        return self.turns[-1].time_ms if self.turns else self.started_ms


class _Head(msgspec.Struct, rename="camel"):
    role: Any = None
    provider: Any = None
    model: Any = None
    stop_reason: Any = None
    usage: Any = None
    summary: Any = None


_head = msgspec.json.Decoder(_Head)
_object = msgspec.json.Decoder(dict[str, Any])
_WITH_ADDED_TEXT: Final = ("user", "custom", "hookMessage")
_fits_as_id: Final = re.compile(r"[A-Za-z0-9_-]{1,40}").fullmatch


def native_conversation(
    whole: ExportedSession, losses: ConversionLosses, accepts_image: Callable[[Image, Role], bool]
) -> NativeConversation:
    """Return the turns of the path to the leaf.

    Args:
        whole: The session.
        losses: Receives what the turns cannot represent.
        accepts_image: Returns whether the agent accepts an image in a turn of a role.
    """
    tree, context, on_path = _context(whole)
    times = {
        fields.as_text(entry.get("id")): fields.milliseconds(entry.get("timestamp")) for entry in on_path
    }
    heads = [payloads.part(_head, message) or _Head() for message in context.messages]
    started = fields.milliseconds(whole.timestamp) or 0
    output = NativeConversation(started, whole.cwd, whole.title)
    said = _times([times.get(entry_id) for entry_id in context.entry_ids], heads, started)
    reasons: Reasons = {}
    messages = _told(context.messages, heads, losses)
    items = [
        None if message is None else _item(message, heads[at], at, reasons, losses)
        for at, message in enumerate(messages)
    ]
    turns = steps.run(legal(items, reasons, lambda _turn: False))
    steps.run(fit(turns, ProviderLimits(_fits_as_id, legal_name, accepts_image), reasons))
    if turns and turns[0].role != "user":
        turns.insert(0, Turn("user", turns[0].source, [TextPart(OPENING)], plain=True))
    for turn in turns:
        source = turn.results[0].source if turn.results else turn.source
        head = heads[source]
        summary = fields.text(head.summary) if head.role == "compactionSummary" else None
        output.turns.append(NativeTurn(turn, said[source], fields.text(head.model), summary))
    native_losses.count_changes(reasons, losses)
    native_losses.count_entries(whole, on_path, set(context.entry_ids), losses)
    losses.lost["label"] += len(tree.labels)
    losses.lost["usage of an answer"] += sum(
        other.role == "assistant" and other.usage not in (None, NO_USAGE) for other in heads
    )
    losses.lost += Counter()  # without names that count nothing
    return output


def accepts_data(image: Image, role: Role) -> bool:
    """Return whether an image has its data with it, in a turn of the user or a tool result."""
    return image.data is not None and role != "assistant"


def legal_name(name: str) -> str:
    """Return the name of a tool with characters that every provider accepts."""
    legal = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:_NAME_LENGTH]
    return legal if legal[0].isalpha() or legal[0] == "_" else f"_{legal}"[:_NAME_LENGTH]


def text_of(item: Turn | Result) -> str:
    """Return the texts of a turn or a result, one after the other."""
    return "\n".join(part.text for part in item.parts if isinstance(part, TextPart))


def iso(time_ms: int) -> str:
    """Return a time in milliseconds since 1970 as ISO 8601 in UTC."""
    try:
        moment = datetime.fromtimestamp(time_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        moment = datetime(1970, 1, 1, tzinfo=UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def written(values: Sequence[object]) -> bytes:
    """Return values as lines of JSON. Every line ends with a newline: agents append to the last one otherwise."""
    return b"".join(fields.dumps(value) + b"\n" for value in values)


def _context(whole: ExportedSession) -> tuple[Tree, Context, list[dict[str, Any]]]:
    """Return the tree of the exported entries, the context of the leaf, and the entries on its path."""
    header = {
        "type": "session", "version": entries.CURRENT_VERSION, "id": whole.session_id,
        "timestamp": whole.timestamp, "cwd": whole.cwd,
    }  # fmt: skip
    data = written([header, *whole.entries])
    tree = Tree()
    tree.read(data)
    tree.finish()

    def read(rows: Sequence[int]) -> list[bytes]:
        return [tree.entry(row, data[slice(*tree.span(row))]) for row in rows]

    row = tree.row(whole.leaf) if whole.leaf is not None else None
    if row is None:
        return tree, Context(leaf_id=None), []
    context = steps.run(build_context(tree, row, read))
    return tree, context, [lines.loads(line) for line in read(steps.run(steps.path(tree, row)))]


def _told(
    messages: Sequence[msgspec.Raw], heads: Sequence[_Head], losses: ConversionLosses
) -> list[msgspec.Raw | None]:
    """Return the messages without the text that the agent of the session added; None for one without other text."""
    given = [
        (payloads.part(_object, message) or {}) if head.role in _WITH_ADDED_TEXT else {"role": head.role}
        for message, head in zip(messages, heads, strict=True)
    ]
    told = handing_over.told(given, losses)
    return [
        None if mapping is None else raw if mapping is before else msgspec.Raw(msgspec.json.encode(mapping))
        for raw, before, mapping in zip(messages, given, told, strict=True)
    ]


def _times(found: Sequence[int | None], heads: Sequence[_Head], started: int) -> list[int]:
    """Return the times of messages, never decreasing. A summary gets the time of the message that follows it."""
    given = list(found)
    if len(given) > 1 and heads[0].role == "compactionSummary":
        given[0] = given[1]
    times: list[int] = []
    for time in given:
        earliest = times[-1] if times else 0
        times.append(max(time if time is not None else started, earliest))
    return times


def _item(
    message: msgspec.Raw, head: _Head, source: int, reasons: Reasons, losses: ConversionLosses
) -> Turn | Result | None:
    item = read_turn(message, source)
    if isinstance(item, str):
        reasons[source] = item
        return None
    if isinstance(item, Result):
        return item
    if item.role == "system":
        losses.lose("system prompt")
        return None
    if item.role == "developer":
        losses.lose("role of a developer message")
        item.role = "user"
    elif item.as_user_text and head.role != "compactionSummary":
        losses.lose(f"role of a {fields.as_text(head.role)} message")
    if head.stop_reason == "aborted":
        item.failed = False  # the text of the model before the user stopped it
    for part in item.parts:
        if isinstance(part, Thinking):
            losses.lose("thinking")
    return item
