"""The columns of a tree and what can be asked of them: row n is the line with seq n, row 0 the header.

A row knows its place in the log, its kind, its parent and its id, and nothing else: payloads stay in the log.
"""

from array import array
from collections.abc import Iterable

from sessiond.session.tree.codes import ASSISTANT, BAD, HEADER, KINDS, NONE, USER
from sessiond.session.tree.ids import Ids


class LogRows:
    """Columns over the lines of a log, and an index of ids. Rows past `committed` are pending."""

    def __init__(self) -> None:
        self.committed = 0
        self.end = 0  # byte after the last whole line
        self._offsets = array("Q")
        self._kinds = bytearray()
        self._roles = bytearray()
        self._parents = array("i")
        self._names: list[str | None] = []
        self._ids = Ids()
        self._lines_before = 0  # a title slot comes before the header; a header that is missing has no line
        self._irregular = False
        self._superseded: set[int] = set()

    def has_kind(self, kind: int) -> bool:
        """Return whether any row is of this kind."""
        return kind in self._kinds

    def __len__(self) -> int:
        """Rows, the header and unreadable lines included, pending ones too."""
        return len(self._kinds)

    @property
    def seq(self) -> int:
        """Ordinal of the last committed line; -1 before there is a header."""
        return self.committed - 1

    @property
    def irregular(self) -> bool:
        """Whether a walk may meet itself: ids stand twice, or parents come after their children."""
        return self._irregular

    def row(self, entry_id: str) -> int | None:
        """The committed row of an id, or None."""
        row = self._ids.get(entry_id)
        return row if row is not None and row < self.committed else None

    def any_row(self, entry_id: str) -> int | None:
        """The row of an id, pending or committed, or None."""
        return self._ids.get(entry_id)

    def id(self, row: int) -> str | None:
        """The id of a row; None for the header and for lines that are no entries."""
        return self._names[row]

    def kind(self, row: int) -> int:
        return self._kinds[row]

    def type(self, row: int) -> str:
        """The entry type of a row; "other" for a type unknown here."""
        name: str = KINDS[self._kinds[row]]
        return name

    def role(self, row: int) -> int:
        """`USER`, `ASSISTANT` … of a message; 0 for anything else."""
        return self._roles[row]

    def parent(self, row: int) -> int:
        """The row of the parent, `NONE` for a root. Of entries that share an id the last one counts."""
        parent = self._parents[row]
        if parent in self._superseded:
            return self._ids.get(self._names[parent] or "") or NONE
        return parent

    def span(self, row: int) -> tuple[int, int]:
        """Where the line of a row lies in the log: first byte, and byte after its newline."""
        following = row + 1
        end = self._offsets[following] if following < len(self._offsets) else self.end
        return self._offsets[row], end

    def line(self, row: int) -> int:
        """The 0-based physical line of a row."""
        return row + self._lines_before

    def is_entry(self, row: int) -> bool:
        """Whether a row is an entry that an id leads to: no header, no bad line, no superseded duplicate."""
        return self._kinds[row] not in (BAD, HEADER) and row not in self._superseded

    def path(self, row: int) -> list[int]:
        """The rows from the root to `row`, root first. A cycle ends the walk where it would begin again."""
        if self._irregular:
            return self._guarded_path(row)
        parents, walk = self._parents, []
        while row != NONE:
            walk.append(row)
            row = parents[row]
        walk.reverse()
        return walk

    def _guarded_path(self, row: int) -> list[int]:
        walk: list[int] = []
        seen: set[int] = set()
        while row != NONE and row not in seen:
            seen.add(row)
            walk.append(row)
            row = self.parent(row)
        walk.reverse()
        return walk

    def _ends_of_loops(self, suspects: Iterable[int]) -> list[int]:
        """Return the last row of each loop of parents that one of these rows is in, or leads to."""
        ends: list[int] = []
        seen: set[int] = set()
        for row in suspects:
            walk: dict[int, None] = {}
            while row != NONE and row not in seen and row not in walk:
                walk[row] = None
                row = self.parent(row)
            if row in walk:
                loop = list(walk)[list(walk).index(row) :]
                ends.append(max(loop))
            seen.update(walk)
        return ends

    def count_messages(self) -> int:
        """User and assistant messages, all branches."""
        return self._roles.count(USER, 0, self.committed) + self._roles.count(ASSISTANT, 0, self.committed)

    def count_entries(self) -> int:
        """Entries, all branches, whatever their type."""
        return max(self.committed - 1, 0) - self._kinds.count(BAD, 0, self.committed)

    def first_user(self) -> int:
        """The row of the first user message, or `NONE`."""
        return self._roles.find(USER, 0, self.committed)

    def last_message(self) -> int:
        """The row of the last user or assistant message, or `NONE`."""
        return max(
            self._roles.rfind(USER, 0, self.committed), self._roles.rfind(ASSISTANT, 0, self.committed)
        )

    def newest_of_kind(self, kind: int, limit: int) -> list[int]:
        """The last `limit` rows of a kind, pending ones included, the newest first."""
        rows: list[int] = []
        row = self._kinds.rfind(kind)
        while row >= 0 and len(rows) < limit:
            rows.append(row)
            row = self._kinds.rfind(kind, 0, row)
        return rows

    def last_entries(self, count: int) -> list[int]:
        """The rows of the last `count` entries, in the order of the log; lines that are no entries are left out."""
        found: list[int] = []
        row = self.committed
        while row > 1 and len(found) < count:
            row -= 1
            if self._kinds[row] not in (BAD, HEADER):
                found.append(row)
        return found[::-1]

    def has_assistant(self) -> bool:
        return self._roles.find(ASSISTANT, 0, self.committed) >= 0

    def _add(self, offset: int, kind: int, role: int, parent: int, name: str | None) -> None:
        self._offsets.append(offset)
        self._kinds.append(kind)
        self._roles.append(role)
        self._parents.append(parent)
        self._names.append(name)

    def _cut(self, row: int) -> None:
        """Take away the rows from `row` on."""
        for name in self._names[row:]:
            if name is not None and (self._ids.get(name) or NONE) >= row:
                self._ids.remove(name)
        if row < len(self._offsets):
            self.end = self._offsets[row]
        del self._offsets[row:], self._kinds[row:], self._roles[row:], self._parents[row:], self._names[row:]
