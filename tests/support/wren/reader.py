"""Reads Wren: a line about the session, then a line for each message, whose parent is the previous message."""

from typing import Any, Final

from sessiond.agents.formats import Dialect
from sessiond.session.content import fields
from sessiond.session.dialects import copy_mark
from sessiond.session.dialects.import_builder import ImportBuilder, Imported
from sessiond.session.dialects.messages import timed
from sessiond.session.dialects.source import Source, SourceLine
from sessiond.session.formats.build import NO_COST

NAME: Final = "wren"


def detect(first: list[dict[str, Any]]) -> bool:
    """Return whether these are lines of Wren."""
    return any("wren" in value for value in first)


def read(source: Source) -> Imported:
    """Read the session in a file of Wren."""
    builder = ImportBuilder(NAME, source)
    builder.title = fields.text(source.beside.get("title"))
    for line in source.lines():
        if line.value is None:
            builder.preserve_unreadable(line)
        elif "wren" in line.value:
            _take_header(builder, line.value)
        else:
            _take_message(builder, line, line.value)
    builder.leaf = builder.last
    return builder.finish()


def _take_header(builder: ImportBuilder, value: dict[str, Any]) -> None:
    builder.time_of(value.get("at"))
    builder.source_id = fields.text(value.get("session")) or builder.source_id
    builder.cwd, builder.source_version = fields.as_text(value.get("cwd")), fields.text(value.get("version"))
    builder.take_mark(value.get(copy_mark.MARK))
    builder.count("header")


def _take_message(builder: ImportBuilder, line: SourceLine, value: dict[str, Any]) -> None:
    at, name = builder.time_of(value.get("at")), fields.as_text(value.get("id"))
    content = [{"type": "text", "text": fields.as_text(value.get("say"))}]
    match value.get("by"):
        case "person":
            message: dict[str, Any] = {"role": "user", "content": content}
        case "model":
            message = _answer(value, content)
        case "tool":
            message = {
                "role": "toolResult", "toolCallId": fields.as_text(value.get("call")),
                "toolName": fields.as_text(value.get("tool")), "content": content,
                "isError": value.get("failed") is True,
            }  # fmt: skip
        case "wren":
            note = {"customType": f"{NAME}.note", "content": content, "display": False}
            builder.add(line, name, builder.last, "custom_message", note, at=at)
            builder.count("note")
            return
        case _:
            builder.preserve(line, "other", "it has no counterpart in sessiond")
            return
    builder.add(line, name, builder.last, "message", {"message": timed(message, at)}, at=at)
    builder.count(message["role"])


def _answer(value: dict[str, Any], content: list[dict[str, Any]]) -> dict[str, Any]:
    calls = [fields.mapping(call) for call in fields.items(value.get("calls"))]
    blocks = [
        {
            "type": "toolCall", "id": fields.as_text(call.get("id")), "name": fields.as_text(call.get("tool")),
            "arguments": fields.arguments(call.get("with")),
        }
        for call in calls
    ]  # fmt: skip
    message = {
        "role": "assistant", "content": [*content, *blocks], "api": NAME, "provider": NAME,
        "model": fields.as_text(value.get("model")), "stopReason": "toolUse" if blocks else "stop",
    }  # fmt: skip
    spent = fields.mapping(value.get("spent"))
    return {**message, "usage": _usage(spent)} if spent else message


def _usage(spent: dict[str, Any]) -> dict[str, Any]:
    asked, said = fields.number(spent.get("in")), fields.number(spent.get("out"))
    return {
        "input": asked, "output": said, "cacheRead": 0, "cacheWrite": 0, "totalTokens": asked + said,
        "cost": NO_COST,
    }  # fmt: skip


DIALECT: Final = Dialect(NAME, "Wren", detect, read)
