"""Messages of Gemini CLI as its lines have them, and the messages of the present history.

A message has its tool calls in `toolCalls`, with their results. After a resume, its `content` repeats them as parts.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from sessiond.session.content import fields, typed_words
from sessiond.session.dialects import google_parts
from sessiond.session.dialects.google_parts import Content, PartCall, PartResult
from sessiond.session.dialects.source import SourceLine

TAKEN: Final = ("id", "timestamp", "type", "content", "thoughts", "tokens", "model", "toolCalls")
"""The fields of a message that have counterparts."""
_OF_CALL: Final = ("id", "name", "args", "result", "timestamp")
_FAILED: Final = ("error", "cancelled")


@dataclass(slots=True)
class Slot:
    """A message of the present history.

    Attributes:
        id: Its id in the source.
        type: `user` or `gemini`.
        spoken: Its blocks without thinking and calls. A repeated message is recognized by them.
        before: The entry that precedes it.
        end: The entry to which the next message is added: the last one that was made of it.
        first: The first entry that was made of it; None if there is none yet.
        is_injected: Whether the program wrote it as a message of the user.
        is_counted: Whether its tokens are in an entry.
        kept_by: The last compaction that kept it, so that it follows that entry, too.
    """

    id: str
    type: str
    spoken: list[dict[str, Any]]
    before: str | None
    end: str | None
    first: str | None = None
    is_injected: bool = False
    is_counted: bool = False
    kept_by: str | None = None

    @property
    def is_spoken(self) -> bool:
        """Whether a user or a model said something in it."""
        return bool(self.spoken) and not self.is_injected

    def follows(self, tip: str | None) -> bool:
        """Return whether the message may follow this entry."""
        return tip in (self.before, self.kept_by) if tip is not None else self.before is None

    def is_repeated_by(self, message: "Message") -> bool:
        """Return whether a message of another history is the same message."""
        is_known = self.id == message.id or bool(self.spoken)
        return is_known and self.type == message.type and self.spoken == message.content.spoken

    def is_copied_by(self, message: "Message") -> bool:
        """Return whether a message has the same text, apart from the program's context before it."""
        spoken = message.content.spoken[1:] if is_context_with_prompt(message) else message.content.spoken
        return self.is_spoken and self.type == message.type and self.spoken == spoken


@dataclass(slots=True)
class Message:
    """A message as one line has it. Each of `results` has the fields of its call that have no counterpart."""

    line: SourceLine
    value: dict[str, Any]
    id: str
    type: str
    at: str
    content: Content
    results: list[tuple[PartResult, dict[str, Any]]] = field(default_factory=list)

    @property
    def model(self) -> str:
        """The model that answered."""
        return fields.text(self.value.get("model")) or "unknown"

    @property
    def usage(self) -> dict[str, Any] | None:
        """The usage with the names of pi, or None if the message has none."""
        spent = fields.mapping(self.value.get("tokens"))
        names = ("input", "output", "thoughts", "cached", "total")
        return google_parts.usage(*(spent.get(name) for name in names)) if spent else None

    @property
    def opening(self) -> list[dict[str, Any]]:
        """The blocks without calls: thoughts, then the content."""
        thoughts = [
            {"type": "thinking", "thinking": "\n".join(filter(None, words))}
            for thought in map(fields.mapping, fields.items(self.value.get("thoughts")))
            if any(words := [fields.text(thought.get("subject")), fields.text(thought.get("description"))])
        ]
        return [*thoughts, *(block for block in self.content.blocks if block.get("type") != "toolCall")]


def is_context_with_prompt(message: Message) -> bool:
    """Return whether a message of the user is the program's context, and then a prompt."""
    spoken = message.content.spoken
    return message.type == "user" and typed_words.is_added(spoken[:1]) and not message.content.is_injected


def message_of(line: SourceLine, value: dict[str, Any], place: str, at: str) -> Message | None:
    """Return a message, or None if the object is none.

    Args:
        line: The line that has it.
        value: The message in the source.
        place: Its id if the source has none.
        at: Its time (ISO 8601).
    """
    if not isinstance(value.get("content"), str | list | dict) and not value.get("toolCalls"):
        return None
    name = fields.text(value.get("id")) or place
    content = google_parts.content_of(value.get("content"), name)
    message = Message(line, value, name, fields.as_text(value.get("type")), at, content)
    message.results = [(part, {}) for part in content.results]
    calls = [call for call in fields.items(value.get("toolCalls")) if isinstance(call, dict)]
    if calls:  # the parts repeat them, sometimes without ids
        content.blocks = [block for block in content.blocks if block.get("type") != "toolCall"]
        content.calls = []
    for number, call in enumerate(calls, 1):
        made = google_parts.call_of(call, f"{name}-{number}")
        content.calls.append(made)
        content.blocks.append(made.block())
        if (result := _result(call, made)) is not None:
            message.results.append((result, fields.without(call, *_OF_CALL)))
    return message


def _result(call: dict[str, Any], made: PartCall) -> PartResult | None:
    """Return the result of a recorded call, or None if it has none yet."""
    given = call.get("result")
    if given is None or given == []:
        return None
    found = google_parts.content_of(given, made.id)
    # After a resume, each call has the results of all calls of its message.
    own = [result for result in found.results if result.call_id == made.id] or found.results
    content = [*(block for result in own for block in result.content), *found.blocks]
    is_error = any(result.is_error for result in own) or call.get("status") in _FAILED
    return PartResult(made.id, made.name, content, is_error)
