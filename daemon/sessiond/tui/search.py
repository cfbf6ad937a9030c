"""Searching as one types: in what the rows show at once, and in all that was said as soon as the daemon has looked."""

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Protocol

from sessiond.tui.matches import Matches
from sessiond.tui.rows import NOWHERE, Rows
from sessiond.tui.user_errors import USER_ERRORS

if TYPE_CHECKING:
    from sessiond.client.daemon import Daemon
    from sessiond.tui.contents import Contents
    from sessiond.tui.tree_view import TreeView

_TYPED = 0.15
"""Seconds in which nothing is typed, until the daemon is asked."""
_PAGE = 5_000


class Searched(Protocol):
    """What a search uses of the browser whose rows it searches; `app.Browser` implements it."""

    view: "TreeView"
    contents: "Contents"

    @property
    def daemon(self) -> "Daemon":
        """The daemon. Raises `Disconnected` while there is no connection."""

    def run_worker(self, work: Coroutine[Any, Any, None], *, group: str, exclusive: bool) -> object:
        """Run a coroutine in the background. If `exclusive`, cancel what runs in the same `group`."""

    def say(self) -> None:
        """Bring the lines at the head and the foot of the screen up to date."""


class Search:
    """The search of one browser, and what it has found."""

    def __init__(self, browser: Searched) -> None:
        self._browser = browser
        self._view = browser.view
        self._matches = Matches()

    @property
    def said(self) -> str:
        """What is looked for, which match the cursor is on, and how many there are; empty without a search."""
        found = self._matches
        if not found.words:
            return ""
        asking = self._view.renderer.signs.ellipsis if found.is_asking else ""
        return f"/{found.words} {found.number(self._view.place)}/{len(found)}{asking}"

    def look_for(self, words: str) -> None:
        """Search for these words, beginning at the cursor; without any, for nothing."""
        self._matches.look_for(words.strip(), self._view.rows)
        self._ask(go=True)
        self._show(go=True)

    def again(self) -> None:
        """Search for the same among other rows."""
        self._ask(go=False)

    def rows_changed(self, rows: Rows) -> None:
        """What was found may be elsewhere, and there may be more of it."""
        self._matches.look_again(rows)
        self._view.matches = self._matches.ids

    def go(self, step: int) -> None:
        """To the next match, or the one before."""
        self._view.go(self._matches.next(self._view.place, step))

    def _ask(self, *, go: bool) -> None:
        self._matches.is_asking = False
        asking = self._look_in_all(self._matches.words, go=go)
        self._browser.run_worker(asking, group="search", exclusive=True)

    def _show(self, *, go: bool) -> None:
        self._view.matches = self._matches.ids
        if go and (place := self._matches.from_here(self._view.place)) != NOWHERE:
            self._view.go(place)
        self._view.refresh()
        self._browser.say()

    async def _look_in_all(self, words: str, *, go: bool) -> None:
        if not words:
            return
        self._matches.is_asking = True
        await asyncio.sleep(_TYPED)
        try:
            found = await self._found(words)
        except USER_ERRORS:
            self._matches.is_asking = False  # what the rows show is found all the same
            self._browser.say()
            return
        self._matches.is_asking = False
        self._matches.found(found, self._view.rows)
        self._show(go=go)

    async def _found(self, words: str) -> set[str]:
        question, found, cursor = self._browser.contents.question, set[str](), None
        query = " ".join(filter(None, (question.query, words)))
        while True:
            page = await self._browser.daemon.tree(
                question.session_id, filter=question.filter, query=query, cursor=cursor, limit=_PAGE
            )
            found.update(it.id for it in page.nodes)
            if (cursor := page.next_cursor) is None:
                return found
