"""Writes a session of Gemini CLI: a header line, then messages; tool calls and results are in the answer's `toolCalls`.

The result of a tool is not also written as a message of the user: Gemini CLI would send it twice. Checked with Gemini
CLI 0.61.0.
"""

import hashlib
from typing import Any, Final

from sessiond.agents.formats import NativeWriter
from sessiond.session.content import fields
from sessiond.session.dialects import copy_mark, native_ids
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from sessiond.session.dialects.native_ids import NativeTarget
from sessiond.session.dialects.native_turns import (
    NativeConversation,
    NativeTurn,
    accepts_data,
    iso,
    native_conversation,
    text_of,
)
from sessiond.session.formats.conversation import Call
from sessiond.session.formats.google import part_of, response_of

NAME: Final = "gemini"


def _lines(whole: ExportedSession, losses: ConversionLosses, target: NativeTarget) -> list[dict[str, Any]]:
    """Return the lines of the file."""
    conversation = native_conversation(whole, losses, accepts_data)
    lines = [_header(conversation, target)]
    for native_turn in conversation.turns:
        if native_turn.turn.role == "results":
            _answer_calls(lines[-1], native_turn)
        else:
            lines.append(_message(native_turn, native_ids.uuid(target.seed, "message", str(len(lines)))))
    lines[0] |= copy_mark.mark(whole, len(lines))
    return lines


def _header(conversation: NativeConversation, target: NativeTarget) -> dict[str, Any]:
    cwd = conversation.cwd.encode("utf-8", "surrogatepass")
    header = {
        "sessionId": target.session_id, "projectHash": hashlib.sha256(cwd).hexdigest(),
        "startTime": iso(conversation.started_ms), "lastUpdated": iso(conversation.ended_ms), "kind": "main",
    }  # fmt: skip
    return header if conversation.title is None else {**header, "summary": conversation.title}


def _message(native_turn: NativeTurn, message_id: str) -> dict[str, Any]:
    turn = native_turn.turn
    base = {"id": message_id, "timestamp": native_turn.time}
    if turn.role == "user":
        return {**base, "type": "user", "content": [part_of(part) for part in turn.parts]}
    message: dict[str, Any] = {**base, "type": "gemini", "content": text_of(turn)}
    if native_turn.model is not None:
        message["model"] = native_turn.model
    calls = [part for part in turn.parts if isinstance(part, Call)]
    if calls:
        message["toolCalls"] = [_call(call, native_turn.time) for call in calls]
    return message


def _call(call: Call, time: str) -> dict[str, Any]:
    arguments = fields.arguments(bytes(call.arguments).decode() if call.unparsed is None else call.unparsed)
    return {"id": call.id, "name": call.name, "args": arguments, "status": "success", "timestamp": time}


def _answer_calls(message: dict[str, Any], native_turn: NativeTurn) -> None:
    """Add the results to the calls of the answer before them."""
    for call, result in zip(message["toolCalls"], native_turn.turn.results, strict=True):
        call["result"] = [{"functionResponse": response_of(result)}]
        call["status"] = "error" if result.is_error else "success"
        call["timestamp"] = native_turn.time


WRITER: Final = NativeWriter(NAME, _lines)
