"""The pane beside the tree or below it: the full text of the entry under the cursor."""

from rich.segment import Segment
from textual.events import Resize
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip


class Pane(ScrollView, can_focus=True):
    """Scrollable lines that are rendered for the pane's width."""

    class Resized(Message):
        """Sent when the pane has another size, for which its lines must be rendered again."""

    def __init__(self) -> None:
        super().__init__()
        self.content: object = None
        """A value that identifies the content of the lines."""
        self._lines: list[Strip] = []

    @property
    def columns(self) -> int:
        """The columns that a line may have."""
        return self.scrollable_content_region.width

    def show(self, content: object, lines: list[list[Segment]], *, from_top: bool) -> None:
        """Show other lines. If `from_top`, scroll to the first one."""
        self.content = content
        self._lines = [Strip(line) for line in lines]
        self.virtual_size = Size(self.columns, len(self._lines))
        if from_top:
            self.scroll_to(y=0, animate=False, immediate=True)
        self.refresh()

    def on_resize(self, _event: Resize) -> None:
        """Send `Resized`."""
        self.post_message(self.Resized())

    def step(self, lines: int) -> None:
        """Scroll down by this many lines, or up if negative."""
        self.scroll_to(y=self.scroll_offset.y + lines, animate=False, immediate=True)

    def render_line(self, y: int) -> Strip:
        """Return line `y` of the visible region; a blank one after the last line."""
        line = y + self.scroll_offset.y
        if line >= len(self._lines):
            return Strip.blank(self.columns)
        return self._lines[line].adjust_cell_length(self.columns)
