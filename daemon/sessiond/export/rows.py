"""The rows of a page: every entry of a tree with its place, what the filters show of it, and what it says."""

from collections.abc import Sequence
from typing import Any, Final, get_args

from sessiond.export.bodies import body_of
from sessiond.session import preview, views
from sessiond.session.steps import Read, run
from sessiond.session.tree import LEAF, NONE, Tree

FILTERS: Final[tuple[views.Filter, ...]] = get_args(views.Filter)
_SAY: Final = 120
_ROWS_A_READ: Final = 128


class Rows:
    """What a page shows of a tree. A page that follows a session asks again as the tree grows."""

    def __init__(self, tree: Tree, read: Read) -> None:
        self._tree = tree
        self._read = read
        self._outline = views.Outline()

    def behind(self, known: int) -> list[dict[str, Any]]:
        """Every entry in the order of the log but the first so many."""
        entries = [row for row in range(1, self._tree.committed) if self._tree.is_entry(row)]
        return self.of(entries[known:])

    def of(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """{id, parent, type, role?, at?, label?, say, shown, heading, facts?, body?}; `shown` has one bit a filter."""
        run(self._outline.extend(self._tree, self._read))
        found: list[dict[str, Any]] = []
        for start in range(0, len(rows), _ROWS_A_READ):
            batch = rows[start : start + _ROWS_A_READ]
            found += map(self._row, batch, self._read(batch))
        return found

    def _row(self, row: int, line: bytes) -> dict[str, Any]:
        tree, entry = self._tree, preview.decoded(line)
        message, parent = entry.get("message"), tree.parent(row)
        label = tree.labels.get(tree.id(row) or "")
        body = body_of(entry)
        said: dict[str, Any] = {
            "id": tree.id(row) or "",
            "parent": None if parent == NONE else tree.id(parent),
            "type": entry.get("type") if isinstance(entry.get("type"), str) else tree.type(row),
            "role": message.get("role") if isinstance(message, dict) else None,
            "at": entry.get("timestamp"),
            "label": None if label is None else preview.one_line(label.text, _SAY),
            "say": preview.one_line(preview.text_of(entry), _SAY),
            "shown": self._shown(row),
            "heading": body.heading,
            "facts": body.facts or None,
            "body": body.html or None,
        }
        return {name: value for name, value in said.items() if value is not None or name == "parent"}

    def _shown(self, row: int) -> int:
        if self._tree.kind(row) == LEAF:
            return 0
        shows = (views.shows(it, self._tree, self._outline, row) for it in FILTERS)
        return sum(1 << bit for bit, shown in enumerate(shows) if shown)
