"""The result of a conversion to a provider's format, and the joining of turns for alternating roles."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from msgspec import Raw

from sessiond.session.content.typed_words import OPENING
from sessiond.session.formats.conversation import Call, Reasons, TextPart, Turn
from sessiond.session.tree.steps import Steps, clear_lists

_TURNS_A_STEP: Final = 50
_BYTES_A_STEP: Final = 512 * 1024


@dataclass(slots=True)
class ProviderMessages:
    """Messages of a provider. Numbers are those of the agent's messages that they were made from.

    `sources` has, for each message, the first number that it was made from. `message_indexes` maps a number to the
    index of its message, or to None for a system prompt, which is in `system`.
    """

    messages: list[Raw] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    message_indexes: dict[int, int | None] = field(default_factory=dict)
    system: Raw | None = None
    reasons: Reasons = field(default_factory=dict)

    def add(self, message: dict[str, Any], sources: Sequence[int]) -> int:
        """Add a message that was made from `sources`. Return its size in bytes."""
        for source in sources:
            self.message_indexes.setdefault(source, len(self.messages))
        self.sources.append(sources[0])
        body = msgspec.json.encode(message)
        self.messages.append(Raw(body))
        return len(body)


@dataclass(slots=True)
class JoinedTurns:
    """Turns of one role as one message: its blocks, or `plain` if the message is one text."""

    role: str
    blocks: list[dict[str, Any]]
    sources: list[int]
    plain: str | None = None


def join_turns(
    turns: Sequence[Turn], blocks_of: Callable[[Turn], list[dict[str, Any]]], assistant: str, reasons: Reasons
) -> Steps[list[JoinedTurns]]:
    """Return turns as messages whose roles alternate, beginning with the user.

    Args:
        turns: The turns.
        blocks_of: Returns the blocks of a turn.
        assistant: The provider's name for the assistant's role.
        reasons: Receives the changes.
    """
    messages: list[JoinedTurns] = []
    for number, turn in enumerate(turns):
        blocks = blocks_of(turn)
        role = assistant if turn.role == "assistant" else "user"
        sources = [result.source for result in turn.results] or sources_of(turn, reasons)
        if not messages and role != "user":
            messages.append(JoinedTurns("user", blocks_of(_opening(turn)), [turn.source], OPENING))
        if messages and messages[-1].role == role:
            messages[-1].plain = None
            messages[-1].blocks += blocks
            messages[-1].sources += sources
            if turn.role != "results":
                reasons.setdefault(turn.source, "joined")
        else:
            messages.append(JoinedTurns(role, blocks, sources, _plain(turn)))
        if number % _TURNS_A_STEP == 0:
            yield
    return messages


def sources_of(turn: Turn, reasons: Reasons) -> list[int]:
    """Return the numbers of the messages that a turn was made from, and note those that were joined to its first."""
    sources = [turn.source]
    for part in turn.parts:
        if isinstance(part, Call) and part.source is not None and part.source not in sources:
            reasons.setdefault(part.source, "joined")
            sources.append(part.source)
    return sources


def add_all(
    output: ProviderMessages, messages: list[JoinedTurns], message_of: Callable[[JoinedTurns], dict[str, Any]]
) -> Steps[None]:
    """Encode messages and add them. `messages` is empty afterwards.

    The opening message gets no entry in `message_indexes`.
    """
    size = 0
    for number, message in enumerate(messages):
        size += output.add(message_of(message), message.sources)
        message.blocks = []  # freeing them all at the end would block the event loop
        if message.plain is OPENING:
            output.message_indexes.pop(message.sources[0])
        if number % _TURNS_A_STEP == 0 or size > _BYTES_A_STEP:
            size = 0
            yield
    yield from clear_lists(messages)


def without_system(output: ProviderMessages, turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns without system messages, for a provider that has a separate field for their text."""
    for turn in turns:
        if turn.role == "system":
            output.message_indexes[turn.source] = None
            output.reasons[turn.source] = "systemPrompt"
    return [turn for turn in turns if turn.role != "system"]


def _opening(turn: Turn) -> Turn:
    return Turn("user", turn.source, [TextPart(OPENING)], plain=True)


def _plain(turn: Turn) -> str | None:
    text = turn.parts[0] if turn.plain and turn.role != "assistant" and len(turn.parts) == 1 else None
    return text.text if isinstance(text, TextPart) else None
