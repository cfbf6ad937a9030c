"""The rows of a session that a browser shows, read page by page and updated after notifications.

After an append at the leaf, only the subtree below the former leaf is read. In other cases the order of rows may change
(a new branch, a move of the leaf), so everything is read again, while the old rows stay on the screen.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from sessiond.client.results import AppendedBatch
from sessiond.client.wire import RpcError
from sessiond.protocol import types as t
from sessiond.tui.following import AWAY
from sessiond.tui.rows import NOWHERE, Rows

if TYPE_CHECKING:
    from sessiond.client.daemon import Daemon

FILTERS: tuple[t.Filter, ...] = get_args(t.Filter)

FIRST = 400
"""Rows around the cursor that are read first."""
_PAGE = 2_000
_PART = 5_000
"""Maximum rows of a subtree that is read alone; if there are more, everything is read."""
_GATHERING = 0.03
"""Seconds in which notifications are collected before something is read."""


@dataclass(frozen=True)
class Question:
    """A query for rows: the session, a filter and search words."""

    session_id: str
    filter: t.Filter = "default"
    query: str | None = None

    @property
    def is_selection(self) -> bool:
        """Whether the rows are those that were searched for, so that no branch is folded."""
        return self.filter == "labeledOnly" or bool(self.query)


class Contents:
    """The rows for a question. `changed` is called after each change, with the number of rows that were added.

    One task (`run`) reads everything. It calls `failed` with an error of a request, and `read_on` after each page of a
    long reading; all other methods only record what must be read. Rows that could not be read without a connection
    are read after `attached`.
    """

    def __init__(
        self,
        question: Question,
        daemon: Callable[[], "Daemon"],
        changed: Callable[[int], None],
        failed: Callable[[RpcError], None],
        read_on: Callable[[], None],
    ) -> None:
        self.question = question
        self.rows = Rows()
        self.leaf_id: str | None = None
        self.loading = 0
        """Number of rows read so far in a reading that is not complete; 0 when none is in progress."""
        self._daemon = daemon
        self._changed = changed
        self._failed = failed
        self._read_on = read_on
        self._around: str | None = None
        self._seq = -1
        self._all_stale = False
        self._stale: set[str] = set()
        self._work = asyncio.Event()
        self._is_reading = False

    @property
    def is_settled(self) -> bool:
        """Whether there is nothing left to read."""
        return self.rows.is_whole and not (self._is_reading or self._work.is_set())

    # --- recording what must be read ---------------------------------------------------------------------------

    def ask(self, question: Question, around: str | None) -> None:
        """Change the question, and read the rows around an entry first."""
        if question.session_id != self.question.session_id:
            self._seq = -1
            self.leaf_id = None
        self.question, self._around = question, around
        self.refresh()

    def begin(self, page: t.TreeResult, seq: int) -> None:
        """Use a first page that was read elsewhere, when the log's last line was `seq`."""
        self.rows = Rows(page.preceding_count)
        self.rows.add(page)
        self.leaf_id = page.leaf_id
        self._seq = seq
        if not self.rows.is_whole:
            self.refresh()

    def refresh(self) -> None:
        """Read everything again."""
        self._all_stale = True
        self._work.set()

    def attached(self, session: t.SessionInfo) -> None:
        """Handle a new connection: read what was missed."""
        if session.last_seq != self._seq:
            self.refresh()
        self._seq = session.last_seq
        self._work.set()

    def appended(self, note: AppendedBatch) -> None:
        """Handle appended entries: record what must be read."""
        before, self.leaf_id, self._seq = self.leaf_id, note.leaf_id, note.to_seq
        new = {entry.get("id") for entry in note.entries}
        for entry in note.entries:
            match entry.get("type"):
                case "leaf":
                    continue
                case "label":
                    self._labeled(entry.get("targetId"), entry.get("label"))
            parent = entry.get("parentId")
            if parent in new:
                continue
            if parent is None or parent != before or (tip := self.rows.tip) == NOWHERE:
                self._all_stale = True
            else:
                self._stale.add(self.rows.ids[tip])
        self._work.set()

    def moved(self, note: t.LeafMovedNote) -> None:
        """Handle a move of the leaf."""
        self.leaf_id, self._seq, self._all_stale = note.leaf_id, note.seq, True
        self._work.set()

    # --- reading -----------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Read stale rows, without end."""
        while True:
            await self._work.wait()
            self._work.clear()
            self._is_reading = True
            try:
                await self._catch_up()
            except AWAY:
                self._all_stale = True  # read after `attached`
            except RpcError as error:
                self._failed(error)
            finally:
                self.loading = 0
                self._is_reading = False

    async def _catch_up(self) -> None:
        if not self._all_stale:
            await asyncio.sleep(_GATHERING)
        if self._all_stale:
            self._all_stale = False
            self._stale.clear()
            await self._load()
            return
        stale, self._stale = self._stale, set()
        for name in stale:
            await self._read_below(name)
        self._mark_path()
        self._changed(0)

    async def _load(self) -> None:
        """Read all pages; first the one around the cursor, if no rows of this question are shown yet."""
        question = self.question
        before = self.rows if self.rows.is_whole and self._around is None else None
        is_first = self._around is not None or not len(self.rows)
        if is_first and not await self._begin(question, self._around):
            return
        rows, cursor = Rows(), None
        while True:
            page = await self._page(question, cursor)
            if page is None or question != self.question:
                return
            rows.add(page)
            if (cursor := page.next_cursor) is None:
                break
            self.loading = len(rows)
            self._read_on()
        self.rows, self.loading = rows, 0
        self._mark_path()
        self._changed(0 if before is None else sum(name not in before.places for name in rows.ids))
        if self._stale or self._all_stale:
            self._work.set()

    async def _begin(self, question: Question, around: str | None) -> bool:
        """Read the page around an entry. Returns whether there is more to read."""
        try:
            page = await self._tree(question, around=around, limit=FIRST)
        except RpcError as error:
            if error.kind != "entryNotFound":
                raise
            page = await self._tree(question, around=None, limit=FIRST)
        if question != self.question:
            return False
        self._around = None  # not before: without a connection, the page is read after the next attach
        self.rows = Rows(page.preceding_count)
        self.rows.add(page)
        self.loading = 0 if self.rows.is_whole else len(self.rows)
        self._changed(0)
        return not self.rows.is_whole

    async def _page(self, question: Question, cursor: str | None) -> t.TreeResult | None:
        """Read a page. Returns None when the session has changed so that the reading must begin again."""
        try:
            return await self._tree(question, cursor=cursor, limit=_PAGE)
        except RpcError as error:
            if error.kind != "cursorExpired":
                raise
            self.refresh()
            return None

    async def _read_below(self, name: str) -> None:
        """Read the subtree below a row again."""
        question = self.question
        place = self.rows.places.get(name)
        if place is None:
            return
        rows = self.rows
        try:
            page = await self._tree(question, root_id=name, limit=_PART)
        except RpcError as error:
            if error.kind != "entryNotFound":
                raise
            self.refresh()
            return
        if rows is not self.rows or question != self.question:
            self._stale.add(name)
            self._work.set()
            return
        if page.next_cursor is not None:
            self.refresh()
            return
        rows.total = page.entry_count
        if not page.nodes or page.nodes[0].id != name:  # the row itself is hidden now
            above = rows.parent(place)
            if above == NOWHERE:
                self.refresh()
                return
            await self._read_below(rows.ids[above])
            return
        more = rows.replace(place, page.nodes)
        on_path = [at for at, node in enumerate(page.nodes) if node.on_path]
        if on_path:  # the path goes through this subtree only
            rows.mark_path(place + on_path[-1])
        self._mark_path()
        self._changed(more)  # before any await, so that the view never has rows that changed without notice

    async def _tree(
        self, question: Question, *, around: str | None = None, root_id: str | None = None, cursor: str | None = None,
        limit: int,
    ) -> t.TreeResult:  # fmt: skip
        page = await self._daemon().tree(
            question.session_id, filter=question.filter, query=question.query, around_id=around, root_id=root_id,
            cursor=cursor, limit=limit, layout="path", open_all=True,
        )  # fmt: skip
        if question == self.question:
            self.leaf_id = page.leaf_id  # notifications and responses arrive in the order of events
        return page

    def _labeled(self, target: object, label: object) -> None:
        if self.question.filter == "labeledOnly" or self.question.query:
            self._all_stale = True
        elif isinstance(target, str) and target in self.rows.places:
            if isinstance(label, str) and label:
                self.rows.labels[target] = label
            else:
                self.rows.labels.pop(target, None)

    def _mark_path(self) -> None:
        """Mark the path to the current leaf, which may be newer than the rows that were read."""
        if self.leaf_id is None:
            self.rows.mark_path(NOWHERE)
        elif (tip := self.rows.places.get(self.leaf_id)) is not None:
            self.rows.mark_path(tip)
