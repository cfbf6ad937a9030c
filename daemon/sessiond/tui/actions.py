"""The actions of the keys, one method for each.

Actions that wait are coroutines. They raise errors of `user_errors`, which the caller shows.
"""

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from sessiond.client.wire import RpcError
from sessiond.tui import copying, outside
from sessiond.tui.contents import FILTERS
from sessiond.tui.entry_text import as_text

if TYPE_CHECKING:
    from sessiond.client.daemon import Daemon
    from sessiond.client.results import Entry
    from sessiond.protocol import types as t
    from sessiond.tui.contents import Contents
    from sessiond.tui.pane import Pane
    from sessiond.tui.prompt import PromptBar
    from sessiond.tui.search import Search
    from sessiond.tui.tree_view import TreeView


class Screen(Protocol):
    """The interface of the browser that actions use; `app.Browser` implements it."""

    view: "TreeView"
    pane: "Pane"
    prompt: "PromptBar"
    search: "Search"
    contents: "Contents"

    @property
    def daemon(self) -> "Daemon":
        """The daemon. Raises `DisconnectedError` while there is no connection."""

    def ask(self, **changes: Any) -> None:
        """Show other rows of this session: those of another `filter` or `query`."""

    def when_loaded(self, action: Callable[[], None]) -> None:
        """Call `action` now, and again when all rows are loaded."""

    def toggle_pane(self) -> None:
        """Show or hide the pane with the entry."""

    async def entry(self) -> "Entry":
        """Return the entry under the cursor. Raises one of `USER_ERRORS`."""

    def show_note(self, note: str) -> None:
        """Show a note at the foot of the screen until the next key."""

    def show_error(self, note: str) -> None:
        """Show an error at the foot of the screen until the next key."""

    async def confirm(self, question: str) -> bool:
        """Ask a question that is answered with one key. Returns whether the answer is yes."""

    async def pick(self) -> str | None:
        """Let the user choose a session. Returns its id, or None."""

    def switch_to(self, session: "t.SessionInfo") -> None:
        """Show another session."""

    async def start_daemon(self) -> None:
        """Start the daemon if it does not run, and read everything again."""

    def show_help(self) -> None:
        """Show the keys."""

    def run_outside(self, command: list[str]) -> int:
        """Give the terminal to another program, and return its exit code."""

    def action_suspend_process(self) -> None:
        """Stop this process, as ctrl+z does."""

    def copy_to_clipboard(self, text: str) -> None:
        """Copy a text to the clipboard through the terminal."""

    def exit(self) -> None:
        """End the browser."""


class Actions:
    """The actions of one browser."""

    def __init__(self, browser: Screen) -> None:
        self._browser = browser
        self._tree = tree = browser.view
        self._moves: list[tuple[str | None, str | None]] = []  # moves of the leaf by this browser: (from, to)
        self.down, self.up = partial(tree.step, 1), partial(tree.step, -1)
        self.half_down, self.half_up = partial(tree.page, 0.5), partial(tree.page, -0.5)
        self.page_down, self.page_up = partial(tree.page, 1), partial(tree.page, -1)
        self.first, self.last = (
            partial(browser.when_loaded, tree.go_first),
            partial(browser.when_loaded, tree.go_last),
        )
        self.tip, self.parent = tree.go_tip, tree.go_parent
        self.next_sibling, self.previous_sibling = partial(tree.go_sibling, 1), partial(tree.go_sibling, -1)
        self.fold, self.unfold, self.toggle = tree.fold, tree.unfold, tree.toggle
        self.fold_others, self.open_all = tree.fold_others, tree.open_all
        self.pane_down, self.pane_up = partial(browser.pane.step, 3), partial(browser.pane.step, -3)

    # --- moving the cursor -------------------------------------------------------------------------------------

    def next_branch(self) -> None:
        """Move the cursor to the next row that begins a branch."""
        self._tree.go_to(1, self._tree.rows.has_siblings)

    def previous_branch(self) -> None:
        """Move the cursor to the previous row that begins a branch."""
        self._tree.go_to(-1, self._tree.rows.has_siblings)

    def next_user(self) -> None:
        """Move the cursor to the next user message."""
        self._tree.go_to(1, self._tree.is_user)

    def previous_user(self) -> None:
        """Move the cursor to the previous user message."""
        self._tree.go_to(-1, self._tree.is_user)

    def next_label(self) -> None:
        """Move the cursor to the next entry with a label."""
        self._tree.go_to(1, self._tree.is_labeled)

    def previous_label(self) -> None:
        """Move the cursor to the previous entry with a label."""
        self._tree.go_to(-1, self._tree.is_labeled)

    # --- search and filters ------------------------------------------------------------------------------------

    async def search(self) -> None:
        """Search while the user types. A canceled search ends, and the cursor returns to its entry."""
        origin = self._tree.current
        words = await self._browser.prompt.ask("/", on_change=self._browser.search.search_for)
        if words is None:
            self._browser.search.search_for("")
            if origin in self._tree.rows.places:
                self._tree.go(self._tree.rows.places[origin])

    def next_match(self) -> None:
        """Move the cursor to the next match of the search."""
        self._browser.search.go(1)

    def previous_match(self) -> None:
        """Move the cursor to the previous match of the search."""
        self._browser.search.go(-1)

    async def narrow(self) -> None:
        """Ask for words, and show only entries that contain all of them; without words, show all."""
        words = await self._browser.prompt.ask("Only with: ", self._browser.contents.question.query or "")
        if words is not None:
            self._browser.ask(query=words.strip() or None)

    def next_filter(self) -> None:
        """Switch to the next filter; after the last one, to the first."""
        at = FILTERS.index(self._browser.contents.question.filter)
        self._browser.ask(filter=FILTERS[(at + 1) % len(FILTERS)])

    def filter_1(self) -> None:
        """Switch to the filter `default`."""
        self._browser.ask(filter=FILTERS[0])

    def filter_2(self) -> None:
        """Switch to the filter `noTools`."""
        self._browser.ask(filter=FILTERS[1])

    def filter_3(self) -> None:
        """Switch to the filter `userOnly`."""
        self._browser.ask(filter=FILTERS[2])

    def filter_4(self) -> None:
        """Switch to the filter `labeledOnly`."""
        self._browser.ask(filter=FILTERS[3])

    def filter_5(self) -> None:
        """Switch to the filter `all`."""
        self._browser.ask(filter=FILTERS[4])

    # --- reading -----------------------------------------------------------------------------------------------

    def pane(self) -> None:
        """Show or hide the pane with the entry."""
        self._browser.toggle_pane()

    def other_side(self) -> None:
        """Move the focus between the tree and the pane, if the pane is visible."""
        if self._browser.pane.display:
            (self._tree if self._browser.pane.has_focus else self._browser.pane).focus()

    async def edit(self) -> None:
        """Open the text of the entry in the user's editor or pager, and wait until that program ends."""
        text = as_text(await self._browser.entry())
        command = outside.program(os.environ)
        with outside.private_copy(text) as path:
            code = self._browser.run_outside([*command, path])
        if code:
            self._browser.show_error(f"{command[0]} ended with {code}.")

    async def copy_id(self) -> None:
        """Copy the id of the entry under the cursor."""
        if (name := self._tree.current) is not None:
            await self._copy(name, f"Copied {name}.")

    async def copy_text(self) -> None:
        """Copy the text of the entry under the cursor."""
        text = as_text(await self._browser.entry())
        await self._copy(text, f"Copied {len(text):,} characters.")

    def time(self) -> None:
        """Show or hide the age of entries."""
        self._tree.renderer.shows_time = not self._tree.renderer.shows_time
        self._tree.refresh()

    # --- requests ----------------------------------------------------------------------------------------------

    async def branch(self) -> None:
        """Move the leaf to the entry under the cursor if the user confirms the move."""
        if (name := self._target()) and await self._browser.confirm(
            f"Move the leaf to {self._described(name)}?"
        ):
            self._moved(await self._browser.daemon.branch(self._session, name))

    async def branch_summary(self) -> None:
        """Move the leaf to the entry under the cursor, with a summary of the abandoned branch."""
        if (name := self._target()) is None:
            return
        about = await self._browser.prompt.ask("Summarize the abandoned branch, with attention to: ")
        if about is not None:
            self._browser.show_note("The summary is being written …")
            leaf = self._browser.contents.leaf_id
            self._moved(
                await self._browser.daemon.branch(
                    self._session,
                    name,
                    expected_leaf_id=leaf,
                    summarize=True,
                    instructions=about.strip() or None,
                )
            )

    async def undo(self) -> None:
        """Undo the last move of the leaf by this browser, unless the leaf has changed since."""
        if not self._moves:
            self._browser.show_error("There is no move of the leaf to undo.")
            return
        came_from, went_to = self._moves[-1]
        try:
            await self._browser.daemon.branch(self._session, came_from, expected_leaf_id=went_to)
        except RpcError as error:
            if error.kind == "leafConflict":
                self._moves.clear()
                self._browser.show_error("The leaf has changed since that move, so it cannot be undone.")
                return
            raise
        self._moves.pop()
        self._browser.show_note(f"The leaf is back at {came_from or 'the start, before the first entry'}.")

    async def fork(self) -> None:
        """Ask for a title, copy the path to the entry into a new session, and show that session."""
        if (name := self._tree.current) is None:
            return
        title = await self._browser.prompt.ask(f"Fork at {self._described(name)}; title of the new session: ")
        if title is not None:
            made = await self._browser.daemon.fork(self._session, leaf_id=name, title=title.strip() or None)
            self._opened(made.session)

    async def label(self) -> None:
        """Ask for a label for the entry under the cursor; an empty one removes the label."""
        if (name := self._tree.current) is None:
            return
        known = self._tree.rows.labels.get(name, "")
        label = await self._browser.prompt.ask("Label (empty: remove it): ", self._tree.renderer.safe(known))
        if label is not None and (label := label.strip()) != known:
            await self._browser.daemon.label(self._session, name, label or None)

    async def open(self) -> None:
        """Let the user choose a session, and show it."""
        if (chosen := await self._browser.pick()) is not None:
            self._opened((await self._browser.daemon.open(chosen, bind=False)).session)

    async def refresh(self) -> None:
        """Start the daemon if it does not run, and reload everything."""
        await self._browser.start_daemon()

    def help(self) -> None:
        """Show the keys."""
        self._browser.show_help()

    def suspend(self) -> None:
        """Suspend the browser to the shell, as ctrl+z does."""
        self._browser.action_suspend_process()

    def quit(self) -> None:
        """Exit with exit code 0."""
        self._browser.exit()

    # --- details -----------------------------------------------------------------------------------------------

    @property
    def _session(self) -> str:
        return self._browser.contents.question.session_id

    def _target(self) -> str | None:
        """Return the entry to which the leaf is to move; None if it is the leaf already."""
        name = self._tree.current
        if name is not None and name == self._browser.contents.leaf_id:
            self._browser.show_note("The leaf is already here.")
            return None
        return name

    def _described(self, name: str) -> str:
        """Return the name of an entry in a question: its id and the beginning of its text."""
        rows, renderer = self._tree.rows, self._tree.renderer
        preview = renderer.fit(renderer.safe(rows.previews[rows.places[name]]), 40)
        return f"{renderer.safe(name)} ({preview})" if preview else renderer.safe(name)

    def _moved(self, moved: "t.BranchResult") -> None:
        self._moves.append((moved.previous_leaf_id, moved.leaf_id))
        self._browser.show_note("The leaf was moved; u undoes that.")

    def _opened(self, session: "t.SessionInfo") -> None:
        self._moves.clear()
        self._browser.switch_to(session)

    async def _copy(self, text: str, done: str) -> None:
        command = copying.program(os.environ)
        taken = command is not None and await copying.hand_over(command, text)
        if len(text.encode("utf-8", "replace")) <= copying.MAX_CHARACTERS:
            self._browser.copy_to_clipboard(text)
        elif not taken:
            self._browser.show_error(
                "The text is too long to copy through the terminal; e opens it in an editor."
            )
            return
        self._browser.show_note(done)
