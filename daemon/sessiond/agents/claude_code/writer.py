"""Writes a session of Claude Code: one line for each turn or tool result, chained by `uuid` and `parentUuid`.

Claude Code hangs if an answer names no model, and fails if the content of an answer is not a list. It joins its first
line with ours if that lacks a newline. Checked with Claude Code 2.1.197.
"""

from typing import Any, Final

from sessiond.agents.formats import NativeWriter
from sessiond.session.dialects import copy_mark, native_ids
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from sessiond.session.dialects.native_ids import NativeTarget
from sessiond.session.dialects.native_turns import (
    UNKNOWN_MODEL,
    NativeTurn,
    accepts_data,
    native_conversation,
)
from sessiond.session.formats.anthropic import IMAGE_TYPES, blocks_of
from sessiond.session.formats.conversation import Call, Image, Result, Role, Turn

NAME: Final = "claude-code"

_NO_USAGE: Final = {"input_tokens": 0, "output_tokens": 0}


def _lines(whole: ExportedSession, losses: ConversionLosses, target: NativeTarget) -> list[dict[str, Any]]:
    """Return the lines of the file, which must be named after the id of the native session."""
    conversation = native_conversation(whole, losses, _accepts_image)
    file = _File(target, conversation.cwd)
    for native_turn in conversation.turns:
        if native_turn.summary is not None:
            file.add_compaction(native_turn)
        elif native_turn.turn.role == "assistant":
            file.add_answer(native_turn)
        elif native_turn.turn.role == "results":
            for result in native_turn.turn.results:
                file.add(
                    "user",
                    native_turn,
                    {"role": "user", "content": blocks_of(_of_one(native_turn.turn, result))},
                )
        else:
            file.add("user", native_turn, {"role": "user", "content": _content(native_turn.turn)})
    if conversation.title is not None:
        title = {"type": "custom-title", "customTitle": conversation.title, "sessionId": target.session_id}
        file.lines.append(title)
    if file.lines:
        file.lines[0] |= copy_mark.mark(whole, len(file.lines))
    return file.lines


class _File:
    """The lines of the file. Each is a child of the one before."""

    def __init__(self, target: NativeTarget, cwd: str) -> None:
        self.lines: list[dict[str, Any]] = []
        self._target = target
        self._cwd = cwd
        self._above: str | None = None

    def add(self, type: str, native_turn: NativeTurn, message: dict[str, Any], **more: Any) -> None:
        """Add a line with a message."""
        self._add(type, native_turn, {"message": message, **more})

    def add_answer(self, native_turn: NativeTurn) -> None:
        """Add an answer, with its tool calls."""
        calls = any(isinstance(part, Call) for part in native_turn.turn.parts)
        message = {
            "id": f"msg_{native_ids.letters(24, self._target.seed, 'message', str(len(self.lines)))}",
            "type": "message", "role": "assistant", "model": native_turn.model or UNKNOWN_MODEL,
            "content": blocks_of(native_turn.turn), "stop_reason": "tool_use" if calls else "end_turn",
            "stop_sequence": None, "usage": _NO_USAGE,
        }  # fmt: skip
        self.add("assistant", native_turn, message)

    def add_compaction(self, native_turn: NativeTurn) -> None:
        """Add the boundary of a compaction and its summary."""
        boundary = {
            "subtype": "compact_boundary", "content": "Conversation compacted", "isMeta": False, "level": "info",
            "logicalParentUuid": None, "compactMetadata": {"trigger": "manual", "preTokens": 0},
        }  # fmt: skip
        self._add("system", native_turn, boundary)
        message = {"role": "user", "content": _content(native_turn.turn)}
        self.add("user", native_turn, message, isCompactSummary=True, isVisibleInTranscriptOnly=True)

    def _add(self, type: str, native_turn: NativeTurn, own: dict[str, Any]) -> None:
        uuid = native_ids.uuid(self._target.seed, "line", str(len(self.lines)))
        self.lines.append({
            "parentUuid": self._above, "isSidechain": False, "type": type, **own, "uuid": uuid,
            "timestamp": native_turn.time, "userType": "external", "cwd": self._cwd,
            "sessionId": self._target.session_id, **self._target.version_field,
        })  # fmt: skip
        self._above = uuid


def _content(turn: Turn) -> object:
    """Return the content of a user's turn: a string if the turn is only text."""
    blocks = blocks_of(turn)
    return blocks[0]["text"] if turn.plain and len(blocks) == 1 and "text" in blocks[0] else blocks


def _of_one(turn: Turn, result: Result) -> Turn:
    return Turn("results", turn.source, results=[result])


def _accepts_image(image: Image, role: Role) -> bool:
    return accepts_data(image, role) and image.media_type in IMAGE_TYPES


WRITER: Final = NativeWriter(NAME, _lines)
