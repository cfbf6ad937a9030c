"""A session as an HTML page, in parts: rows are looked up on the event loop and rendered in a thread.

The renderer is imported for the first page; most daemons never need it.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec

from sessiond.export.head import head_of
from sessiond.export.places import RowPlace, place_of
from sessiond.hub.errors import CursorExpired, EntryTooLarge
from sessiond.hub.session import blob_resolution
from sessiond.hub.session.live import LiveSession
from sessiond.protocol import types as t
from sessiond.session.content import preview
from sessiond.session.tree import steps
from sessiond.session.tree.steps import Steps
from sessiond.session.tree.tree import KIND, Tree
from sessiond.session.views.outline import Outline

PART_BYTES: Final = 512 * 1024
"""The size limit of a part in bytes, for any row limit: the first part arrives quickly, and messages are small."""
MAX_BYTES: Final = 8 * 1024 * 1024
"""The limit of one row in bytes. Larger images and texts are not shown."""

_ROWS_A_STEP: Final = 50
_MAX_BAD_LINES: Final = 2_000
"""The maximum number of lines without an entry that one part skips."""
_LABEL: Final = KIND["label"]


async def part(live: LiveSession, position: t.After | None, limit: int) -> t.ViewPageResult:
    """Return the rows after a position, as many as fit into a part.

    Each row is described at this call or later. A line that changes a described row has a seq above `lastSeq`.

    Args:
        live: The session.
        position: The position of the last row that the client has; None for the first part.
        limit: The maximum number of rows.

    Raises:
        CursorExpired: The position belongs to another log.
    """
    tree, outline, session = await _looked_through(live)
    if position is not None and position.log_id != live.log.log_id:
        raise CursorExpired
    after = 0 if position is None else position.seq
    newest = tree.committed - 1
    seqs, looked_at = _chosen(tree, after, limit)
    lines = live.read_rows(seqs)
    places = await live.drive(_places(tree, outline, seqs))
    marks = _marked(tree, outline, lines, seqs, after)
    drawn = await asyncio.to_thread(_drawn, _beside(live, places), await _whole(live, lines))
    to_seq = seqs[len(drawn) - 1] if len(drawn) < len(seqs) else looked_at
    return t.ViewPageResult(
        session=session, rows=drawn, log_id=live.log.log_id, last_seq=newest, to_seq=to_seq,
        marks=[mark for row, mark in marks if row <= to_seq],
    )  # fmt: skip


async def around(live: LiveSession, entry_id: str | None, limit: int) -> t.ViewPathResult:
    """Return the rows of the path around an entry, as many as fit into a part.

    Args:
        live: The session.
        entry_id: The entry; None for the leaf. If it is not on the path to the leaf, the path ends at it.
        limit: The maximum number of rows.

    Raises:
        EntryNotFound: There is no such entry.
    """
    while True:
        tree, outline, session = await _looked_through(live)
        row = tree.leaf if entry_id is None else live.row(entry_id)
        path = await live.drive(steps.path(tree, tree.leaf))
        if row not in path:
            path = await live.drive(steps.path(tree, row))
        if tree is live.tree:  # otherwise the log was rewritten meanwhile
            break
    chosen, at = _chosen_around(tree, path, row, limit)
    lines = live.read_rows(chosen)
    places = await live.drive(_places(tree, outline, chosen))
    # Each side begins at the entry, so that the rows furthest from it are left out.
    sides = ((places[at::-1], lines[at::-1]), (places[at + 1 :], lines[at + 1 :]))
    room = PART_BYTES // 2 if lines[at + 1 :] else PART_BYTES
    above, below = [
        await asyncio.to_thread(_drawn, _beside(live, side), await _whole(live, read, room), room)
        for side, read in sides
    ]
    return t.ViewPathResult(session=session, rows=[*reversed(above), *below])


def document(nonce: str) -> str:
    """Return the HTML document that shows the rows in a webview."""
    from sessiond.export import html

    return html.document(nonce)


async def _looked_through(live: LiveSession) -> tuple[Tree, Outline, t.PageSession]:
    """Return the tree, its outline, and the head of the page, all of the same moment."""
    while True:
        tree, outline = live.tree, live.outline
        tally = await live.derived.tally()
        await live.drive(outline.extend(tree, live.read_rows, live.read_stored))
        if tree is live.tree:  # otherwise the log was rewritten meanwhile
            return tree, outline, msgspec.structs.replace(head_of(tree, tally), session_id=live.session_id)


def _chosen(tree: Tree, after: int, limit: int) -> tuple[list[int], int]:
    """Return the rows after a row that fit into a part, and the last row that was examined."""
    rows: list[int] = []
    room, row = PART_BYTES, after
    end = min(tree.committed - 1, after + limit + _MAX_BAD_LINES)
    while row < end and len(rows) < limit and room > 0:
        row += 1
        if tree.is_entry(row):
            first, behind = tree.span(row)
            room -= behind - first
            rows.append(row)
    return rows, row


def _chosen_around(tree: Tree, path: Sequence[int], row: int, limit: int) -> tuple[list[int], int]:
    """Return the rows of a path around one of them that fit into a part, and its index among them."""
    if not path:
        return [], 0
    at = path.index(row)
    first = max(0, min(at - limit // 2, len(path) - limit))
    end = min(len(path), first + limit)
    sizes = {each: behind - begin for each in path[first:end] for begin, behind in [tree.span(each)]}
    start, stop, room = at, at + 1, PART_BYTES - sizes[row]
    while room > 0 and (start > first or stop < end):
        if start > first:
            start -= 1
            room -= sizes[path[start]]
        if stop < end and room > 0:
            room -= sizes[path[stop]]
            stop += 1
    return list(path[start:stop]), at - start


def _places(tree: Tree, outline: Outline, rows: Sequence[int]) -> Steps[list[RowPlace]]:
    found: list[RowPlace] = []
    for start in range(0, len(rows), _ROWS_A_STEP):
        found += [place_of(tree, outline, row) for row in rows[start : start + _ROWS_A_STEP]]
        yield
    return found


async def _whole(live: LiveSession, lines: Sequence[bytes], room: int = PART_BYTES) -> Sequence[bytes]:
    """Return the first entries with their blobs, as many as fit into `room` bytes."""
    try:
        found = await blob_resolution.resolve_entries(lines, live.blobs, page_bytes=room, max_bytes=MAX_BYTES)
    except EntryTooLarge:
        return lines[:1]  # the entry marks its truncated parts
    return found.entries


def _beside(live: LiveSession, places: Sequence[RowPlace]) -> list[tuple[RowPlace, Sequence[bytes]]]:
    """Return places with the entries of the files beside them, of which long texts are cut."""
    return [(place, live.read_rows(place.attachments) if place.attachments else ()) for place in places]


def _drawn(
    places: Sequence[tuple[RowPlace, Sequence[bytes]]], lines: Sequence[bytes], room: int = PART_BYTES
) -> list[t.PageRow]:
    """Render as many rows as fit into `room` bytes, at least one if there is any."""
    from sessiond.export.rows import row_of

    rows: list[t.PageRow] = []
    for (place, beside), line in zip(
        places, lines, strict=False
    ):  # `_whole` may return fewer lines than places
        row = row_of(place, line, beside)
        if row.body is not None and len(row.body) > MAX_BYTES:
            words = f"<p class=odd>Too large for a page: {len(line):,} bytes.</p>"
            row = msgspec.structs.replace(row, body=words)
        room -= len(row.body or "") + len(row.preview)
        if room < 0 and rows:
            break
        rows.append(row)
    return rows


def _marked(
    tree: Tree, outline: Outline, lines: Sequence[bytes], seqs: Sequence[int], after: int
) -> list[tuple[int, t.PageMark]]:
    """Return the rows of earlier parts that these lines label, each with the row of its label line."""
    found: dict[str, tuple[int, t.PageMark]] = {}
    for row, line in zip(seqs, lines, strict=True):
        target = preview.decoded(line).get("targetId") if tree.kind(row) == _LABEL else None
        labeled = tree.row(target) if isinstance(target, str) else None
        if labeled is not None and labeled <= after:
            place = place_of(tree, outline, labeled)
            found.setdefault(
                place.id, (row, t.PageMark(id=place.id, label=place.label, filter_mask=place.filter_mask))
            )
    return list(found.values())
