"""Counts what a native session of an agent cannot represent: changes of messages, and entries without a message."""

from collections.abc import Container, Sequence
from typing import Any, Final

from sessiond.session.content import fields
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from sessiond.session.formats.conversation import Reasons

_LOSSES: Final = {
    "abortedTurn": "answer that ended in an error",
    "callClosed": "tool call without a result",
    "callLeftOut": "tool call without a name",
    "duplicateResult": "second result of a tool call",
    "excluded": "command that the user excluded from the context",
    "imageLeftOut": "image",
    "nameChanged": "id or name of a tool call",
    "notAMessage": "entry without a readable message",
    "resultMoved": "place of a tool result",
    "resultOfAbortedTurn": "result of a tool call of an answer that ended in an error",
    "resultWithoutCall": "tool result without its call",
    "unknownRole": "message of an unknown role",
}
"""The names of changes and omissions (`formats.reasons`) in the list of losses."""
_MESSAGES: Final = frozenset(("message", "custom_message", "branch_summary", "compaction"))
_APPLIED: Final = frozenset((
    "leaf", "context_edit", "reset_boundary", "session_info", "title_change", "label",
))  # fmt: skip
"""Entry types whose effect is in the turns or the title, and labels, which are counted by their targets."""


def count_changes(reasons: Reasons, losses: ConversionLosses) -> None:
    """Count the changes that the legal order of a conversation requires."""
    for reason in reasons.values():
        if reason in _LOSSES:
            losses.lose(_LOSSES[reason])


def count_entries(
    whole: ExportedSession,
    on_path: Sequence[dict[str, Any]],
    used: Container[object],
    losses: ConversionLosses,
) -> None:
    """Count the entries that are in no turn.

    Args:
        whole: The session.
        on_path: The entries of the path to the leaf.
        used: The ids of the entries that are in a turn.
        losses: Receives the counts.
    """
    for entry in on_path:
        type = fields.type_of(entry)
        if type in _MESSAGES:
            if entry.get("id") not in used:
                losses.lose("entry before a compaction")
        elif type not in _APPLIED and not is_ours(entry):
            losses.lose(type or "entry without a type")
    ids = {entry.get("id") for entry in on_path}
    for entry in whole.entries:
        if entry.get("id") not in ids and fields.type_of(entry) in _MESSAGES:
            losses.lose("entry of another branch")
    if whole.tags:
        losses.lose("tags")


def is_ours(entry: dict[str, Any]) -> bool:
    """Return whether an entry is a custom entry of this program, such as tags."""
    return fields.type_of(entry) == "custom" and fields.as_text(entry.get("customType")).startswith(
        "sessiond."
    )
