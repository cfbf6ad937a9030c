"""Reads OpenCode: one document `{info, messages: [{info, parts}]}`, as its export writes it and its database has it.

OpenCode changes a message until it is complete. So a last message that is not complete waits while the session is in
use; otherwise it has an id of its own, and the complete message becomes another entry beside it. Messages that OpenCode
deletes, as after a revert, stay as a branch (decision 0040). Their order is that of their times and parents.
"""

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from sessiond.agents.formats import Dialect
from sessiond.agents.opencode.order import in_order, is_complete, place_of, settled_count
from sessiond.session.content import fields
from sessiond.session.dialects import copy_mark, documents
from sessiond.session.dialects.import_builder import BuilderState, ImportBuilder, Imported
from sessiond.session.dialects.messages import image_of, timed
from sessiond.session.dialects.source import Source, SourceLine
from sessiond.session.formats.build import NO_COST

NAME: Final = "opencode"
UNREADABLE: Final = "unreadable"
"""The type of the object that replaces a message or a part that is not JSON. Its field `raw` has the text."""
_PLACEHOLDER: Final = re.compile(r"(?:New|Child) session - [0-9TZ:.-]{10,30}|Untitled session")
"""The title of a session without a title of its own. It contains the time of the session."""
_MILLISECOND: Final = 0.001
_IDS: Final = ("id", "sessionID", "messageID")
_STOPS: Final = {"tool-calls": "toolUse", "length": "length", "error": "error", "content-filter": "error"}
_STEPS: Final = ("step-start", "step-finish", "compaction")
"""Parts whose content is in the fields of their message, or that mark a place."""
_OF_INFO: Final = (
    *_IDS, "role", "time", "providerID", "modelID", "tokens", "cost", "finish", "error", "parentID", "path",
    "model", "summary", "mode",
)  # fmt: skip


def detect(first: list[dict[str, Any]]) -> bool:
    """Return whether the first line is a whole document of OpenCode."""
    return bool(first) and detect_document(first[0])


def detect_document(document: dict[str, Any]) -> bool:
    """Return whether a file that is one JSON object is a session of OpenCode."""
    name = fields.text(fields.mapping(document.get("info")).get("id"))
    return name is not None and name.startswith("ses") and isinstance(document.get("messages"), list)


def read(source: Source) -> Imported:
    """Read the session in a document of OpenCode."""
    return OpenCodeReader(source).read()


class _State(msgspec.Struct):
    """The state of a reader after the messages that it has taken.

    Attributes:
        builder: The state of its builder.
        count: The number of messages of the session.
        tip: The last entry of the conversation.
        message: The id of the present message.
        request: The part that asked for a compaction.
        first: The first entry of each message by its id.
        reverted: The message to which the session was taken back.
        leaf: The leaf, if that message was taken.
        is_reverted: Whether it was.
    """

    builder: BuilderState | None = None
    count: int | None = None
    tip: str | None = None
    message: str = ""
    request: dict[str, Any] = {}
    first: dict[str, str | None] = {}
    reverted: str | None = None
    leaf: str | None = None
    is_reverted: bool = False


class OpenCodeReader:
    """Reads a session message by message.

    The first line is the object `{info, count, settledCount}`, and each further one a message, in the order of the
    conversation.

    Args:
        source: The session.
        state: The state of a reader that has taken the lines before; None if there are none.
    """

    is_behind = False

    def __init__(self, source: Source, state: bytes | None = None) -> None:
        self._source = source
        self._state = _State() if state is None else msgspec.msgpack.decode(state, type=_State)
        self._builder = ImportBuilder(NAME, source)
        self._builder.is_list = True
        if self._state.builder is not None:
            self._builder.restore(self._state.builder)

    @property
    def builder(self) -> ImportBuilder:
        """The builder of its entries."""
        return self._builder

    def take(self, lines: Iterable[SourceLine]) -> None:
        """Take the next lines."""
        for line in lines:
            value = fields.mapping(line.value)
            if self._state.count is None:
                self._begin(line, value, value["count"], value["settledCount"])
            elif line.value is None:
                self._builder.preserve_unreadable(line)
            else:
                self._take_message(line, value)

    def end(self) -> None:
        """Do nothing: no message waits for later ones."""

    def result(self) -> Imported:
        """Return the session with the entries of the lines that were taken since the last call."""
        self._builder.leaf = self._state.leaf if self._state.is_reverted else self._state.tip
        return self._builder.finish()

    def state(self) -> bytes | None:
        """Return the state behind the lines that were taken."""
        self._state.builder = self._builder.state()
        return msgspec.msgpack.encode(self._state)

    def read(self) -> Imported:
        """Read a whole document."""
        builder, is_read = self._builder, False
        document = documents.object_in(self._source, builder)
        for line in [document] if document is not None else self._source.lines():
            if line.value is None:
                builder.preserve_unreadable(line)
            elif is_read or not detect_document(line.value):
                builder.preserve(
                    line, fields.as_text(line.value.get("type")) or "other", "it is no session of OpenCode"
                )
            else:
                is_read = True
                self._take_document(line, line.value)
        return self.result()

    def _take_document(self, line: SourceLine, value: dict[str, Any]) -> None:
        builder = self._builder
        messages = [message for message in fields.items(value.get("messages")) if isinstance(message, dict)]
        infos = [fields.mapping(message.get("info")) for message in messages]
        order = in_order([place_of(info) for info in infos])
        settled = settled_count([infos[index] for index in order])
        self._begin(line, value, len(messages), settled)
        if len(messages) < len(fields.items(value.get("messages"))):
            builder.report.add_problem(line.number, "some of its messages cannot be read")
            builder.preserve(line, "document", "some of its messages cannot be read")
        for index in order[:settled] if self._source.growing else order:
            self._take_message(line, messages[index])

    def _begin(self, line: SourceLine, value: dict[str, Any], count: int, settled: int) -> None:
        builder, info = self._builder, fields.mapping(value.get("info"))
        builder.source_id = fields.as_text(info.get("id"))
        builder.time_of(fields.mapping(info.get("time")).get("created"), unit=_MILLISECOND)
        builder.cwd = fields.text(info.get("directory")) or ""
        builder.parent_source = fields.text(info.get("parentID"))
        if (version := fields.text(info.get("version"))) is not None:
            builder.source_version = version
        builder.count("header")
        title = fields.text(info.get("title"))
        if title is not None and _PLACEHOLDER.fullmatch(title) is None:
            builder.add_beside(line, "session_info", {"name": title}, name=f"title-{fields.digest(title)}")
        if self._source.growing:
            builder.report.held_back_count += count - settled
        self._state.count = count
        self._state.reverted = fields.text(fields.mapping(info.get("revert")).get("messageID"))

    def _take_message(self, line: SourceLine, message: dict[str, Any]) -> None:
        state = self._state
        if not state.message:
            parts = [fields.mapping(part) for part in fields.items(message.get("parts"))]
            marks = [fields.mapping(part.get("metadata")).get(copy_mark.MARK) for part in parts]
            self._builder.take_mark(next(filter(None, marks), None), state.count)
        name = fields.text(fields.mapping(message.get("info")).get("id"))
        if state.reverted is not None and name == state.reverted:
            state.leaf, state.is_reverted = state.tip, True
        state.message = name or f"message-{len(state.first) + 1}"
        self._take(line, message, state.message)

    def _take(self, line: SourceLine, message: dict[str, Any], name: str) -> None:
        builder, info = self._builder, fields.mapping(message.get("info"))
        parts = [part for part in fields.items(message.get("parts")) if isinstance(part, dict)]
        at = builder.time_of(fields.mapping(info.get("time")).get("created"), unit=_MILLISECOND)
        own = SourceLine(line.number, _raw(message, line), message, part=line.part)
        for part in (info, *parts):
            if part.get("type") == UNREADABLE:
                what = "the message" if part is info else "a part of the message"
                builder.report.add_problem(line.number, f"{what} {name:.80} is not JSON")
        match info.get("role"):
            case "user":
                self._take_user(own, name, info, parts, at)
            case "assistant" if info.get("summary") is True:
                self._take_summary(own, name, info, parts, at)
            case "assistant":
                self._take_assistant(own, name, info, parts, at)
            case role:
                builder.preserve(own, fields.as_text(role) or "message", "it has no counterpart in sessiond")

    def _add(self, line: SourceLine, name: str, type: str, payload: dict[str, Any], at: str) -> None:
        state = self._state
        state.tip = self._builder.add(line, name, state.tip, type, payload, at=at)
        state.first.setdefault(state.message, state.tip)

    def _take_user(
        self, line: SourceLine, name: str, info: dict[str, Any], parts: list[dict[str, Any]], at: str
    ) -> None:
        asked = (part for part in parts if part.get("type") == "compaction")
        self._state.request = next(asked, self._state.request)
        typed = [
            _block(part) for part in parts if not part.get("synthetic") and part.get("type") not in _STEPS
        ]
        added = [_block(part) for part in parts if part.get("synthetic")]
        if typed:
            payload = {"message": timed({"role": "user", "content": typed}, at), **_foreign(info)}
            self._add(line, name, "message", payload, at)
            self._builder.count("user")
        if added:  # texts of files that the user named
            payload = {"customType": f"{NAME}.synthetic", "content": added, "display": False}
            self._add(line, f"{name[:50]}-synthetic", "custom_message", payload, at)
            self._builder.count("synthetic")

    def _take_summary(
        self, line: SourceLine, name: str, info: dict[str, Any], parts: list[dict[str, Any]], at: str
    ) -> None:
        if not is_complete(info):
            self._take_assistant(line, name, info, parts, at)
            return
        texts = [fields.text(part.get("text")) for part in parts if part.get("type") == "text"]
        spent = fields.mapping(info.get("tokens"))
        payload = {
            "summary": "\n\n".join(filter(None, texts)),
            "firstKeptEntryId": self._state.first.get(fields.as_text(self._state.request.get("tail_start_id"))),
            "tokensBefore": fields.number(spent.get("input")), **_foreign(info), **_request_key(info),
        }  # fmt: skip
        if spent:
            payload |= {name: value for name, value in _speaker(info).items() if name != "api"} | {
                "usage": _usage(info)
            }
        self._add(line, name, "compaction", payload, at)
        self._builder.count("compaction")

    def _take_assistant(
        self, line: SourceLine, name: str, info: dict[str, Any], parts: list[dict[str, Any]], at: str
    ) -> None:
        self._builder.count("assistant")
        blocks = [_block(part) for part in parts if part.get("type") in ("text", "reasoning", "tool", "file")]
        rest = [
            fields.without(part, *_IDS)
            for part in parts
            if part.get("type") not in ("text", "reasoning", "tool", "file", *_STEPS)
        ]
        message = timed({"role": "assistant", "content": blocks, **_answer(info, blocks)}, at)
        if not is_complete(info):
            name = f"{name[:36]}-incomplete-{fields.digest(fields.as_text(parts))}"
        payload = {"message": message, **_foreign(info, rest), **_request_key(info)}
        self._add(line, name, "message", payload, at)
        for part in parts:
            if part.get("type") == "tool" and (result := _result(part)) is not None:
                call_id = fields.as_text(part.get("callID"))
                self._add(
                    line,
                    f"{name[:40]}-result-{fields.digest(name, call_id)[:8]}",
                    "message",
                    {"message": timed(result, at)},
                    at,
                )


def _block(part: dict[str, Any]) -> dict[str, Any]:
    match part.get("type"):
        case "text":
            rest = {"ignored": True} if part.get("ignored") is True else {}
            return {"type": "text", "text": fields.as_text(part.get("text")), **rest}
        case "reasoning":
            return {"type": "thinking", "thinking": fields.as_text(part.get("text"))}
        case "tool":
            given = fields.mapping(part.get("state")).get("input")
            return {
                "type": "toolCall", "id": fields.as_text(part.get("callID")),
                "name": fields.as_text(part.get("tool")), "arguments": fields.arguments(given),
            }  # fmt: skip
        case "subtask":
            return {
                "type": "text",
                "text": fields.as_text(part.get("prompt")),
                **fields.without(part, *_IDS, "type", "prompt"),
            }
        case "file":
            image = image_of(fields.as_text(part.get("url")))
            if image is not None and image["mimeType"].startswith("image/"):
                return image
    return fields.without(part, *_IDS)


def _answer(info: dict[str, Any], blocks: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the fields of an assistant message beside its content."""
    calls = any(block.get("type") == "toolCall" for block in blocks)
    answer: dict[str, Any] = _speaker(info)
    if fields.mapping(info.get("tokens")):
        answer["usage"] = _usage(info)
    error = fields.mapping(info.get("error"))
    stop = _STOPS.get(fields.as_text(info.get("finish")), "toolUse" if calls else "stop")
    answer["stopReason"] = stop
    if error:
        answer["stopReason"] = "aborted" if error.get("name") == "MessageAbortedError" else "error"
        reason = fields.mapping(error.get("data")).get("message")
        answer["errorMessage"] = fields.text(reason) or fields.as_text(error.get("name"))
    return answer


def _speaker(info: dict[str, Any]) -> dict[str, Any]:
    return {
        "api": NAME, "provider": fields.text(info.get("providerID")) or "unknown",
        "model": fields.text(info.get("modelID")) or "unknown",
    }  # fmt: skip


def _usage(info: dict[str, Any]) -> dict[str, Any]:
    """Return the usage of an assistant message with the names of pi."""
    spent, cost = fields.mapping(info.get("tokens")), fields.number(info.get("cost"))
    cache = fields.mapping(spent.get("cache"))
    counted = {
        "input": fields.number(spent.get("input")),
        "output": fields.number(spent.get("output")) + fields.number(spent.get("reasoning")),
        "cacheRead": fields.number(cache.get("read")), "cacheWrite": fields.number(cache.get("write")),
    }  # fmt: skip
    costs = {**NO_COST, "total": cost}
    usage = {**counted, "totalTokens": sum(counted.values()), "cost": costs}
    return usage | ({"reasoningTokens": fields.number(spent["reasoning"])} if "reasoning" in spent else {})


def _request_key(info: dict[str, Any]) -> dict[str, str]:
    """Return a key of the request of a message. A fork gives its copies other ids and the same times."""
    spent = fields.mapping(info.get("tokens"))
    if not spent:
        return {}
    created = fields.mapping(info.get("time")).get("created")
    parts = [
        fields.dumps(value).decode() for value in (created, spent, info.get("cost"), info.get("modelID"))
    ]
    return {"requestKey": f"{NAME}/{fields.digest(*parts)}"}


def _result(part: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result of a tool part, or None if it has none yet."""
    state = fields.mapping(part.get("state"))
    if state.get("status") not in ("completed", "error"):
        return None
    is_error = state["status"] == "error"
    text = {"type": "text", "text": fields.as_text(state.get("error" if is_error else "output"))}
    files = [
        _block(attachment)
        for attachment in fields.items(state.get("attachments"))
        if isinstance(attachment, dict)
    ]
    details = fields.without(state, "status", "input", "output", "error", "attachments")
    return {
        "role": "toolResult", "toolCallId": fields.as_text(part.get("callID")),
        "toolName": fields.as_text(part.get("tool")), "content": [text, *files], "isError": is_error,
        **({"details": details} if details else {}),
    }  # fmt: skip


def _foreign(info: dict[str, Any], parts: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    rest = {name: value for name, value in fields.without(info, *_OF_INFO).items() if value is not None}
    if isinstance(info.get("summary"), dict):
        rest["summary"] = info["summary"]
    if parts:
        rest["parts"] = parts
    return {"foreign": rest} if rest else {}


def _raw(message: dict[str, Any], line: SourceLine) -> bytes:
    try:
        return fields.dumps(message)
    except (RecursionError, ValueError, TypeError):
        return line.raw


DIALECT: Final = Dialect(NAME, "OpenCode", detect, read, detect_document, message_reader=OpenCodeReader)
