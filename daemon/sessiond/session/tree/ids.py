"""The row of each id: a mapping in many small parts.

One dictionary with a million ids blocks the event loop for 100 ms whenever it grows. The small parts avoid that.
"""

from collections.abc import Sequence
from typing import Final

_PARTS: Final = 64


class Ids:
    """A mapping of ids to rows."""

    def __init__(self) -> None:
        self._parts: list[dict[str, int]] = [{} for _ in range(_PARTS)]

    def get(self, entry_id: str) -> int | None:
        """Return the row of an id, or None."""
        return self._parts[hash(entry_id) % _PARTS].get(entry_id)

    def set(self, entry_id: str, row: int) -> None:
        """Set the row of an id."""
        self._parts[hash(entry_id) % _PARTS][entry_id] = row

    def remove(self, entry_id: str) -> None:
        """Remove an id.

        Raises:
            KeyError: The id is not in the mapping.

        """
        del self._parts[hash(entry_id) % _PARTS][entry_id]

    def add(self, entry_ids: Sequence[str], row: int) -> bool:
        """Map new ids to consecutive rows that begin at `row`.

        Returns:
            False if one of the ids is not new; then nothing is added.

        """
        parts = self._parts
        for added, entry_id in enumerate(entry_ids):
            part = parts[hash(entry_id) % _PARTS]
            if entry_id in part:
                self.remove_all(entry_ids[:added])
                return False
            part[entry_id] = row + added
        return True

    def remove_all(self, entry_ids: Sequence[str]) -> None:
        """Remove ids that were just added."""
        for entry_id in entry_ids:
            self.remove(entry_id)
