"""Reads Cursor: the transcript that its agent writes beside its database, one message on a line.

A line has neither an id nor a time. So the id of an entry depends on all lines up to its line, and its time is the one
that Cursor puts into the user's messages, or else that of the file. The transcript has the calls of tools, but not what
their results.
"""

import re
from datetime import UTC, datetime, timedelta, timezone
from itertools import groupby
from typing import Any, Final

from sessiond.agents.formats import Dialect
from sessiond.session.content import fields
from sessiond.session.dialects import blocks
from sessiond.session.dialects.import_builder import ImportBuilder, Imported
from sessiond.session.dialects.messages import timed
from sessiond.session.dialects.source import Source, SourceLine

NAME: Final = "cursor"

_ROLES: Final = ("user", "assistant")
_QUERY: Final = "<user_query>"
_QUERY_END: Final = "</user_query>"
_TIMESTAMP: Final = re.compile(r"<timestamp>([^<]{1,200})</timestamp>\s*")
_TIME: Final = re.compile(
    r"(?:\w+, )?([A-Z][a-z]{2})\w* (\d{1,2}), (\d{4}), (\d{1,2}):(\d{2})\s([AP])M"
    r" \(UTC(?:([+-])(\d{1,2})(?::(\d{2}))?)?\)"
)
"""`Sunday, Jul 26, 2026, 1:06 PM (UTC+3)`"""
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def detect(first: list[dict[str, Any]]) -> bool:
    """Return whether these are lines of a transcript of Cursor."""
    return any(_is_message(value) for value in first)


def read(source: Source) -> Imported:
    """Read the session in a transcript of Cursor."""
    return _Reader(source).read()


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._builder = ImportBuilder(NAME, source)
        self._tip: str | None = None
        self._said = ""  # the digest of all lines so far

    def read(self) -> Imported:
        builder = self._builder
        self._identify()
        for _, grouped in groupby(self._source.lines(), key=lambda line: line.number):
            parts, before = list(grouped), self._said
            for line in parts:
                self._said = fields.digest(self._said, line.raw.hex())
                self._take(line)
            if len(parts) > 1:  # ids after a damaged line do not depend on its division into lines
                self._said = fields.digest(before, b"".join(part.raw for part in parts).hex())
        builder.leaf = self._tip
        return builder.finish()

    def _take(self, line: SourceLine) -> None:
        builder, value = self._builder, line.value
        if value is None:
            builder.preserve_unreadable(line)
        elif value.get("type") == "turn_ended" and value.get("status") == "success":
            builder.count("end of turn")
        elif not _is_message(value):
            kind = fields.text(value.get("type")) or fields.as_text(value.get("role")) or "other"
            builder.preserve(line, kind, "it has no counterpart in sessiond")
        elif value["role"] == "user":
            self._take_user(line, value)
        else:
            self._take_assistant(line, value)

    def _identify(self) -> None:
        """Set the ids of the session and of the one above it, its folder and its title."""
        builder, beside = self._builder, self._source.beside
        folders = fields.as_text(beside.get("sourcePath")).split("/")[:-1]
        stem = self._source.name.partition(".")[0]
        if folders[-1:] == ["subagents"] and len(folders) > 1:
            builder.source_id, builder.parent_source = f"{folders[-2]}/{stem}", folders[-2]
        else:
            builder.source_id = stem
        builder.cwd = fields.text(beside.get("cwd")) or ""
        builder.begin([beside.get("startedAt")])
        if (title := fields.text(beside.get("title"))) is not None:
            line = SourceLine(1, b"", None)
            builder.add_beside(line, "session_info", {"name": title}, name=f"title-{fields.digest(title)}")

    def _take_user(self, line: SourceLine, value: dict[str, Any]) -> None:
        content = value["message"]["content"]
        typed: list[dict[str, Any]] = []
        inserted: list[dict[str, Any]] = []
        time: str | None = None
        for block in blocks.blocks(blocks.beside_results(content)):
            text = fields.as_text(block.get("text")) if block.get("type") == "text" else ""
            if (named := _TIMESTAMP.search(text)) is not None:
                time = _time(named[1].strip()) or time
                text = _TIMESTAMP.sub("", text, count=1)
            before, _, rest = text.partition(_QUERY)
            query, end, after = rest.partition(_QUERY_END)
            if not end:
                if text or block.get("type") != "text":
                    typed.append({**block, "text": text} if text else block)
                continue
            typed.append({**block, "text": query.strip()})
            if around := (before + after).strip():
                inserted.append({"type": "text", "text": around})
        at = self._builder.time_of(time)
        for number, result in enumerate(blocks.results(content)):
            self._take_result(line, number, result, at)
        if inserted:
            payload = {"customType": f"{NAME}.inserted", "content": inserted, "display": False}
            self._add(line, self._name("inserted"), "custom_message", payload, at)
            self._builder.count("inserted text")
        if typed:
            payload = {"message": timed({"role": "user", "content": typed}, at), **_foreign(value)}
            self._add(line, self._name(), "message", payload, at)
            self._builder.count("user")

    def _take_result(self, line: SourceLine, number: int, result: dict[str, Any], at: str) -> None:
        message = {
            "role": "toolResult", "toolCallId": result["id"], "toolName": "unknown", "content": result["content"],
            "isError": result["isError"],
        }  # fmt: skip
        self._add(line, self._name(f"result-{number}"), "message", {"message": timed(message, at)}, at)
        self._builder.count("tool result")

    def _take_assistant(self, line: SourceLine, value: dict[str, Any]) -> None:
        at = self._builder.time_of(None)
        content = blocks.blocks(value["message"]["content"])
        calls = [block for block in content if block.get("type") == "toolCall"]
        for number, call in enumerate(calls):
            call["id"] = call["id"] or self._name(f"call-{number}")
        answer = {
            "role": "assistant", "content": content, "api": NAME, "provider": NAME, "model": "unknown",
            "stopReason": "toolUse" if calls else "stop",
        }  # fmt: skip
        self._add(line, self._name(), "message", {"message": timed(answer, at), **_foreign(value)}, at)
        self._builder.count("assistant")

    def _name(self, part: str = "") -> str:
        """Return the id of the entry for the last line, or for a part of it."""
        return f"m-{self._said}-{part}" if part else f"m-{self._said}"

    def _add(self, line: SourceLine, name: str, type: str, payload: dict[str, Any], at: str) -> None:
        self._tip = self._builder.add(line, name, self._tip, type, payload, at=at)


def _is_message(value: dict[str, Any]) -> bool:
    return (
        value.get("role") in _ROLES
        and isinstance(fields.mapping(value.get("message")).get("content"), str | list)
        and not any(name in value for name in ("type", "id", "uuid"))
    )


def _time(text: str) -> str | None:
    """Return a time as Cursor writes it for the model, as ISO 8601; None for any other text."""
    found = _TIME.fullmatch(text)
    if found is None or found[1] not in _MONTHS:
        return None
    month, day, year, hour, minute, half, sign, hours, minutes = found.groups()
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    try:
        zone = timezone(-offset if sign == "-" else offset)
        hour_of_day = int(hour) % 12 + (12 if half == "P" else 0)
        moment = datetime(
            int(year), _MONTHS.index(month) + 1, int(day), hour_of_day, int(minute), tzinfo=zone
        )
        return fields.time(moment.astimezone(UTC).timestamp())
    except (ValueError, OverflowError):
        return None


def _foreign(value: dict[str, Any]) -> dict[str, Any]:
    message = fields.without(fields.mapping(value.get("message")), "content", "role")
    rest = {**fields.without(value, "role", "message"), **({"message": message} if message else {})}
    return {"foreign": rest} if rest else {}


DIALECT: Final = Dialect(NAME, "Cursor", detect, read)
