"""Reads the header of a log."""

from typing import Any

import msgspec

from sessiond.session.tree import entries
from sessiond.session.tree.lines import valid_text


def header_of(first: dict[str, Any]) -> entries.Header:
    """Return the header in a decoded first line.

    Raises:
        ValueError: The line is not a valid header; the message has the reason.

    """
    if first.get("type") != "session":
        raise ValueError("there is no session header: the first line has another type")
    session_id = valid_text(first.get("id"))
    if not isinstance(session_id, str) or not session_id:
        raise ValueError("the session header has no id")
    return entries.Header(
        version=_version(first.get("version")),
        id=session_id,
        timestamp=_text(first, "timestamp") or "",
        cwd=_text(first, "cwd") or "",
        title=_text(first, "title"),
        parent_session=_text(first, "parentSession"),
        tags=_tags(first.get("tags")),
        sessiond_command=_command(first.get(entries.COMMAND_FIELD)),
    )


def _version(value: Any) -> int | None:
    """Return the version as a number. Numeric text is accepted, because the peers do so too (decision 0008)."""
    try:
        return None if value is None else int(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"the version in the session header is not a number: {value!r:.40}") from None


def _text(first: dict[str, Any], name: str) -> str | None:
    value = valid_text(first.get(name))
    return value if isinstance(value, str) else None


def _command(value: Any) -> entries.CommandMark | None:
    try:
        return msgspec.convert(value, entries.CommandMark | None)
    except msgspec.ValidationError:
        return None


def _tags(value: Any) -> list[str] | None:
    return [valid_text(tag) for tag in value if isinstance(tag, str)] if isinstance(value, list) else None
