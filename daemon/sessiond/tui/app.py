"""The browser: assembles the widgets, and passes keys, notifications and responses to them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from rich.segment import Segment
from textual.app import ComposeResult
from textual.containers import Container
from textual.events import Event, Key, Resize
from textual.geometry import Size
from textual.worker import WorkType

from sessiond.client.daemon_socket import VersionMismatchError
from sessiond.client.results import Entry
from sessiond.client.wire import RpcError
from sessiond.paths import Locations
from sessiond.protocol import types as t
from sessiond.tui.actions import Actions
from sessiond.tui.contents import Contents, Question
from sessiond.tui.following import Following
from sessiond.tui.full_screen import FullScreen
from sessiond.tui.keys import Keys
from sessiond.tui.pane import Pane
from sessiond.tui.prompt import PromptBar
from sessiond.tui.row_renderer import ERROR, RowRenderer
from sessiond.tui.rows import NOWHERE
from sessiond.tui.search import Search
from sessiond.tui.status_lines import StatusLines
from sessiond.tui.tree_view import TreeView
from sessiond.tui.user_errors import USER_ERRORS, NoEntryError

if TYPE_CHECKING:
    from sessiond.client.daemon import Daemon
    from sessiond.client.receiver import NotificationParams

_WIDE = 110
"""Minimum columns at which the entry is shown beside the tree, not below it."""
_LEAST = (30, 10)
"""Minimum columns and lines of a screen that shows the entry at all."""
_SETTLED = 0.05
"""Seconds without cursor movement after which the entry under the cursor is read."""


class Browser(FullScreen[None]):
    """The tree of one session at a time."""

    def __init__(
        self,
        session: t.SessionInfo,
        *,
        locations: Locations | None,
        renderer: RowRenderer,
        now: Callable[[], float],
        home: str = "",
        filter: t.Filter = "default",
        query: str | None = None,
        first: t.TreeResult | None = None,
        at: str | None = None,
    ) -> None:
        super().__init__()
        self.now = now
        self.session = session
        self.view = TreeView(renderer, now)
        self.pane = Pane()
        self.prompt = PromptBar()
        self.search = Search(self)
        self.contents = Contents(
            Question(session.session_id, filter, query),
            lambda: self.daemon,
            self._changed,
            self.show_error,
            self.update_status,
        )
        self._renderer = renderer
        self._home = home
        self.view.folds.reset(folds_branches=not self.contents.question.is_selection)
        self._lines = StatusLines(renderer, home)
        self._following = Following(locations, session.session_id)
        self._keys = Keys()
        self._is_attached = False
        self.wants_pane = True
        self._answer: asyncio.Future[bool] | None = None
        self._begin = (first, at)
        self._room = Size(80, 24)
        self._entry_after_switch: str | None = None
        self._when_loaded: Callable[[], None] | None = None
        self._requested_content: object = None
        self._actions: Actions | None = None
        self._doing: set[asyncio.Task[None]] = set()

    # --- the screen --------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Yield the widgets from top to bottom."""
        yield self._lines.head
        with Container(id="middle"):
            yield self.view
            yield self.pane
        yield self.prompt
        yield self._lines.foot

    def on_mount(self) -> None:
        """Show the first rows, and start to read and to follow the session."""
        self._actions = Actions(self)
        self.set_class(not self._renderer.boxes, "-ascii")
        self._room = self.size
        self.app_resume_signal.subscribe(self, lambda _: self._draw_all())
        first, at = self._begin
        self.view.notice = "Loading …" if self._renderer.boxes else "Loading ..."
        self.view.focus()
        if first is not None:
            self.contents.begin(first)
            self._show(at or self.contents.leaf_id)
        else:
            self.contents.ask(self.contents.question, at or self.session.leaf_id)
        self.run_worker(self.contents.run())
        self.run_worker(self._following.run(self))
        self.set_interval(30, self.view.refresh)
        self._lay_out()

    def _draw_all(self) -> None:
        """Redraw everything after another program has used the terminal."""
        for widget in (self._lines.head, self.view, self.pane, self._lines.foot):
            widget.refresh()
        self.screen.refresh(layout=True)

    async def on_unmount(self) -> None:
        """Cancel the actions in progress."""
        for task in self._doing:
            task.cancel()
        await asyncio.gather(*self._doing, return_exceptions=True)

    def on_resize(self, event: Resize) -> None:
        """Arrange the widgets for the new size of the screen."""
        self._room = event.size  # `size` still has the old value
        self._lay_out()

    def _lay_out(self) -> None:
        columns, lines = self._room
        self.query_one("#middle").set_class(columns >= _WIDE, "-wide")
        self.pane.display = self.wants_pane and columns >= _LEAST[0] and lines >= _LEAST[1]
        self.update_status()
        self._read_entry()

    def on_pane_resized(self) -> None:
        """Render the entry for the new size of the pane, which follows that of the screen later."""
        self._read_entry()

    def toggle_pane(self) -> None:
        """Show or hide the pane with the entry. Shows an error if the screen is too small for the pane."""
        self.wants_pane = not self.pane.display
        if self.pane.has_focus:
            self.view.focus()
        self._lay_out()
        if self.wants_pane and not self.pane.display:
            self.show_error("The screen is too small for the pane.")

    # --- notes and status --------------------------------------------------------------------------------------

    def show_note(self, note: str) -> None:
        """Show a note at the foot of the screen until the next key."""
        self._lines.set_note(note)
        self.update_status()

    def show_error(self, note: str) -> None:
        """Show an error at the foot of the screen until the next key."""
        self._lines.set_note(note, is_error=True)
        self.update_status()

    def update_status(self) -> None:
        """Update both status lines."""
        self._lines.draw(self.session, self.contents, self.view, self.search.status)

    # --- rows --------------------------------------------------------------------------------------------------

    def ask(self, **changes: Any) -> None:
        """Show other rows of this session."""
        question = self.contents.question
        values = {"filter": question.filter, "query": question.query, **changes}
        asked = Question(question.session_id, **values)
        if asked.is_selection != question.is_selection:
            self.view.folds.reset(folds_branches=not asked.is_selection)
        self.contents.ask(asked, self.view.current or self.contents.leaf_id)
        self.search.again()
        self.update_status()

    def switch_to(self, session: t.SessionInfo) -> None:
        """Show another session."""
        self.session = session
        self._lines.unseen = 0
        self.search.search_for("")
        self.view.folds.reset(folds_branches=True)
        self.contents.ask(Question(session.session_id, self.contents.question.filter), session.leaf_id)
        self._entry_after_switch = session.leaf_id
        self.run_worker(self._following.switch_to(session.session_id))

    def _changed(self, new: int) -> None:
        """Show the changed rows of the contents. `new` is how many were added."""
        rows, current = self.contents.rows, self.view.current
        if self._entry_after_switch is not None:
            current, self._entry_after_switch = self._entry_after_switch, None
        elif self.view.was_at_tip and rows.tip != NOWHERE and not self.contents.loading:
            current = rows.ids[rows.tip]
        else:
            self._lines.unseen = max(self._lines.unseen + new, 0)
        self.search.rows_changed(rows)
        self._show(current)
        if self._when_loaded is not None and self.contents.is_whole:
            self._when_loaded()

    def when_loaded(self, action: Callable[[], None]) -> None:
        """Call `action` now, and again when all rows are loaded, unless another key is pressed meanwhile."""
        action()
        self._when_loaded = None if self.contents.is_whole else action

    def _show(self, current: str | None) -> None:
        question = self.contents.question
        self.view.notice = (
            "No entry contains all of these words." if question.query
            else "There are no messages yet." if question.filter == "default"
            else f"No entry matches the filter {question.filter}."
        )  # fmt: skip
        self.view.show(self.contents.rows, current)

    def on_tree_view_moved(self) -> None:
        """Update the status lines and the pane for the row under the cursor."""
        if self.view.was_at_tip:
            self._lines.unseen = 0
        self.update_status()
        self._read_entry()

    # --- the entry under the cursor ----------------------------------------------------------------------------

    async def entry(self) -> Entry:
        """Return the entry under the cursor, with its blobs resolved. Raises one of `USER_ERRORS`."""
        name = self.view.current
        if name is None:
            raise NoEntryError
        await self._following.first_attempt()
        found = await self.daemon.entries(self._session_id, entry_ids=[name], resolve_blobs=True)
        return found.entries[0]

    def _read_entry(self) -> None:
        name = self.view.current
        content = (self._session_id, name, self.view.rows.labels.get(name or ""), self.pane.columns)
        if self.pane.display and content not in (self._requested_content, self.pane.content):
            self._requested_content = content
            # A function: a worker that is canceled before it begins would not await a coroutine.
            fill: WorkType[None] = partial(self._fill_pane, content)
            self.run_worker(fill, group="pane", exclusive=True)

    async def _fill_pane(self, content: tuple[str, str | None, str | None, int]) -> None:
        session_id, name, label, _ = content
        await asyncio.sleep(_SETTLED)
        await self._following.first_attempt()
        before, columns = self.pane.content, self.pane.columns
        from_top = not (isinstance(before, tuple) and before[:2] == content[:2])
        if name is None:
            self.pane.show(content, [], from_top=True)
            return
        try:
            entry = (await self.daemon.entries(session_id, entry_ids=[name])).entries[0]
        except USER_ERRORS as error:
            # It is read again when the cursor moves, or after the connection is restored.
            self._requested_content = None
            self.pane.show(None, [[Segment(self._renderer.safe(str(error)), ERROR)]], from_top=True)
            return
        # Imported on use, since importing the Markdown renderer takes long.
        from sessiond.tui.entry_text import render_entry

        lines = await asyncio.to_thread(render_entry, entry, label, self._renderer, columns, self.now())
        self.pane.show((*content[:3], columns), lines, from_top=from_top)

    # --- notifications -----------------------------------------------------------------------------------------

    @property
    def daemon(self) -> "Daemon":
        """The daemon. Raises `DisconnectedError` while there is no connection."""
        return self._following.daemon

    @property
    def _session_id(self) -> str:
        return self.contents.question.session_id

    def attached(self, session: t.SessionInfo) -> None:
        """Update the status for a new connection, and watch the tree, if this session is still displayed."""
        if session.session_id == self._session_id:
            self.session, self._lines.state, self._requested_content = session, "", None
            self._is_attached = True
            self.contents.refresh()
            self.update_status()
            self._read_entry()

    def away(self) -> None:
        """Show in the status line that there is no connection to the daemon."""
        self._lines.state = "offline, waiting"
        self._is_attached = False
        self.update_status()

    @property
    def is_settled(self) -> bool:
        """Whether the browser is attached and all rows and known changes are loaded."""
        return self._is_attached and self.contents.is_settled

    def refused(self, error: RpcError | VersionMismatchError) -> None:
        """Show the error with which the daemon refused the session or the connection."""
        self._lines.state = "unavailable"
        self.show_error(str(error))

    def received(self, note: "NotificationParams") -> None:
        """Update the rows or the status lines for a notification about the session."""
        if isinstance(note, t.TreeChangedNote | t.TreeLapsedNote):
            self.contents.received(note)
        elif isinstance(note, t.ChangedNote):
            self.session = note.session
            self.update_status()
        elif isinstance(note, t.DeletedNote):
            self._lines.state = "deleted"
            self.show_error("The session was moved to the trash; sessiond restore restores it.")

    async def start_daemon(self) -> None:
        """Start the daemon if it does not run, and read everything again."""
        await self._following.start_daemon()
        await self._following.switch_to(self._session_id)

    # --- input -------------------------------------------------------------------------------------------------

    async def on_event(self, event: Event) -> None:
        """Handle keys one at a time, so that a question that a key opens receives the next key."""
        if isinstance(event, Key) and len(self.screen_stack) == 1 and not event.is_forwarded:
            if not self.prompt.is_open:
                await self._press(event)
                return
            if event.key == "ctrl+c":
                self.prompt.cancel()
                return
            self.prompt.take_focus()  # a click may have moved the focus
        await super().on_event(event)

    async def _press(self, event: Key) -> None:
        key = (
            event.character if event.is_printable and event.character and event.key != "space" else event.key
        )
        if self._answer is not None:
            self._answered(key)
            return
        if self._lines.note:
            self.show_note("")
        if self.pane.has_focus and key in (
            "j",
            "k",
            "down",
            "up",
            "pagedown",
            "pageup",
            "home",
            "end",
            "escape",
        ):
            self._key_in_pane(key)
        elif (name := self._keys.press(key)) is not None:
            self._when_loaded = None
            await self._do(getattr(self._actions, name))

    def _key_in_pane(self, key: str) -> None:
        page = max(self.pane.size.height - 1, 1)
        steps = {
            "j": 1,
            "down": 1,
            "k": -1,
            "up": -1,
            "pagedown": page,
            "pageup": -page,
            "home": -1_000_000,
            "end": 1_000_000,
        }
        if key == "escape":
            self.view.focus()
        else:
            self.pane.step(steps[key])

    async def _do(self, action: Callable[[], Awaitable[None] | None]) -> None:
        async def run(doing: Awaitable[None]) -> None:
            try:
                await doing
            except USER_ERRORS as error:
                self.show_error(str(error))
            except Exception as error:  # noqa: BLE001 - an unexpected exception ends the browser; `browse` raises it
                self._handle_exception(error)

        if (doing := action()) is not None:
            task = asyncio.create_task(run(doing))
            self._doing.add(task)
            task.add_done_callback(self._doing.discard)
            await asyncio.sleep(0)  # the action begins, so that its question is open

    async def confirm(self, question: str) -> bool:
        """Ask a question that is answered with one key. Returns whether the answer is yes."""
        if self._answer is not None:
            return False
        self._answer = asyncio.get_running_loop().create_future()
        self.show_note(f"{question} (y/n)")
        try:
            return await self._answer
        finally:
            self._answer = None
            self.show_note("")

    def _answered(self, key: str) -> None:
        if self._answer is None or self._answer.done():
            return
        if key in ("y", "Y", "enter"):
            self._answer.set_result(True)
        elif key in ("n", "N", "q", "escape", "ctrl+c"):
            self._answer.set_result(False)

    async def pick(self) -> str | None:
        """Let the user choose a session. Returns its id, or None."""
        from sessiond.tui.picker import Choice, Picker

        async def listed(words: str) -> Sequence[Choice]:
            try:
                query = words.strip() or None
                found = await self.daemon.list_sessions(
                    query=query, automated=None if query else False, limit=200
                )
                if not found.sessions and query is None:
                    found = await self.daemon.list_sessions(limit=200)
            except USER_ERRORS:
                return []
            return msgspec.convert(found.sessions, list[Choice], from_attributes=True)

        chosen: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self.push_screen(Picker(listed, self._renderer, self.now(), self._home), chosen.set_result)
        return await chosen

    def show_help(self) -> None:
        """Show the screen with the keys."""
        from sessiond.tui.help_screen import HelpScreen

        self.push_screen(HelpScreen())
