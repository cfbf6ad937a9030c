"""Reads Copilot CLI: a log of events, each of which names the one before it.

The order of the file is that of the conversation. Events of a sub-agent are a branch below the place where it began.
Copilot CLI repeats a call at its start, which adds nothing. If it takes events back, it removes them from the file.
Imported ones stay as a branch.
"""

from typing import Any, Final

from sessiond.agents.formats import Dialect
from sessiond.session.content import fields
from sessiond.session.dialects.import_builder import ImportBuilder, Imported
from sessiond.session.dialects.messages import timed
from sessiond.session.dialects.source import Source, SourceLine
from sessiond.session.formats.build import NO_COST

NAME: Final = "copilot"

_ENVELOPE: Final = ("type", "id", "parentId", "timestamp", "data")
_SPOKEN: Final = ("user.message", "assistant.message")
_INSERTED: Final = ("skill-", "agent-")
"""The beginnings of the source of a message that no person typed."""


def detect(first: list[dict[str, Any]]) -> bool:
    """Return whether these are events of Copilot CLI."""
    return any(
        isinstance(value.get("data"), dict)
        and "parentId" in value
        and (
            value.get("type") in _SPOKEN
            or (value.get("type") == "session.start" and "copilotVersion" in value["data"])
        )
        for value in first
    )


def read(source: Source) -> Imported:
    """Read the session in a file of Copilot CLI."""
    return _Reader(source).read()


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._builder = ImportBuilder(NAME, source)
        self._tips: dict[str, str | None] = {}  # the last entry by the id of the agent; "" is the main one
        self._calls: dict[str, dict[str, Any]] = {}  # requests of tools by id
        self._model: str | None = None
        self._counted: set[str] = set()  # requests that a record reported, by the provider's id
        self._seen: set[bytes] = set()  # the events as they are in the file

    def read(self) -> Imported:
        builder = self._builder
        for line in self._source.lines():
            value = line.value
            if value is None:
                builder.preserve_unreadable(line)
            elif not isinstance(value.get("data"), dict) or fields.text(value.get("id")) is None:
                builder.preserve(line, fields.as_text(value.get("type")) or "other", "it is no event")
            elif line.raw in self._seen:
                builder.count("repeated")
            else:
                self._seen.add(line.raw)
                self._take(line, value, value["data"])
        builder.leaf = self._tips.get("")
        return builder.finish()

    def _take(self, line: SourceLine, value: dict[str, Any], data: dict[str, Any]) -> None:
        at = self._builder.time_of(value.get("timestamp"))
        match value.get("type"):
            case "session.start":
                self._start(line, value, data, at)
            case "session.model_change":
                self._change_model(line, value, fields.text(data.get("newModel")), at)
            case "user.message":
                self._take_user(line, value, data, at)
            case "session.usage_record" if isinstance(data.get("usage"), dict):
                self._take_usage(line, value, data["usage"], at)
            case "assistant.message":
                self._take_assistant(line, value, data, at)
            case "tool.execution_start" if self._is_repeated(data):
                self._builder.count("repeated")
            case "tool.execution_complete":
                self._take_result(line, value, data, at)
            case "session.compaction_complete":
                self._compact(line, value, data, at)
            case "skill.invoked" | "system.notification" if fields.text(data.get("content")):
                self._insert(line, value, data, at)
            case kind:
                self._builder.preserve(
                    line, fields.as_text(kind) or "other", "it has no counterpart in sessiond"
                )

    def _start(self, line: SourceLine, value: dict[str, Any], data: dict[str, Any], at: str) -> None:
        builder = self._builder
        if (session := fields.text(data.get("sessionId"))) is not None:
            builder.source_id = session
        builder.cwd = fields.text(fields.mapping(data.get("context")).get("cwd")) or builder.cwd
        if (version := fields.text(data.get("copilotVersion"))) is not None:
            builder.source_version = version
        builder.parent_source = fields.text(data.get("detachedFromSpawningParentSessionId"))
        builder.count("header")
        self._change_model(line, value, fields.text(data.get("selectedModel")), at)

    def _change_model(self, line: SourceLine, value: dict[str, Any], model: str | None, at: str) -> None:
        if model is None or model == self._model:
            return
        self._model = model
        self._add(
            line, value, "model_change", {"model": f"{NAME}/{model}", "provider": NAME, "modelId": model}, at
        )
        self._builder.count("model change")

    def _take_user(self, line: SourceLine, value: dict[str, Any], data: dict[str, Any], at: str) -> None:
        origin = fields.as_text(data.get("source"))
        if origin.startswith(_INSERTED) or data.get("isAutopilotContinuation") is True:
            self._insert(line, value, data, at)
            return
        content: list[dict[str, Any]] = [{"type": "text", "text": fields.as_text(data.get("content"))}]
        rest: list[Any] = []
        for attachment in fields.items(data.get("attachments")):
            image = _image(fields.mapping(attachment))
            (rest if image is None else content).append(attachment if image is None else image)
        foreign = fields.without(data, "content", "attachments") | ({"attachments": rest} if rest else {})
        payload = {"message": timed({"role": "user", "content": content}, at), **_foreign(value, foreign)}
        self._add(line, value, "message", payload, at)
        self._builder.count("user")

    def _take_assistant(self, line: SourceLine, value: dict[str, Any], data: dict[str, Any], at: str) -> None:
        requests = [call for call in fields.items(data.get("toolRequests")) if isinstance(call, dict)]
        blocks: list[dict[str, Any]] = []
        if (thinking := fields.text(data.get("reasoningText"))) is not None:
            blocks.append({"type": "thinking", "thinking": thinking})
        if (text := fields.text(data.get("content"))) is not None:
            blocks.append({"type": "text", "text": text})
        for call in requests:
            self._calls[fields.as_text(call.get("toolCallId"))] = call
            blocks.append(_call(call))
        model = fields.text(data.get("model")) or self._model or "unknown"
        message: dict[str, Any] = {
            "role": "assistant", "content": blocks, "api": NAME, "provider": NAME, "model": model,
            "stopReason": "toolUse" if requests else "stop",
        }  # fmt: skip
        request = fields.text(data.get("apiCallId"))
        if (spent := fields.number(data.get("outputTokens"))) and request not in self._counted:
            message["usage"] = _usage({"outputTokens": spent})
        rest = fields.without(data, "content", "toolRequests", "reasoningText", "model", "outputTokens")
        payload = {"message": timed(message, at), **_foreign(value, rest)}
        if request is not None and "usage" in message:
            payload["requestKey"] = f"{self._builder.source_id}/{request}"
        self._add(line, value, "message", payload, at)
        self._builder.count("assistant")

    def _take_usage(self, line: SourceLine, value: dict[str, Any], spent: dict[str, Any], at: str) -> None:
        """Add the usage of a request. The message that answers it is another event."""
        accounting = fields.mapping(spent.get("accounting"))
        session = fields.text(accounting.get("sourceSessionId")) or self._builder.source_id
        request = fields.text(spent.get("apiCallId")) or fields.text(accounting.get("usageId"))
        if request is not None:
            self._counted.add(request)
        self._add_usage(line, value, "turn", spent, f"{session}/{request or value['id']}", at)

    def _add_usage(
        self, line: SourceLine, value: dict[str, Any], purpose: str, spent: dict[str, Any], key: str, at: str
    ) -> None:
        """Add the tokens of a request, beside the conversation. `cost` of Copilot CLI is in requests, not in money."""
        entry = {
            "purpose": purpose, "provider": NAME, "usage": _usage(spent), "requestKey": key,
            "model": fields.text(spent.get("model")) or self._model or "unknown",
        }  # fmt: skip
        name = f"usage-{fields.digest(fields.as_text(value.get('id')))}"
        self._builder.add_beside(line, "model_usage", entry, at=at, name=name)
        self._builder.count("usage")

    def _is_repeated(self, data: dict[str, Any]) -> bool:
        """Return whether the start of a call has the same content as its request."""
        call = self._calls.get(fields.as_text(data.get("toolCallId")))
        return (
            call is not None
            and call.get("name") == data.get("toolName")
            and call.get("arguments") == data.get("arguments")
        )

    def _take_result(self, line: SourceLine, value: dict[str, Any], data: dict[str, Any], at: str) -> None:
        call_id = fields.as_text(data.get("toolCallId"))
        call = self._calls.get(call_id, {})
        if not call:
            self._builder.report.add_problem(line.number, "a result whose call is not in the file")
        result, error = fields.mapping(data.get("result")), fields.mapping(data.get("error"))
        is_error = data.get("success") is not True
        text = fields.text(result.get("content")) or fields.text(error.get("message"))
        details = fields.without(data, "toolCallId", "success")
        if result:
            details["result"] = fields.without(result, "content")
        message = {
            "role": "toolResult", "toolCallId": call_id, "toolName": fields.text(call.get("name")) or "unknown",
            "content": [{"type": "text", "text": text or fields.as_text(data.get("output"))}],
            "isError": is_error, "details": details,
        }  # fmt: skip
        self._add(line, value, "message", {"message": timed(message, at), **_foreign(value, {})}, at)
        self._builder.count("tool result")

    def _compact(self, line: SourceLine, value: dict[str, Any], data: dict[str, Any], at: str) -> None:
        spent = fields.mapping(data.get("compactionTokensUsed"))
        if spent:
            key = f"{self._builder.source_id}/{fields.as_text(value.get('id'))}"
            self._add_usage(line, value, "compaction", spent, key, at)
        if fields.text(data.get("summaryContent")) is None:
            self._builder.preserve(line, "session.compaction_complete", "it has no summary")
            return
        payload = {
            "summary": fields.as_text(data.get("summaryContent")), "firstKeptEntryId": None,
            "tokensBefore": fields.number(data.get("preCompactionTokens")),
            **_foreign(value, fields.without(data, "summaryContent", "preCompactionTokens")),
        }  # fmt: skip
        self._add(line, value, "compaction", payload, at)
        self._builder.count("compaction")

    def _insert(self, line: SourceLine, value: dict[str, Any], data: dict[str, Any], at: str) -> None:
        """Add a text that the program put into the conversation."""
        payload = {
            "customType": f"{NAME}.{fields.as_text(value.get('type'))}", "display": False,
            "content": fields.as_text(data.get("content")),
            **_foreign(value, fields.without(data, "content")),
        }  # fmt: skip
        self._add(line, value, "custom_message", payload, at)
        self._builder.count("inserted text")

    def _add(
        self, line: SourceLine, value: dict[str, Any], type: str, payload: dict[str, Any], at: str
    ) -> None:
        data = fields.mapping(value.get("data"))
        agent = fields.text(value.get("agentId")) or fields.text(data.get("parentToolCallId")) or ""
        above = self._tips.get(agent, self._tips.get(""))
        self._tips[agent] = self._builder.add(
            line, fields.as_text(value.get("id")), above, type, payload, at=at
        )


def _usage(spent: dict[str, Any]) -> dict[str, Any]:
    """Return the tokens of a request with the names of pi. Tokens of the prompt include those of the cache."""
    cached = fields.number(fields.first(spent, "cacheReadTokens", "cachedInput"))
    written = fields.number(spent.get("cacheWriteTokens"))
    prompt = fields.number(fields.first(spent, "inputTokens", "input"))
    answer = fields.number(fields.first(spent, "outputTokens", "output"))
    usage: dict[str, Any] = {
        "input": max(0, prompt - cached - written), "output": answer, "cacheRead": cached, "cacheWrite": written,
        "totalTokens": max(prompt, cached + written) + answer, "cost": NO_COST,
    }  # fmt: skip
    if spent.get("reasoningTokens") is not None:
        usage["reasoningTokens"] = fields.number(spent["reasoningTokens"])
    return usage


def _call(request: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "toolCall", "id": fields.as_text(request.get("toolCallId")),
        "name": fields.as_text(request.get("name")), "arguments": fields.arguments(request.get("arguments")),
        **fields.without(request, "toolCallId", "name", "arguments", "type"),
    }  # fmt: skip


def _image(attachment: dict[str, Any]) -> dict[str, Any] | None:
    """Return an image whose bytes are in the event; None for any other attachment."""
    data, kind = fields.text(attachment.get("data")), fields.as_text(attachment.get("mimeType"))
    if attachment.get("type") != "blob" or data is None or not kind.startswith("image/"):
        return None
    return {"type": "image", "data": data, "mimeType": kind}


def _foreign(value: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an event that have no counterpart."""
    rest = {**fields.without(value, *_ENVELOPE), **data}
    return {"foreign": rest} if rest else {}


DIALECT: Final = Dialect(NAME, "Copilot CLI", detect, read)
