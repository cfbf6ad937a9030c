"""The rows of ids: a mapping in many small parts.

One dictionary of a million ids stops the event loop for 100 ms whenever it grows; none of these takes one.
"""

from collections.abc import Sequence
from typing import Final

_PARTS: Final = 64


class Ids:
    """id -> row."""

    def __init__(self) -> None:
        self._parts: list[dict[str, int]] = [{} for _ in range(_PARTS)]

    def get(self, entry_id: str) -> int | None:
        return self._parts[hash(entry_id) % _PARTS].get(entry_id)

    def set(self, entry_id: str, row: int) -> None:
        self._parts[hash(entry_id) % _PARTS][entry_id] = row

    def remove(self, entry_id: str) -> None:
        del self._parts[hash(entry_id) % _PARTS][entry_id]

    def add(self, entry_ids: Sequence[str], row: int) -> bool:
        """Give new ids the rows from `row` on; False, and nothing done, when one of them is not new."""
        parts = self._parts
        for added, entry_id in enumerate(entry_ids):
            part = parts[hash(entry_id) % _PARTS]
            if entry_id in part:
                self.take_back(entry_ids[:added])
                return False
            part[entry_id] = row + added
        return True

    def take_back(self, entry_ids: Sequence[str]) -> None:
        """Forget ids that were just added."""
        for entry_id in entry_ids:
            self.remove(entry_id)
