"""The drawing of a row: signs, colors, and the row as one line of segments.

    ● user       Fix the flaky test                                                     2 h ago
    ● assistant  The race is between the timer and the queue                            2 h ago
    └─▸ user       [first try] Try it with a lock  (12 more)                            1 h ago
    ◉ user       Try it without one                                            ◀ leaf  1 min ago

Text of transcripts is made safe for the terminal here.
"""

from collections.abc import Sequence
from functools import lru_cache

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style

from sessiond import human
from sessiond.text import one_line
from sessiond.tree_signs import ROLE_COLORS, ROLE_COLUMNS, Signs, label_columns, role_name
from sessiond.tui.folds import Folds

_TIME_CELLS = 10
_NARROW = 60
"""Columns below which times are not shown."""

NONE = Style()
DIM = Style(dim=True)
PATH = Style(color="green")
LEAF = Style(color="green", bold=True)
LABEL = Style(color="yellow")
MATCH = Style(color="yellow", bold=True, underline=True)
ERROR = Style(color="red", bold=True)
TITLE = Style(bold=True)
_COLORS = {name: Style(color=color) for name, color in ROLE_COLORS.items()}
CURSOR = Style(reverse=True)


role = lru_cache(256)(role_name)
"""Returns a role or an entry type as it is displayed."""


def role_style(name: str) -> Style:
    """Return the style of a role or entry type; dim if it has no color."""
    return _COLORS.get(role(name), DIM)


class RowRenderer:
    """Draws rows for a terminal that displays box characters, or one without them whose text is in an encoding.

    Args:
        encoding: None for a terminal with box characters.

    """

    def __init__(self, encoding: str | None = None) -> None:
        self.boxes = encoding is None
        self.signs = Signs(boxes=self.boxes)
        self.shows_time = True
        self._encoding = encoding

    def encodable(self, text: str) -> str:
        """Return a text with `?` for characters that this terminal cannot display."""
        return (
            text if self._encoding is None else text.encode(self._encoding, "replace").decode(self._encoding)
        )

    def safe(self, text: str) -> str:
        """Return one line of a transcript as text that is safe for this terminal."""
        return self.encodable(one_line(text))

    def fit(self, text: str, columns: int) -> str:
        """Return a safe text, cut to this many columns with an ellipsis if it is longer."""
        if cell_len(text) <= columns:
            return text
        room = columns - len(self.signs.ellipsis)
        if room <= 0:
            return set_cell_size(text, max(columns, 0))
        return set_cell_size(text, room).rstrip() + self.signs.ellipsis

    def distinction(self, added: Sequence[str]) -> str:
        """Return what distinguishes a row from others that look the same, as it is shown in the row."""
        return self.safe(", ".join(added).replace("…", self.signs.ellipsis))

    def row(
        self, folds: Folds, place: int, columns: int, now: float, *, is_tip: bool, is_match: bool
    ) -> list[Segment]:
        """Return a row in this many columns; `now` is Unix time."""
        rows, signs = folds.rows, self.signs
        on_path = bool(rows.on_path[place])
        hidden = folds.hides(place)
        gutter = signs.gutter(rows.gutters[place], columns)
        sign = signs.folded if hidden else signs.leaf if is_tip else signs.on if on_path else signs.off
        name = role(rows.roles[place])
        text_style = NONE if on_path else DIM
        label = self.safe(rows.labels.get(rows.ids[place], ""))
        right = self._right(rows.times[place], now, columns, is_tip=is_tip)
        parts = [
            Segment(gutter, DIM),
            Segment(f"{sign} ", LEAF if is_tip else PATH if on_path else DIM),
            Segment(
                self.fit(name, ROLE_COLUMNS[1]).ljust(ROLE_COLUMNS[0]) + "  ", role_style(rows.roles[place])
            ),
            Segment(f"[{self.fit(label, label_columns(columns))}] " if label else "", LABEL),
        ]
        more = f"  ({hidden:,} more)" if hidden else ""
        used = sum(cell_len(part.text) for part in parts)
        room = columns - used - cell_len(more) - sum(cell_len(segment.text) for segment in right)
        text = self.fit(self.safe(rows.previews[place]), max(room, 0))
        parts += [Segment(text, MATCH if is_match else text_style), Segment(more, DIM)]
        used += cell_len(text) + cell_len(more)
        parts.append(Segment(" " * max(columns - used - sum(cell_len(segment.text) for segment in right), 0)))
        return [segment for segment in [*parts, *right] if segment.text]

    def _right(self, time: str, now: float, columns: int, *, is_tip: bool) -> list[Segment]:
        parts = [Segment(f"  {self.signs.tip}", LEAF)] if is_tip else []
        if self.shows_time and columns >= _NARROW:
            age = human.ago(time, now) if time else ""
            parts.append(Segment(f"  {age.rjust(_TIME_CELLS)}", DIM))
        return parts
