"""Writes a Codex rollout: `response_item` lines, which the model receives, and events, which lists and screens show.

Every line has a timestamp: Codex drops a line without one. A session without a `user_message` event is not listed.
Checked with Codex 0.169.0.
"""

from typing import Any, Final

from sessiond.agents.formats import NativeWriter
from sessiond.session.dialects import copy_mark
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from sessiond.session.dialects.native_ids import NativeTarget
from sessiond.session.dialects.native_turns import (
    NativeTurn,
    accepts_data,
    iso,
    native_conversation,
    text_of,
)
from sessiond.session.formats.conversation import Call, Image, Part, Result, TextPart, Turn

NAME: Final = "codex"
VERSION: Final = "0.169.0"
ORIGINATOR: Final = "sessiond"


def _lines(whole: ExportedSession, losses: ConversionLosses, target: NativeTarget) -> list[dict[str, Any]]:
    """Return the lines of the file, whose name must end with the id of the native session."""
    conversation = native_conversation(whole, losses, accepts_data)
    if conversation.title is not None:
        losses.lose("title")
    started = iso(conversation.started_ms)
    meta = {
        "id": target.session_id, "timestamp": started, "cwd": conversation.cwd, "originator": ORIGINATOR,
        "cli_version": target.version or VERSION, "source": "cli",
    }  # fmt: skip
    lines = [_line(started, "session_meta", meta)]
    for native_turn in conversation.turns:
        lines += _lines_of(native_turn, losses)
    meta |= copy_mark.mark(whole, len(lines))
    return lines


def _lines_of(native_turn: NativeTurn, losses: ConversionLosses) -> list[dict[str, Any]]:
    turn = native_turn.turn
    if turn.role == "results":
        return [_line(native_turn.time, "response_item", _output(result, losses)) for result in turn.results]
    lines: list[dict[str, Any]] = []
    spoken = [part for part in turn.parts if not isinstance(part, Call)]
    if spoken:
        text = text_of(turn)
        event: dict[str, Any] = {"type": "agent_message", "message": text}
        if turn.role == "user":
            event = {
                "type": "user_message",
                "message": text,
                "images": [_url(part) for part in _images(turn)],
            }
        lines.append(_line(native_turn.time, "event_msg", event))
        content = [_content(part, turn.role) for part in spoken]
        item = {"type": "message", "role": turn.role, "content": content}
        lines.append(_line(native_turn.time, "response_item", item))
    lines += [
        _line(native_turn.time, "response_item", _call(part)) for part in turn.parts if isinstance(part, Call)
    ]
    return lines


def _line(time: str, type: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"timestamp": time, "type": type, "payload": payload}


def _content(part: Part, role: str) -> dict[str, Any]:
    if isinstance(part, Image):
        return {"type": "input_image", "image_url": _url(part)}
    assert isinstance(part, TextPart), "thinking was omitted, and calls are items of their own"
    return {"type": "output_text" if role == "assistant" else "input_text", "text": part.text}


def _images(item: Turn | Result) -> list[Image]:
    return [part for part in item.parts if isinstance(part, Image)]


def _url(image: Image) -> str:
    return f"data:{image.media_type};base64,{image.data}"


def _call(call: Call) -> dict[str, Any]:
    arguments = bytes(call.arguments).decode() if call.unparsed is None else call.unparsed
    return {"type": "function_call", "name": call.name, "arguments": arguments, "call_id": call.id}


def _output(result: Result, losses: ConversionLosses) -> dict[str, Any]:
    if result.is_error:
        losses.lose("mark of a tool result that is an error")
    output: object = text_of(result)
    if _images(result):
        output = [_content(part, "user") for part in result.parts]
    return {"type": "function_call_output", "call_id": result.call_id, "output": output}


WRITER: Final = NativeWriter(NAME, _lines)
