"""The facts that a list shows of one session, read from few lines."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from sessiond.session.content import preview, typed_words
from sessiond.session.content.search_text import milliseconds
from sessiond.session.tree import payloads
from sessiond.session.tree.origin import FileState, LogOrigin
from sessiond.session.tree.steps import Read
from sessiond.session.tree.tree import NONE, Tree

_PROMPT_CHARACTERS: Final = 200
MAX_MESSAGES: Final = 100
"""The number of first user messages in which the first prompt is looked for."""
LAST_ENTRIES: Final = 2
"""The number of last entries whose times are read. An import ends in an entry with the time of the header."""
_LATEST: Final = 253_402_300_800_000
"""Milliseconds from 1970 to the year 10000, which no timestamp can represent."""


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """The facts of a session. Times are ISO 8601. The first prompt is one line of at most 200 characters."""

    title: str | None
    tags: tuple[str, ...]
    first_prompt: str | None
    created_at: str
    updated_at: str
    message_count: int
    entry_count: int
    cwd: str
    parent_session: str | None
    origin: LogOrigin | None
    origin_state: FileState
    has_ended: bool


def summarize(tree: Tree, read: Read) -> SessionFacts:
    """Return the facts of a session.

    Few lines are read: the messages up to the first prompt, the last message and the last two entries. `updated_at` is
    the latest time of the last entries, the last message, the header (a fork begins later than the entries it copied)
    and oh-my-pi's title slot.
    """
    header = tree.header
    created_at = header.timestamp if header is not None else ""
    return SessionFacts(
        title=tree.title,
        tags=tree.tags,
        first_prompt=_first_prompt(tree, read),
        created_at=created_at,
        updated_at=_updated_at(tree, read, created_at),
        message_count=tree.count_messages(),
        entry_count=tree.count_entries(),
        cwd=header.cwd if header is not None else "",
        parent_session=header.parent_session if header is not None else None,
        origin=tree.origin,
        origin_state=tree.origin_state,
        has_ended=tree.has_ended,
    )


def _first_prompt(tree: Tree, read: Read) -> str | None:
    return first_prompt_of(read([row])[0] for row in tree.user_rows(MAX_MESSAGES))


def first_prompt_of(entries: Iterable[bytes]) -> str | None:
    """Return the first prompt in user messages as lists show it; None if a person did not write any of them.

    A command to the program is shown if there is no other prompt.
    """
    command: str | None = None
    for entry in entries:
        content = _content_of(entry)
        if line := preview.one_line(typed_words.typed_content(content), _PROMPT_CHARACTERS):
            return line
        command = command or typed_words.command_in(content)
    return None if command is None else preview.one_line(command, _PROMPT_CHARACTERS)


def _content_of(entry: bytes) -> object:
    message = preview.decoded(entry).get("message")
    return message.get("content") if isinstance(message, dict) else None


def _updated_at(tree: Tree, read: Read, created_at: str) -> str:
    """Return the time of the last write, by which lists are sorted."""
    rows = tree.last_entries(LAST_ENTRIES)
    message = tree.last_message()
    if message != NONE and message not in rows:
        rows = [message, *rows]
    slot_times = [] if tree.slot_updated_at is None else [tree.slot_updated_at]
    return latest_time(created_at, slot_times, read(rows))


def latest_time(created_at: str, texts: Iterable[str], last_lines: Iterable[bytes]) -> str:
    """Return the latest of the times in texts and entries in sessiond's own format; `created_at` if there is none."""
    times = [at for text in (created_at, *texts) if (at := milliseconds(text)) is not None]
    times += [at for line in last_lines if (at := _written_at(line)) is not None]
    times = [at for at in times if 0 <= at < _LATEST]
    return _timestamp(max(times)) if times else created_at


class _Times(msgspec.Struct):
    timestamp: Any = None
    message: msgspec.Raw = msgspec.Raw()


class _OwnTime(msgspec.Struct):
    timestamp: Any = None


_times = msgspec.json.Decoder(_Times)
_own_time = msgspec.json.Decoder(_OwnTime)


def _written_at(line: bytes) -> int | None:
    """Return the time of an entry, or else of its message, in milliseconds since 1970; None without both."""
    found = payloads.part(_times, line)
    if found is None:
        return None
    if isinstance(found.timestamp, str) and found.timestamp:
        return milliseconds(found.timestamp)
    message_times = payloads.part(_own_time, found.message) if found.message else None
    message_time = None if message_times is None else message_times.timestamp
    return (
        int(message_time) if isinstance(message_time, int | float) and 0 <= message_time < _LATEST else None
    )


def _timestamp(at: int) -> str:
    time = datetime.fromtimestamp(at // 1000, UTC)
    return f"{time.isoformat()[:19]}.{at % 1000:03}Z"
