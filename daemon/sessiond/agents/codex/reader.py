"""Reads Codex rollouts: a list of items, with turns that are rolled back and histories that are replaced.

Turns that were rolled back become a branch with a label. A `compacted` line becomes a compaction, followed by the
messages of users that its replacement history retains. Events that only mirror an item are counted and not stored
(decision 0023). Ids come from the time and content of a line and not from its number, so that a migrated rollout
becomes the same entries (decision 0041).
"""

from collections.abc import Container, Iterable
from typing import Any, Final

import msgspec

from sessiond.agents.codex import (
    events as codex_events,
    history as codex_history,
    items as codex_items,
    tokens as codex_tokens,
)
from sessiond.agents.codex.events import Event
from sessiond.agents.codex.items import Speaker
from sessiond.agents.formats import Dialect
from sessiond.session.content import fields
from sessiond.session.dialects import copy_mark
from sessiond.session.dialects.import_builder import ROLLED_BACK, BuilderState, ImportBuilder, Imported
from sessiond.session.dialects.source import HeldLine, Source, SourceLine

NAME: Final = codex_items.NAME

_RECORDS: Final = frozenset((
    "session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state", "token_usage_record",
))  # fmt: skip
_ENVELOPE: Final = ("timestamp", "type", "payload", "ordinal")
_AUTOMATED: Final = ("exec", "mcp")
"""Sources of threads, and triggers of turns, that are programs."""


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
    reader = CodexReader(source)
    reader.take(source.lines())
    if not source.growing:
        reader.end()
    return reader.result()


def _is_old_header(value: dict[str, Any]) -> bool:
    return (
        "type" not in value
        and {"id", "timestamp"} <= value.keys()
        and bool({"instructions", "git"} & value.keys())
    )


class _OpenEvent(msgspec.Struct, array_like=True):
    """An event that may mirror a later item: its line, its time, and the entry at the end of the path before it."""

    held: HeldLine
    at: str
    tip: str | None


class _State(msgspec.Struct):
    """The state of a reader after the lines that it has taken: ids and digests, and no messages.

    Attributes:
        builder: The state of its builder.
        source_id: The id of the session.
        cwd: The folder of the session.
        version: The version of Codex.
        tip: The entry at the end of the path.
        above: The entry before each entry.
        turns: The entries at which a turn of a user begins.
        tools: The names of tools, by the id of the call.
        provider: The provider of the model.
        model: The model.
        effort: The reasoning effort.
        turn_context: The digest of the other fields of the last `turn_context`.
        tokens: The tokens of the last request.
        requests: The requests whose tokens were counted.
        is_named: Whether a line names the session.
        typed: The digests of texts that events report as typed by the user.
        has_header: Whether the first header came.
        is_automated: Whether a program gave all prompts so far.
        said: The digests of the texts of items, which events repeat.
        open_events: Events with a text that no item has said yet.
        held: The last lines, which wait for later ones.
        lines: The digests of the lines.
        last_line: The digest of the last line.
        last_at: Its time in seconds.
        is_burst: Whether the line before that has the same time, as in a fork, which copies lines at one time.
    """

    builder: BuilderState | None = None
    source_id: str | None = None
    cwd: str = ""
    version: str | None = None
    tip: str | None = None
    above: dict[str, str | None] = {}
    turns: set[str] = set()
    tools: dict[str, str] = {}
    provider: str = "openai"
    model: str | None = None
    effort: str | None = None
    turn_context: str | None = None
    tokens: int | float = 0
    requests: codex_tokens.TokenCounts = msgspec.field(default_factory=codex_tokens.TokenCounts)
    is_named: bool = False
    typed: set[str] = set()
    has_header: bool = False
    is_automated: bool = False
    said: set[str] = set()
    open_events: list[_OpenEvent] = []
    held: list[HeldLine] = []
    lines: set[str] = set()
    last_line: str = ""
    last_at: float | None = None
    is_burst: bool = False


class CodexReader:
    """Takes the lines of a rollout, a part at a time. Lines that are not final yet wait for later ones.

    Args:
        source: The file. Its lines are given to `take`.
        state: The state of a reader that has taken the lines before; None if there are none.
    """

    is_behind = False

    def __init__(self, source: Source, state: bytes | None = None) -> None:
        self._source = source
        self._builder = ImportBuilder(NAME, source)
        self._state = _State() if state is None else msgspec.msgpack.decode(state, type=_State)
        self._held = [line.line for line in self._state.held]
        if self._state.builder is not None:
            builder = self._builder
            builder.restore(self._state.builder)
            builder.source_id = self._state.source_id or builder.source_id
            builder.cwd, builder.source_version = self._state.cwd, self._state.version

    @property
    def builder(self) -> ImportBuilder:
        """The builder of its entries."""
        return self._builder

    def state(self) -> bytes:
        """Return the state after the lines that were taken, for another reader that continues."""
        state = self._state
        state.builder = self._builder.state()
        state.held = [HeldLine.of(line) for line in self._held]
        return msgspec.msgpack.encode(state)

    def take(self, lines: Iterable[SourceLine]) -> None:
        """Take the next lines."""
        found = [*self._held, *lines]
        held_from = self._undecided(found)
        self._held = [] if held_from is None else found[held_from:]
        self._take_all(found[:held_from])

    def end(self) -> None:
        """Take also the lines that wait for later ones, because no later lines follow."""
        held, self._held = self._held, []
        self._take_all(held)
        self._close_events()

    def result(self) -> Imported:
        """Return the session with the entries of the lines that were taken since the last call."""
        builder, state = self._builder, self._state
        builder.report.held_back_count = len(state.open_events) + len(self._held)
        title = fields.text(self._source.beside.get("title"))
        if title is not None and not state.is_named:
            builder.title = title
        builder.leaf = state.tip
        return builder.finish()

    def _undecided(self, found: list[SourceLine]) -> int | None:
        """Return the index of the first message that a user or Codex wrote, if only a later event shows which."""
        for place, line in enumerate(found):
            item = codex_items.unwrapped(line.value or {})
            if item is None or item.get("role") != "user" or codex_items.is_typed(item):
                continue
            text = codex_items.text_of(item).strip()
            if not codex_items.is_typed(item, (text,)) or text in _Digests(self._state.typed):
                continue
            for later in found[place + 1 :]:
                event = codex_events.event_of(later.value or {})
                if (event is not None and event.role == "user") or _is_answer(later):
                    break
            else:
                return place
        return None

    def _take_all(self, found: list[SourceLine]) -> None:
        builder, state = self._builder, self._state
        until = 0
        for place, line in enumerate(found):
            if line.value is None:
                if not line.is_inherited:  # the session that it belongs to has the usage
                    builder.preserve_unreadable(line)
                continue
            if self._is_repeat(line, line.value):
                builder.count("repeated")
                continue
            if place >= until:
                until = self._note_typed(found, place)
            state.requests.pass_line(line.value)
            self._note_takeover(line, line.value)
            if (event := codex_events.event_of(line.value)) is None:
                self._say(line.value)
                if _is_answer(line):
                    self._close_events()
                self._take(line, line.value)
                continue
            at = builder.time_of(line.value.get("timestamp"))
            if event.is_made or self._mirrors(event):
                builder.count("mirror")
            elif event.role is not None:
                state.open_events.append(_OpenEvent(HeldLine.of(line), at, state.tip))
            else:
                self._take_event(line, event, fields.mapping(line.value.get("payload")), at)

    def _note_typed(self, found: list[SourceLine], start: int) -> int:
        """Note the texts that the user typed up to the next answer. Returns the index after the answer."""
        for place in range(start, len(found)):
            event = codex_events.event_of(found[place].value or {})
            if event is not None and event.role == "user":
                self._state.typed.update(map(fields.digest, event.texts))
            if _is_answer(found[place]):
                return place + 1
        return len(found)

    def _is_repeat(self, line: SourceLine, value: dict[str, Any]) -> bool:
        """Return whether the line was written again: after later lines, or directly after itself.

        In a fork, lines that differ in nothing may have been said twice: they all have the time of the fork.
        """
        state, at = self._state, fields.seconds(value.get("timestamp"))
        digest = fields.digest(line.raw.decode("latin-1"))
        if digest in state.lines and at is not None and state.last_at is not None:
            is_at_once = digest == state.last_line and not state.is_burst
            if is_at_once or at < state.last_at:
                return True
        state.lines.add(digest)
        state.is_burst, state.last_at, state.last_line = at == state.last_at, at, digest
        return False

    def _note_takeover(self, line: SourceLine, value: dict[str, Any]) -> None:
        """Record that a person continues a thread that a program began."""
        if line.is_inherited:
            return
        if self._state.is_automated and _is_persons_turn(fields.mapping(value.get("payload"))):
            self._state.is_automated = False
            self._builder.record_takeover(line, by="person", name=_name("line", line, "takeover"))

    def _mirrors(self, event: Event) -> bool:
        """Return whether items said the texts of an event."""
        said = self._state.said
        return bool(event.texts) and all(
            fields.digest(event.role or "", text) in said for text in event.texts
        )

    def _say(self, value: dict[str, Any]) -> None:
        """Note the texts of an item, which events mirror."""
        item = codex_items.unwrapped(value)
        if item is None:
            return
        keys = {fields.digest(*key) for key in codex_events.texts_of(item)}
        state = self._state
        if not keys <= state.said:
            state.said |= keys
            still_open = []
            for opened in state.open_events:
                event = codex_events.event_of(opened.held.line.value or {})
                if event is not None and self._mirrors(event):
                    self._builder.count("mirror")
                else:
                    still_open.append(opened)
            state.open_events = still_open

    def _close_events(self) -> None:
        """Take the events without an item: an answer or the end has arrived. Each is below the path before it."""
        state = self._state
        opened, state.open_events = state.open_events, []
        for pending in opened:
            line = pending.held.line
            event = codex_events.event_of(line.value or {})
            if event is not None:
                tip, state.tip = state.tip, pending.tip
                self._take_event(line, event, fields.mapping((line.value or {}).get("payload")), pending.at)
                state.tip = tip

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
            request = self._state.requests.of_record(payload, self._builder.source_id)
            self._count_request(line, payload["usage"], request, at)
        else:
            self._preserve(line, type or fields.as_text(value.get("record_type")) or "without a type")

    def _add(self, line: SourceLine, type: str, payload: dict[str, Any], at: str, *parts: str) -> str | None:
        made = self._builder.add(
            line, _name("line", line, type, *parts), self._state.tip, type, payload, at=at
        )
        if made is not None and made != self._state.tip:
            self._state.above[made] = self._state.tip
        self._state.tip = made
        return made

    def _preserve(
        self, line: SourceLine, kind: str, *parts: str, reason: str = "it has no counterpart in sessiond"
    ) -> None:
        if line.is_inherited:  # the session that it belongs to has the usage
            self._builder.count("inherited")
            return
        self._builder.preserve(line, kind, reason, name=_name("raw", line, kind, *parts))

    def _take_meta(self, line: SourceLine, payload: dict[str, Any]) -> None:
        builder = self._builder
        if self._state.has_header:
            self._preserve(line, "session_meta", reason="the first one names the session")
            return
        self._state.has_header = True
        builder.source_id = (
            fields.text(payload.get("id")) or fields.text(payload.get("session_id")) or builder.source_id
        )
        builder.cwd = fields.text(payload.get("cwd")) or ""
        builder.parent_source = codex_tokens.parent_of(payload)
        self._state.provider = fields.text(payload.get("model_provider")) or self._state.provider
        builder.source_version = fields.text(payload.get("cli_version"))
        self._state.source_id, self._state.version = builder.source_id, builder.source_version
        self._state.cwd = builder.cwd
        if (base := self._missing_base(payload)) is not None:
            builder.record_missing_history(line, base.thread, base.end)
        builder.take_mark(payload.get(copy_mark.MARK))
        builder.origin["meta"] = fields.dumps(payload).decode()
        self._state.is_automated = _is_automated(payload)
        if self._state.is_automated:
            builder.origin["automated"] = True
        builder.count("header")

    def _missing_base(self, header: dict[str, Any]) -> codex_history.HistoryBase | None:
        """Return where the history begins, if the rollout that has its beginning was not found."""
        if self._source.inherited:
            return codex_history.base_of(self._source.inherited)
        return codex_history.base_in(header)

    def _take_item(self, line: SourceLine, value: dict[str, Any], at: str) -> None:
        speaker = Speaker(self._state.provider, self._state.model or "unknown")
        item = codex_items.item_of(
            value,
            at=at,
            speaker=speaker,
            tools=self._state.tools,
            fallback_id=f"line-{line.key}",
            typed=_Digests(self._state.typed),
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
            self._state.turns.add(made)

    def _take_context(self, line: SourceLine, payload: dict[str, Any], at: str) -> None:
        builder, model, effort = (
            self._builder,
            fields.text(payload.get("model")),
            fields.text(payload.get("effort")),
        )
        if not builder.cwd:
            builder.cwd = self._state.cwd = fields.text(payload.get("cwd")) or ""
        if model is not None and model != self._state.model:
            self._state.model = model
            change = {
                "model": f"{self._state.provider}/{model}",
                "provider": self._state.provider,
                "modelId": model,
            }
            self._add(line, "model_change", change, at, model)
            builder.count("model change")
        if effort is not None and effort != self._state.effort:
            self._state.effort = effort
            self._add(line, "thinking_level_change", {"thinkingLevel": effort}, at, effort)
            builder.count("thinking level change")
        rest = fields.without(payload, "turn_id", "model", "effort", "current_date")
        digest = fields.digest(fields.dumps(rest).decode())
        if digest != self._state.turn_context and not line.is_inherited:
            self._state.turn_context = digest
            self._preserve(line, "turn_context", reason="it has more fields than the model")
        else:
            builder.count("turn context")

    def _take_compacted(self, line: SourceLine, payload: dict[str, Any], at: str) -> None:
        history = payload.get("replacement_history")
        summary = fields.text(payload.get("message"))
        if summary is None:
            messages = [fields.mapping(item) for item in fields.items(history)]
            summary = next(
                (text for message in reversed(messages) if (text := codex_items.text_of(message))), ""
            )
        details = {name: payload[name] for name in payload if name != "message" and payload[name] is not None}
        entry: dict[str, Any] = {
            "summary": summary,
            "firstKeptEntryId": None,
            "tokensBefore": self._state.tokens,
        }
        if details:
            entry["details"] = details
        self._add(line, "compaction", entry, at)
        self._builder.count("compaction")
        for item in (fields.mapping(item) for item in fields.items(history)):
            text = codex_items.text_of(item)
            is_summary = text == summary or (bool(summary.strip()) and text.endswith(summary.strip()))
            if not is_summary and text.strip() and codex_items.is_typed(item, _Digests(self._state.typed)):
                self._retain(line, item, at)

    def _retain(self, line: SourceLine, value: dict[str, Any], at: str) -> None:
        """Add a message of the user that the model still sees after a compaction."""
        speaker = Speaker(self._state.provider, self._state.model or "unknown")
        item = codex_items.item_of(
            value,
            at=at,
            speaker=speaker,
            tools=self._state.tools,
            fallback_id="",
            typed=_Digests(self._state.typed),
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
            case "thread_name_updated" if line.is_inherited:
                builder.count("inherited")
            case "thread_name_updated" if name := fields.text(fields.first(payload, "thread_name", "name")):
                self._state.is_named = True
                builder.add_beside(
                    line, "session_info", {"name": name}, at=at, name=_name("title", line, name)
                )
                builder.count("title")
            case "token_count" if payload.get("info") is None:
                builder.count("token count")
            case "token_count" if isinstance(payload.get("info"), dict):
                request = self._state.requests.of_count(payload["info"], self._builder.source_id)
                self._count_request(line, payload["info"].get("last_token_usage"), request, at)
            case "UserMessage" | "AgentMessage" if event.role is not None:
                self._take_unsent(line, event.role, event.texts[0], at)
            case kind:
                self._preserve(line, f"event {kind}".strip(), event.call_id, *event.texts)

    def _take_unsent(self, line: SourceLine, role: str, text: str, at: str) -> None:
        """Add a message that no item contains, because the model did not get it. It is beside the path."""
        speaker = Speaker(self._state.provider, self._state.model or "unknown")
        payload = {"message": codex_items.said(role, text, at=at, speaker=speaker)}
        self._builder.add(
            line, _name("line", line, "unsent", role, text), self._state.tip, "message", payload, at=at
        )
        self._builder.count("unsent message")

    def _roll_back(self, line: SourceLine, turns: Any) -> None:
        builder, dropped = self._builder, self._state.tip
        at, left = dropped, turns if isinstance(turns, int) and not isinstance(turns, bool) else 0
        while at is not None and left > 0:
            left -= at in self._state.turns
            at = self._state.above.get(at)
        if left > 0:
            builder.report.add_problem(
                max(0, line.number), f"{left} of the turns that were rolled back are not in the file"
            )
        if dropped is not None and at != dropped:
            label = {"targetId": dropped, "label": ROLLED_BACK}
            builder.add_beside(line, "label", label, name=_name("line", line, "label", dropped))
            self._state.tip = at
        builder.count("rollback")

    def _count_request(self, line: SourceLine, told: Any, request: str | None, at: str) -> None:
        """Add the usage of a request as an entry, unless an earlier line had it."""
        self._builder.count("token count")
        if request is None:
            return
        usage = codex_tokens.usage_of(fields.mapping(told))
        self._state.tokens = usage["totalTokens"]
        entry = {
            "purpose": "turn", "provider": self._state.provider, "model": self._state.model or "unknown",
            "usage": usage, "requestKey": request,
        }  # fmt: skip
        self._add(line, "model_usage", entry, at)


def _name(prefix: str, line: SourceLine, *parts: str) -> str:
    """Return an id that follows from the time of a line and `parts` of its content."""
    return f"{prefix}-{fields.digest(fields.as_text((line.value or {}).get('timestamp')), *parts)}"


def _is_answer(line: SourceLine) -> bool:
    item = codex_items.unwrapped(line.value or {})
    return item is not None and item.get("type") == "message" and item.get("role") == "assistant"


class _Digests(Container[str]):
    """Texts of which only the digests are known."""

    def __init__(self, digests: set[str]) -> None:
        self._digests = digests

    def __contains__(self, text: object) -> bool:
        return fields.digest(fields.as_text(text)) in self._digests


def _is_automated(header: dict[str, Any]) -> bool:
    """Return whether a program gave the prompts: `codex exec`, another agent by MCP, or a sub-agent of these."""
    source = header.get("source")
    return source in _AUTOMATED or (isinstance(source, dict) and header.get("originator") == "codex_exec")


def _is_persons_turn(event: dict[str, Any]) -> bool:
    """Return whether an event is the start of a turn that was not triggered by `codex exec`."""
    trigger = event.get("turn_attribution") if event.get("type") == "task_started" else None
    return isinstance(trigger, dict) and trigger.get("turn_trigger") not in _AUTOMATED


DIALECT: Final = Dialect(NAME, "Codex rollouts", detect, read, reader=CodexReader)
