"""Follows the queue of prompts that are typed while Claude Code works (`queue-operation` lines).

A prompt that leaves the queue is a message of the conversation later or before. One that the user takes back is
nowhere else in the file, so it is kept.
"""

from typing import Any

from sessiond.session.content import fields
from sessiond.session.dialects.source import SourceLine


class PromptQueue:
    """The prompts that wait."""

    def __init__(self) -> None:
        self._waiting: list[tuple[SourceLine, str]] = []

    def take(self, line: SourceLine, value: dict[str, Any]) -> list[tuple[SourceLine, str]]:
        """Apply a line.

        Returns:
            The prompts that the line takes out of the queue without sending them, with the lines that added them.
        """
        text = fields.text(value.get("content"))
        match value.get("operation"):
            case "enqueue" if text is not None and text.strip():
                self._waiting.append((line, text))
            case "dequeue":
                self._remove(text)
            case "remove":
                removed = self._remove(text)
                return removed if fields.text(value.get("reason")) is None else []
            case "popAll":
                removed, self._waiting = self._waiting, []
                return removed
        return []

    def rest(self) -> list[tuple[SourceLine, str]]:
        """Return the prompts that still wait."""
        return list(self._waiting)

    def _remove(self, text: str | None) -> list[tuple[SourceLine, str]]:
        place = next((n for n, (_, it) in enumerate(self._waiting) if text is None or it == text), None)
        return [] if place is None else [self._waiting.pop(place)]
