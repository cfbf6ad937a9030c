"""What a browser shows of a session, kept true: read page by page, and anew where something happened.

An append reads what hangs on the entry that it was attached to, and nothing else; where the leaf moves to a row that is
shown, only the path is marked anew. What cannot be told apart so (a hidden leaf, a hidden parent) is read as a whole,
while what is shown stays.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from sessiond.client.daemon import Daemon
from sessiond.client.results import AppendedBatch
from sessiond.client.wire import RpcError
from sessiond.protocol import types as t
from sessiond.tui.following import AWAY
from sessiond.tui.rows import NOWHERE, Rows

FILTERS: tuple[t.Filter, ...] = ("default", "no-tools", "user-only", "labeled-only", "all")

FIRST = 400
"""Rows around the cursor that are read first."""
_PAGE = 2_000
_PART = 5_000
"""Rows of a subtree that are read to be put in its place; more is read as a whole."""
_GATHERING = 0.03
"""Seconds in which news are gathered before something is read."""


@dataclass(frozen=True)
class Question:
    """Which rows are wanted."""

    session_id: str
    filter: t.Filter = "default"
    query: str | None = None


class Contents:
    """The rows that answer a question. `changed` is called whenever they have, with how many came to an older view.

    Everything is read by one task (`run`), which tells `failed` what it could not read, and `read_on` when it has read
    more of what takes long; the rest only says what there is to do. What could not be read because the daemon is away
    is read when it is `attached` again.
    """

    def __init__(
        self,
        question: Question,
        daemon: Callable[[], Daemon],
        changed: Callable[[int], None],
        failed: Callable[[RpcError], None],
        read_on: Callable[[], None],
    ) -> None:
        self.question = question
        self.rows = Rows()
        self.leaf_id: str | None = None
        self.loading = 0
        """Rows that have been read of a view that is not whole yet; 0 when nothing is being read."""
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

    # --- what there is to do -----------------------------------------------------------------------------------

    def ask(self, question: Question, around: str | None) -> None:
        """Show something else, beginning around an entry."""
        if question.session_id != self.question.session_id:
            self._seq = -1
            self.leaf_id = None
        self.question, self._around = question, around
        self.refresh()

    def begin(self, page: t.TreeResult, seq: int) -> None:
        """Take a first page that was read elsewhere, when the log had so many lines."""
        self.rows = Rows(page.before, page.bars)
        self.rows.add(page)
        self.leaf_id = page.leaf_id
        self._seq = seq
        if not self.rows.is_whole:
            self.refresh()

    def refresh(self) -> None:
        """Read everything anew."""
        self._all_stale = True
        self._work.set()

    def attached(self, session: t.SessionInfo) -> None:
        """What happened while nobody listened is read."""
        if session.seq != self._seq:
            self.refresh()
        self._seq = session.seq
        self._work.set()

    def appended(self, note: AppendedBatch) -> None:
        """New lines: say what has to be read for them."""
        before, self.leaf_id, self._seq = self.leaf_id, note.leaf_id, note.seq
        new = {entry.get("id") for entry in note.entries}
        for entry in note.entries:
            match entry.get("type"):
                case "leaf":
                    continue
                case "label":
                    self._labeled(entry.get("targetId"), entry.get("label"))
            parent = entry.get("parentId")
            if parent is None:
                self._all_stale = True  # another root
            elif parent in self.rows.places:
                self._stale.add(str(parent))
            elif parent == before and (tip := self.rows.tip) != NOWHERE:
                self._stale.add(self.rows.ids[tip])
            elif parent not in new:
                self._all_stale = True
        self._work.set()

    def moved(self, note: t.LeafMovedNote) -> None:
        """The leaf went elsewhere."""
        left, self.leaf_id, self._seq = note.previous_leaf_id, note.leaf_id, note.seq
        if self.leaf_id is not None and self.leaf_id not in self.rows.places:
            self._all_stale = True
        elif left in self.rows.places:
            self._stale.add(str(left))  # a turn without words is shown only while it is the leaf
        self._work.set()

    # --- doing it ----------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Read what is stale, for ever."""
        while True:
            await self._work.wait()
            self._work.clear()
            self._is_reading = True
            try:
                await self._catch_up()
            except AWAY:
                self._all_stale = True  # read when somebody is attached again
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
        """All pages; those around the cursor first, when nothing of this view is shown yet."""
        question = self.question
        before = self.rows if self.rows.is_whole and self._around is None else None
        if self._around is not None or not len(self.rows):
            around, self._around = self._around, None
            if not await self._begin(question, around):
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
        """The page around an entry; whether there is more to read."""
        try:
            page = await self._tree(question, around=around, limit=FIRST)
        except RpcError as error:
            if error.kind != "entryNotFound":
                raise
            page = await self._tree(question, around=None, limit=FIRST)
        if question != self.question:
            return False
        self.rows = Rows(page.before, page.bars)
        self.rows.add(page)
        self.loading = 0 if self.rows.is_whole else len(self.rows)
        self._changed(0)
        return not self.rows.is_whole

    async def _page(self, question: Question, cursor: str | None) -> t.TreeResult | None:
        """A page; None when the session has changed so much that the reading has to begin again."""
        try:
            return await self._tree(question, cursor=cursor, limit=_PAGE)
        except RpcError as error:
            if error.kind != "cursorExpired":
                raise
            self.refresh()
            return None

    async def _read_below(self, name: str) -> None:
        """Read what hangs on a row anew."""
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
        rows.total = page.total
        if not page.nodes or page.nodes[0].id != name:  # the row itself is hidden now
            above = rows.parent(place)
            if above == NOWHERE:
                self.refresh()
                return
            await self._read_below(rows.ids[above])
            return
        more = rows.replace(place, page.nodes)
        on_path = [at for at, node in enumerate(page.nodes) if node.on_path]
        if on_path:  # so the path goes through here, and nowhere else
            rows.mark_path(place + on_path[-1])
        self._mark_path()
        self._changed(more)  # at once: nobody may look at rows that have changed without being told

    async def _tree(
        self, question: Question, *, around: str | None = None, root_id: str | None = None, cursor: str | None = None,
        limit: int,
    ) -> t.TreeResult:  # fmt: skip
        page = await self._daemon().tree(
            question.session_id, filter=question.filter, query=question.query, around=around, root_id=root_id,
            cursor=cursor, limit=limit,
        )  # fmt: skip
        if question == self.question:
            self.leaf_id = page.leaf_id  # news and answers come in the order in which things happened
        return page

    def _labeled(self, target: object, label: object) -> None:
        if self.question.filter == "labeled-only" or self.question.query:
            self._all_stale = True
        elif isinstance(target, str) and target in self.rows.places:
            if isinstance(label, str) and label:
                self.rows.labels[target] = label
            else:
                self.rows.labels.pop(target, None)

    def _mark_path(self) -> None:
        """What was read may be older than the newest news of the leaf."""
        if self.leaf_id is None:
            self.rows.mark_path(NOWHERE)
        elif (tip := self.rows.places.get(self.leaf_id)) is not None:
            self.rows.mark_path(tip)
