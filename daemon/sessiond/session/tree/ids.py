"""The row of each id: one dictionary for the first ids, and many small parts for all others.

A dictionary blocks the event loop while it grows: for 3 ms at 100,000 ids, for 60 ms at a million. So it gets no
further ids above a limit. The parts stay small, but need a Python loop for each id, which takes twice the time.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from sessiond.session.tree.mapped_columns import MappedIds

MAX_FIRST: Final = 131_072
"""Number of ids above which new ids are added to the parts."""
_PARTS: Final = 64


class Ids:
    """A mapping of ids to rows.

    Args:
        mapped: Rows that are found in a mapped index. An id that is set here has precedence.

    """

    def __init__(self, mapped: MappedIds | None = None) -> None:
        self._mapped = mapped
        self._first: dict[str, int] = {}
        self._parts: list[dict[str, int]] = []

    def get(self, entry_id: str) -> int | None:
        """Return the row of an id, or None."""
        row = self._first.get(entry_id)
        if row is None and self._parts:
            row = self._parts[hash(entry_id) % _PARTS].get(entry_id)
        if row is None and self._mapped is not None:
            return self._mapped.get(entry_id)
        return row

    def has_any(self, entry_ids: Sequence[str]) -> bool:
        """Return whether any of the ids has a row."""
        if not self._first.keys().isdisjoint(entry_ids):
            return True
        return bool(self._parts or self._mapped) and any(
            self.get(entry_id) is not None for entry_id in entry_ids
        )

    def set(self, entry_id: str, row: int) -> None:
        """Set the row of an id."""
        self._part_of(entry_id)[entry_id] = row

    def add_new(self, entry_ids: Iterable[str], row: int) -> None:
        """Map ids that have no row, see `has_any`, to consecutive rows that begin at `row`."""
        first = self._first
        if self._parts or len(first) >= MAX_FIRST:
            parts = self._parts_beside()
            for added, entry_id in enumerate(entry_ids, row):
                parts[hash(entry_id) % _PARTS][entry_id] = added
            return
        for entry_id in entry_ids:
            first[entry_id] = row
            row += 1

    def remove(self, entry_id: str) -> None:
        """Remove an id that was set or added here.

        Raises:
            KeyError: There is no such id.

        """
        del self._part_of(entry_id)[entry_id]

    def add(self, entry_ids: Sequence[str], row: int) -> bool:
        """Map new ids to consecutive rows that begin at `row`. No other id has one of these rows.

        Returns:
            False if one of the ids is not new or occurs twice; then nothing is added.

        """
        if not self._first.keys().isdisjoint(entry_ids):
            return False
        if self._mapped is not None and any(self._mapped.get(entry_id) is not None for entry_id in entry_ids):
            return False
        if not self._parts and len(self._first) < MAX_FIRST:
            return self._add_to_first(entry_ids, row)
        parts = self._parts_beside()
        for added, entry_id in enumerate(entry_ids, row):
            if parts[hash(entry_id) % _PARTS].setdefault(entry_id, added) != added:
                self.remove_all(entry_ids[: added - row])
                return False
        return True

    def remove_all(self, entry_ids: Sequence[str]) -> None:
        """Remove ids that were just added."""
        for entry_id in entry_ids:
            self.remove(entry_id)

    def _add_to_first(self, entry_ids: Sequence[str], row: int) -> bool:
        count = len(self._first) + len(entry_ids)
        self._first.update(zip(entry_ids, range(row, row + len(entry_ids)), strict=True))
        if len(self._first) == count:
            return True
        for entry_id in entry_ids:  # one of them occurs twice
            self._first.pop(entry_id, None)
        return False

    def _part_of(self, entry_id: str) -> dict[str, int]:
        """Return the dictionary that an id is in, or to which it must be added."""
        if entry_id in self._first or (not self._parts and len(self._first) < MAX_FIRST):
            return self._first
        return self._parts_beside()[hash(entry_id) % _PARTS]

    def _parts_beside(self) -> list[dict[str, int]]:
        """Return the parts beside the first dictionary, which is full."""
        if not self._parts:
            self._parts = [{} for _ in range(_PARTS)]
        return self._parts
