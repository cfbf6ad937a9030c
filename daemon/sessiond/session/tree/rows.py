"""The columns of a tree and the queries on them: row n is the line with seq n, row 0 the header.

A row has only its place in the log, its kind, role, parent and id. Payloads are read from the log.
"""

from array import array
from collections.abc import Iterable, Iterator, MutableSequence, Sequence
from dataclasses import dataclass, field

from sessiond.session.tree.codes import ASSISTANT, BAD, HEADER, KINDS, NONE, USER
from sessiond.session.tree.ids import Ids


@dataclass(slots=True)
class Columns:
    """The columns of a tree."""

    offsets: "array[int]" = field(default_factory=lambda: array("Q"))
    kinds: bytearray = field(default_factory=bytearray)
    roles: bytearray = field(default_factory=bytearray)
    parents: "array[int]" = field(default_factory=lambda: array("i"))
    names: MutableSequence[str | None] = field(default_factory=list)
    ids: Ids = field(default_factory=Ids)

    @classmethod
    def of_bytes(
        cls, offsets: memoryview, kinds: memoryview, roles: memoryview, parents: memoryview,
        names: MutableSequence[str | None], ids: Ids,
    ) -> "Columns":  # fmt: skip
        """Return columns with the values that `LogRows.column_bytes` returned."""
        columns = cls(kinds=bytearray(kinds), roles=bytearray(roles), names=names, ids=ids)
        columns.offsets.frombytes(offsets)
        columns.parents.frombytes(parents)
        return columns


class LogRows:
    """Columns over the lines of a log, and an index of ids. Rows from `committed` on are pending."""

    def __init__(self) -> None:
        self.committed = 0
        self.end = 0  # offset after the last whole line, in bytes
        self._set_columns(Columns())
        self._lines_before = 0  # lines before row 0; one less if the header has no line
        self._irregular = False
        self._superseded: set[int] = set()

    def _set_columns(self, columns: Columns) -> None:
        self._offsets = columns.offsets
        self._kinds = columns.kinds
        self._roles = columns.roles
        self._parents = columns.parents
        self._names = columns.names
        self._ids = columns.ids

    def column_bytes(self, rows: range) -> tuple[bytes, bytes, bytes, bytes]:
        """Return the offsets, parents, kinds and roles of rows as bytes."""
        part = slice(rows.start, rows.stop)
        return (
            self._offsets[part].tobytes(), self._parents[part].tobytes(),
            bytes(self._kinds[part]), bytes(self._roles[part]),
        )  # fmt: skip

    def has_kind(self, kind: int) -> bool:
        """Return whether any row is of this kind."""
        return kind in self._kinds

    def __len__(self) -> int:
        """Return the number of rows, including the header, unreadable lines and pending rows."""
        return len(self._kinds)

    @property
    def seq(self) -> int:
        """Seq of the last committed line; -1 if nothing is committed."""
        return self.committed - 1

    @property
    def irregular(self) -> bool:
        """Whether a walk to the root may loop: an id occurs twice, or a parent follows its child."""
        return self._irregular

    def row(self, entry_id: str) -> int | None:
        """Return the committed row of an id, or None."""
        row = self._ids.get(entry_id)
        return row if row is not None and row < self.committed else None

    def any_row(self, entry_id: str) -> int | None:
        """Return the row of an id, pending or committed, or None."""
        return self._ids.get(entry_id)

    def has_any(self, entry_ids: Sequence[str]) -> bool:
        """Return whether any of the ids has a row, pending or committed."""
        return self._ids.has_any(entry_ids)

    def id(self, row: int) -> str | None:
        """Return the id of a row; None for the header and for lines without an entry."""
        return self._names[row]

    def kind(self, row: int) -> int:
        """Return the code of a row's kind."""
        return self._kinds[row]

    def type(self, row: int) -> str:
        """Return the entry type of a row; "other" for an unknown type."""
        name: str = KINDS[self._kinds[row]]
        return name

    def role(self, row: int) -> int:
        """Return the code of a message's role (`USER`, `ASSISTANT`, …); 0 for other entries."""
        return self._roles[row]

    def parent(self, row: int) -> int:
        """Return the row of the parent, `NONE` for a root. Of entries that share the parent's id, the last counts."""
        parent = self._parents[row]
        if parent in self._superseded:
            return self._ids.get(self._names[parent] or "") or NONE
        return parent

    def kinds(self, first: int, end: int) -> bytes:
        """Return `kind` of the rows from `first` to before `end`."""
        return bytes(self._kinds[first:end])

    def roles(self, first: int, end: int) -> bytes:
        """Return `role` of the rows from `first` to before `end`."""
        return bytes(self._roles[first:end])

    def parents(self, first: int, end: int) -> Sequence[int]:
        """Return `parent` of the rows from `first` to before `end`."""
        if self._superseded:
            return [self.parent(row) for row in range(first, end)]
        return self._parents[first:end]

    def offsets(self, first: int, end: int) -> Sequence[int]:
        """Return the first byte of the lines of the rows from `first` to before `end`, and the byte after the last."""
        return [*self._offsets[first:end], self.span(end - 1)[1]]

    def span(self, row: int) -> tuple[int, int]:
        """Return the byte range of a row's line in the log: its first byte, and the byte after its newline."""
        following = row + 1
        end = self._offsets[following] if following < len(self._offsets) else self.end
        return self._offsets[row], end

    def line(self, row: int) -> int:
        """Return the number of a row's physical line, from 0."""
        return row + self._lines_before

    def is_entry(self, row: int) -> bool:
        """Return whether a row is an entry that its id finds: no header, no bad line, no superseded duplicate."""
        return self._kinds[row] not in (BAD, HEADER) and row not in self._superseded

    def path(self, row: int) -> list[int]:
        """Return the rows from the root to `row`, root first. A loop ends the walk before a row is repeated."""
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
        """Return the last row of each loop of parents that contains one of these rows or is reached from one."""
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
        """Return the number of user and assistant messages on all branches."""
        return self._roles.count(USER, 0, self.committed) + self._roles.count(ASSISTANT, 0, self.committed)

    def count_entries(self) -> int:
        """Return the number of entries on all branches, of any type."""
        return max(self.committed - 1, 0) - self._kinds.count(BAD, 0, self.committed)

    def user_rows(self, limit: int) -> Iterator[int]:
        """Yield the rows of the first `limit` user messages."""
        row = -1
        for _ in range(limit):
            row = self._roles.find(USER, row + 1, self.committed)
            if row < 0:
                return
            yield row

    def last_message(self) -> int:
        """Return the row of the last user or assistant message, or `NONE`."""
        return max(
            self._roles.rfind(USER, 0, self.committed), self._roles.rfind(ASSISTANT, 0, self.committed)
        )

    def newest_of_kind(self, kind: int, limit: int) -> list[int]:
        """Return the last `limit` rows of a kind, pending ones included, newest first."""
        rows: list[int] = []
        row = self._kinds.rfind(kind)
        while row >= 0 and len(rows) < limit:
            rows.append(row)
            row = self._kinds.rfind(kind, 0, row)
        return rows

    def last_entries(self, count: int) -> list[int]:
        """Return the rows of the last `count` entries, in log order; lines without an entry are skipped."""
        found: list[int] = []
        row = self.committed
        while row > 1 and len(found) < count:
            row -= 1
            if self._kinds[row] not in (BAD, HEADER):
                found.append(row)
        return found[::-1]

    def has_assistant(self) -> bool:
        """Return whether there is an assistant message on any branch."""
        return self._roles.find(ASSISTANT, 0, self.committed) >= 0

    def _add(self, offset: int, kind: int, role: int, parent: int, name: str | None) -> None:
        self._offsets.append(offset)
        self._kinds.append(kind)
        self._roles.append(role)
        self._parents.append(parent)
        self._names.append(name)

    def _cut(self, row: int) -> None:
        """Remove the rows from `row` on."""
        for name in self._names[row:]:
            if name is not None and (self._ids.get(name) or NONE) >= row:
                self._ids.remove(name)
        if row < len(self._offsets):
            self.end = self._offsets[row]
        del self._offsets[row:], self._kinds[row:], self._roles[row:], self._parents[row:], self._names[row:]
