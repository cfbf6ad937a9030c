"""Reads Codex rollouts: a list of items, with turns that are rolled back and histories that are replaced.

Turns that were rolled back become a branch with a label. A `compacted` line becomes a compaction with its replacement
history in `details`. Events that only mirror an item are counted and not stored (decision 0023).
"""

from typing import Any, Final

from sessiond.session.content import fields
from sessiond.session.dialects import codex_items
from sessiond.session.dialects.claude_messages import no_cost
from sessiond.session.dialects.codex_items import Speaker
from sessiond.session.dialects.import_builder import ImportBuilder, Imported
from sessiond.session.dialects.source import Source, SourceLine

NAME: Final = codex_items.NAME

_RECORDS: Final = frozenset((
    "session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state",
))  # fmt: skip
_BARE: Final = frozenset((
    "message", "reasoning", "function_call", "function_call_output", "custom_tool_call",
    "custom_tool_call_output", "local_shell_call", "web_search_call", "compaction", "compaction_summary",
    "context_compaction", "image_generation_call", "tool_search_call",
))  # fmt: skip
"""Items that had a line of their own before Codex introduced the envelope."""
_MIRRORS: Final = {"user_message": "message", "agent_message": "message", "agent_reasoning": "text"}
ROLLED_BACK: Final = "rolled-back"
"""The label on the last entry of a branch that was rolled back."""


def detect(first: list[dict[str, Any]]) -> bool:
    """Return whether these are lines of a rollout, in the present form or in the form before September 2025."""
    if any(
        fields.text(value.get("type")) in _RECORDS and isinstance(value.get("payload"), dict)
        for value in first
    ):
        return True
    return any("record_type" in value for value in first) or (bool(first) and _is_old_header(first[0]))


def read(source: Source) -> Imported:
    """Read the session in a rollout."""
    return _Reader(source).read()


def _is_old_header(value: dict[str, Any]) -> bool:
    return (
        "type" not in value
        and {"id", "timestamp"} <= value.keys()
        and bool({"instructions", "git"} & value.keys())
    )


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._builder = ImportBuilder(NAME, source)
        self._tip: str | None = None
        self._above: dict[str, str | None] = {}
        self._turns: set[str] = set()  # entries at which a user's turn begins
        self._tools: dict[str, str] = {}
        self._provider = "openai"
        self._model: str | None = None
        self._effort: str | None = None
        self._turn_context: dict[str, Any] | None = None
        self._tokens: int | float = 0
        self._counted: object = None
        self._named = False
        self._typed: set[str] = set()
        self._named_source = False

    def read(self) -> Imported:
        builder, found = self._builder, list(self._source.lines())
        mirrored = {it for line in found if line.value is not None for it in _mirrored(line.value)}
        events = (_mirror(line.value) for line in found if line.value is not None)
        self._typed = {it[1] for it in events if it is not None and it[0] == "user"}
        last_item = max(
            (line.number for line in found if line.value is not None and _item(line.value)), default=0
        )
        for line in found:
            if line.value is None:
                builder.preserve_unreadable(line)
            elif (
                self._source.growing
                and line.number > last_item
                and _mirror(line.value) not in (None, *mirrored)
            ):
                builder.report.held_back_count += 1  # the item that it mirrors is expected later
            else:
                self._take(line, line.value, mirrored)
        title = fields.text(self._source.beside.get("title"))
        if title is not None and not self._named:
            builder.title = title
        builder.leaf = self._tip
        return builder.finish()

    def _take(self, line: SourceLine, value: dict[str, Any], mirrored: set[tuple[str, str]]) -> None:
        builder = self._builder
        at = builder.time_of(value.get("timestamp"))
        type, payload = (
            fields.as_text(value.get("type")),
            fields.mapping(value.get("payload")),
        )
        item = _item(value)
        if item is not None:
            self._take_item(line, item, at)
        elif type == "session_meta" or _is_old_header(value):
            self._take_meta(line, payload or value)
        elif type == "turn_context" and payload:
            self._take_context(line, payload, at)
        elif type == "compacted" and payload:
            self._take_compacted(line, payload, at)
        elif type == "event_msg" and payload:
            if _mirror(value) in mirrored:
                builder.count("mirror")
            else:
                self._take_event(line, payload, at)
        else:
            builder.preserve(
                line,
                type or fields.as_text(value.get("record_type")) or "without a type",
                "it has no counterpart in sessiond",
            )

    def _add(self, line: SourceLine, type: str, payload: dict[str, Any], at: str) -> str | None:
        made = self._builder.add(line, f"line-{line.number}", self._tip, type, payload, at=at)
        if made is not None and made != self._tip:
            self._above[made] = self._tip
        self._tip = made
        return made

    def _take_meta(self, line: SourceLine, payload: dict[str, Any]) -> None:
        builder = self._builder
        if self._named_source:
            builder.preserve(line, "session_meta", "the first one names the session")
            return
        self._named_source = True
        builder.source_id = (
            fields.text(payload.get("id")) or fields.text(payload.get("session_id")) or builder.source_id
        )
        builder.cwd = fields.text(payload.get("cwd")) or ""
        builder.parent_source = fields.text(payload.get("forked_from_id")) or fields.text(
            payload.get("parent_thread_id")
        )
        self._provider = fields.text(payload.get("model_provider")) or self._provider
        builder.origin["meta"] = fields.dumps(payload).decode()
        builder.count("header")

    def _take_item(self, line: SourceLine, value: dict[str, Any], at: str) -> None:
        speaker = Speaker(self._provider, self._model or "unknown")
        item = codex_items.item_of(
            value,
            at=at,
            speaker=speaker,
            tools=self._tools,
            fallback_id=f"line-{line.number}",
            typed=self._typed,
        )
        if item is None:
            self._builder.preserve(
                line, fields.as_text(value.get("type")) or "item", "it has no counterpart in sessiond"
            )
            return
        made = self._add(line, item.type, item.payload, at)
        self._builder.count(item.kind)
        if item.is_user_turn and made is not None:
            self._turns.add(made)

    def _take_context(self, line: SourceLine, payload: dict[str, Any], at: str) -> None:
        builder, model, effort = (
            self._builder,
            fields.text(payload.get("model")),
            fields.text(payload.get("effort")),
        )
        if not builder.cwd:
            builder.cwd = fields.text(payload.get("cwd")) or ""
        if model is not None and model != self._model:
            self._model = model
            change = {"model": f"{self._provider}/{model}", "provider": self._provider, "modelId": model}
            self._add(line, "model_change", change, at)
            builder.count("model change")
        if effort is not None and effort != self._effort:
            self._effort = effort
            self._add(line, "thinking_level_change", {"thinkingLevel": effort}, at)
            builder.count("thinking level change")
        rest = fields.without(payload, "turn_id", "model", "effort", "current_date")
        if rest != self._turn_context:
            self._turn_context = rest
            builder.preserve(line, "turn_context", "it has more fields than the model")
        else:
            builder.count("turn context")

    def _take_compacted(self, line: SourceLine, payload: dict[str, Any], at: str) -> None:
        history = payload.get("replacement_history")
        summary = fields.text(payload.get("message"))
        if summary is None:
            messages = [fields.mapping(it) for it in fields.items(history)]
            summary = next((text for it in reversed(messages) if (text := codex_items.text_of(it))), "")
        details = {name: payload[name] for name in payload if name != "message" and payload[name] is not None}
        entry: dict[str, Any] = {"summary": summary, "firstKeptEntryId": None, "tokensBefore": self._tokens}
        if details:
            entry["details"] = details
        self._add(line, "compaction", entry, at)
        self._builder.count("compaction")

    # --- events ----------------------------------------------------------------------------------------

    def _take_event(self, line: SourceLine, payload: dict[str, Any], at: str) -> None:
        builder = self._builder
        match payload.get("type"):
            case "thread_rolled_back":
                self._roll_back(line, payload.get("num_turns"))
            case "thread_name_updated" if name := fields.text(fields.first(payload, "thread_name", "name")):
                self._named = True
                builder.add_beside(line, "session_info", {"name": name}, at=at)
                builder.count("title")
            case "token_count" if payload.get("info") is None:
                builder.count("token count")
            case "token_count" if isinstance(payload.get("info"), dict):
                self._count_tokens(line, payload["info"], at)
            case kind:
                builder.preserve(
                    line, f"event {fields.as_text(kind)}".strip(), "it has no counterpart in sessiond"
                )

    def _roll_back(self, line: SourceLine, turns: Any) -> None:
        builder, dropped = self._builder, self._tip
        at, left = dropped, turns if isinstance(turns, int) and not isinstance(turns, bool) else 0
        while at is not None and left > 0:
            left -= at in self._turns
            at = self._above.get(at)
        if left > 0:
            builder.report.add_problem(
                line.number, f"{left} of the turns that were rolled back are not in the file"
            )
        if dropped is not None and at != dropped:
            builder.add_beside(line, "label", {"targetId": dropped, "label": ROLLED_BACK})
            self._tip = at
        builder.count("rollback")

    def _count_tokens(self, line: SourceLine, info: dict[str, Any], at: str) -> None:
        """Add the usage of a request as an entry. A repeated count is not another request."""
        builder, last = self._builder, fields.mapping(info.get("last_token_usage"))
        builder.count("token count")
        if info.get("total_token_usage") == self._counted or not last:
            return
        self._counted = info.get("total_token_usage")
        cached = fields.number(last.get("cached_input_tokens"))
        usage = {
            "input": max(0, fields.number(last.get("input_tokens")) - cached),
            "output": fields.number(last.get("output_tokens")), "cacheRead": cached, "cacheWrite": 0,
            "totalTokens": fields.number(last.get("total_tokens")), "cost": no_cost(),
        }  # fmt: skip
        self._tokens = fields.number(last.get("total_tokens"))
        entry = {
            "purpose": "turn",
            "provider": self._provider,
            "model": self._model or "unknown",
            "usage": usage,
        }
        self._add(line, "model_usage", entry, at)


def _item(value: dict[str, Any]) -> dict[str, Any] | None:
    """Return the response item of a line, with or without an envelope, or None."""
    if value.get("type") == "response_item" and isinstance(value.get("payload"), dict):
        return fields.mapping(value["payload"])
    return value if fields.text(value.get("type")) in _BARE and "payload" not in value else None


def _mirrored(value: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (role, text) for each text of an item that events may repeat."""
    item = _item(value)
    if item is None:
        return []
    if item.get("type") == "message":
        return [(fields.as_text(item.get("role")), codex_items.text_of(item).strip())]
    if item.get("type") == "reasoning":
        parts = [*fields.items(item.get("summary")), *fields.items(item.get("content"))]
        return [("reasoning", fields.as_text(fields.mapping(part).get("text")).strip()) for part in parts]
    return []


def _mirror(value: dict[str, Any]) -> tuple[str, str] | None:
    """Return (role, text) of an event that mirrors an item, or None."""
    payload = fields.mapping(value.get("payload"))
    kind = fields.text(payload.get("type")) or ""
    if value.get("type") != "event_msg" or kind not in _MIRRORS:
        return None
    role = {"user_message": "user", "agent_message": "assistant"}.get(kind, "reasoning")
    return role, fields.as_text(payload.get(_MIRRORS[kind])).strip()
