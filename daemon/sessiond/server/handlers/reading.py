"""Handlers that read a session: entries, path, tree."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeAlias

from msgspec import UNSET, Raw, UnsetType

from sessiond.hub.errors import CursorExpired, IncompatibleParams
from sessiond.hub.session import blob_resolution
from sessiond.hub.session.live import LiveSession
from sessiond.protocol import types as t
from sessiond.server.connection.client import MAX_REPLY_BYTES, Client
from sessiond.server.connection.encoding import MIN_PARTS_IN_STEPS, converted
from sessiond.session.tree import steps
from sessiond.session.tree.tree import NONE, Tree
from sessiond.session.views import label_list, tree_view
from sessiond.session.views.outline import Open
from sessiond.session.views.tree_view import LayoutChangedError

PAGE_BYTES = 2 * 1024 * 1024
"""Limit of the entries of a page in bytes, for any `limit`. Reading more in one step would block the event loop."""


_After: TypeAlias = Callable[[int], str | None]
"""Returns the cursor after the first entries of a page, given their number; None if no entry is left."""
_Answer: TypeAlias = t.EntriesResult | Coroutine[Any, Any, t.EntriesResult]


def entries_(_client: Client, live: LiveSession, params: t.EntriesParams) -> _Answer:
    """Return a page of entries: in log order, in reverse, around an entry, after a position, or by id.

    Raises:
        IncompatibleParams: The request combines two of `after`, `aroundId`, `entryIds` and `backward`.
        EntryNotFound: A named entry does not exist.
        CursorExpired: The cursor is invalid, or `after` is a position in another log.
    """
    backward = params.direction == "backward"
    if (params.after is not None) + (params.around_id is not None) + (
        params.entry_ids is not None
    ) + backward > 1:
        raise IncompatibleParams("only one of `after`, `aroundId`, `entryIds` and `backward` is allowed")
    if backward:
        return _entries_backward(live, params)
    if params.entry_ids is not None:
        return _listed(live, params.entry_ids, params)
    if params.cursor is not None:
        first = _number(params.cursor)
    elif params.around_id is not None:
        first = max(1, live.row(params.around_id) - params.limit // 2)
    else:
        first = _behind(live, params.after)
    seqs, _ = live.page_rows(first, PAGE_BYTES, params.limit)

    def behind(count: int) -> str | None:
        return str(seqs[count - 1] + 1) if seqs and seqs[count - 1] + 1 < live.tree.committed else None

    return _read(live, seqs, behind, params)


def _entries_backward(live: LiveSession, params: t.EntriesParams) -> _Answer:
    last = live.tree.committed - 1 if params.cursor is None else _row(live, _backward(params.cursor))
    seqs, _ = live.page_rows_back(last, PAGE_BYTES, params.limit)

    def behind(count: int) -> str | None:
        return f"-{seqs[count - 1] - 1}" if seqs and seqs[count - 1] > 1 else None

    return _read(live, seqs, behind, params)


def _backward(cursor: str) -> str:
    """Return the cursor of a page that was read backward without its mark."""
    if not cursor.startswith("-"):
        raise CursorExpired
    return cursor[1:]


def _behind(live: LiveSession, after: t.After | None) -> int:
    """Return the first row after a position, or the first entry without one."""
    if after is not None and after.log_id != live.log.log_id:
        raise CursorExpired
    return 1 if after is None else after.seq + 1


def _listed(live: LiveSession, ids: Sequence[str], params: t.EntriesParams) -> _Answer:
    start = 0 if params.cursor is None else _number(params.cursor)
    rows = [live.row(name) for name in ids[start : start + params.limit]]
    if len(rows) > 1:
        rows = _fitting(live, rows)

    def behind(count: int) -> str | None:
        return str(start + count) if start + count < len(ids) else None

    return _read(live, rows, behind, params)


def path(_client: Client, live: LiveSession, params: t.PathParams) -> Coroutine[Any, Any, t.EntriesResult]:
    """Return a page of the path to a leaf. The cursor contains the row of the leaf, so all pages belong to one path.

    Raises `EntryNotFound`, `CursorExpired`.
    """
    tip = live.row_at(params.leaf_id)
    start = 0
    if params.cursor is not None:
        cursor = params.cursor if params.direction == "forward" else _backward(params.cursor)
        passed, _, end = cursor.partition(".")
        start, tip = _number(passed), _row(live, end)
    return _path(live, start, tip, params)


async def _path(live: LiveSession, start: int, tip: int, params: t.PathParams) -> t.EntriesResult:
    walk = await live.drive(steps.path(live.tree, tip))
    mark = ""
    if params.direction == "backward":
        walk.reverse()
        mark = "-"
    rows = _fitting(live, walk[start : start + params.limit])

    def behind(count: int) -> str | None:
        return f"{mark}{start + count}.{tip}" if start + count < len(walk) else None

    return await _read_in_steps(live, rows, behind, params)


async def tree(_client: Client, live: LiveSession, params: t.TreeParams) -> t.TreeResult:
    """Return a page of the tree with `tree_view.tree_rows`.

    Raises:
        IncompatibleParams: The request has both `aroundId` and `cursor`, or open branches without the layout `path`.
        EntryNotFound: A named entry does not exist.
        CursorExpired: The cursor is invalid, or the path layout has changed.
    """
    if params.around_id is not None and params.cursor is not None:
        raise IncompatibleParams("only one of `aroundId` and `cursor` is allowed")
    if params.layout == "log" and (params.open_ids or params.open_all):
        raise IncompatibleParams("`openIds` and `openAll` require the layout `path`")
    root = NONE if params.root_id is None else live.row(params.root_id)
    around = NONE if params.around_id is None else live.row(params.around_id)
    after, version = (NONE, "") if params.cursor is None else _place(live, params.cursor)
    if version and params.layout == "log":
        raise CursorExpired
    try:
        page = await live.drive(
            tree_view.tree_rows(
                live.tree, live.outline, live.read_rows, filter=params.filter, query=params.query or "",
                root_row=root, after_row=after, around_row=around, limit=params.limit,
                read_stored=live.read_stored, open=_open(live, params), version=version,
            )
        )  # fmt: skip
    except LayoutChangedError:
        raise CursorExpired from None
    log_id, leaf_id = live.log.log_id, live.tree.leaf_id
    cursor = f"{page.resume}.{page.version}" if page.version else str(page.resume)
    return t.TreeResult(
        nodes=await live.drive(converted(page.nodes, t.TreeNode)),
        log_id=log_id,
        leaf_id=leaf_id,
        entry_count=page.entry_count,
        next_cursor=None if page.resume == NONE else cursor,
        visible_count=page.visible_count,
        preceding_count=page.preceding_count,
        open_ids=[live.tree.id(row) or "" for row in sorted(page.opened)],
    )


def _open(live: LiveSession, params: t.TreeParams) -> Open | None:
    """Return the open branches of a path layout; None for the layout of the log."""
    if params.layout == "log":
        return None
    rows = map(live.tree.row, params.open_ids or ())
    return Open(params.open_all, frozenset(row for row in rows if row is not None))


def _place(live: LiveSession, cursor: str) -> tuple[int, str]:
    """Return the row and the version of a cursor of `session/tree`."""
    row, _, version = cursor.partition(".")
    return _row(live, row), version


async def labels(_client: Client, live: LiveSession, params: t.LabelsParams) -> t.LabelsResult:
    """Return a page of the labeled entries with `label_list.label_rows`. Raises `CursorExpired`."""
    after = 0 if params.cursor is None else _row(live, params.cursor)
    rows, more = await live.drive(
        label_list.label_rows(live.tree, live.read_rows, after_row=after, limit=params.limit)
    )
    log_id = live.log.log_id
    return t.LabelsResult(
        log_id=log_id,
        items=await live.drive(converted(rows, t.LabeledEntry)),
        next_cursor=str(rows[-1].seq) if more else None,
    )


def _read(
    live: LiveSession, rows: list[int], after: _After, params: t.EntriesParams | t.PathParams
) -> _Answer:
    """Return the page of some rows: immediately if there are few, else in steps."""
    if params.resolve_blobs or len(rows) >= MIN_PARTS_IN_STEPS:
        return _read_in_steps(live, rows, after, params)
    return _page(live, rows, live.read_rows(rows), after)


async def _read_in_steps(
    live: LiveSession, rows: list[int], after: _After, params: t.EntriesParams | t.PathParams
) -> t.EntriesResult:
    """Return the page of some rows. With blobs resolved, it is reduced to as many entries as then fit."""
    entries = await live.drive(live.read_in_steps(rows))
    if not params.resolve_blobs:
        return _page(live, rows, entries, after)
    page = await blob_resolution.resolve_entries(
        entries, live.blobs, page_bytes=PAGE_BYTES, max_bytes=MAX_REPLY_BYTES
    )
    return _page(live, rows[: len(page.entries)], page.entries, after, page.missing)


def _page(
    live: LiveSession, rows: list[int], entries: Sequence[bytes], after: _After, missing: Sequence[str] = ()
) -> t.EntriesResult:
    items = [
        t.StoredEntry(seq=row, entry=Raw(line), attachment_ids=_attachments_of(live.tree, row))
        for row, line in zip(rows, entries, strict=True)
    ]
    return t.EntriesResult(
        log_id=live.log.log_id, items=items, next_cursor=after(len(items)), missing_blobs=[*missing]
    )


def _attachments_of(tree: Tree, row: int) -> list[str] | UnsetType:
    """Return the ids of the entries with the files beside an entry; UNSET without one."""
    rows = tree.attachments.get(tree.id(row) or " ")
    return UNSET if rows is None else [tree.id(attached) or "" for attached in rows]


def _fitting(live: LiveSession, rows: list[int]) -> list[int]:
    """Return as many of the rows as fit into a page, and at least one."""
    size = 0
    for count, row in enumerate(rows):
        start, end = live.tree.span(row)
        size += end - start
        if size > PAGE_BYTES and count:
            return rows[:count]
    return rows


def _row(live: LiveSession, cursor: str) -> int:
    row = _number(cursor)
    if row >= live.tree.committed:
        raise CursorExpired
    return row


def _number(cursor: str) -> int:
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) <= 10):
        raise CursorExpired
    return int(cursor)
