"""Reads the events of a Codex rollout: what the screen showed, in addition to the items that the model received.

Codex 0.169 wraps an event about an item in `item_completed`, and `codex migrate-rollouts` turns older events into it.
Both forms have the same `Event`, so a migrated rollout becomes the same entries (decision 0041).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from sessiond.agents.codex import items as codex_items
from sessiond.session.content import fields

_ITEMS: Final = {
    "user_message": "UserMessage", "agent_message": "AgentMessage", "agent_reasoning": "Reasoning",
    "agent_reasoning_raw_content": "Reasoning", "exec_command_end": "CommandExecution",
    "mcp_tool_call_end": "McpToolCall", "web_search_end": "WebSearch", "patch_apply_end": "FileChange",
    "view_image_tool_call": "ImageView", "image_generation_end": "ImageGeneration",
    "context_compacted": "ContextCompaction", "entered_review_mode": "EnteredReviewMode",
    "exited_review_mode": "ExitedReviewMode",
}  # fmt: skip
"""Events of older versions, and the type that their item has in `item_completed`."""
_ROLES: Final = {"UserMessage": "user", "AgentMessage": "assistant", "Reasoning": "reasoning"}
_CALLS: Final = frozenset(
    ("CommandExecution", "McpToolCall", "WebSearch", "FileChange", "ImageView", "ImageGeneration")
)
_TURNS: Final = frozenset(("task_started", "task_complete", "turn_started", "turn_complete"))
_MADE_TURN: Final = re.compile(r"rollout-[0-9]+")
"""The id that a migration gives to a turn that had none."""


@dataclass(frozen=True, slots=True)
class Event:
    """An event.

    Attributes:
        kind: The type of its item, or else the type of the event.
        role: `user`, `assistant` or `reasoning` if it has texts of the conversation, else None.
        texts: These texts.
        call_id: The call that it reports about, or "".
        is_made: Whether a migration added it.
    """

    kind: str
    role: str | None
    texts: tuple[str, ...]
    call_id: str
    is_made: bool


def event_of(value: dict[str, Any]) -> Event | None:
    """Return the event of a line, or None if the line is not an event."""
    payload = fields.mapping(value.get("payload"))
    type = fields.as_text(payload.get("type"))
    if value.get("type") != "event_msg" or not payload:
        return None
    item = fields.mapping(payload.get("item")) if type == "item_completed" else {}
    kind = fields.text(item.get("type")) or _ITEMS.get(type, type)
    role = _ROLES.get(kind)
    texts = (
        ()
        if role is None
        else tuple(text for text in (_texts(item) if item else _old_texts(payload)) if text)
    )
    call_id = fields.first(item, "id") if item else payload.get("call_id")
    is_made = type in _TURNS and _MADE_TURN.fullmatch(fields.as_text(payload.get("turn_id"))) is not None
    return Event(
        kind, role if texts else None, texts, fields.as_text(call_id) if kind in _CALLS else "", is_made
    )


def _old_texts(payload: dict[str, Any]) -> Iterable[str]:
    return (fields.as_text(fields.first(payload, "message", "text")).strip(),)


def _texts(item: dict[str, Any]) -> Iterable[str]:
    if item.get("type") == "Reasoning":
        parts = [*fields.items(item.get("summary_text")), *fields.items(item.get("raw_content"))]
        return (fields.as_text(part).strip() for part in parts)
    return (codex_items.text_of(item).strip(),)


def texts_of(item: dict[str, Any]) -> Iterable[tuple[str, str]]:
    """Yield (role, text) for the whole text of an item and for each of its parts."""
    type = item.get("type")
    if type == "message":
        role = fields.as_text(item.get("role"))
        yield role, codex_items.text_of(item).strip()
        parts = fields.items(item.get("content"))
    elif type == "reasoning":
        role = "reasoning"
        parts = [*fields.items(item.get("summary")), *fields.items(item.get("content"))]
    else:
        return
    for part in parts:
        yield role, fields.as_text(fields.mapping(part).get("text")).strip()
