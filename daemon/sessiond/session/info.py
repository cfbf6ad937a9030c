"""What a list of sessions shows of one: a few facts, two of which need a line each."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from sessiond.session import preview
from sessiond.session.steps import Read
from sessiond.session.tree import NONE, Tree

_PROMPT_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class Facts:
    """Times are ISO 8601; the first prompt is one line of at most 200 characters."""

    title: str | None
    tags: tuple[str, ...]
    first_prompt: str | None
    created_at: str
    updated_at: str
    message_count: int
    entry_count: int
    cwd: str
    parent_session: str | None


def summarize(tree: Tree, read: Read) -> Facts:
    """The facts of a session. Reads at most two lines: the first prompt and the last message."""
    header = tree.header
    created_at = header.timestamp if header is not None else ""
    return Facts(
        title=tree.title,
        tags=tree.tags,
        first_prompt=_first_prompt(tree, read),
        created_at=created_at,
        updated_at=_said_at(tree, read) or created_at,
        message_count=tree.count_messages(),
        entry_count=tree.count_entries(),
        cwd=header.cwd if header is not None else "",
        parent_session=header.parent_session if header is not None else None,
    )


def _first_prompt(tree: Tree, read: Read) -> str | None:
    row = tree.first_user()
    if row == NONE:
        return None
    message = preview.decoded(read([row])[0]).get("message")
    return preview.one_line(preview.text_of_message(message), _PROMPT_CHARACTERS) or None


def _said_at(tree: Tree, read: Read) -> str | None:
    """When the last user or assistant message was written down, or said, when its entry has no time."""
    row = tree.last_message()
    if row == NONE:
        return None
    entry = preview.decoded(read([row])[0])
    timestamp = entry.get("timestamp")
    return timestamp if isinstance(timestamp, str) and timestamp else _own_clock(entry.get("message"))


def _own_clock(message: Any) -> str | None:
    said_at = message.get("timestamp") if isinstance(message, dict) else None
    if not isinstance(said_at, int | float):
        return None
    try:
        moment = datetime.fromtimestamp(said_at / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
