"""Tracks the queue of prompts that are typed while Claude Code works (`queue-operation` lines).

A prompt that leaves the queue is also a message of the conversation. A prompt that the user takes back is
not in the file elsewhere, so it is kept.
"""

from typing import Any

import msgspec

from sessiond.session.content import fields
from sessiond.session.dialects.source import SourceLine


class WaitingPrompt(msgspec.Struct, frozen=True, array_like=True):
    """A prompt in the queue: the key of the line that added it, its time (ISO 8601), and its text."""

    key: str
    at: str | None
    text: str


class PromptQueue(msgspec.Struct):
    """The prompts that wait."""

    waiting: list[WaitingPrompt] = []

    def take(self, line: SourceLine, value: dict[str, Any]) -> list[WaitingPrompt]:
        """Apply a line.

        Returns:
            The prompts that the line takes out of the queue without sending them.
        """
        text = fields.text(value.get("content"))
        match value.get("operation"):
            case "enqueue" if text is not None and text.strip():
                at = fields.time((line.value or {}).get("timestamp"))
                self.waiting.append(WaitingPrompt(line.key, at, text))
            case "dequeue":
                self._remove(text)
            case "remove":
                removed = self._remove(text)
                return removed if fields.text(value.get("reason")) is None else []
            case "popAll":
                removed, self.waiting = self.waiting, []
                return removed
        return []

    def _remove(self, text: str | None) -> list[WaitingPrompt]:
        place = next(
            (n for n, prompt in enumerate(self.waiting) if text is None or prompt.text == text), None
        )
        return [] if place is None else [self.waiting.pop(place)]
