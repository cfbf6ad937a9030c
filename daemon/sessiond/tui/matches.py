"""What a search has found among the rows: at once in what they show, then in all that was said, as the daemon knows."""

from bisect import bisect_left, bisect_right

from sessiond.tui.rows import NOWHERE, Rows


class Matches:
    """The rows that have all words of a search."""

    def __init__(self) -> None:
        self.words = ""
        self.ids: set[str] = set()
        self.is_asking = False
        """Whether the daemon is still looking."""
        self._places: list[int] = []

    def __len__(self) -> int:
        return len(self._places)

    def look_for(self, words: str, rows: Rows) -> None:
        """Search the rows for other words."""
        self.words = words
        self.ids = set()
        self.look_again(rows)

    def look_again(self, rows: Rows) -> None:
        """Find the places anew, after rows have come or gone; what was found stays found."""
        words = self.words.casefold().split()
        if words:
            labels = rows.labels
            self.ids.update(
                name
                for name, role, text in zip(rows.ids, rows.roles, rows.previews, strict=True)
                if _has(f"{role} {text} {labels.get(name, '')}".casefold(), words)
            )
        self._places = sorted(rows.places[it] for it in self.ids if it in rows.places)

    def found(self, ids: set[str], rows: Rows) -> None:
        """Take what the daemon has found in the whole texts."""
        self.ids = ids
        self._places = sorted(rows.places[it] for it in ids if it in rows.places)

    def next(self, place: int, step: int) -> int:
        """The next match, after the last the first again; `NOWHERE` when there is none."""
        if not self._places:
            return NOWHERE
        if step > 0:
            return self._places[bisect_right(self._places, place) % len(self._places)]
        return self._places[bisect_left(self._places, place) - 1]

    def from_here(self, place: int) -> int:
        """The first match at a place or behind it, else the first of all."""
        return self.next(place - 1, 1)

    def number(self, place: int) -> int:
        """Which match a row is, counted from 1; 0 when it is none."""
        at = bisect_left(self._places, place)
        return at + 1 if at < len(self._places) and self._places[at] == place else 0


def _has(text: str, words: list[str]) -> bool:
    return all(word in text for word in words)
