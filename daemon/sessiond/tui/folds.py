"""The visible lines of the tree when some branches are folded."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from sessiond.tui.rows import NOWHERE, Rows


class Folds:
    """The lines of a view: each is the place of a row. Rows below a folded one have no line.

    Folded rows are stored by id, so that they stay folded when rows are added or removed.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.folded: set[str] = set()
        self.lines: Sequence[int] = range(0)
        self.arrange()

    def arrange(self, rows: Rows | None = None) -> None:
        """Compute the lines again, of other rows if they are given."""
        self.rows = self.rows if rows is None else rows  # empty rows are false
        places = sorted(place for it in self.folded if (place := self.rows.places.get(it)) is not None)
        if not places:
            self.lines = range(len(self.rows))
            return
        lines = array("i")
        start = 0
        for place in places:
            if place >= start:
                lines.extend(range(start, place + 1))
                start = self.rows.last_below(place) + 1
        lines.extend(range(start, len(self.rows)))
        self.lines = lines

    def line(self, place: int) -> int:
        """Return the line of a row, or of the folded row that hides it."""
        return max(bisect_right(self.lines, place) - 1, 0)

    def first_line_from(self, place: int) -> int:
        """Return the first line that is not before a row."""
        return bisect_left(self.lines, place)

    def hides(self, place: int) -> int:
        """Return how many rows a folded row hides; 0 for any other."""
        rows = self.rows
        return rows.last_below(place) - place if rows.ids[place] in self.folded else 0

    def toggle(self, place: int) -> None:
        """Fold a branch, or open it. A row without children cannot be folded."""
        name = self.rows.ids[place]
        if name in self.folded:
            self.folded.discard(name)
        elif self.rows.children[place]:
            self.folded.add(name)
        self.arrange()

    def reveal(self, place: int) -> None:
        """Open every folded row that hides a row."""
        if not self.folded:
            return
        above = self.rows.parent(place)
        while above != NOWHERE:
            self.folded.discard(self.rows.ids[above])
            above = self.rows.parent(above)
        self.arrange()

    def fold_others(self) -> None:
        """Fold every branch that is not on the path to the leaf."""
        rows = self.rows
        self.folded = {
            rows.ids[it]
            for it in range(len(rows))
            if rows.is_branch(it) and not rows.on_path[it] and rows.children[it]
        }
        self.arrange()

    def open_all(self) -> None:
        """Open every folded row."""
        self.folded.clear()
        self.arrange()
