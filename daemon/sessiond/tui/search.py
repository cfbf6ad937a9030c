"""Incremental search: immediately in the visible text of rows, then, through the daemon, in all text."""

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
"""Seconds without typing after which the request is sent."""
_PAGE = 5_000


class Searched(Protocol):
    """The interface of the browser that a search uses; `app.Browser` implements it."""

    view: "TreeView"
    contents: "Contents"

    @property
    def daemon(self) -> "Daemon":
        """The daemon. Raises `DisconnectedError` while there is no connection."""

    def run_worker(self, work: Coroutine[Any, Any, None], *, group: str, exclusive: bool) -> object:
        """Run a coroutine in the background. If `exclusive`, cancel what runs in the same `group`."""

    def update_status(self) -> None:
        """Update the status lines at the head and the foot of the screen."""


class Search:
    """The search of one browser, with its matches."""

    def __init__(self, browser: Searched) -> None:
        self._browser = browser
        self._view = browser.view
        self._matches = Matches()

    @property
    def status(self) -> str:
        """The words, the number of the match under the cursor, and the number of matches; empty without a search."""
        found = self._matches
        if not found.words:
            return ""
        asking = self._view.renderer.signs.ellipsis if found.is_asking else ""
        return f"/{found.words} {found.number(self._view.place)}/{len(found)}{asking}"

    def search_for(self, words: str) -> None:
        """Search for these words from the cursor on; empty words end the search."""
        self._matches.search_for(words.strip(), self._view.rows)
        self._ask(go=True)
        self._show(go=True)

    def again(self) -> None:
        """Repeat the search after the rows were replaced, without moving the cursor."""
        self._ask(go=False)

    def rows_changed(self, rows: Rows) -> None:
        """Update the matches after rows were added, moved or removed."""
        self._matches.update(rows)
        self._view.matches = self._matches.ids

    def go(self, step: int) -> None:
        """Move to the next match (1), or the previous one (-1)."""
        self._view.go(self._matches.next(self._view.place, step))

    def _ask(self, *, go: bool) -> None:
        self._matches.is_asking = False
        asking = self._search_all_text(self._matches.words, go=go)
        self._browser.run_worker(asking, group="search", exclusive=True)

    def _show(self, *, go: bool) -> None:
        self._view.matches = self._matches.ids
        if go and (place := self._matches.from_here(self._view.place)) != NOWHERE:
            self._view.go(place)
        self._view.refresh()
        self._browser.update_status()

    async def _search_all_text(self, words: str, *, go: bool) -> None:
        if not words:
            return
        self._matches.is_asking = True
        await asyncio.sleep(_TYPED)
        try:
            found = await self._found(words)
        except USER_ERRORS:
            self._matches.is_asking = False  # the matches in visible text stay
            self._browser.update_status()
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
            found.update(node.id for node in page.nodes)
            if (cursor := page.next_cursor) is None:
                return found
