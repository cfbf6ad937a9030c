"""Reads Codex rollouts: a list of items, with turns that are rolled back and histories that are replaced.

Turns that were rolled back become a branch with a label. A `compacted` line becomes a compaction, followed by the
messages of users that its replacement history retains. Events that only mirror an item are counted and not stored
(decision 0023). Ids come from the time and content of a line and not from its number, so that a migrated rollout
becomes the same entries (decision 0041).
"""

from typing import Any, Final

from sessiond.session.content import fields
from sessiond.session.dialects import codex_events, codex_items
from sessiond.session.dialects.claude_messages import no_cost
from sessiond.session.dialects.codex_events import Event, Mirrors
from sessiond.session.dialects.codex_items import Speaker
from sessiond.session.dialects.import_builder import ImportBuilder, Imported
from sessiond.session.dialects.source import Source, SourceLine

NAME: Final = codex_items.NAME

_RECORDS: Final = frozenset((
    "session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state", "token_usage_record",
))  # fmt: skip
_ENVELOPE: Final = ("timestamp", "type", "payload", "ordinal")
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
        self._told_again: dict[str, Any] | None = None
        """The tokens of a `token_usage_record`, which a `token_count` repeats."""
        self._thread: str | None = None
        """The thread that the last header names: in a fork, the one whose lines follow."""
        self._named = False
        self._typed: set[str] = set()
        self._named_source = False

    def read(self) -> Imported:
        builder, found = self._builder, list(self._source.lines())
        mirrors = Mirrors(found)
        for line in found:
            if line.value is not None and (event := codex_events.event_of(line.value)) is not None:
                self._typed.update(event.texts if event.role == "user" else ())
        for line in found:
            if line.value is None:
                builder.preserve_unreadable(line)
            elif (event := codex_events.event_of(line.value)) is None:
                self._take(line, line.value)
            elif event.is_made or mirrors.has(event, line.number):
                builder.time_of(line.value.get("timestamp"))
                builder.count("mirror")
            elif event.role is not None and self._source.growing and mirrors.is_open(line.number):
                builder.report.held_back_count += 1  # the item that it mirrors is expected later
            else:
                at = builder.time_of(line.value.get("timestamp"))
                self._take_event(line, event, fields.mapping(line.value.get("payload")), at)
        title = fields.text(self._source.beside.get("title"))
        if title is not None and not self._named:
            builder.title = title
        builder.leaf = self._tip
        return builder.finish()

    def _take(self, line: SourceLine, value: dict[str, Any]) -> None:
        at = self._builder.time_of(value.get("timestamp"))
        type, payload = (
            fields.as_text(value.get("type")),
            fields.mapping(value.get("payload")),
        )
        item = codex_items.unwrapped(value)
        if item is not None:
            self._take_item(line, item, at)
        elif type == "session_meta" or _is_old_header(value):
            self._take_meta(line, payload or value)
        elif type == "turn_context" and payload:
            self._take_context(line, payload, at)
        elif type == "compacted" and payload:
            self._take_compacted(line, payload, at)
        elif type == "token_usage_record" and isinstance(payload.get("usage"), dict):
            self._count_tokens(line, payload["usage"], payload.get("thread_token_usage"), at, payload)
        else:
            self._preserve(line, type or fields.as_text(value.get("record_type")) or "without a type")

    def _add(self, line: SourceLine, type: str, payload: dict[str, Any], at: str, *parts: str) -> str | None:
        made = self._builder.add(line, _name("line", line, type, *parts), self._tip, type, payload, at=at)
        if made is not None and made != self._tip:
            self._above[made] = self._tip
        self._tip = made
        return made

    def _preserve(
        self, line: SourceLine, kind: str, *parts: str, reason: str = "it has no counterpart in sessiond"
    ) -> None:
        self._builder.preserve(line, kind, reason, name=_name("raw", line, kind, *parts))

    def _take_meta(self, line: SourceLine, payload: dict[str, Any]) -> None:
        builder = self._builder
        self._thread = fields.text(fields.first(payload, "id", "session_id")) or self._thread
        if self._named_source:
            self._preserve(line, "session_meta", reason="the first one names the session")
            return
        self._named_source = True
        builder.source_id = (
            fields.text(payload.get("id")) or fields.text(payload.get("session_id")) or builder.source_id
        )
        builder.cwd = fields.text(payload.get("cwd")) or ""
        builder.parent_source = _parent_of(payload)
        self._provider = fields.text(payload.get("model_provider")) or self._provider
        builder.source_version = fields.text(payload.get("cli_version"))
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
            self._preserve(line, fields.as_text(value.get("type")) or "item", codex_items.key_of(value))
            return
        rest = fields.without(line.value or {}, *_ENVELOPE)
        if rest and line.value is not value:
            item.payload["foreign"] = {**item.payload.get("foreign", {}), **rest}
        made = self._add(line, item.type, item.payload, at, codex_items.key_of(value))
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
            self._add(line, "model_change", change, at, model)
            builder.count("model change")
        if effort is not None and effort != self._effort:
            self._effort = effort
            self._add(line, "thinking_level_change", {"thinkingLevel": effort}, at, effort)
            builder.count("thinking level change")
        rest = fields.without(payload, "turn_id", "model", "effort", "current_date")
        if rest != self._turn_context:
            self._turn_context = rest
            self._preserve(line, "turn_context", reason="it has more fields than the model")
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
        for it in (fields.mapping(it) for it in fields.items(history)):
            text = codex_items.text_of(it)
            is_summary = text == summary or (bool(summary.strip()) and text.endswith(summary.strip()))
            if not is_summary and text.strip() and codex_items.is_typed(it, self._typed):
                self._retain(line, it, at)

    def _retain(self, line: SourceLine, value: dict[str, Any], at: str) -> None:
        """Add a message of the user that the model still sees after a compaction."""
        speaker = Speaker(self._provider, self._model or "unknown")
        item = codex_items.item_of(
            value, at=at, speaker=speaker, tools=self._tools, fallback_id="", typed=self._typed
        )
        if item is not None:
            self._add(line, item.type, item.payload, at, codex_items.key_of(value))
            self._builder.count("retained")

    # --- events ----------------------------------------------------------------------------------------

    def _take_event(self, line: SourceLine, event: Event, payload: dict[str, Any], at: str) -> None:
        builder = self._builder
        match event.kind:
            case "thread_rolled_back":
                self._roll_back(line, payload.get("num_turns"))
            case "thread_name_updated" if name := fields.text(fields.first(payload, "thread_name", "name")):
                self._named = True
                builder.add_beside(
                    line, "session_info", {"name": name}, at=at, name=_name("title", line, name)
                )
                builder.count("title")
            case "token_count" if payload.get("info") is None:
                builder.count("token count")
            case "token_count" if isinstance(payload.get("info"), dict):
                info = payload["info"]
                self._count_tokens(
                    line, fields.mapping(info.get("last_token_usage")), info.get("total_token_usage"), at
                )
            case "UserMessage" | "AgentMessage" if event.role is not None:
                self._take_unsent(line, event.role, event.texts[0], at)
            case kind:
                self._preserve(line, f"event {kind}".strip(), event.call_id, *event.texts)

    def _take_unsent(self, line: SourceLine, role: str, text: str, at: str) -> None:
        """Add a message that is in no item, because the model was not sent it. It is beside the conversation's path."""
        speaker = Speaker(self._provider, self._model or "unknown")
        payload = {"message": codex_items.said(role, text, at=at, speaker=speaker)}
        self._builder.add(
            line, _name("line", line, "unsent", role, text), self._tip, "message", payload, at=at
        )
        self._builder.count("unsent message")

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
            label = {"targetId": dropped, "label": ROLLED_BACK}
            builder.add_beside(line, "label", label, name=_name("line", line, "label", dropped))
            self._tip = at
        builder.count("rollback")

    def _count_tokens(
        self,
        line: SourceLine,
        last: dict[str, Any],
        total: object,
        at: str,
        record: dict[str, Any] | None = None,
    ) -> None:
        """Add the usage of a request as an entry. A repeated count is not another request.

        A `token_count` repeats the tokens of the `token_usage_record` before it. The totals of the two differ if an
        earlier version of Codex wrote the lines before.

        A fork repeats the counts of its source. So `requestKey` names the thread that made the request.

        Args:
            line: The line.
            last: The tokens of the request.
            total: The tokens of the thread up to it.
            at: Its time.
            record: Has the ids of the thread and of the response, if the line has them.
        """
        self._builder.count("token count")
        told_again, self._told_again = self._told_again, None if record is None else last
        if total == self._counted or not last:
            return
        self._counted = total
        if record is None and last == told_again:
            return
        cached = fields.number(last.get("cached_input_tokens"))
        written = fields.number(last.get("cache_write_input_tokens"))
        usage = {
            "input": max(0, fields.number(last.get("input_tokens")) - cached - written),
            "output": fields.number(last.get("output_tokens")), "cacheRead": cached, "cacheWrite": written,
            "totalTokens": fields.number(last.get("total_tokens")), "cost": no_cost(),
        }  # fmt: skip
        if "reasoning_output_tokens" in last:
            usage["reasoningTokens"] = fields.number(last.get("reasoning_output_tokens"))
        self._tokens = fields.number(last.get("total_tokens"))
        ids = record or {}
        thread = fields.text(ids.get("thread_id")) or self._thread or self._builder.source_id
        response = fields.text(ids.get("response_id")) or fields.digest(fields.dumps(total).decode())
        entry = {
            "purpose": "turn",
            "provider": self._provider,
            "model": self._model or "unknown",
            "usage": usage,
            "requestKey": f"{thread}/{response}",
        }
        self._add(line, "model_usage", entry, at)


def _name(prefix: str, line: SourceLine, *parts: str) -> str:
    """Return an id that follows from the time of a line and `parts` of its content."""
    return f"{prefix}-{fields.digest(fields.as_text((line.value or {}).get('timestamp')), *parts)}"


def _parent_of(payload: dict[str, Any]) -> str | None:
    """Return the id of the session that a sub-agent works for, or that a session was forked from."""
    serves = fields.mapping(fields.mapping(payload.get("source")).get("subagent"))
    for found in (fields.mapping(it) for it in serves.values()):
        if (parent := fields.text(found.get("parent_thread_id"))) is not None:
            return parent
    return fields.text(fields.first(payload, "forked_from_id", "parent_thread_id"))
