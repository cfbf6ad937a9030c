"""The matches of a search: those in the visible text of rows, then those that the daemon finds in all text."""

from bisect import bisect_left, bisect_right

from sessiond.tui.rows import NOWHERE, Rows


class Matches:
    """The rows that contain all words of a search."""

    def __init__(self) -> None:
        self.words = ""
        self.ids: set[str] = set()
        self.is_asking = False
        """Whether the daemon's response is pending."""
        self._places: list[int] = []

    def __len__(self) -> int:
        return len(self._places)

    def search_for(self, words: str, rows: Rows) -> None:
        """Search the rows for other words."""
        self.words = words
        self.ids = set()
        self.update(rows)

    def update(self, rows: Rows) -> None:
        """Compute the places again after rows were added or removed; earlier matches stay."""
        words = self.words.casefold().split()
        if words:
            labels = rows.labels
            self.ids.update(
                name
                for name, role, text in zip(rows.ids, rows.roles, rows.previews, strict=True)
                if _has(f"{role} {text} {labels.get(name, '')}".casefold(), words)
            )
        self._places = sorted(rows.places[entry_id] for entry_id in self.ids if entry_id in rows.places)

    def found(self, ids: set[str], rows: Rows) -> None:
        """Use the matches that the daemon has found in the complete text."""
        self.ids = ids
        self._places = sorted(rows.places[entry_id] for entry_id in ids if entry_id in rows.places)

    def next(self, place: int, step: int) -> int:
        """Return the next match in a direction (-1 or 1), cyclically; `NOWHERE` when there is none."""
        if not self._places:
            return NOWHERE
        if step > 0:
            return self._places[bisect_right(self._places, place) % len(self._places)]
        return self._places[bisect_left(self._places, place) - 1]

    def from_here(self, place: int) -> int:
        """Return the first match at a place or after it, else the first of all."""
        return self.next(place - 1, 1)

    def number(self, place: int) -> int:
        """Return the number of a match, counted from 1; 0 for a row that is not a match."""
        at = bisect_left(self._places, place)
        return at + 1 if at < len(self._places) and self._places[at] == place else 0


def _has(text: str, words: list[str]) -> bool:
    return all(word in text for word in words)
