"""A line of the screen for text: the title above, the status below."""

from rich.cells import cell_len
from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from sessiond.tui.row_renderer import RowRenderer


class Bar(Widget):
    """One line with a left and a right part. The left part is cut, and the right part omitted, if it does not fit."""

    def __init__(self, renderer: RowRenderer) -> None:
        super().__init__()
        self._renderer = renderer
        self._left: list[Segment] = []
        self._right: list[Segment] = []

    def show(self, left: list[Segment], right: list[Segment]) -> None:
        """Show other text. Redraws only if it has changed."""
        if (left, right) != (self._left, self._right):
            self._left, self._right = left, right
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Return the line in the columns of the widget."""
        columns = self.size.width
        right = self._right if sum(cell_len(segment.text) for segment in self._right) < columns else []
        room = columns - sum(cell_len(segment.text) for segment in right)
        parts = []
        for segment in self._left:
            parts.append(Segment(self._renderer.fit(segment.text, room), segment.style))
            room -= cell_len(parts[-1].text)
        return Strip([*parts, Segment(" " * max(room, 0)), *right]).adjust_cell_length(columns)
