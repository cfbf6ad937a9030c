"""The facts of a session that the beginning and the end of its log give, without the lines between them.

They are read with the rules of `info` and `lifecycle`, which read the whole log. Some facts are the same as those of
the whole log. Others may differ from it: a title may be set anywhere in a log (decision 0013).
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from sessiond.session.content import preview
from sessiond.session.dialects.home_format import is_home_format
from sessiond.session.listing import info
from sessiond.session.listing.lifecycle import Lifecycle, lifecycle_of
from sessiond.session.tree import entries, lines
from sessiond.session.tree.header import header_of
from sessiond.session.tree.lines import Skim
from sessiond.session.tree.marks import SessionProperties
from sessiond.session.tree.origin import FileState, LogOrigin

_MAX_LIFECYCLE_LINES: Final = 16
"""The number of lines at the end in which the lifecycle is looked for."""
_MAY_SET_PROPERTY: Final = re.compile(rb'\{\s*"type"\s*:\s*"(?:session_info|title_change|custom)"').match
"""Matches the lines that may set a title or tags. All programs write the type first."""

_NAMES_ORIGIN: Final = re.compile(rb'[^\n]{0,300}"customType"\s*:\s*"sessiond\.origin"').match
"""Matches the beginning of an entry that names the origin of a session."""


class EndFacts(NamedTuple):
    """The facts of both ends of a log.

    Attributes:
        header: The header, as that of the whole log.
        updated_at: The time of the last write, as that of the whole log.
        title: The last title at the ends. The lines between may set a later one than the beginning.
        tags: The last tags at the ends.
        first_prompt: The first prompt in the beginning; None if there is none.
        leaf_id: The leaf by the last line.
        lifecycle: The lifecycle at that leaf; None if the end does not show it.
        origin: The origin, as that of the whole log if the log is an import or a copy of one.
        origin_state: The last state of the origin's file at the ends.
        has_ended: Whether no process of the agent has the session, as the end says.
    """

    header: entries.Header
    updated_at: str
    title: str | None
    tags: tuple[str, ...]
    first_prompt: str | None
    leaf_id: str | None
    lifecycle: Lifecycle | None
    origin: LogOrigin | None
    origin_state: FileState
    has_ended: bool


def facts_of_ends(head: bytes, tail: bytes) -> EndFacts | None:
    """Return the facts that both ends of a log give.

    Args:
        head: Bytes from the start of the log.
        tail: Bytes up to the end of the log. They do not overlap `head`, and may begin within a line.

    Returns:
        None if the ends do not suffice: the header and the time of the last write are not certain.
    """
    if not is_home_format(head):
        return None
    *head_lines, cut_line = head.split(b"\n")
    slot, header = _first_lines(head_lines)
    if header is None or header.version != entries.CURRENT_VERSION:
        return None
    if _NAMES_ORIGIN(cut_line):
        return None  # an import begins with this entry, which may hold much of its source
    tail_lines = tail.split(b"\n")[1:]
    end = _End(tail_lines)
    if not end.has_last_times:
        return None
    slot_title = None if slot is None else slot.get("title")
    properties = SessionProperties(
        title=slot_title if isinstance(slot_title, str) and slot_title else header.title or None,
        tags=tuple(header.tags or ()),
    )
    _apply_properties(properties, head_lines)
    _apply_properties(properties, tail_lines)
    slot_updated_at = None if slot is None else slot.get("updatedAt")
    slot_times = [slot_updated_at] if isinstance(slot_updated_at, str) else []
    return EndFacts(
        header,
        info.latest_time(header.timestamp, slot_times, end.time_lines),
        properties.title,
        properties.tags,
        _first_prompt(head_lines[1 if slot is None else 2 :]),
        end.leaf_id,
        end.lifecycle,
        properties.origin,
        properties.origin_state,
        end.has_ended,
    )


class _End:
    """The last lines of a log, read backward."""

    def __init__(self, tail_lines: list[bytes]) -> None:
        self.leaf_id: str | None = None
        self.lifecycle: Lifecycle | None = None
        self.time_lines: list[bytes] = []
        """The last entries and the last message, by which `info` dates a session."""
        self.has_last_times = False
        self.has_ended = False
        self._on_path: str | None = None
        has_message = False
        for number, (line, skim) in enumerate(_entries(reversed(tail_lines))):
            role = skim.message.role if skim.type == "message" and skim.message is not None else None
            if number == 0:
                self.leaf_id = self._on_path = _leaf_after(line, skim)
            if skim.type == "custom" and not has_message and not self.has_ended:
                properties = SessionProperties()
                properties.apply(number, line)
                self.has_ended = properties.ended_row is not None
            is_last_message = not has_message and role in ("user", "assistant")
            if number < info.LAST_ENTRIES or is_last_message:
                self.time_lines.append(lines.presentable(line))
            has_message = has_message or is_last_message
            self.has_last_times = has_message and number + 1 >= info.LAST_ENTRIES
            if skim.id == self._on_path and self.lifecycle is None:
                self.lifecycle = self._visit(line, skim)
            is_settled = self.lifecycle is not None or number >= _MAX_LIFECYCLE_LINES
            if self.has_last_times and is_settled:
                break

    def _visit(self, line: bytes, skim: Skim) -> Lifecycle | None:
        """Visit an entry of the path, from the leaf upward. Returns the lifecycle if it is the last message."""
        self._on_path = skim.parent_id if isinstance(skim.parent_id, str) else None
        if skim.type != "message" or skim.message is None:
            return None
        message = preview.decoded(lines.presentable(line)).get("message")
        return lifecycle_of(message) if isinstance(message, dict) else None


def _first_lines(head_lines: list[bytes]) -> tuple[dict[str, Any] | None, entries.Header | None]:
    """Return oh-my-pi's title slot and the header; None for a line that is not there."""
    slot: dict[str, Any] | None = None
    try:
        first = preview.decoded(head_lines[0].removeprefix(lines.BOM))
        if first.get("type") == "title":
            slot, first = first, preview.decoded(head_lines[1])
        return slot, header_of(first)
    except (IndexError, ValueError):
        return slot, None


def _first_prompt(head_lines: list[bytes]) -> str | None:
    messages = (
        lines.presentable(line)
        for line, skim in _entries(iter(head_lines))
        if skim.type == "message" and skim.message is not None and skim.message.role == "user"
    )
    return info.first_prompt_of(islice(messages, info.MAX_MESSAGES))


def _entries(some_lines: Iterator[bytes]) -> Iterator[tuple[bytes, Skim]]:
    """Yield the lines that are entries, as the tree of a log does."""
    for line in some_lines:
        if not line.strip():
            continue
        try:
            skim = lines.skim(line)
        except lines.NotAnEntry:
            continue
        if isinstance(skim.type, str) and isinstance(skim.id, str) and skim.id:
            yield line, skim


def _leaf_after(line: bytes, skim: Skim) -> str | None:
    """Return the id of the leaf after a line."""
    if skim.type == "leaf":
        leaf_entry = entries.payload_of(line)
        if isinstance(leaf_entry, entries.LeafEntry):
            return leaf_entry.target_id
    entry_id: str = skim.id
    return entry_id


def _apply_properties(properties: SessionProperties, some_lines: list[bytes]) -> None:
    for line, _ in _entries(filter(_MAY_SET_PROPERTY, some_lines)):
        properties.apply(0, line)
