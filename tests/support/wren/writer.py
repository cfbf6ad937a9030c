"""Writes a session of Wren."""

from typing import Any, Final

from sessiond.agents.formats import NativeWriter
from sessiond.session.content import fields
from sessiond.session.dialects import copy_mark
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from sessiond.session.dialects.native_ids import NativeTarget
from sessiond.session.dialects.native_turns import (
    UNKNOWN_MODEL,
    NativeTurn,
    iso,
    native_conversation,
    text_of,
)
from sessiond.session.formats.conversation import Call


def _lines(whole: ExportedSession, losses: ConversionLosses, target: NativeTarget) -> list[dict[str, Any]]:
    """Return the lines of the file."""
    conversation = native_conversation(whole, losses, lambda _image, _role: False)
    version = {} if target.version is None else {"version": target.version}
    lines: list[dict[str, Any]] = [
        {
            "wren": 1,
            "session": target.session_id,
            "cwd": conversation.cwd,
            "at": iso(conversation.started_ms),
            **version,
        }
    ]
    for native_turn in conversation.turns:
        for said in _said(native_turn):
            lines.append({"id": f"w{len(lines)}", "at": native_turn.time, **said})
    lines[0] |= copy_mark.mark(whole, len(lines))
    return lines


def _said(native_turn: NativeTurn) -> list[dict[str, Any]]:
    """Return what a turn says."""
    if native_turn.turn.role == "results":
        return [
            {"by": "tool", "call": one.call_id, "tool": one.name, "say": text_of(one), "failed": one.is_error}
            for one in native_turn.turn.results
        ]
    said = {"by": "person", "say": text_of(native_turn.turn)}
    if native_turn.turn.role == "user":
        return [said]
    calls = [
        {"id": part.id, "tool": part.name, "with": fields.arguments(bytes(part.arguments).decode())}
        for part in native_turn.turn.parts
        if isinstance(part, Call)
    ]
    return [
        {
            **said,
            "by": "model",
            "model": native_turn.model or UNKNOWN_MODEL,
            **({"calls": calls} if calls else {}),
        }
    ]


WRITER: Final = NativeWriter("wren", _lines)
