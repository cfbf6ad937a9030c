"""Reads Qwen Code: a chain of lines with `uuid` and `parentUuid`, whose messages are contents of Google's Gemini API.

Lines of the program stand between messages. Those without a counterpart are stored unchanged, and their children get
their parent. A compression becomes a compaction, with the messages that it kept (decision 0040).
"""

import re
from typing import Any, Final

from sessiond.agents.formats import Dialect
from sessiond.session.content import fields
from sessiond.session.dialects import copy_mark, google_parts
from sessiond.session.dialects.google_parts import Content, PartResult
from sessiond.session.dialects.import_builder import ImportBuilder, Imported
from sessiond.session.dialects.linking import Linked, Names, in_order, newest, without_repeats
from sessiond.session.dialects.messages import timed
from sessiond.session.dialects.source import Source, SourceLine

NAME: Final = "qwen"

_SESSION_ID: Final = re.compile(r"[0-9a-f-]{32,36}", re.IGNORECASE)
_CARRIED: Final = ("cwd", "version", "gitBranch", "sessionId", "agentId", "agentName")
"""Fields that every line has. An entry has such a field only if its value differs from the previous line."""
_TAKEN: Final = (
    "type",
    "uuid",
    "parentUuid",
    "timestamp",
    "message",
    "model",
    "usageMetadata",
    "isSidechain",
)
_TYPED: Final = (None, "mid_turn_user_message")
"""The subtypes of user lines that a user wrote."""
_COUNTED: Final = ("prompt", "candidates", "thoughts", "cachedContent", "total")
_FAILED: Final = ("error", "cancelled")
_Signature = tuple[str, list[dict[str, Any]], list[str], list[str]]


def detect(first: list[dict[str, Any]]) -> bool:
    """Return whether these are lines of Qwen Code."""
    return any(
        "parentUuid" in value
        and (
            isinstance(fields.mapping(value.get("message")).get("parts"), list)
            or ("systemPayload" in value and value.get("type") == "system")
        )
        for value in first
    )


def read(source: Source) -> Imported:
    """Read the session in a file of Qwen Code."""
    return _Reader(source).read()


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._builder = ImportBuilder(NAME, source)
        self._names = Names()
        self._tools: dict[str, str] = {}
        self._answered: dict[str, PartResult] = {}  # call id -> result, of the last calls
        self._carried: dict[str, Any] = {}
        self._title: str | None = None
        # Of each entry of the tree: the entry before it, and what its content says.
        self._above: dict[str, str | None] = {}
        self._says: dict[str, _Signature] = {}

    def read(self) -> Imported:
        builder, found = self._builder, list(self._source.lines())
        linked: list[Linked] = []
        for line in found:
            uuid = None if line.value is None else fields.text(line.value.get("uuid"))
            if line.value is None:
                builder.preserve_unreadable(line)
            elif uuid is None:
                builder.preserve(line, _kind(line.value), "it has no uuid")
            else:
                parent = fields.text(line.value.get("parentUuid"))
                linked.append(Linked(line, line.value, uuid, parent, _chain(line.value)))
        self._identify([entry.value for entry in linked])
        builder.begin(entry.value.get("timestamp") for entry in linked)
        linked = without_repeats(linked, builder)
        for placed in in_order(linked):
            linked_line = placed.linked
            if placed.problem is not None:
                builder.report.add_problem(linked_line.line.number, placed.problem)
            above = self._names.below(placed.parent)
            self._names.put(linked_line, self._take(linked_line, above))
        last = newest(linked)
        builder.leaf = None if last is None else self._names.below(last)
        return builder.finish()

    def _identify(self, values: list[dict[str, Any]]) -> None:
        """Set the source id, the parent and the folder. A file is named after its session."""
        builder, stem = self._builder, self._source.name.partition(".")[0]
        session = next((text for value in values if (text := fields.text(value.get("sessionId")))), stem)
        builder.source_id = stem if _SESSION_ID.fullmatch(stem) else session
        if values and all(value.get("isSidechain") is True for value in values):
            agent = next((text for value in values if (text := fields.text(value.get("agentId")))), stem)
            builder.source_id, builder.parent_source = f"{session}/{agent}", session
        payloads = [
            fields.mapping(value.get("systemPayload"))
            for value in values
            if value.get("subtype") == "parent_session"
        ]
        forks = [
            fields.mapping(value["forkedFrom"]).get("sessionId")
            for value in values
            if value.get("forkedFrom")
        ]
        named = [*(payload.get("parentSessionId") for payload in payloads), *forks]
        builder.parent_source = next(filter(None, map(fields.text, named)), builder.parent_source)
        builder.cwd = next((text for value in values if (text := fields.text(value.get("cwd")))), "")
        version = next((text for value in values if (text := fields.text(value.get("version")))), None)
        if version is not None:
            builder.source_version = version
        builder.take_mark(values[0].get(copy_mark.MARK) if values else None)
        self._carried = {"cwd": builder.cwd, "version": version, "sessionId": session}

    def _take(self, entry: Linked, above: str | None) -> str | None:
        """Add the entries of a line below `above`. Returns the entry that is the parent of its children."""
        at, value = self._builder.time_of(entry.value.get("timestamp")), entry.value
        message = value.get("message")
        if value.get("type") == "system":
            return self._take_system(entry, above, at)
        if not isinstance(message, dict) or not isinstance(message.get("parts"), list | str):
            self._builder.preserve(entry.line, _kind(value), "it has no counterpart in sessiond")
            return above
        content = google_parts.content_of(message["parts"], entry.id)
        match value.get("type"):
            case "assistant":
                return self._take_assistant(entry, content, above, at)
            case "tool_result" if content.results:
                return self._take_results(entry, content, above, at)
            case "user" | "tool_result":
                return self._take_user(entry, content, above, at)
        self._builder.preserve(entry.line, _kind(value), "it has no counterpart in sessiond")
        return above

    def _put(
        self, line: SourceLine, name: str, above: str | None, type: str, payload: dict[str, Any], at: str,
        says: _Signature | None = None,
    ) -> str | None:  # fmt: skip
        made = self._builder.add(line, name, above, type, payload, at=at)
        if made is not None and made != above:
            self._above[made] = above
            if says is not None:
                self._says[made] = says
        return made

    def _take_assistant(self, entry: Linked, content: Content, above: str | None, at: str) -> str | None:
        self._tools.update((call.id, call.name) for call in content.calls)
        if content.calls:
            self._answered.clear()
        message: dict[str, Any] = {
            "role": "assistant", "content": content.blocks, "api": google_parts.API, "provider": NAME,
            "model": fields.text(entry.value.get("model")) or "unknown",
        }  # fmt: skip
        if spent := fields.mapping(entry.value.get("usageMetadata")):
            message["usage"] = google_parts.usage(*(spent.get(f"{name}TokenCount") for name in _COUNTED))
        message["stopReason"] = "toolUse" if content.calls else "stop"
        payload = {"message": timed(message, at), **self._foreign(entry.value)}
        self._builder.count("assistant")
        return self._put(entry.line, entry.id, above, "message", payload, at, _signature("model", content))

    def _take_results(self, entry: Linked, content: Content, above: str | None, at: str) -> str | None:
        recorded = fields.mapping(entry.value.get("toolCallResult"))
        foreign = self._foreign(entry.value)
        for number, result in enumerate(content.results, 1):
            is_last = number == len(content.results)
            beside = content.blocks if is_last else []
            whole = PartResult(
                result.call_id, self._tools.get(result.call_id, result.name), [*result.content, *beside],
                result.is_error or recorded.get("status") in _FAILED,
            )  # fmt: skip
            self._answered[result.call_id] = whole
            payload = {"message": whole.message(at), **(foreign if is_last else {})}
            name = entry.id if is_last else f"{entry.id[:58]}-{number}"
            says = _signature("user", content) if is_last else None
            above = self._put(entry.line, name, above, "message", payload, at, says)
        self._builder.count("tool result")
        return above

    def _take_user(self, entry: Linked, content: Content, above: str | None, at: str) -> str | None:
        subtype, foreign = entry.value.get("subtype"), self._foreign(entry.value)
        says = _signature("user", content)
        if subtype in _TYPED and not content.is_injected:
            self._builder.count("user")
            said = timed({"role": "user", "content": content.blocks}, at)
            return self._put(entry.line, entry.id, above, "message", {"message": said, **foreign}, at, says)
        self._builder.count("injected")
        kind = fields.text(subtype) or "injected"
        payload: dict[str, Any] = {"customType": f"{NAME}.{kind}", "content": content.blocks}
        if content.is_injected:
            payload["display"] = False
        return self._put(entry.line, entry.id, above, "custom_message", {**payload, **foreign}, at, says)

    def _foreign(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return the other fields of a line, without fields whose value is unchanged since the line before."""
        rest = {
            name: value
            for name, value in fields.without(value, *_TAKEN, *_CARRIED, copy_mark.MARK).items()
            if value is not None
        }
        for name in _CARRIED:
            if name in value and value[name] != self._carried.get(name):
                rest[name] = self._carried[name] = value[name]
        return {"foreign": rest} if rest else {}

    # --- lines of the program --------------------------------------------------------------------------

    def _take_system(self, entry: Linked, above: str | None, at: str) -> str | None:
        builder, payload = self._builder, fields.mapping(entry.value.get("systemPayload"))
        match entry.value.get("subtype"):
            case "chat_compression" if isinstance(payload.get("compressedHistory"), list):
                return self._compact(entry, payload, above, at)
            case "custom_title" if title := fields.text(payload.get("customTitle")):
                if title != self._title:  # it is repeated as the file grows
                    self._title = title
                    builder.add_beside(entry.line, "session_info", {"name": title}, at=at)
                builder.count("title")
            case _:
                builder.preserve(entry.line, _kind(entry.value), "it has no counterpart in sessiond")
        return above

    def _compact(self, linked: Linked, payload: dict[str, Any], above: str | None, at: str) -> str | None:
        """Add a compaction for a compressed history: its summary, and the end of the path that it repeats.

        Without such an end, what follows the summary in the history becomes messages below the compaction. A history
        that ends with calls was compressed before the model got their results, which are above the line.
        """
        history = [fields.mapping(content) for content in payload["compressedHistory"]]
        contents = [
            google_parts.content_of(content, f"{linked.id[:50]}-{number}")
            for number, content in enumerate(history, 1)
        ]
        roles = [fields.as_text(content.get("role")) for content in history]
        kept, first_kept = self._kept(list(map(_signature, roles, contents)), above)
        end = len(contents) - kept if kept else min(1, len(contents))
        texts = [
            fields.as_text(block.get("text")) for content in contents[:end] for block in content.spoken
        ]  # a summary has no images
        info = fields.mapping(payload.get("info"))
        entry = {
            "summary": "\n\n".join(filter(None, texts)), "firstKeptEntryId": first_kept,
            "tokensBefore": fields.number(info.get("originalTokenCount")), **({"details": info} if info else {}),
        }  # fmt: skip
        tip = self._put(linked.line, linked.id, above, "compaction", entry, at)
        self._builder.count("compaction")
        below = list(enumerate(zip(roles, contents, strict=True), 1))[end : len(contents) - kept]
        for number, (role, content) in below:
            tip = self._repeat(linked, f"{linked.id[:58]}-{number}", role, content, tip, at)
        open_calls = [call.id for call in contents[-1].calls] if below else []
        for number, result in enumerate(filter(None, map(self._answered.get, open_calls)), 1):
            tip = self._put(
                linked.line,
                f"{linked.id[:54]}-a{number}",
                tip,
                "message",
                {"message": result.message(at)},
                at,
            )
        return tip

    def _repeat(
        self, entry: Linked, name: str, role: str, content: Content, above: str | None, at: str
    ) -> str | None:
        """Add a content of a compressed history as a message."""
        says = _signature(role, content)
        for number, result in enumerate(content.results, 1):
            payload = {"message": result.message(at)}
            above = self._put(entry.line, f"{name[:54]}-r{number}", above, "message", payload, at)
        if not content.blocks:
            return above
        message: dict[str, Any] = {"role": "user", "content": content.blocks}
        if role == "model":
            stop = "toolUse" if content.calls else "stop"
            message = {
                "role": "assistant", "content": content.blocks, "api": google_parts.API, "provider": NAME,
                "model": "unknown", "stopReason": stop,
            }  # fmt: skip
        return self._put(entry.line, name, above, "message", {"message": timed(message, at)}, at, says)

    def _kept(self, history: list[_Signature], tip: str | None) -> tuple[int, str | None]:
        """Return how many contents at the end of a history are the end of the path to `tip`, and the first of them."""
        count, at, first = 0, tip, None
        while at is not None and count < len(history) - 1:
            says = self._says.get(at)
            if says is not None:
                if says != history[-1 - count]:
                    break
                count, first = count + 1, at
            at = self._above[at]
        return count, first


def _signature(role: str, content: Content) -> _Signature:
    """Return what a content says, without thinking: two contents that say the same are one message."""
    calls = [call.id for call in content.calls]
    return role, content.spoken, calls, [result.call_id for result in content.results]


def _chain(value: dict[str, Any]) -> str:
    """Return the agent whose chain a line is on; an empty text for the main one."""
    is_aside = value.get("isSidechain") is True
    return fields.text(value.get("agentId")) or "aside" if is_aside else ""


def _kind(value: dict[str, Any]) -> str:
    """Return the name of a line in the import report."""
    type, subtype = fields.as_text(value.get("type")) or "without a type", fields.text(value.get("subtype"))
    return f"{type}.{subtype}" if subtype else type


DIALECT: Final = Dialect(NAME, "Qwen Code", detect, read)
