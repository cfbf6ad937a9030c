"""The board on the whole screen: a line for each session, and the keys that move between them."""

import time
from collections.abc import Callable, Sequence
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from sessiond import human
from sessiond.agents import names
from sessiond.client.board import BoardRow
from sessiond.distinctions import distinctions, session_facts
from sessiond.tui.row_renderer import CURSOR, DIM, ERROR, LABEL, NONE, RowRenderer
from sessiond.tui.selection import moved_selection

_STATES: Final = {
    "working": Style(color="green", bold=True), "waiting": Style(color="yellow"), "stopped": DIM, "failed": ERROR,
}  # fmt: skip
_STATE, _AGENT, _AGE, _PROJECT, _TOKENS, _COST = 7, 8, 10, 14, 8, 8
_LEAST_TEXT: Final = 24
"""If the text has fewer columns than this, another column is left out."""


class BoardView(ScrollView, can_focus=True):
    """The lines of the board, one of which is selected.

    Args:
        renderer: Makes text safe for the terminal.
        now: Returns the present time, in seconds since 1970.
        home: The home folder of the user.
    """

    def __init__(self, renderer: RowRenderer, now: Callable[[], float] = time.time, home: str = "") -> None:
        super().__init__()
        self.rows: Sequence[BoardRow] = ()
        self.at = 0
        self._renderer = renderer
        self._now = now
        self._home = home
        self._added: list[list[str]] = []
        """The distinctions of the rows, see `distinctions`."""
        self._added_for: tuple[int, Sequence[BoardRow]] = (0, ())

    @property
    def selected(self) -> str | None:
        """The id of the selected session; None without sessions."""
        return self.rows[self.at].session_id if self.rows else None

    def show(self, rows: Sequence[BoardRow]) -> None:
        """Show other rows. The selected session stays selected if it is among them."""
        selected = self.selected
        self.rows = rows
        ids = [row.session_id for row in rows]
        self.at = ids.index(selected) if selected in ids else min(self.at, max(len(rows) - 1, 0))
        self.virtual_size = Size(self.size.width, len(rows))
        self.step(0)

    def step(self, lines: int) -> None:
        """Move the selection down by this many lines, or up if negative."""
        self.at = moved_selection(self, self.at, len(self.rows), lines)

    def render_line(self, y: int) -> Strip:
        """Return line `y` of the visible region."""
        columns = self.scrollable_content_region.width
        line = y + self.scroll_offset.y
        if line >= len(self.rows):
            text = "No agent has written a session lately." if y == 0 and not self.rows else ""
            return Strip([Segment(text, DIM)]).adjust_cell_length(columns)
        self._distinguish(columns)
        segments = self._segments(self.rows[line], columns, self._added[line])
        strip = Strip(segments).adjust_cell_length(columns)
        return strip.apply_style(CURSOR) if line == self.at else strip

    def _distinguish(self, columns: int) -> None:
        if self._added_for[0] == columns and self._added_for[1] is self.rows:
            return
        self._added_for = (columns, self.rows)
        rows = []
        for row in self.rows:
            facts = session_facts(
                title=row.title, first_prompt=None, cwd=row.cwd, home=self._home, updated_at=row.updated_at,
                agent="" if row.agent is None else names.short_name_of(row.agent), last_words=row.last_words,
            )  # fmt: skip
            rows.append((Strip(self._segments(row, columns, ())).text, facts, row.session_id))
        self._added = distinctions(rows)

    def _segments(self, row: BoardRow, columns: int, added: Sequence[str]) -> list[Segment]:
        """Return a row: state, agent, age, project, text, tokens and cost, as far as there is room."""
        renderer = self._renderer
        agent = "" if row.agent is None else renderer.safe(names.short_name_of(row.agent))
        project = renderer.safe(row.cwd.rstrip("/").rpartition("/")[2] or row.cwd)
        left = [
            (row.state, _STATE, _STATES[row.state]),
            (agent, _AGENT, Style(color="cyan")),
            (project, _PROJECT, Style(color="blue")),
            (human.ago(row.updated_at, self._now()), _AGE, DIM),
        ]
        right = []
        if any(other.tokens for other in self.rows):
            right.append(("" if row.tokens is None else human.amount(row.tokens), _TOKENS))
        if any(other.cost for other in self.rows):
            right.append(("" if row.cost is None else human.money(row.cost), _COST))
        used = _STATE + 2
        shown = {0}
        for place in (
            (2, 1, 3) if any(other.agent for other in self.rows) else (2, 3)
        ):  # the most important one first
            if columns - used - left[place][1] - 2 >= _LEAST_TEXT:
                used += left[place][1] + 2
                shown.add(place)
        numbers = right if columns - used - sum(2 + cells for _, cells in right) >= _LEAST_TEXT else []
        room = columns - used - sum(2 + cells for _, cells in numbers)
        segments = []
        for place, (text, cells, style) in enumerate(left):
            if place in shown:
                segments += [Segment(set_cell_size(renderer.fit(text, cells), cells), style), Segment("  ")]
        end = f"  {renderer.distinction(added)}" if added else ""
        segments += self._text(row, max(room - cell_len(end), 0))
        segments += [Segment(end, LABEL)] if end else []
        for text, cells in numbers:
            segments.append(Segment(" " * (2 + max(cells - cell_len(text), 0)) + text, DIM))
        return segments

    def _text(self, row: BoardRow, room: int) -> list[Segment]:
        """Return the title and the last words in a number of columns."""
        renderer = self._renderer
        title = renderer.safe(row.title) or "(no messages yet)"
        words = renderer.safe(row.last_words)
        title = renderer.fit(title, max(room * 2 // 5, room - cell_len(words) - 2) if words else room)
        rest = max(room - cell_len(title) - 2, 0)
        words = renderer.fit(words, rest) if rest > 3 else ""
        filler = " " * max(room - cell_len(title) - 2 - cell_len(words), 0)
        return [Segment(title, NONE), Segment(f"  {words}{filler}", DIM)]
