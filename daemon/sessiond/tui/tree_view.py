"""The rows on the screen, with a cursor that stays on its entry when rows around it change.

Only visible lines are drawn, from the columns of the rows.
"""

from collections.abc import Callable

from rich.cells import cell_len
from rich.segment import Segment
from textual.events import Click, Resize
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from sessiond.tui.folds import Folds
from sessiond.tui.row_renderer import CURSOR, DIM, RowRenderer
from sessiond.tui.rows import NOWHERE, Rows

_MARGIN = 2
"""Lines that stay visible above and below the cursor."""


class TreeView(ScrollView, can_focus=True):
    """The tree widget. `now` returns Unix time."""

    class Moved(Message):
        """Sent when the cursor is on another row, or the row has changed."""

    def __init__(self, renderer: RowRenderer, now: Callable[[], float]) -> None:
        super().__init__()
        self.renderer = renderer
        self.folds = Folds(Rows())
        self.matches: set[str] = set()
        self.notice = ""
        """The text that is shown when there are no rows."""
        self.place = NOWHERE
        self.current: str | None = None
        """The id of the entry under the cursor."""
        self.was_at_tip = False
        """Whether the cursor was at the leaf after its last move."""
        self._now = now

    # --- what is shown -----------------------------------------------------------------------------------------

    @property
    def rows(self) -> Rows:
        """The rows of this view, including those that folded rows hide."""
        return self.folds.rows

    def show(self, rows: Rows, current: str | None) -> None:
        """Show other or changed rows, with the cursor on an entry or as near to it as possible."""
        on_screen = self._line - self.scroll_offset.y
        self.place = self._nearest(rows, current)
        self.folds.arrange(rows)
        if self.place != NOWHERE:
            self.folds.reveal(self.place)
        self._fill()
        if self._seen:
            self._scroll_to_line(self._line - min(max(on_screen, 0), max(self._seen - 1, 0)))
            self._keep_in_sight()
        self._moved()

    def go(self, place: int) -> None:
        """Move the cursor to a row; folded rows that hide it are opened."""
        if not 0 <= place < len(self.rows):
            return
        self.folds.reveal(place)
        self._fill()
        self.place = place
        self._keep_in_sight()
        self._moved()

    # --- moving the cursor -------------------------------------------------------------------------------------

    def step(self, lines: int) -> None:
        """Move the cursor by this many lines: down, or up if negative."""
        if len(self.folds.lines):
            line = min(max(self._line + lines, 0), len(self.folds.lines) - 1)
            self.go(self.folds.lines[line])

    def page(self, pages: float) -> None:
        """Move the cursor down by this many screens, or up if negative; by at least one line."""
        self.step(int(max(self._seen - 1, 1) * pages) or (1 if pages > 0 else -1))

    def go_first(self) -> None:
        """Move to the first line."""
        self.step(-len(self.folds.lines))

    def go_last(self) -> None:
        """Move to the last line."""
        self.step(len(self.folds.lines))

    def go_tip(self) -> None:
        """Move to the leaf, or to the end of the path to it in this view."""
        self.go(self.rows.tip)

    def go_parent(self) -> None:
        """Move to the parent, if it is loaded."""
        if self.place != NOWHERE:
            self.go(self.rows.parent(self.place))

    def go_sibling(self, step: int) -> None:
        """Move to the next branch of the same fork (1), or the previous one (-1)."""
        rows = self.rows
        start = rows.child_of_fork(self.place)
        if start == NOWHERE:
            return
        depth = rows.depths[start]
        at = start + step
        while 0 <= at < len(rows) and rows.depths[at] > depth:
            at += step
        if 0 <= at < len(rows) and rows.depths[at] == depth:
            self.go(at)

    def go_to(self, step: int, holds: Callable[[int], bool]) -> None:
        """Move to the next row in a direction for which `holds`."""
        if self.place != NOWHERE:
            self.go(self.rows.find(self.place, step, holds))

    def is_user(self, place: int) -> bool:
        """Return whether the row is a user message."""
        return self.rows.roles[place] == "user"

    def is_labeled(self, place: int) -> bool:
        """Return whether the entry of the row has a label."""
        return self.rows.ids[place] in self.rows.labels

    # --- folding -----------------------------------------------------------------------------------------------

    def toggle(self, place: int | None = None) -> None:
        """Fold the subtree of a row, or open it."""
        place = self.place if place is None else place
        if place != NOWHERE:
            self.folds.toggle(place)
            self._rearranged()

    def fold(self) -> None:
        """Fold the branch under the cursor; if it is folded, or none is open there, move up instead."""
        if self.place == NOWHERE:
            return
        start = self.rows.branch(self.place)
        if start == NOWHERE or self.folds.is_folded(start) or not self.rows.children[start]:
            above = self.rows.parent(self.place if start == NOWHERE else start)
            if above != NOWHERE:
                self.go(above)
        elif start == self.place:
            self.toggle(start)
        else:
            self.go(start)

    def unfold(self) -> None:
        """Open the branch under the cursor; if it is open, move into it."""
        if self.place == NOWHERE:
            return
        if self.folds.is_folded(self.place):
            self.toggle()
        elif self.rows.children[self.place]:
            self.go(self.place + 1)

    def fold_others(self) -> None:
        """Fold every branch that is not on the path to the leaf."""
        self.folds.reset(folds_branches=True)
        self._rearranged()

    def open_all(self) -> None:
        """Open every folded row."""
        self.folds.reset(folds_branches=False)
        self._rearranged()

    # --- drawing -----------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """Return line `y` of the visible region; the notice in the first line if there are no rows."""
        columns = self.scrollable_content_region.width
        line = y + self.scroll_offset.y
        if line >= len(self.folds.lines):
            if y == 0 and not len(self.rows) and self.notice:
                return Strip([Segment(self.renderer.fit(self.notice, columns), DIM)])
            return Strip.blank(columns)
        place = self.folds.lines[line]
        segments = self.renderer.row(
            self.folds, place, columns, self._now(),
            is_tip=place == self.rows.tip, is_match=self.rows.ids[place] in self.matches,
        )  # fmt: skip
        if place == self.place:
            segments = [Segment("".join(segment.text for segment in segments), CURSOR)]
        return Strip(segments).adjust_cell_length(columns)

    def on_resize(self, _event: Resize) -> None:
        """Fit the lines to the new size, and keep the cursor visible."""
        self._fill()
        self._keep_in_sight()

    def on_click(self, event: Click) -> None:
        """Move the cursor to the clicked row. A click on the sign, or a double click, folds or opens it."""
        line = event.y + self.scroll_offset.y
        if not 0 <= line < len(self.folds.lines):
            return
        place = self.folds.lines[line]
        self.go(place)
        columns = self.scrollable_content_region.width
        gutter = self.renderer.signs.gutter(self.rows.gutters[place], columns)
        if event.chain == 2 or event.x == cell_len(gutter):
            self.toggle(place)

    # --- details -----------------------------------------------------------------------------------------------

    @property
    def _line(self) -> int:
        return self.folds.line(self.place) if self.place != NOWHERE else 0

    @property
    def _seen(self) -> int:
        """The number of visible lines."""
        return self.scrollable_content_region.height

    def _fill(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, len(self.folds.lines))

    def _rearranged(self) -> None:
        if self.place != NOWHERE:
            self.place = self.folds.lines[self._line]  # the folded row that now hides it, if any
        self._fill()
        self._keep_in_sight()
        self._moved()

    def _moved(self) -> None:
        self.current = self.rows.ids[self.place] if self.place != NOWHERE else None
        self.was_at_tip = self.place != NOWHERE and self.place == self.rows.tip
        self.refresh()
        self.post_message(self.Moved())

    def _keep_in_sight(self) -> None:
        if not self._seen:
            return
        margin = min(_MARGIN, (self._seen - 1) // 2)
        top = self.scroll_offset.y
        lowest, highest = self._line - self._seen + 1 + margin, self._line - margin
        self._scroll_to_line(min(max(top, lowest), highest))

    def _scroll_to_line(self, top: int) -> None:
        max_top = max(len(self.folds.lines) - self._seen, 0)
        self.scroll_to(y=min(max(top, 0), max_top), animate=False, immediate=True)

    def _nearest(self, rows: Rows, current: str | None) -> int:
        """Return the place of an entry among other rows; if it is not shown, of the nearest shown row above it."""
        if not len(rows):
            return NOWHERE
        if current is not None and current in rows.places:
            return rows.places[current]
        if self.rows is not rows:
            for place in range(min(self.place, len(self.rows) - 1), -1, -1):
                if (found := rows.places.get(self.rows.ids[place])) is not None:
                    return found
        if self.place == NOWHERE or self.rows is not rows:
            return max(rows.tip, 0)
        return min(self.place, len(rows) - 1)
