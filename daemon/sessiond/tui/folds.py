"""The visible lines of the tree when some branches are folded."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from sessiond.tui.rows import NOWHERE, Rows


class Folds:
    """The lines of a view: each is the place of a row. Rows below a folded one have no line.

    Branches beside the path are folded until they are opened. Rows that differ from the default are stored by id, so
    that this is kept when rows are added or removed.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.lines: Sequence[int] = range(0)
        self._folds_branches = True
        self._toggled: set[str] = set()
        self.arrange()

    def reset(self, *, folds_branches: bool) -> None:
        """Fold all branches beside the path, or none, and open every other row."""
        self._folds_branches = folds_branches
        self._toggled.clear()
        self.arrange()

    def is_folded(self, place: int) -> bool:
        """Return whether the rows below a row are hidden."""
        name = self.rows.ids[place]
        return (self._folds_branches and name in self.rows.branches) != (name in self._toggled)

    def arrange(self, rows: Rows | None = None) -> None:
        """Compute the lines again, of other rows if they are given."""
        self.rows = self.rows if rows is None else rows  # empty rows are false
        folded = self._toggled ^ self.rows.branches if self._folds_branches else self._toggled
        places = sorted(place for entry_id in folded if (place := self.rows.places.get(entry_id)) is not None)
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
        return self.rows.last_below(place) - place if self.is_folded(place) else 0

    def toggle(self, place: int) -> None:
        """Fold the rows below a row, or open them. A row without children cannot be folded."""
        if self.rows.children[place]:
            self._toggled ^= {self.rows.ids[place]}
        self.arrange()

    def reveal(self, place: int) -> None:
        """Open every folded row that hides a row."""
        if self.lines[self.line(place)] == place:
            return
        above = self.rows.parent(place)
        while above != NOWHERE:
            if self.is_folded(above):
                self._toggled ^= {self.rows.ids[above]}
            above = self.rows.parent(above)
        self.arrange()
