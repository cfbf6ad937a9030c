"""Reads Cline: a file with all messages of a task, which Cline writes again whenever it grows.

The file is an array of messages in the form of Anthropic's API (the extension for VS Code), or an object with such an
array (the command-line program). Cline may give messages other ids and times when a task is resumed. So the id of an
entry depends on all messages up to it: messages that are written again are recognized, others become a branch.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from sessiond.agents.formats import Dialect
from sessiond.session.content import fields
from sessiond.session.dialects import blocks, documents
from sessiond.session.dialects.import_builder import ImportBuilder, Imported
from sessiond.session.dialects.messages import timed
from sessiond.session.dialects.source import Source, SourceLine

NAME: Final = "cline"
SUFFIX: Final = ".messages.json"
"""The end of the name of a file of the command-line program."""

_MILLISECOND: Final = 0.001
_ROLES: Final = ("user", "assistant")
_FIRST: Final = 24
"""The messages that suffice to recognize a file. A newer version may have others among them."""
_OWN: Final = ("ts", "modelInfo", "metrics")
"""Fields of a message that Anthropic's API does not have."""
_OF_ENVELOPE: Final = ("version", "agent", "sessionId", "updated_at", "messages", "origin")
_TYPED: Final = re.compile(
    r"<(task|feedback|answer|user_message|user_input)(?: [^<>]*)?>(.*)</\1>", re.DOTALL
)
"""A text of the user, in the tags that Cline puts around it."""
_ENVIRONMENT: Final = "<environment_details>"
_ENVIRONMENT_END: Final = "</environment_details>"
_RESULT: Final = re.compile(r"\[\w+(?: for .*?)?\] Result:", re.DOTALL)
"""The beginning of the result of a tool that the model called by a text."""
_FOLDER: Final = re.compile(r"# Current Working Directory \((/[^\n]{0,5000}+)")
_IS_TIME: Final = re.compile(r"[0-9]{13}").fullmatch


def _folder(found: re.Match[str]) -> str:
    """Return the folder that is named in a line, or "" if the line names none."""
    folder, closed, _ = found[1].partition(") Files")
    return folder if closed else ""


def detect(first: list[dict[str, Any]]) -> bool:
    """Return whether the first line is a whole file of the command-line program."""
    return bool(first) and detect_document(first[0])


def detect_document(document: dict[str, Any]) -> bool:
    """Return whether a file that is one JSON object holds the messages of a session of the command-line program."""
    messages = fields.items(document.get("messages"))
    return "updated_at" in document and any(map(_is_message, messages[:_FIRST]))


def detect_array(items: list[Any]) -> bool:
    """Return whether a file that is one JSON array holds the messages of a task.

    Arrays of messages are common. So one of them must have what only Cline writes.
    """
    messages = list(filter(_is_message, items[:_FIRST]))
    return any(
        any(name in message for name in _OWN) or _ENVIRONMENT in fields.as_text(message.get("content"))
        for message in messages
    )


def read(source: Source) -> Imported:
    """Read the session in a file of Cline."""
    return _Reader(source).read()


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._builder = ImportBuilder(NAME, source)
        self._tip: str | None = None
        self._said = ""  # the digest of all messages so far
        self._tools: dict[str, str] = {}  # the names of the called tools by the ids of the calls

    def read(self) -> Imported:
        builder, value = self._builder, documents.value_in(self._source, self._builder)
        document = fields.mapping(value)
        messages = value if isinstance(value, list) else document.get("messages")
        if not isinstance(messages, list):
            for line in self._source.lines():
                if line.value is None:
                    builder.preserve_unreadable(line)
                else:
                    builder.preserve(line, "other", "it is no session of Cline")
            return builder.finish()
        self._identify(document)
        taken: set[bytes] = set()
        for message in messages:
            raw = fields.dumps(message)
            if isinstance(message, dict) and ("id" in message or "ts" in message):
                if raw in taken:
                    builder.count("repeated")
                    continue
                taken.add(raw)
            self._take(SourceLine(1, raw, message if isinstance(message, dict) else None), message)
        if document:
            builder.count("header")
        if rest := fields.without(document, *_OF_ENVELOPE):
            raw = fields.dumps(rest)
            name = f"raw-{fields.digest(raw.decode())}"
            builder.preserve(
                SourceLine(1, raw, rest), "header", "it has no counterpart in sessiond", name=name
            )
        builder.leaf = self._tip
        return builder.finish()

    def _identify(self, document: dict[str, Any]) -> None:
        """Set the ids of the session and of the one above it, its folder, title, version and first time."""
        builder, beside = self._builder, self._source.beside
        folders = fields.as_text(beside.get("sourcePath")).split("/")[:-1]
        stem = self._source.name.removesuffix(SUFFIX)
        if stem == self._source.name:
            # Of the extension: every file has the same name, in a folder of its own.
            builder.source_id = folders[-1] if folders else stem
        elif "sessions" in folders[:-1] and stem not in (folders[-1], beside.get("sessionId")):
            # Of a subagent, below the folder of its session. A folder that was copied has another name, too.
            main = folders[len(folders) - folders[::-1].index("sessions")]
            builder.source_id, builder.parent_source = f"{main}/{stem}", main
        else:
            builder.source_id = fields.text(document.get("sessionId")) or stem
        builder.cwd = fields.text(beside.get("cwd")) or ""
        builder.source_version = fields.text(beside.get("version"))
        started = int(builder.source_id) if _IS_TIME(builder.source_id) else None
        builder.begin([beside.get("startedAt"), fields.time(started, unit=_MILLISECOND)])
        if (title := fields.text(beside.get("title"))) is not None:
            line = SourceLine(1, b"", None)
            builder.add_beside(line, "session_info", {"name": title}, name=f"title-{fields.digest(title)}")

    def _take(self, line: SourceLine, message: Any) -> None:
        if not _is_message(message):
            self._builder.preserve(
                line, "other", "it is no message", name=f"raw-{fields.digest(line.raw.decode())}"
            )
            return
        role, content = message["role"], message["content"]
        self._said = fields.digest(self._said, role, fields.dumps(content).decode())
        at = self._builder.time_of(message.get("ts"), unit=_MILLISECOND)
        if role == "assistant":
            self._take_assistant(line, message, at)
        else:
            self._take_user(line, message, at)

    def _take_user(self, line: SourceLine, message: dict[str, Any], at: str) -> None:
        content = message["content"]
        for number, block in enumerate(block for block in fields.items(content) if _is_result(block)):
            self._take_result(line, number, block, at)
        files = [block for block in fields.items(content) if _is_file(block)]
        if files:
            content = [block for block in content if not _is_file(block)]
        typed: list[dict[str, Any]] = []
        inserted: list[dict[str, Any]] = []
        is_result = False
        for block in _parted(_blocks(blocks.beside_results(content))):
            text = fields.as_text(block.get("text"))
            tagged = _TYPED.fullmatch(text.strip())
            if tagged is not None:
                typed.append({**block, "text": tagged[2].strip()})
            elif is_result or text.startswith(_ENVIRONMENT) or _RESULT.match(text):
                inserted.append(block)
            else:
                typed.append(block)
            # The result of a tool may be in the block after the one that names the tool.
            is_result = _RESULT.fullmatch(text.strip()) is not None
            if not self._builder.cwd:
                self._builder.cwd = next(filter(None, map(_folder, _FOLDER.finditer(text))), "")
        if typed:
            payload = {"message": timed({"role": "user", "content": typed}, at), **_foreign(message)}
            self._add(line, self._name(), "message", payload, at)
            self._builder.count("user")
        if files:
            mentioned = [
                {"path": file["path"], "content": fields.as_text(file.get("content"))} for file in files
            ]
            payload = {"message": timed({"role": "fileMention", "files": mentioned}, at)}
            self._add(line, self._name("files"), "message", payload, at)
            self._builder.count("named files")
        if inserted:
            payload = {"customType": f"{NAME}.inserted", "content": inserted, "display": False}
            self._add(line, self._name("inserted"), "custom_message", payload, at)
            self._builder.count("inserted text")

    def _take_result(self, line: SourceLine, number: int, block: dict[str, Any], at: str) -> None:
        call_id = fields.as_text(block.get("tool_use_id"))
        is_failed = any(
            _is_outcome(outcome) and outcome["success"] is False
            for outcome in fields.items(block.get("content"))
        )
        message = {
            "role": "toolResult", "toolCallId": call_id,
            "toolName": fields.text(block.get("name")) or self._tools.get(call_id, "unknown"),
            "content": _blocks(block.get("content")), "isError": block.get("is_error") is True or is_failed,
        }  # fmt: skip
        self._add(line, self._name(f"result-{number}"), "message", {"message": timed(message, at)}, at)
        self._builder.count("tool result")

    def _take_assistant(self, line: SourceLine, message: dict[str, Any], at: str) -> None:
        content = _blocks(message["content"])
        calls = [block for block in content if block.get("type") == "toolCall"]
        self._tools.update((call["id"], call["name"]) for call in calls)
        model, beside = fields.mapping(message.get("modelInfo")), self._source.beside
        provider = fields.first(model, "provider", "providerId") or beside.get("provider")
        answer: dict[str, Any] = {
            "role": "assistant", "content": content, "api": NAME, "provider": fields.text(provider) or "unknown",
            "model": fields.text(fields.first(model, "id", "modelId") or beside.get("model")) or "unknown",
            "stopReason": "toolUse" if calls else "stop",
        }  # fmt: skip
        if metrics := fields.mapping(message.get("metrics")):
            answer["usage"] = _usage(metrics, answer["provider"])
        self._add(line, self._name(), "message", {"message": timed(answer, at), **_foreign(message)}, at)
        self._builder.count("assistant")

    def _name(self, part: str = "") -> str:
        """Return the id of the entry for the last message, or for a part of it."""
        return f"m-{self._said}-{part}" if part else f"m-{self._said}"

    def _add(self, line: SourceLine, name: str, type: str, payload: dict[str, Any], at: str) -> None:
        self._tip = self._builder.add(line, name, self._tip, type, payload, at=at)


def _is_message(value: object) -> bool:
    return (
        isinstance(value, dict)
        and value.get("role") in _ROLES
        and isinstance(value.get("content"), str | list)
    )


def _is_result(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_result"


def _is_file(block: object) -> bool:
    return (
        isinstance(block, dict) and block.get("type") == "file" and fields.text(block.get("path")) is not None
    )


def _is_outcome(block: object) -> bool:
    """Return whether this is the result for one command or one file of a call, as version 3.0.65 writes it."""
    return (
        isinstance(block, dict)
        and "type" not in block
        and isinstance(block.get("success"), bool)
        and ("result" in block or "error" in block)
    )


def _outcome(block: dict[str, Any]) -> dict[str, Any]:
    """Return the result for one command or one file as a text that says whether it succeeded."""
    status = "succeeded" if block["success"] else "failed"
    query = fields.first(block, "query")
    heading = (
        f"{query if isinstance(query, str) else fields.dumps(query).decode()}: {status}" if query else status
    )
    given = (block[name] for name in ("result", "error") if block.get(name) not in (None, ""))
    texts = [part if isinstance(part, str) else fields.dumps(part).decode() for part in given]
    rest = fields.without(block, "query", "result", "error")
    return {"type": "text", "text": "\n".join([heading, *texts]), **rest}


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [_block(block) for block in blocks.blocks(content)]


def _block(block: dict[str, Any]) -> dict[str, Any]:
    """Return a block that only Cline has in the form used here; any other block unchanged."""
    if block.get("type") == "file":
        return {
            "type": "text",
            "text": fields.as_text(block.get("content")),
            **fields.without(block, "type", "content"),
        }
    if _is_outcome(block):
        return _outcome(block)
    if block.get("type") == "image" and isinstance(block.get("mediaType"), str):
        return {"type": "image", "data": block.get("data"), "mimeType": block["mediaType"]}
    return block


def _parted(blocks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the blocks. Text that Cline added to a text of the user becomes a separate block."""
    for block in blocks:
        text = block.get("text")
        start = text.find(_ENVIRONMENT) if block.get("type") == "text" and isinstance(text, str) else 0
        if isinstance(text, str) and start > 0 and text.rstrip().endswith(_ENVIRONMENT_END):
            if said := text[:start].rstrip():
                yield {**block, "text": said}
            yield {"type": "text", "text": text[start:]}
        else:
            yield block


def _usage(metrics: dict[str, Any], provider: str) -> dict[str, Any]:
    """Return the usage of an answer with the names of pi.

    The extension counts cached tokens as input. The command-line program repeats what the provider reports: Anthropic
    does not count them as input, others do.
    """
    tokens = fields.mapping(metrics.get("tokens"))
    given = fields.number(fields.first(tokens, "prompt") or metrics.get("inputTokens"))
    read = fields.number(fields.first(tokens, "cached") or metrics.get("cacheReadTokens"))
    written = fields.number(metrics.get("cacheWriteTokens"))
    is_included = bool(tokens) or provider != "anthropic"
    counted = {
        "input": max(0, given - read - written) if is_included else given,
        "output": fields.number(fields.first(tokens, "completion") or metrics.get("outputTokens")),
        "cacheRead": read, "cacheWrite": written,
    }  # fmt: skip
    total = fields.number(metrics.get("cost"))
    cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": total}
    return {**counted, "totalTokens": sum(counted.values()), "cost": cost}


def _foreign(message: dict[str, Any]) -> dict[str, Any]:
    rest = fields.without(message, "role", "content", *_OWN)
    return {"foreign": rest} if rest else {}


DIALECT: Final = Dialect(NAME, "Cline", detect, read, detect_document, detect_array)
