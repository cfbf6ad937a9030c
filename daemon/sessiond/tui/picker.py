"""The dialog for another session: a list that can be searched."""

from collections.abc import Awaitable, Callable, Sequence

import msgspec
from rich.cells import cell_len
from rich.segment import Segment
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.events import Click, Key
from textual.geometry import Size
from textual.message import Message
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input

from sessiond import human
from sessiond.agents import names
from sessiond.distinctions import distinctions, session_facts
from sessiond.tui.row_renderer import CURSOR, DIM, LABEL, RowRenderer
from sessiond.tui.selection import moved_selection

_MAX_SESSIONS = 200


class _Origin(msgspec.Struct, frozen=True):
    """The agent that a session was read from."""

    agent: str


class Choice(msgspec.Struct, rename="camel", frozen=True):
    """A session in the list. Its fields are among those of a row of `session/list`.

    Attributes:
        session_id: The id with which the dialog is dismissed.
        title: Its title.
        first_prompt: The beginning of its first prompt, shown where there is no title.
        cwd: Its folder.
        updated_at: The time whose age is shown, ISO 8601.
        origin: The agent that it was read from; None for a session that began here.
    """

    session_id: str
    title: str | None
    first_prompt: str | None
    cwd: str
    updated_at: str
    origin: _Origin | None = None


Listed = Callable[[str], Awaitable[Sequence[Choice]]]
"""Returns the sessions that match some words, newest first. Raises nothing; on an error it returns none."""


class Sessions(ScrollView):
    """The lines of the list."""

    class Chosen(Message):
        """Sent when a session was clicked."""

    def __init__(self, renderer: RowRenderer, now: float, home: str) -> None:
        super().__init__()
        self.sessions: Sequence[Choice] = ()
        self.at = 0
        self._renderer, self._now, self._home = renderer, now, home
        self._added: list[list[str]] = []
        """The distinctions of the lines, see `distinctions`."""
        self._added_for: tuple[int, Sequence[Choice]] = (0, ())

    def show(self, sessions: Sequence[Choice]) -> None:
        """Show other sessions, with the first one selected."""
        self.sessions, self.at = sessions, 0
        self.virtual_size = Size(self.size.width, len(sessions))
        self.step(0)

    def step(self, lines: int) -> None:
        """Move the selection down by this many lines, or up if negative."""
        self.at = moved_selection(self, self.at, len(self.sessions), lines)

    def render_line(self, y: int) -> Strip:
        """Return line `y` of the visible region: the age, title and folder of a session."""
        columns = self.scrollable_content_region.width
        line = y + self.scroll_offset.y
        if line >= len(self.sessions):
            return Strip(
                [Segment("There are no sessions." if y == 0 and not self.sessions else "")]
            ).adjust_cell_length(columns)
        self._distinguish(columns)
        strip = self._line(self.sessions[line], columns, self._added[line])
        return strip.apply_style(CURSOR) if line == self.at else strip

    def _distinguish(self, columns: int) -> None:
        if self._added_for[0] == columns and self._added_for[1] is self.sessions:
            return
        self._added_for = (columns, self.sessions)
        rows = []
        for session in self.sessions:
            facts = session_facts(
                title=session.title, first_prompt=session.first_prompt, cwd=session.cwd, home=self._home,
                agent=names.short_name_of(session.origin.agent) if session.origin else "",
                updated_at=session.updated_at,
            )  # fmt: skip
            rows.append((self._line(session, columns).text, facts, session.session_id))
        self._added = distinctions(rows)

    def _line(self, session: Choice, columns: int, added: Sequence[str] = ()) -> Strip:
        renderer = self._renderer
        age = human.ago(session.updated_at, self._now).rjust(10)
        where = renderer.safe(human.folder(session.cwd, self._home))
        title = renderer.safe(session.title or session.first_prompt or "untitled")
        room = max(columns - 12, 0)
        end = f"  {renderer.distinction(added)}" if added else ""
        title = renderer.fit(title, max(min(room * 2 // 3, room - cell_len(end)), 1))
        parts = [Segment(f"{age}  ", DIM), Segment(title), Segment(end, LABEL), Segment(f"  {where}", DIM)]
        return Strip([part for part in parts if part.text]).adjust_cell_length(columns)

    def on_click(self, event: Click) -> None:
        """Select the session under the mouse, and send `Chosen`."""
        line = event.y + self.scroll_offset.y
        if line < len(self.sessions):
            self.at = line
            self.refresh()
            self.post_message(self.Chosen())


class Picker(ModalScreen[str | None]):
    """Dismissed with the id of the chosen session, or None."""

    def __init__(
        self, listed: Listed, renderer: RowRenderer, now: float, home: str, heading: str = ""
    ) -> None:
        super().__init__()
        self._listed = listed
        self._heading = heading
        self._words = Input(placeholder="words in the session", compact=True)
        self._sessions = Sessions(renderer, now, home)

    def compose(self) -> ComposeResult:
        """Yield the input line and the list."""
        with Vertical() as box:
            box.border_title = self._heading
            yield self._words
            yield self._sessions

    def on_mount(self) -> None:
        """Focus the input line, and read the newest sessions."""
        self._words.focus()
        self._read("")

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        self._read(event.value)

    @on(Input.Submitted)
    @on(Sessions.Chosen)
    def _choose(self) -> None:
        if self._sessions.sessions:
            self.dismiss(self._sessions.sessions[self._sessions.at].session_id)

    def on_key(self, event: Key) -> None:
        """Move the selection, or dismiss the dialog; other characters go to the input line."""
        steps = {"down": 1, "up": -1, "pagedown": 10, "pageup": -10, "ctrl+n": 1, "ctrl+p": -1}
        if event.key in ("escape", "ctrl+c"):
            event.stop()
            self.dismiss(None)
        elif event.key in steps:
            event.stop()
            self._sessions.step(steps[event.key])
        elif event.is_printable and event.character and not self._words.has_focus:
            self._words.insert_text_at_cursor(event.character)

    @work(exclusive=True)
    async def _read(self, words: str) -> None:
        self._sessions.show((await self._listed(words))[:_MAX_SESSIONS])
