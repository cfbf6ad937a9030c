"""What only reads: entries, path, tree."""

from collections.abc import Sequence

import msgspec
from msgspec import Raw

from sessiond.hub.errors import CursorExpired
from sessiond.hub.live import LiveSession
from sessiond.protocol import types as t
from sessiond.server.client import Client
from sessiond.session import steps, views
from sessiond.session.tree import NONE

PAGE_BYTES = 2 * 1024 * 1024
"""A page of entries ends here, whatever its limit: reading more at once would hold the loop."""


def entries_(_client: Client, live: LiveSession, params: t.EntriesParams) -> t.EntriesResult:
    if params.ids is not None:
        return _listed(live, params.ids, params)
    if params.cursor is not None:
        first = _number(params.cursor)
    elif params.around is not None:
        first = max(1, live.row(params.around) - params.limit // 2)
    else:
        after = params.after.seq if isinstance(params.after, t.After) else params.after
        first = (after or 0) + 1
    found, seqs = live.page(first, PAGE_BYTES, params.limit)
    more = seqs and seqs[-1] + 1 < live.tree.committed
    return t.EntriesResult(entries=_raw(found), seqs=seqs, next_cursor=str(seqs[-1] + 1) if more else None)


def _listed(live: LiveSession, ids: Sequence[str], params: t.EntriesParams) -> t.EntriesResult:
    start = 0 if params.cursor is None else _number(params.cursor)
    rows = _fitting(live, [live.row(name) for name in ids[start : start + params.limit]])
    end = start + len(rows)
    more = str(end) if end < len(ids) else None
    return t.EntriesResult(entries=_raw(live.read_rows(rows)), seqs=rows, next_cursor=more)


async def path(_client: Client, live: LiveSession, params: t.PathParams) -> t.EntriesResult:
    tip = live.tree.leaf if params.leaf_id is None else live.row(params.leaf_id)
    start = 0
    if params.cursor is not None:
        passed, _, end = params.cursor.partition(".")
        start, tip = _number(passed), _row(live, end)
    walk = await live.drive(steps.path(live.tree, tip))
    rows = _fitting(live, walk[start : start + params.limit])
    done = start + len(rows)
    more = f"{done}.{tip}" if done < len(walk) else None
    return t.EntriesResult(entries=_raw(live.read_rows(rows)), seqs=rows, next_cursor=more)


async def tree(_client: Client, live: LiveSession, params: t.TreeParams) -> t.TreeResult:
    root = NONE if params.root_id is None else live.row(params.root_id)
    after = NONE if params.cursor is None else _row(live, params.cursor)
    page = await live.drive(
        views.tree_rows(
            live.tree, live.outline, live.read_rows, filter=params.filter, query=params.query or "",
            root_row=root, after_row=after, limit=params.limit,
        )
    )  # fmt: skip
    return t.TreeResult(
        nodes=[msgspec.convert(node, t.TreeNode, from_attributes=True) for node in page.nodes],
        leaf_id=live.tree.leaf_id,
        total=page.total,
        next_cursor=None if page.resume == NONE else str(page.resume),
    )


def _fitting(live: LiveSession, rows: list[int]) -> list[int]:
    """As many of the rows, and at least one, as a page may hold."""
    size = 0
    for count, row in enumerate(rows):
        start, end = live.tree.span(row)
        size += end - start
        if size > PAGE_BYTES and count:
            return rows[:count]
    return rows


def _raw(lines: Sequence[bytes]) -> list[Raw]:
    return [Raw(line) for line in lines]


def _row(live: LiveSession, cursor: str) -> int:
    row = _number(cursor)
    if row >= live.tree.committed:
        raise CursorExpired
    return row


def _number(cursor: str) -> int:
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) <= 10):
        raise CursorExpired
    return int(cursor)
