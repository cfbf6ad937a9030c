"""Converts the messages of a session to entries: prompts, answers, tool calls, permissions and plans.

The entries and their ids depend only on the messages, so messages that are read again give the same entries, and
the daemon stores no entry twice. Only the pieces of a text that is still being written depend on the time at which
they are taken. These pieces are not on the path, which continues with the whole text (decision 0049).
"""

from dataclasses import dataclass, field
from typing import Any, Final

from sessiond.acp import content
from sessiond.acp.tool_calls import RecordedCall
from sessiond.session.content import fields
from sessiond.session.tree import entries

Json = dict[str, Any]

CHUNK_TYPE: Final = "sessiond.acpChunk"
"""`customType` of a piece of a text that is being written: {kind, messageId, text}."""
PERMISSION_TYPE: Final = "sessiond.acpPermission"
"""`customType` of an answered request for a permission: {toolCall, options, outcome}."""
PLAN_TYPE: Final = "sessiond.acpPlan"
"""`customType` of the agent's plan: {entries}."""
UPDATE_TYPE: Final = "sessiond.acpUpdate"
"""`customType` of any other update of the agent, unchanged."""
TURN_TYPE: Final = "sessiond.acpTurn"
"""`customType` of the end of a turn: {stopReason, usage, contextUsage, error}."""

_KINDS: Final = {"agent_message_chunk": "text", "agent_thought_chunk": "thinking"}
_CALLS: Final = ("tool_call", "tool_call_update")
_NOT_STORED: Final = ("available_commands_update", "user_message_chunk")
"""Updates that describe the agent rather than the conversation, or repeat what is stored."""
_STOPS: Final = {
    "cancelled": "aborted",
    "max_tokens": "length",
    "max_turn_requests": "length",
    "refusal": "error",
}
_NO_COST: Final = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}


@dataclass(slots=True)
class _OpenText:
    """A text that is being written."""

    kind: str
    message_id: str | None
    parts: list[str] = field(default_factory=list)
    taken: int = 0
    """The number of parts that are in a chunk entry."""
    last_chunk: str | None = None


class SessionRecorder:
    """Makes the entries of one session. `drafts` has the entries that were not taken yet.

    Args:
        agent: The name of the agent.
        key: A text that no other recorder of the session has, for ids of entries.
        parent_id: The entry below which the first one goes.
        model: The name of the model, if it is known.
    """

    def __init__(self, agent: str, key: str, parent_id: str | None, model: str | None = None) -> None:
        self.agent = agent
        self.model = model
        self.takes_titles = True
        self.counts_usage = True
        """Whether the tokens of a turn are stored. If not, the agent's own file has them."""
        self.drafts: list[Json] = []
        self.in_turn = False
        self.parent_id = parent_id
        self._context_usage: Json | None = None
        self.begin(key)

    def begin(self, key: str) -> None:
        """Forget everything except the place, like a new recorder. No turn is open, and no text is being written."""
        self.key = key
        self._count = 0
        self._chunks = 0
        self._used: set[str] = set()
        self._text: _OpenText | None = None
        self._calls: dict[str, RecordedCall] = {}

    @property
    def has_open_text(self) -> bool:
        """Whether a text is being written."""
        return self._text is not None

    @property
    def open_part_count(self) -> int:
        """The number of the pieces of the text that is being written."""
        return 0 if self._text is None else len(self._text.parts)

    def open_updates(self) -> list[Json]:
        """Return the updates that show what has no entry yet: an open text, and calls that wait for their input."""
        found: list[Json] = []
        if (text := self._text) is not None:
            kind = next(name for name, of_kind in _KINDS.items() if of_kind == text.kind)
            more = {} if text.message_id is None else {"messageId": text.message_id}
            block = {"type": "text", "text": "".join(text.parts)}
            found.append({"sessionUpdate": kind, "content": block, **more})
        waiting = [call for call in self._calls.values() if not call.has_call]
        return found + [{**call.known, "sessionUpdate": "tool_call"} for call in waiting]

    # --- messages --------------------------------------------------------------------------------------

    def prompt(self, params: Json) -> None:
        """Take the prompt of a turn: the params of `session/prompt`."""
        self.close()
        self.in_turn = True
        self._calls = {}
        blocks = content.blocks_of(params.get("prompt"))
        more = {} if content.is_plain(params.get("prompt")) else {"prompt": params.get("prompt")}
        message = {"role": "user", "content": blocks}
        own = fields.text(params.get("messageId"))
        # Imports recognize a turn that is being recorded by the member `turn`.
        self._add("message", {"message": message, "acp": {"turn": self.key, **more}}, own)

    def update(self, found: Json) -> None:
        """Take the member `update` of a `session/update`."""
        kind = found.get("sessionUpdate")
        if kind in _KINDS:
            self._take_chunk(_KINDS[kind], found)
        elif kind in _CALLS:
            self._take_call(found)
        elif kind == "plan":
            self.close()
            self._custom(PLAN_TYPE, {"entries": found.get("entries")})
        elif kind == "usage_update":
            self._context_usage = fields.without(found, "sessionUpdate")
        elif kind == "session_info_update" and self.takes_titles and fields.text(found.get("title")):
            self.close()
            title = fields.as_text(found["title"])
            self._add("session_info", {"name": title}, f"title-{fields.digest(title)}")
        elif kind not in _NOT_STORED:
            self.close()
            self._custom(UPDATE_TYPE, found)

    def permission(self, params: Json) -> None:
        """Take a request for a permission, which may be the first message of its tool call."""
        call = fields.mapping(params.get("toolCall"))
        if fields.text(call.get("toolCallId")):
            self._take_call(call, is_asked=True)

    def answered(self, params: Json, outcome: Any) -> None:
        """Take the answer to a request for a permission.

        Args:
            params: The params of the request.
            outcome: The member `outcome` of the answer.
        """
        self.close()
        asked = {"toolCall": params.get("toolCall"), "options": params.get("options"), "outcome": outcome}
        self._custom(PERMISSION_TYPE, asked)

    def ended(self, result: Json | None, error: Any = None) -> None:
        """Take the end of a turn: the result of its prompt, or the reason why it has no result."""
        stop = "error" if result is None else fields.as_text(result.get("stopReason")) or "end_turn"
        usage = None if result is None else _usage_in(result)
        self.model = _model_in(result or {}) or self.model
        counted = usage if self.counts_usage else None
        if counted and not self.has_open_text:
            spent = {"provider": self.agent, "model": self.model or "unknown", "usage": _usage(counted)}
            self.close()
            self._add("model_usage", {"purpose": "turn", **spent})
        self.close(_STOPS.get(stop, "error" if result is None else "stop"), counted)
        for call in self._calls.values():
            if call.has_call and not call.has_result and call.has_output:
                self._result(call)
        data = {
            "stopReason": None if result is None else stop, "usage": usage, "contextUsage": self._context_usage,
            "error": error,
        }  # fmt: skip
        self._custom(TURN_TYPE, {name: value for name, value in data.items() if value is not None})
        self.in_turn = False

    def close(self, stop_reason: str = "stop", usage: Any = None) -> None:
        """Make the entry of the text that is being written, and those of calls that wait for their input."""
        text, self._text = self._text, None
        if text is not None:
            joined = "".join(text.parts)
            block = {"type": text.kind, text.kind: joined}
            self._add_answer(block, text.message_id, stop_reason, usage)
        for call in self._calls.values():
            if not call.has_call:
                self._call(call)

    def chunk(self) -> None:
        """Make an entry of the new part of the text that is being written, since its last entry."""
        text = self._text
        if text is None or text.taken == len(text.parts):
            return
        self._chunks += 1
        entry_id = f"{self.key}-chunk-{self._chunks}"
        data = {"kind": text.kind, "messageId": text.message_id, "text": "".join(text.parts[text.taken :])}
        self.drafts.append(
            {
                "type": "custom", "id": entry_id, "parentId": text.last_chunk or self.parent_id,
                "customType": CHUNK_TYPE, "data": {name: value for name, value in data.items() if value is not None},
            }
        )  # fmt: skip
        text.taken, text.last_chunk = len(text.parts), entry_id

    # --- parts -----------------------------------------------------------------------------------------

    def _take_chunk(self, kind: str, found: Json) -> None:
        block = content.block_of(found.get("content"))
        if block is None:
            return
        message_id = fields.text(found.get("messageId"))
        if block["type"] != "text":
            self.close()
            self._add_answer(block, message_id, "stop")
            return
        if self._text is None or (self._text.kind, self._text.message_id) != (kind, message_id):
            self.close()
            self._text = _OpenText(kind, message_id)
        self._text.parts.append(block["text"])

    def _take_call(self, found: Json, *, is_asked: bool = False) -> None:
        call_id = fields.text(found.get("toolCallId"))
        if not call_id:
            return
        call = self._calls.get(call_id)
        if call is None:
            self.close()
            call = self._calls[call_id] = RecordedCall(call_id)
        call.merge(found)
        if not call.has_call and (call.has_input or call.is_over or is_asked):
            self.close()
            if not call.has_call:
                self._call(call)
        if call.is_over and not call.has_result:
            self.close()
            self._result(call)

    def _call(self, call: RecordedCall) -> None:
        call.has_call = True
        message = self._answer([call.call_block()], "toolUse")
        described = call.description()
        self._add("message", {"message": message, **({"acp": described} if described else {})}, call.id)

    def _result(self, call: RecordedCall) -> None:
        call.has_result = True
        self._add("message", {"message": call.result()}, f"{call.id[:56]}-result")

    def _add_answer(self, block: Json, message_id: str | None, stop_reason: str, usage: Any = None) -> None:
        """Add a part of an answer. The first text of a message has the agent's id of it; other parts name the id."""
        own = None if block["type"] == "thinking" else message_id
        more = {"acp": {"messageId": message_id}} if message_id and (own is None or own in self._used) else {}
        self._add("message", {"message": self._answer([block], stop_reason, usage), **more}, own)

    def _answer(self, blocks: list[Json], stop_reason: str, usage: Any = None) -> Json:
        return {
            "role": "assistant", "content": blocks, "api": "acp", "provider": self.agent,
            "model": self.model or "unknown", "usage": _usage(fields.mapping(usage)), "stopReason": stop_reason,
        }  # fmt: skip

    def _custom(self, custom_type: str, data: Any) -> None:
        self._add("custom", {"customType": custom_type, "data": data})

    def _add(self, type: str, payload: Json, own_id: str | None = None) -> None:
        """Add an entry below the last one. It has the agent's own id if that is valid and not used."""
        self._count += 1
        is_own = own_id is not None and own_id not in self._used and entries.valid_entry_id(own_id)
        entry_id = own_id if is_own and own_id is not None else f"{self.key}-{self._count}"
        self._used.add(entry_id)
        self.drafts.append({"type": type, "id": entry_id, "parentId": self.parent_id, **payload})
        self.parent_id = entry_id


def _usage_in(result: Json) -> Json | None:
    """Return the tokens of a turn with the names of ACP; Gemini CLI has other names."""
    if fields.mapping(result.get("usage")):
        return fields.mapping(result["usage"])
    quota = fields.mapping(fields.mapping(result.get("_meta")).get("quota"))
    count = fields.mapping(quota.get("token_count"))
    return (
        {"inputTokens": count.get("input_tokens"), "outputTokens": count.get("output_tokens")}
        if count
        else None
    )


def _model_in(result: Json) -> str | None:
    """Return the model of a turn, if the agent names exactly one."""
    quota = fields.mapping(fields.mapping(result.get("_meta")).get("quota"))
    names = {
        fields.text(fields.mapping(usage).get("model")) for usage in fields.items(quota.get("model_usage"))
    }
    return names.pop() if len(names) == 1 else None


def _usage(found: Json) -> Json:
    counted = {
        "input": fields.number(found.get("inputTokens")), "output": fields.number(found.get("outputTokens")),
        "cacheRead": fields.number(found.get("cachedReadTokens")),
        "cacheWrite": fields.number(found.get("cachedWriteTokens")),
    }  # fmt: skip
    return {**counted, "totalTokens": sum(counted.values()), "cost": _NO_COST}
