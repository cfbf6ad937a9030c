"""The rows of a session that a browser shows. The daemon sends them, and then what changes (`session/watchTree`).

Rows of another question appear with the first notification. Rows that are sent again, after a lost connection for
example, are shown when all of them have arrived; until then, the old rows stay on the screen.
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from sessiond.client.wire import RpcError
from sessiond.protocol import types as t
from sessiond.tui.following import AWAY
from sessiond.tui.rows import Rows

if TYPE_CHECKING:
    from sessiond.client.daemon import Daemon

FILTERS: tuple[t.Filter, ...] = get_args(t.Filter)


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

    One task (`run`) begins the watches. It calls `failed` with the text of an error; `read_on` is called as rows come
    that are not shown yet. Without a connection, a watch begins after `attached`.
    """

    def __init__(
        self,
        question: Question,
        daemon: Callable[[], "Daemon"],
        changed: Callable[[int], None],
        failed: Callable[[str], None],
        read_on: Callable[[], None],
    ) -> None:
        self.question = question
        self.rows = Rows()
        self.leaf_id: str | None = None
        self.loading = 0
        """Number of rows received so far of those that are not complete; 0 when they are."""
        self._daemon = daemon
        self._changed = changed
        self._failed = failed
        self._read_on = read_on
        self._around: str | None = None
        self._whole: int | None = None
        """Number of rows when all rows for the question were last shown; None if they were not yet."""
        self._watch_id: str | None = None
        """None while a watch begins."""
        self._received = Rows()
        """The rows of the watch."""
        self._early: list[t.TreeChangedNote | t.TreeLapsedNote] = []
        """Notifications that arrived before the id of the watch was known."""
        self._work = asyncio.Event()

    @property
    def is_whole(self) -> bool:
        """Whether all rows for the question have been shown."""
        return self._whole is not None

    @property
    def is_settled(self) -> bool:
        """Whether all rows have arrived and no watch is to begin."""
        return self.is_whole and self._received is self.rows and not self._work.is_set()

    def ask(self, question: Question, around: str | None) -> None:
        """Change the question, and show the rows around an entry first."""
        self.question, self._around = question, around
        self._whole = None  # the rows of another question are shown as they come
        self.refresh()

    def begin(self, page: t.TreeResult) -> None:
        """Show a first page that was read elsewhere."""
        self.rows = Rows(page)
        self.leaf_id = page.leaf_id
        self._whole = len(self.rows) if self.rows.is_whole else None
        self._around = page.nodes[len(page.nodes) // 2].id if self.rows.before and page.nodes else None

    def refresh(self) -> None:
        """Receive all rows again."""
        self._work.set()

    # --- the watch ---------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Begin watches, without end."""
        while True:
            await self._work.wait()
            self._work.clear()
            try:
                with contextlib.suppress(*AWAY):  # it begins after the next `attached`
                    await self._watch()
            except RpcError as error:
                if self._work.is_set():
                    continue  # the next watch may succeed
                if error.kind != "entryNotFound" or self._around is None:
                    self._failed(str(error))
                else:
                    self._around = None
                    self.refresh()

    async def _watch(self) -> None:
        """Begin a watch instead of the current one."""
        daemon, question, old = self._daemon(), self.question, self._watch_id
        self._watch_id, self._received = None, Rows()
        self._early.clear()
        if old is not None:
            await daemon.unwatch(old)
        begun = await daemon.watch_tree(
            question.session_id, filter=question.filter, query=question.query, around_id=self._around,
            open_all=True,
        )  # fmt: skip
        self._watch_id = begun.watch_id
        if not self._work.is_set():
            self._around = None  # not before: without a connection, the watch begins after the next attach
            for note in self._early:
                self.received(note)

    def received(self, note: t.TreeChangedNote | t.TreeLapsedNote) -> None:
        """Handle a notification of a watch."""
        if self._watch_id is None:
            self._early.append(note)
        elif self._work.is_set() or note.watch_id != self._watch_id:
            return
        elif isinstance(note, t.TreeChangedNote):
            self._apply(note)
        elif note.reason == "unreadable":
            self._failed(note.message)
        elif note.reason != "deleted":  # `session/deleted` says that
            self.refresh()

    def _apply(self, note: t.TreeChangedNote) -> None:
        whole = self._whole
        if self._received is self.rows and (note.more or (note.preceding_count and whole is not None)):
            self._received = self.rows.copy()  # more rows follow; the screen shows the old ones until then
        rows = self._received
        rows.apply(note)
        self.leaf_id = note.leaf_id
        self.loading = len(rows) if note.more or not rows.is_whole else 0
        if note.more:
            return
        if rows.is_whole or whole is None:
            self.rows = rows
            self._whole = len(rows) if rows.is_whole else None
            self._changed(len(rows) - whole if whole is not None else 0)
        else:
            self._read_on()
