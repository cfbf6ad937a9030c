"""Writes a session of Qwen Code: lines chained by `uuid` and `parentUuid`, whose messages are Gemini's contents.

Every line has the folder of the project: Qwen Code finds a session by it. Checked with Qwen Code 0.15.10.
"""

from typing import Any, Final

from sessiond.agents.formats import NativeWriter
from sessiond.session.dialects import copy_mark, native_ids
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from sessiond.session.dialects.native_ids import NativeTarget
from sessiond.session.dialects.native_turns import (
    NativeTurn,
    accepts_data,
    iso,
    native_conversation,
)
from sessiond.session.formats.conversation import Result
from sessiond.session.formats.google import part_of, response_of

NAME: Final = "qwen"


def _lines(whole: ExportedSession, losses: ConversionLosses, target: NativeTarget) -> list[dict[str, Any]]:
    """Return the lines of the file, which must be named after the id of the native session."""
    conversation = native_conversation(whole, losses, accepts_data)
    file = _File(target, conversation.cwd)
    for native_turn in conversation.turns:
        if native_turn.turn.role == "results":
            for result in native_turn.turn.results:
                file.add_result(native_turn, result)
            continue
        parts = [part_of(part) for part in native_turn.turn.parts]
        if native_turn.turn.role == "assistant":
            model = {} if native_turn.model is None else {"model": native_turn.model}
            file.add("assistant", native_turn.time, {**model, "message": {"role": "model", "parts": parts}})
        else:
            file.add("user", native_turn.time, {"message": {"role": "user", "parts": parts}})
    if conversation.title is not None:
        title = {"customTitle": conversation.title, "titleSource": "manual"}
        own = {"subtype": "custom_title", "systemPayload": title}
        file.add("system", iso(conversation.ended_ms), own)
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

    def add(self, type: str, time: str, own: dict[str, Any]) -> None:
        """Add a line with the fields of its type."""
        uuid = native_ids.uuid(self._target.seed, "line", str(len(self.lines)))
        self.lines.append({
            "uuid": uuid, "parentUuid": self._above, "sessionId": self._target.session_id, "timestamp": time,
            "type": type, "cwd": self._cwd, **self._target.version_field, **own,
        })  # fmt: skip
        self._above = uuid

    def add_result(self, native_turn: NativeTurn, result: Result) -> None:
        """Add a tool result."""
        outcome = {"callId": result.call_id, "status": "error" if result.is_error else "success"}
        message = {"role": "user", "parts": [{"functionResponse": response_of(result)}]}
        self.add("tool_result", native_turn.time, {"message": message, "toolCallResult": outcome})


WRITER: Final = NativeWriter(NAME, _lines)
