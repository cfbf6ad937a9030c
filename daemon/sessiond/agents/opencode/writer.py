"""Writes the document that `opencode import` reads: `{info, messages: [{info, parts}]}`.

Messages sort by their ids, so the ids derive from the times of the messages. A tool's result is part of its call. The
import replaces project and folder by those of the folder in which it runs. Checked with OpenCode 1.18.33.
"""

from typing import Any, Final

from sessiond.agents.formats import NativeWriter
from sessiond.agents.opencode.ids import opencode_id, session_id
from sessiond.session.content import fields, preview, typed_words
from sessiond.session.dialects import copy_mark, native_ids
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from sessiond.session.dialects.native_ids import NativeTarget
from sessiond.session.dialects.native_turns import (
    UNKNOWN_MODEL,
    NativeConversation,
    NativeTurn,
    accepts_data,
    native_conversation,
    text_of,
)
from sessiond.session.formats.conversation import Call, Image, Part, Result, TextPart

NAME: Final = "opencode"
VERSION: Final = "1.18.33"

_AGENT: Final = "build"
_TITLE_CHARACTERS: Final = 100
_NO_TOKENS: Final = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}


def _lines(whole: ExportedSession, losses: ConversionLosses, target: NativeTarget) -> list[dict[str, Any]]:
    """Return the document, which is one line."""
    conversation = native_conversation(whole, losses, accepts_data)
    document = _Document(target, conversation, losses)
    for native_turn in conversation.turns:
        document.add(native_turn)
    info = {
        "id": target.session_id, "slug": native_ids.letters(12, target.seed, "slug").lower(),
        "projectID": "global", "directory": conversation.cwd, "title": conversation.title or _title(conversation),
        "version": target.version or VERSION,
        "time": {"created": conversation.started_ms, "updated": conversation.ended_ms},
    }  # fmt: skip
    if mark := copy_mark.mark(whole, len(document.messages)):
        first = next(
            part for message in document.messages for part in message["parts"] if part["type"] == "text"
        )
        first["metadata"] = mark
    return [{"info": info, "messages": document.messages}]


class _Document:
    """The messages of the document."""

    def __init__(
        self, target: NativeTarget, conversation: NativeConversation, losses: ConversionLosses
    ) -> None:
        self.messages: list[dict[str, Any]] = []
        self._target = target
        self._cwd = conversation.cwd
        self._model = _model(target, conversation)
        self._losses = losses
        self._asked: str | None = None
        self._count = 0

    def add(self, native_turn: NativeTurn) -> None:
        """Add a turn: a message, or the results of the calls in the message before."""
        if native_turn.turn.role == "results":
            for result, part in zip(native_turn.turn.results, self._calls(), strict=True):
                self._answer(part, result, native_turn.time_ms)
            return
        message_id = self._id("msg", native_turn.time_ms)
        own = (
            self._of_answer(native_turn)
            if native_turn.turn.role == "assistant"
            else self._of_user(native_turn, message_id)
        )
        info = {"id": message_id, "sessionID": self._target.session_id, **own}
        parts = [self._part(part, native_turn.time_ms, message_id) for part in native_turn.turn.parts]
        self.messages.append({"info": info, "parts": parts})

    def _of_user(self, native_turn: NativeTurn, message_id: str) -> dict[str, Any]:
        self._asked = message_id
        return {
            "role": "user",
            "time": {"created": native_turn.time_ms},
            "agent": _AGENT,
            "model": self._model,
        }

    def _of_answer(self, native_turn: NativeTurn) -> dict[str, Any]:
        calls = any(isinstance(part, Call) for part in native_turn.turn.parts)
        return {
            "role": "assistant", "parentID": self._asked,
            "time": {"created": native_turn.time_ms, "completed": native_turn.time_ms}, **self._model, "mode": _AGENT,
            "agent": _AGENT, "path": {"cwd": self._cwd, "root": self._cwd}, "cost": 0, "tokens": _NO_TOKENS,
            "finish": "tool-calls" if calls else "stop",
        }  # fmt: skip

    def _part(self, part: Part, time_ms: int, message_id: str) -> dict[str, Any]:
        base = {
            "id": self._id("prt", time_ms), "sessionID": self._target.session_id, "messageID": message_id,
        }  # fmt: skip
        match part:
            case TextPart():
                return {**base, "type": "text", "text": part.text}
            case Image():
                return {**base, **_file(part)}
            case Call():
                text = bytes(part.arguments).decode() if part.unparsed is None else part.unparsed
                state = {"status": "completed", "input": fields.arguments(text)}
                return {**base, "type": "tool", "tool": part.name, "callID": part.id, "state": state}
        raise AssertionError("thinking was omitted")

    def _calls(self) -> list[dict[str, Any]]:
        return [part for part in self.messages[-1]["parts"] if part["type"] == "tool"]

    def _answer(self, part: dict[str, Any], result: Result, time_ms: int) -> None:
        """Add the result of a tool to the part with its call."""
        state, text = part["state"], text_of(result)
        time = {"start": time_ms, "end": time_ms}
        images = [image for image in result.parts if isinstance(image, Image)]
        if result.is_error:
            for _ in images:
                self._losses.lose("image")
            state |= {"status": "error", "error": text, "time": time}
            return
        state |= {"output": text, "title": part["tool"], "metadata": {}, "time": time}
        if images:
            base = {"sessionID": part["sessionID"], "messageID": part["messageID"]}
            state["attachments"] = [
                {"id": self._id("prt", time_ms), **base, **_file(image)} for image in images
            ]

    def _id(self, kind: str, time_ms: int) -> str:
        """Return an id that sorts after the earlier ones, also among those of one millisecond."""
        self._count += 1
        return opencode_id(kind, time_ms, self._count, self._target.seed)


def _title(conversation: NativeConversation) -> str:
    """Return the first words of the user as a title, which OpenCode requires."""
    said = (
        typed_words.typed(text_of(native_turn.turn))
        for native_turn in conversation.turns
        if native_turn.turn.role == "user"
    )
    return preview.one_line(next(filter(None, said), "Untitled session"), _TITLE_CHARACTERS)


def _file(image: Image) -> dict[str, Any]:
    name = f"image.{(image.media_type or '').partition('/')[2]}"
    url = f"data:{image.media_type};base64,{image.data}"
    return {"type": "file", "mime": image.media_type, "filename": name, "url": url}


def _model(target: NativeTarget, conversation: NativeConversation) -> dict[str, str]:
    """Return the model of all messages: one that the user's OpenCode has, else the last one of the source."""
    provider, _, model = (target.model or "").partition("/")
    if provider and model:
        return {"providerID": provider, "modelID": model}
    last = next(
        (native_turn for native_turn in reversed(conversation.turns) if native_turn.model is not None), None
    )
    if last is None:
        return {"providerID": UNKNOWN_MODEL, "modelID": UNKNOWN_MODEL}
    return {"providerID": last.turn.provider or UNKNOWN_MODEL, "modelID": last.model or UNKNOWN_MODEL}


WRITER: Final = NativeWriter(NAME, _lines, session_id)
