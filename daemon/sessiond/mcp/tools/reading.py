"""The tool `read_session`: a page of a branch, the conversation around an entry, or one entry in full."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec import UNSET

from sessiond import human
from sessiond.mcp.daemon_access import reported_errors
from sessiond.mcp.entry_text import is_conversation, role_of, text_of_entry
from sessiond.mcp.errors import BadCursorError, UnknownEntryError
from sessiond.mcp.quoting import MAX_CHARACTERS, CleanText, joined, quoted, room, shown_id
from sessiond.mcp.tools import arguments as a
from sessiond.mcp.tools.finding import role_title, when
from sessiond.mcp.tools.table import ToolCall

if TYPE_CHECKING:
    from sessiond.client.daemon import Daemon

_PAGE: Final = 30
_AROUND: Final = 41
_SHOWN: Final = 1_500
"""Limit of the characters of one entry among others."""
_SHOWN_TOOL: Final = 600
_MARGIN: Final = 8_000
"""Characters beyond those that are shown, in which secrets are looked for."""
_PART: Final = 9_000
"""The characters of one entry that a result has, if it has only this one."""
_FIRST_WORDS: Final = 400
"""Characters that are reserved for the head."""

Entry = dict[str, Any]


async def read(call: ToolCall, args: a.ReadArguments) -> str:
    """Run `read_session`."""
    daemon = await call.access.daemon()
    with reported_errors():
        session = await call.project.session(daemon, args.session_id, all_projects=args.all_projects)
        if args.entry is not None:
            return await _one_entry(call, daemon, session.session_id, args.entry, args.from_character)
        if args.around is not None:
            return await _around(call, daemon, session.session_id, args.around)
        return await _page(call, daemon, session.session_id, args)


async def entry_blocks(call: ToolCall, entries: Sequence[Entry], marked: str | None = None) -> list[str]:
    """Return a block for each entry: a line about it, and its text, cut if it is long.

    Args:
        call: The call.
        entries: The entries.
        marked: The id of an entry that is marked as the one that was asked for.
    """
    texts = [text_of_entry(entry) for entry in entries]
    clean = await call.access.cleaned([text[: _SHOWN + _MARGIN] for text in texts])
    now = time.time()
    return [
        _block(entry, text, len(whole), now, is_marked=entry.get("id") == marked)
        for entry, text, whole in zip(entries, clean, texts, strict=True)
    ]


async def _page(call: ToolCall, daemon: "Daemon", session_id: str, args: a.ReadArguments) -> str:
    skipped, cursor = _decoded(args.cursor)
    found = await daemon.path(
        session_id,
        UNSET if args.branch is None else args.branch,
        direction="backward" if args.newest_first else "forward",
        cursor=cursor,
        limit=_PAGE,
    )
    entries = found.entries
    places = [place for place, entry in enumerate(entries) if place >= skipped and is_conversation(entry)]
    blocks = await entry_blocks(call, [entries[place] for place in places])
    shown = _fitting(blocks)
    following: str | None = None
    if shown < len(blocks):
        following = f"{places[shown]}:{cursor or ''}"
    elif found.next_cursor is not None:
        following = f"0:{found.next_cursor}"
    order = "newest first" if args.newest_first else "oldest first"
    head = [f"Session {shown_id(session_id)}: {human.count(shown, 'entry', 'entries')}, {order}."]
    if following is None:
        head.append("This is the end of the session." if not args.newest_first else "This is its beginning.")
    else:
        head.append(f"For more, repeat the call with cursor: {following}")
    return joined(head, blocks[:shown])


async def _around(call: ToolCall, daemon: "Daemon", session_id: str, entry_id: str) -> str:
    found = await daemon.entries(session_id, around_id=entry_id, limit=_AROUND)
    line = [
        entry
        for entry in _connected(found.entries, entry_id)
        if is_conversation(entry) or entry.get("id") == entry_id
    ]
    place = next((at for at, entry in enumerate(line) if entry.get("id") == entry_id), None)
    if place is None:
        raise UnknownEntryError(shown_id(entry_id))
    blocks = await entry_blocks(call, line, entry_id)
    first, last = place, place + 1
    left = MAX_CHARACTERS - _FIRST_WORDS - len(blocks[place])
    for step in range(1, len(blocks)):  # entries on both sides, the closest first
        for at in (place - step, place + step):
            if not 0 <= at < len(blocks) or at not in (first - 1, last):
                continue
            left -= len(blocks[at]) + 2
            if left > 0:
                first, last = min(first, at), max(last, at + 1)
    head = [
        f"Session {shown_id(session_id)} around entry {shown_id(entry_id)}: "
        f"{human.count(last - first, 'entry', 'entries')}, oldest first.",
        f"For what precedes them, ask around {shown_id(str(line[first].get('id')))};"
        f" for what follows, around {shown_id(str(line[last - 1].get('id')))}.",
    ]
    return joined(head, blocks[first:last])


async def _one_entry(call: ToolCall, daemon: "Daemon", session_id: str, entry_id: str, start: int) -> str:
    found = await daemon.entries(session_id, entry_ids=[entry_id], resolve_blobs=True)
    if not found.entries:
        raise UnknownEntryError(shown_id(entry_id))
    [text] = await call.access.cleaned([text_of_entry(found.entries[0])])
    part = CleanText(text[start : start + _PART])
    block = quoted(part, _PART)
    # Quoting makes a text longer, so that less of it fits. The next part begins where this one ends.
    while len(block) >= _PART - 1 and len(part) > 200:
        part = CleanText(part[: len(part) * 9 // 10])
        block = quoted(part, _PART)
    end = start + len(part)
    head = [
        f"Entry {shown_id(entry_id)} of session {shown_id(session_id)}:"
        f" characters {start} to {end} of {len(text)}."
    ]
    if end < len(text):
        head.append(f"For more, repeat the call with from_character: {end}")
    elif not part:
        head.append("There is nothing at this place.")
    return joined(head, [block])


def _block(entry: Entry, text: CleanText, length: int, now: float, *, is_marked: bool) -> str:
    role = role_of(entry)
    limit = _SHOWN_TOOL if role in ("toolResult", "bashExecution") else _SHOWN
    id = str(entry.get("id"))
    mark = " (the entry that was asked for)" if is_marked else ""
    timestamp = entry.get("timestamp")
    stamp = when(timestamp if isinstance(timestamp, str) else None, now)
    first = f"entry {shown_id(id)}, {role_title(role, str(entry.get('type')))}, {stamp}{mark}"
    body = quoted(text, limit)
    if length > limit or len(body) >= limit - 1:
        first += f"; beginning of {length} characters, all of it with entry: {shown_id(id)}"
    return f"{first}\n{body}"


def _fitting(blocks: Sequence[str]) -> int:
    """Return how many blocks fit into a result; at least one, if there are any."""
    count = 0
    for count in range(1, len(blocks) + 1):
        if room(["x" * _FIRST_WORDS], blocks[:count]) <= 0:
            return max(1, count - 1)
    return count


def _connected(entries: Sequence[Entry], entry_id: str) -> list[Entry]:
    """Return the entries that lead to an entry and follow it on one branch, out of neighbors in the log."""
    by_id = {entry.get("id"): entry for entry in entries}
    line: list[Entry] = []
    at = by_id.get(entry_id)
    while at is not None:
        line.insert(0, at)
        at = by_id.get(at.get("parentId"))
        if at in line:
            break
    last = entry_id
    for entry in entries:
        if entry.get("parentId") == last and entry not in line:
            line.append(entry)
            last = str(entry.get("id"))
    return line


def _decoded(cursor: str | None) -> tuple[int, str | None]:
    """Return how many entries of a page are skipped, and the cursor of the daemon."""
    if cursor is None:
        return 0, None
    skipped, colon, rest = cursor.partition(":")
    if not colon or not skipped.isdecimal() or not skipped.isascii() or len(skipped) > 4:
        raise BadCursorError(shown_id(cursor[:40]))
    return int(skipped), rest or None
