"""The lines at the head and the foot of the screen: the session, and the filter, search and position of the browser."""

from rich.segment import Segment

from sessiond import human
from sessiond.agents import names
from sessiond.protocol import types as t
from sessiond.tui.bar import Bar
from sessiond.tui.contents import Contents
from sessiond.tui.row_renderer import DIM, ERROR, LABEL, NONE, TITLE, RowRenderer
from sessiond.tui.tree_view import TreeView


class StatusLines:
    """Two bars. While there is a note, the bar at the foot shows only the note.

    `state` is a word or two about the connection or the session, empty in the normal case. `unseen` counts entries
    that were added below the cursor's last position at the tip.
    """

    def __init__(self, renderer: RowRenderer, home: str) -> None:
        self.head, self.foot = Bar(renderer), Bar(renderer)
        self.note = ""
        self.state = ""
        self.unseen = 0
        self._note_is_error = False
        self._renderer = renderer
        self._home = home

    def set_note(self, note: str, *, is_error: bool = False) -> None:
        """Set the note that the next `draw` shows; an empty one removes it."""
        self.note, self._note_is_error = note, is_error

    def draw(self, session: t.SessionInfo, contents: Contents, view: TreeView, searched: str) -> None:
        """Update both lines. `searched` describes the state of the search; it is empty without one."""
        safe = self._renderer.safe
        title = session.title or session.first_prompt or "untitled"
        self.head.show(
            [Segment(safe(title), TITLE)],
            [Segment(f"  {safe(_origin_of(session) + human.folder(session.cwd, self._home))}", DIM)],
        )
        if self.note:
            self.foot.show([Segment(safe(self.note), ERROR if self._note_is_error else NONE)], [])
            return
        rows = view.rows
        place = f"{view.place + 1 + rows.before:,}/{rows.shown:,}" if len(rows) else "0"
        self.foot.show(
            self._summary(contents, rows.shown, searched),
            [Segment(f"  {place}  ", DIM), Segment("? help", DIM)],
        )

    def _summary(self, contents: Contents, shown: int, searched: str) -> list[Segment]:
        """Return the part about the view: connection, filter, search, and progress of reading."""
        safe, question = self._renderer.safe, contents.question
        segments = [
            Segment(self.state, ERROR),
            Segment("  " if self.state else ""),
            Segment(question.filter, LABEL),
        ]
        if question.query:
            segments.append(Segment(f"  only with: {safe(question.query)}", LABEL))
        if searched:
            segments.append(Segment(f"  {safe(searched)}"))
        if contents.loading:
            segments.append(Segment(f"  reading: {contents.loading:,} of {max(shown, 1):,}", DIM))
        if self.unseen:
            down = "↓" if self._renderer.boxes else "below"
            segments.append(Segment(f"  {self.unseen:,} new {down}", TITLE))
        return segments


def _origin_of(session: t.SessionInfo) -> str:
    """Return the name of the agent that a session was read from, with a separator; "" if it began here."""
    if session.origin is None:
        return ""
    state = (
        ", deleted there" if session.origin.gone else ", archived there" if session.origin.archived else ""
    )
    return f"{names.title_of(session.origin.agent)}{state}  "
