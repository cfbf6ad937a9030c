"""Builds the messages for compactions, branch summaries and custom messages.

The shapes are those of pi and oh-my-pi (decision 0015). If an entry lacks a member, its message lacks it too.
"""

from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from sessiond.session.tree import payloads

_EMPTY_VALUES: Final = (b'""', b"null", b"false", b"0")


class _Entry(msgspec.Struct, rename="camel"):
    """The members of the three entry types."""

    timestamp: Any = None
    summary: Raw | UnsetType = UNSET
    short_summary: Raw | UnsetType = UNSET
    tokens_before: Raw | UnsetType = UNSET
    tokens_after: Raw | UnsetType = UNSET
    method: Raw | UnsetType = UNSET
    warning: Raw | UnsetType = UNSET
    from_id: Raw | UnsetType = UNSET
    custom_type: Raw | UnsetType = UNSET
    content: Raw | UnsetType = UNSET
    display: Raw | UnsetType = UNSET
    details: Raw | UnsetType = UNSET
    attribution: Raw | UnsetType = UNSET


_entry = msgspec.json.Decoder(_Entry)


def compaction_message(entry: bytes) -> Raw:
    """Return the message `compactionSummary`, even if the summary is empty."""
    compaction = payloads.part(_entry, entry) or _Entry()
    return _message(
        role="compactionSummary", summary=compaction.summary, shortSummary=compaction.short_summary,
        tokensBefore=compaction.tokens_before, tokensAfter=compaction.tokens_after,
        method=compaction.method, warning=compaction.warning, timestamp=milliseconds(compaction.timestamp),
    )  # fmt: skip


def branch_message(entry: bytes) -> Raw | None:
    """Return the message `branchSummary`, or None if there is no summary."""
    branch = payloads.part(_entry, entry) or _Entry()
    if branch.summary is UNSET or bytes(branch.summary) in _EMPTY_VALUES:
        return None
    return _message(
        role="branchSummary", summary=branch.summary, fromId=branch.from_id,
        timestamp=milliseconds(branch.timestamp),
    )  # fmt: skip


def custom_message(entry: bytes) -> Raw:
    """Return the message `custom`. Absent content becomes an empty list, as in pi."""
    custom = payloads.part(_entry, entry) or _Entry()
    content = custom.content
    if content is UNSET or bytes(content) == b"null":
        content = Raw(b"[]")
    return _message(
        role="custom", customType=custom.custom_type, content=content, display=custom.display,
        details=custom.details, attribution=custom.attribution, timestamp=milliseconds(custom.timestamp),
    )  # fmt: skip


def milliseconds(timestamp: object) -> int | None:
    """Return an ISO 8601 text, or a number of milliseconds, as milliseconds since 1970; None for any other value."""
    if isinstance(timestamp, bool):
        return None
    if isinstance(timestamp, int | float):
        return int(timestamp) if abs(timestamp) < 8.64e15 else None
    if not isinstance(timestamp, str):
        return None
    try:
        time = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    return round((time - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)


def _message(**fields: object) -> Raw:
    return Raw(msgspec.json.encode({name: value for name, value in fields.items() if value is not UNSET}))
