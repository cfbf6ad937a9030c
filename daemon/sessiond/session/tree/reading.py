"""Reads the bytes of a log into rows: whole blocks in one step if they are regular, else line by line.

No content makes reading fail; irregularities are reported in `problems` (decision 0009).
"""

from array import array
from typing import Any

import msgspec

from sessiond.session.tree import entries, lines, migrate
from sessiond.session.tree.codes import BAD, HEADER, KIND_OF, LEAF, NONE
from sessiond.session.tree.header import header_of
from sessiond.session.tree.lines import Skim
from sessiond.session.tree.marks import PROPERTY_KINDS, Label, SessionProperties
from sessiond.session.tree.origin import FileState, LogOrigin
from sessiond.session.tree.problem_list import ProblemList
from sessiond.session.tree.problems import LineProblem, ProblemKind
from sessiond.session.tree.regular_blocks import RegularBlock, decode_block, role_of
from sessiond.session.tree.rows import Columns, LogRows

_PROPERTY_OR_LEAF = bytes(sorted(PROPERTY_KINDS | {LEAF}))
_OTHER_KINDS = bytes(code for code in range(256) if code not in _PROPERTY_OR_LEAF)
_NO_ID = object()
"""Equal to no id."""


class TreeFacts(msgspec.Struct, array_like=True):
    """The facts of a log without problems that are neither in its first lines nor in the columns of its rows.

    Attributes:
        rows: The number of committed rows.
        end: The offset after the last of them, in bytes.
        leaf: The committed leaf.
        properties: The properties that the entries and the header set.

    """

    rows: int
    end: int
    leaf: int
    properties: SessionProperties


class ReadRows(LogRows):
    """The rows of a log, and the properties that its entries set. Call `read` with its bytes, then `finish`."""

    def __init__(self) -> None:
        super().__init__()
        self.header: entries.Header | None = None
        self.version = entries.CURRENT_VERSION
        self.leaf = NONE
        self.tail = b""  # the torn last line or incomplete batch after `end`
        self.tail_is_entry = False  # the last row is complete except for its newline
        self.tail_may_be_entry = (
            False  # `tail` is complete except for its newline, if no program continues it
        )
        self.slot_title: str | None = None
        self.slot_updated_at: str | None = None  # when oh-my-pi last wrote the title slot
        self._properties = SessionProperties()
        self._rest = bytearray()
        self._has_header_row = False
        self._missing_parents: dict[str, list[int]] = {}
        self._reported: set[str] = set()
        self._suspects: list[int] = []  # rows that may be their own ancestors
        self._problems = ProblemList()
        self._linear: array[int] | None = (
            None  # version 1: the rows of entries in log order; the header is first
        )

    @property
    def leaf_id(self) -> str | None:
        """The committed leaf: the parent of the next entry."""
        return None if self.leaf == NONE else self._names[self.leaf]

    @property
    def labels(self) -> dict[str, Label]:
        """The labels by the id of the labeled entry."""
        return self._properties.labels

    @property
    def title(self) -> str | None:
        """The title of the session, or None."""
        return self._properties.title

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the session."""
        return self._properties.tags

    @property
    def origin(self) -> LogOrigin | None:
        """The session of an agent from which this one was read; None if it began here."""
        return self._properties.origin

    @property
    def origin_state(self) -> FileState:
        """The state of the file of the origin."""
        return self._properties.origin_state

    @property
    def has_ended(self) -> bool:
        """Whether no process of the agent has the session since its last message, as an entry says."""
        row = self._properties.ended_row
        return row is not None and row > self.last_message()

    @property
    def attachments(self) -> dict[str, list[int]]:
        """The rows of the files beside the transcript, by the id of the entry to which they belong, or ""."""
        return self._properties.attachments

    @property
    def auto_compact(self) -> dict[str, Any] | None:
        """The session's own compaction settings as stored, not validated; None for none."""
        return self._properties.auto_compact

    @property
    def state_rows(self) -> set[int]:
        """The rows of all branches that set something in the working state."""
        return self._properties.state_rows

    @property
    def problems(self) -> list[LineProblem]:
        """The problems found, in log order."""
        return self._problems.in_order()

    @property
    def damaged(self) -> bool:
        """Whether there is no valid header; then the log is read-only."""
        return self.header is None

    @property
    def is_blank(self) -> bool:
        """Whether the log has no byte, or only a title slot."""
        return self.header is None and not self.tail and self._problems.has("emptyLog")

    def entry(self, row: int, raw: bytes) -> bytes:
        """Return the entry of a row as clients receive it: valid UTF-8, in the form of version 3.

        Args:
            row: The row.
            raw: Its stored line.

        """
        line = lines.presentable(raw)
        if self.version >= entries.CURRENT_VERSION:
            return line
        parent = self.parent(row)
        place = self._names[row], None if parent == NONE else self._names[parent]
        return migrate.upgrade(line, self.version, place, self._linear_id)

    # --- without reading a log -------------------------------------------------------------------------

    def facts(self) -> TreeFacts | None:
        """Return the facts that `restore` takes; None if the log has a problem, no entry, or is of version 1.

        The properties change when the tree grows.
        """
        if (
            self.header is None or self._linear is not None or self.committed < 2 or self.irregular
            or self.tail_is_entry or self._missing_parents or self.problems
        ):  # fmt: skip
            return None
        end = self.span(self.committed - 1)[1]
        return TreeFacts(self.committed, end, self.leaf, self._properties)

    def restore(self, facts: TreeFacts, columns: Columns) -> None:
        """Set the rows and facts of a log whose first lines have been read; reading may continue at the new `end`."""
        self._set_columns(columns)
        self._properties = facts.properties
        self.end, self.leaf = facts.end, facts.leaf

    # --- reading a log ---------------------------------------------------------------------------------

    def read(self, data: bytes) -> None:
        """Read the bytes of the log that follow `end`. A call may end within a line.

        After `finish`, reading may continue from `end` if another program has appended lines. If `tail_is_entry`, they
        must begin with the newline of that entry.
        """
        if self.tail_is_entry:
            self.tail_is_entry = False
            if data.startswith(b"\n"):
                self.end += 1
                data = data[1:]
        self._problems.torn = None
        lines_end = data.rfind(b"\n") + 1
        if not lines_end:
            self._rest += data
            return
        block = b"".join((self._rest, memoryview(data)[:lines_end]))
        self._rest = bytearray(data[lines_end:])
        self._read_block(block)

    def finish(self, *, settled: bool = True) -> None:
        """Finish at the end of the log: read a last line without a newline, and report missing parents.

        Args:
            settled: Whether no other program is still writing the last line. Otherwise a line that lacks only its
                newline is not read as an entry yet: the program, or another one, may continue the line, and a row
                cannot be taken back. Call `settle_tail` when the line has settled.

        """
        self.tail, self.tail_may_be_entry = b"", False
        if self._rest:
            self._finish_line(bytes(self._rest), settled=settled)
            self._rest = bytearray()
        if not self._has_header_row:
            self._begin(self.end, None, ("emptyLog", "there is no session header: the file is empty"))
        for parent_id in self._missing_parents.keys() - self._reported:
            self._reported.add(parent_id)
            for row in self._missing_parents[parent_id]:
                reason = f"entry {self._names[row]} has a parent that is not in the file: {parent_id}"
                self._problem("missingParent", row, reason)
        # Only a parent that follows its child, or a repeated id, can close a loop.
        for last in self._ends_of_loops(self._suspects):
            self._problem("parentCycle", last, f"entry {self._names[last]} is one of its own ancestors")
        self._suspects.clear()
        self.committed = len(self)

    def settle_tail(self) -> None:
        """Read `tail` as an entry if it lacks only its newline."""
        if self.tail_may_be_entry:
            self._rest = bytearray(self.tail)
            self.finish()

    def _finish_line(self, tail: bytes, *, settled: bool) -> None:
        try:
            lines.skim(tail if self._has_header_row else tail.removeprefix(lines.BOM))
        except lines.NotAnEntry as error:
            self.tail = tail
            if not self._has_header_row:
                reason = "there is no session header: the only line is torn"
                self._begin(self.end, None, ("damagedHeader", reason))
            line = len(self) + self._lines_before + 1
            self._problems.torn = LineProblem(
                "tornLine", line, self.end, f"the last line is torn: {error.reason}"
            )
        else:
            if settled or not self._has_header_row:
                self._read_block(tail)
                self.tail_is_entry = True
            else:
                self.tail, self.tail_may_be_entry = tail, True

    def _read_block(self, block: bytes) -> None:
        start = 0 if self._has_header_row else self._read_first_lines(block)
        if start:
            block = block[start:]
            self.end += start
        if not block:
            return
        regular = decode_block(block) if self._linear is None and not self._missing_parents else None
        if regular is None or not self._add_block(regular, block):
            self._add_lines(block)
        self.end += len(block)

    def _add_block(self, regular: RegularBlock, block: bytes) -> bool:
        """Add a regular block. If an id is repeated or a parent is not above its child, add nothing: return False."""
        first = len(self)
        if not self._ids.add(regular.ids, first):
            return False
        parents = self._parents_of(first, regular)
        if parents is None:
            self._ids.remove_all(regular.ids)
            return False
        base = self.end
        self._offsets.append(base)
        self._offsets.extend([base + end for end in regular.ends[:-1]])
        self._kinds += regular.kinds
        self._roles += regular.roles
        self._parents.extend(parents)
        self._names += regular.ids
        self.leaf = len(self) - 1
        if regular.kinds.translate(None, _OTHER_KINDS):
            self._apply_properties(first, block)
        return True

    def _parents_of(self, first: int, regular: RegularBlock) -> list[int] | None:
        """Return the parents of new rows; None if a parent is missing or follows its child."""
        parents = list(range(first - 1, first - 1 + len(regular.ids)))  # most entries follow their parents
        before = self._names[-1] or _NO_ID
        for index, parent_id in enumerate(regular.parent_ids):
            if parent_id != before:
                parent = NONE if parent_id is None else self._ids.get(parent_id)
                if parent is None or parent >= first + index:
                    return None
                parents[index] = parent
            before = regular.ids[index]
        return parents

    def _add_lines(self, block: bytes) -> None:
        position, size = 0, len(block)
        while position < size:
            end = block.find(b"\n", position) + 1 or size
            line = block[position:end]
            offset = self.end + position
            try:
                skim = lines.skim(line)
                if (
                    self._linear is not None
                    and len(self._linear) == 1
                    and migrate.has_links(lines.loads(line))
                ):
                    self._correct_version()
                if self._linear is not None:
                    skim.id, skim.parent_id = migrate.derived_id(len(self)), self._last_linear()
                self._add_entry(skim, offset)
            except lines.NotAnEntry as error:
                self._add(offset, BAD, 0, NONE, None)
                if line.strip() and not self._problems.is_last_at(offset):
                    self._problem(error.kind, len(self) - 1, error.reason)
            else:
                if self._kinds[-1] in _PROPERTY_OR_LEAF:
                    self._apply_property(len(self) - 1, line)
                if (invalid := lines.invalid_utf8(line, offset)) is not None:
                    self._problem("invalidUtf8", len(self) - 1, invalid)
            position = end

    def _add_entry(self, skim: Skim, offset: int) -> None:
        if not isinstance(skim.type, str):
            raise lines.NotAnEntry("notAnEntry", "the entry has no type")
        if not isinstance(skim.id, str) or not skim.id:
            raise lines.NotAnEntry("notAnEntry", "the entry has no id")
        row, kind = len(self), KIND_OF[skim.type]
        self._add(offset, kind, role_of(kind, skim.message), NONE, skim.id)
        self._find_parent(row, skim.id, skim.parent_id)
        superseded = self._ids.get(skim.id)
        if superseded is not None:
            self._supersede(row, superseded, skim.id)
        self._ids.set(skim.id, row)
        if skim.id in self._missing_parents:
            self._link_children(row, skim.id)
        self.leaf = row
        if self._linear is not None:
            self._linear.append(row)

    def _find_parent(self, row: int, entry_id: str, parent_id: object) -> None:
        if parent_id is None:
            return
        if not isinstance(parent_id, str):
            self._problem(
                "invalidParent", row, "parentId is neither a string nor null; the entry is treated as a root"
            )
        elif (parent := self._ids.get(parent_id)) is not None:
            self._parents[row] = parent
        elif parent_id == entry_id:
            self._problem("selfParent", row, f"entry {entry_id} is its own parent; it is treated as a root")
        else:
            self._missing_parents.setdefault(parent_id, []).append(row)

    def _supersede(self, row: int, superseded: int, entry_id: str) -> None:
        self._superseded.add(superseded)
        self._irregular = True
        self._suspects.append(row)
        self._problem(
            "duplicateEntryId", row, f"a second entry has the id {entry_id}; the later entry is used"
        )

    def _link_children(self, row: int, entry_id: str) -> None:
        for child in self._missing_parents.pop(entry_id):
            self._parents[child] = row
            self._suspects.append(child)
        self._irregular = True

    def _read_first_lines(self, block: bytes) -> int:
        """Read oh-my-pi's title slot, if any, and the header; return the offset where the entries begin."""
        position = 0
        while position < len(block):
            end = block.find(b"\n", position) + 1 or len(block)
            at_start = self.end + position == 0
            try:
                first = lines.loads(block[position:end].removeprefix(lines.BOM if at_start else b""))
                if at_start and first.get("type") == "title":
                    self._check_utf8(block[position:end], position)
                    title = lines.valid_text(first.get("title"))
                    self.slot_title = title if isinstance(title, str) else ""
                    updated_at = lines.valid_text(first.get("updatedAt"))
                    self.slot_updated_at = updated_at if isinstance(updated_at, str) else None
                    position = end
                    continue
                header = header_of(first)
                self._check_utf8(block[position:end], position)
            except lines.NotAnEntry as error:
                reason = f"there is no session header: {error.reason}"
                self._begin(self.end + position, None, ("damagedHeader", reason))
                return position
            except ValueError as error:
                is_header = first.get("type") == "session"
                self._begin(self.end + position, None, ("damagedHeader", str(error)), has_line=is_header)
                return end if is_header else position  # the line may still be an entry
            self._begin(self.end + position, header, None)
            return end
        return position

    def _check_utf8(self, line: bytes, position: int) -> None:
        """Report a title slot or header that is not UTF-8 and begins `position` bytes after `end`."""
        offset = self.end + position
        if (reason := lines.invalid_utf8(line, offset)) is not None:
            number = 1 if self.slot_title is None else 2
            self._problems.add_always(LineProblem("invalidUtf8", number, offset, reason))

    def _begin(
        self,
        offset: int,
        header: entries.Header | None,
        problem: tuple[ProblemKind, str] | None,
        *,
        has_line: bool = False,
    ) -> None:
        self._has_header_row = True
        self.header = header
        slots = 0 if self.slot_title is None else 1
        self._lines_before = slots if header is not None or has_line else slots - 1
        self._add(offset, HEADER, 0, NONE, None)
        if problem is not None:
            self._problems.add_always(LineProblem(problem[0], slots + 1, offset, problem[1]))
        if header is not None:
            self.version = 1 if header.version is None else header.version
            self._properties.title = self.slot_title or header.title or None
            self._properties.tags = tuple(header.tags or ())
            if self.version < 2:
                self._linear = array("i", [0])

    def _correct_version(self) -> None:
        """Read the entries as those of version 3, though the header has version 1."""
        self.version, self._linear = entries.CURRENT_VERSION, None
        line = self._lines_before + 1
        self._problems.add_always(LineProblem("damagedHeader", line, self._offsets[0], migrate.WRONG_VERSION))

    def _last_linear(self) -> str | None:
        last = self._linear[-1] if self._linear is not None else 0
        return self._names[last] if last else None

    def _linear_id(self, index: int) -> str | None:
        """Version 1: return the id of the file entry at an index (the header has index 0), or None."""
        linear = self._linear
        return self._names[linear[index]] if linear is not None and 0 < index < len(linear) else None

    def _problem(self, kind: ProblemKind, row: int, reason: str) -> None:
        if not self._problems.is_full:
            self._problems.add(LineProblem(kind, self.line(row) + 1, self._offsets[row], reason))

    def _apply_properties(self, first: int, block: bytes) -> None:
        last = len(self) - 1
        for row in range(first, last + 1):
            if self._kinds[row] in _PROPERTY_OR_LEAF:
                start = self._offsets[row] - self.end
                end = self._offsets[row + 1] - self.end if row < last else len(block)
                self.leaf = row
                self._apply_property(row, block[start:end])
        if self._kinds[last] != LEAF:
            self.leaf = last

    def _apply_property(self, row: int, line: bytes) -> None:
        if self._kinds[row] != LEAF:
            self._properties.apply(row, line)
            return
        leaf_entry = entries.payload_of(line)
        if isinstance(leaf_entry, entries.LeafEntry):
            target = NONE if leaf_entry.target_id is None else self._ids.get(leaf_entry.target_id)
            if target is None:
                reason = f"the leaf line refers to an entry that does not precede it: {leaf_entry.target_id}"
                self._problem("missingLeaf", row, reason)
            else:
                self.leaf = target

    def exclude_tail(self, tail: bytes, reason: str) -> None:
        """Exclude an incomplete batch, whose whole lines follow `end`, and report it."""
        self.tail = tail
        self._problems.torn = LineProblem(
            "incompleteBatch", len(self) + self._lines_before + 1, self.end, reason
        )

    def drop_tail(self) -> None:
        """Record that the torn last line has been moved out of the log."""
        self.tail, self._problems.torn = b"", None
