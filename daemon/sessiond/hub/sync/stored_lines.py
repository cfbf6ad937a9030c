"""Reads the lines of a session as they are stored, with their ids and hashes: open, closed or in the trash."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from sessiond.hub.errors import NotInTrash, SessionNotFound, SessionTrashed
from sessiond.hub.execution.slices import run_in_slices
from sessiond.hub.session.log_reader import (
    LogRewritten,
    ReadableSession,
    bytes_of_present_tree,
    read_into,
)
from sessiond.hub.session.registry import OpenSessions
from sessiond.hub.trash import Trash
from sessiond.protocol import types as t
from sessiond.session.tree.steps import Steps
from sessiond.session.tree.tree import Tree
from sessiond.session.union.comparable import comparable
from sessiond.session.union.line_keys import key_page, tag_rows
from sessiond.session.union.whole_log import WholeLog, whole_log
from sessiond.store.base import Store
from sessiond.store.errors import LogNotFound

T = TypeVar("T")

_STEP_BYTES: Final = 128 * 1024


@dataclass(frozen=True, slots=True)
class StoredLines:
    """The tree of a log, its bytes, and its log id (empty in the trash)."""

    tree: Tree
    read: Callable[[int, int], bytes]
    log_id: str = ""

    def line(self, row: int) -> bytes:
        """Return the stored line of a row."""
        return self.read(*self.tree.span(row))

    def head(self) -> bytes:
        """Return the lines before the first entry: the header, and oh-my-pi's title line."""
        return self.read(0, self.tree.span(0)[1])


class StoredLineReader:
    """Reads lines of the sessions of one store.

    Args:
        files: The store.
        trash: The trash.
        open_sessions: The open sessions.

    Attributes:
        known_refs: Refs of sessions by id. A search in the index for each of a thousand sessions takes much longer. A
            ref that is outdated is not used.
    """

    def __init__(self, files: Store, trash: Trash, open_sessions: OpenSessions) -> None:
        self.known_refs: dict[str, str] = {}
        self._files = files
        self._trash = trash
        self._open = open_sessions

    async def _whole_file(self, session_id: str, limit_bytes: int) -> WholeLog | None:
        """Return the lines of a closed session that fit into one page; None if the caller must use the tree."""
        ref = self.known_refs.get(session_id)
        if ref is None or self._open.cached(session_id) is not None:
            return None
        whole = await asyncio.to_thread(self._read_whole, ref, session_id, limit_bytes)
        # A client may have opened it meanwhile. Then the file may have lines that are not committed yet.
        return whole if self._open.cached(session_id) is None else None

    def _read_whole(self, ref: str, session_id: str, limit_bytes: int) -> WholeLog | None:
        parts: list[bytes] = []
        size = 0
        try:
            for data in self._files.scan(ref):
                parts.append(data)
                size += len(data)
                if size > limit_bytes:
                    return None
        except LogNotFound:
            return None
        return whole_log(b"".join(parts), session_id)

    @contextlib.asynccontextmanager
    async def lines_of(self, session_id: str, trash_id: str | None) -> AsyncIterator[StoredLines]:
        """Yield the lines of a session. Raises `SessionNotFound`, `SessionTrashed`, `NotInTrash`."""
        if trash_id is not None:
            yield await self._in_trash(session_id, trash_id)
            return
        async with contextlib.AsyncExitStack() as stack:
            session = await self._at_known_ref(session_id, stack)
            if session is None:
                session = await stack.enter_async_context(self._open.open_by_id_for_reading(session_id))
            yield StoredLines(session.tree, bytes_of_present_tree(session), session.log.log_id)

    async def _at_known_ref(
        self, session_id: str, stack: contextlib.AsyncExitStack
    ) -> ReadableSession | None:
        ref = self.known_refs.get(session_id)
        if ref is None:
            return None
        try:
            session = await stack.enter_async_context(self._open.open_for_reading(ref))
        except (SessionNotFound, SessionTrashed):
            return None
        header = session.tree.header
        return session if header is not None and header.id == session_id else None

    async def _in_trash(self, session_id: str, trash_id: str) -> StoredLines:
        found = await self._trash.deleted_as(trash_id)
        if found is None or found.store is not self._files:
            raise NotInTrash(trash_id)
        try:
            data = await asyncio.to_thread(lambda: b"".join(self._files.scan(found.log.ref)))
        except LogNotFound:
            raise NotInTrash(trash_id) from None
        tree = Tree()
        await read_into(tree, [data])
        if tree.header is None or tree.header.id != session_id:
            raise NotInTrash(trash_id)
        return StoredLines(tree, lambda start, end: data[start:end])

    async def ids(self, params: t.SyncIdsParams) -> t.SyncIdsResult:
        """Return a page of ids, parents and hashes. Raises as `lines_of` does."""
        return await self._in_steps(
            params.session_id, params.trash_id, lambda stored: _ids(stored, params.after, params.limit)
        )

    async def page(self, params: t.SyncLinesParams) -> t.SyncLinesResult:
        """Return a page of lines. Raises as `lines_of` does."""
        if params.seqs is None and params.trash_id is None and not params.after:
            whole = await self._whole_file(params.session_id, params.limit_bytes)
            if whole is not None:
                return t.SyncLinesResult(head=whole.head, lines=whole.lines, next_after=None)
        return await self._in_steps(
            params.session_id,
            params.trash_id,
            lambda stored: _page(stored, _rows(stored.tree, params), params.limit_bytes),
        )

    async def _in_steps(
        self, session_id: str, trash_id: str | None, work: Callable[[StoredLines], Steps[T]]
    ) -> T:
        """Do work on the lines of a session in steps, and begin again if the session is rewritten meanwhile."""
        while True:
            with contextlib.suppress(LogRewritten):
                async with self.lines_of(session_id, trash_id) as stored:
                    return await run_in_slices(work(stored))


def _rows(tree: Tree, params: t.SyncLinesParams) -> Sequence[int]:
    """Return the rows that a request for lines names."""
    if params.seqs is None:
        return range(max(params.after + 1, 1), tree.committed)
    return [seq for seq in params.seqs if max(params.after, 0) < seq < tree.committed]


def _ids(stored: StoredLines, after: int, limit: int) -> Steps[t.SyncIdsResult]:
    tree = stored.tree
    page = yield from key_page(tree, stored.read, after, limit)
    header = tree.header
    return t.SyncIdsResult(
        seqs=[key.seq for key in page.keys], ids=[key.id for key in page.keys], hashes=[key.hash for key in page.keys],
        parents=[key.parent for key in page.keys], next_after=page.next_after, log_id=stored.log_id,
        last_seq=tree.seq, leaf_id=tree.leaf_id, tag_seqs=tag_rows(tree, stored.read),
        header_tags=list(header.tags or ()) if header is not None else [],
    )  # fmt: skip


def _page(stored: StoredLines, rows: Sequence[int], limit_bytes: int) -> Steps[t.SyncLinesResult]:
    taken: list[bytes] = []
    size, since, next_after = 0, 0, None
    for place, row in enumerate(rows):
        if size >= limit_bytes:
            next_after = rows[place - 1]
            break
        line = stored.line(row)
        if not line.strip():
            continue
        taken.append(comparable(line))
        size += len(line)
        since += len(line)
        if since > _STEP_BYTES:
            since = 0
            yield
    block = b"".join(line + b"\n" for line in taken)
    yield
    return t.SyncLinesResult(head=stored.head(), lines=block, next_after=next_after)
