"""Writes a session of Wren."""

from typing import Any, Final

from sessiond.agents.formats import NativeWriter
from sessiond.session.dialects import copy_mark
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from sessiond.session.dialects.native_ids import NativeTarget
from sessiond.session.dialects.native_turns import (
    UNKNOWN_MODEL,
    accepts_data,
    iso,
    native_conversation,
    text_of,
)


def _lines(whole: ExportedSession, losses: ConversionLosses, target: NativeTarget) -> list[dict[str, Any]]:
    """Return the lines of the file."""
    conversation = native_conversation(whole, losses, accepts_data)
    lines: list[dict[str, Any]] = [
        {
            "wren": target.version or "1.4.0", "session": target.session_id, "cwd": conversation.cwd,
            "at": iso(conversation.started_ms), **copy_mark.mark(whole, len(conversation.turns) + 1),
        }
    ]  # fmt: skip
    for it in conversation.turns:
        spoken = {"id": f"w{len(lines)}", "at": it.time, "say": text_of(it.turn)}
        if it.turn.role == "assistant":
            lines.append({**spoken, "by": "model", "model": it.model or UNKNOWN_MODEL})
        else:
            lines.append({**spoken, "by": "person"})
    return lines


WRITER: Final = NativeWriter("wren", _lines)
