"""A session's lines as a tree: columns over the rows of a log, and an index of ids. Payloads stay where they are.

Row n is the line with seq n; row 0 is the header. A row knows its place in the log, its kind, its parent and its
id; whatever else a caller wants it decodes from the line. Rows past `committed` are pending: they may be parents,
but nobody is shown them. Reading never fails on content; what is odd is in `problems`.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from sessiond.session import entries, lines, migrate
from sessiond.session.lines import Problem

NONE: Final = -1
"""No row: the parent of a root, the leaf before the first entry."""

KINDS: Final = ("bad", "other", "session", *entries.TYPES)
KIND: Final[dict[str, int]] = {name: code for code, name in enumerate(KINDS)}
BAD: Final = KIND["bad"]
OTHER: Final = KIND["other"]
HEADER: Final = KIND["session"]
MESSAGE: Final = KIND["message"]
LEAF: Final = KIND["leaf"]
_MARKS: Final = frozenset(KIND[name] for name in ("label", "leaf", "session_info", "title_change", "custom"))

ROLES: Final = ("", "other", "user", "assistant", "toolResult")
ROLE: Final[dict[str, int]] = {name: code for code, name in enumerate(ROLES) if name}
_OTHER_ROLE: Final = ROLE["other"]
USER: Final = ROLE["user"]
ASSISTANT: Final = ROLE["assistant"]


@dataclass(frozen=True, slots=True)
class Label:
    """A bookmark, and the row of the line that set it."""

    text: str
    row: int


@dataclass(frozen=True, slots=True)
class NewRow:
    """A line that is about to be added: the bytes (with newline) and what the tree needs of it."""

    line: bytes
    type: str
    id: str
    parent_id: str | None
    role: str | None = None


class Tree:
    """The tree of one session. Feed it the log's bytes with `read`, end with `finish`; then grow it with `attach`."""

    def __init__(self) -> None:
        self.header: entries.Header | None = None
        self.version = entries.CURRENT_VERSION
        self.slot_title: str | None = None
        self.labels: dict[str, Label] = {}
        self.title: str | None = None
        self.tags: tuple[str, ...] = ()
        self.leaf = NONE
        self.end = 0  # byte after the last whole line
        self.tail = b""  # what follows `end`: a last line without its newline, when it is torn
        self.tail_is_entry = False  # the last row lacks only its newline
        self.committed = 0
        self._pending_leaf = NONE
        self._pending: list[NewRow] = []
        self._offsets = array("Q")
        self._kinds = bytearray()
        self._roles = bytearray()
        self._parents = array("i")
        self._names: list[str | None] = []
        self._rows: dict[str, int] = {}
        self._rest = bytearray()
        self._line_number = 0
        self._lines_before = 0  # a title slot comes before the header; without a header row 0 has no line
        self._first_line = True
        self._waiting: dict[str, list[int]] = {}
        self._reported: set[str] = set()
        self._problems: list[Problem] = []
        self._torn: Problem | None = None
        self._irregular = False  # a walk may meet itself: duplicate ids or forward parents
        self._superseded: set[int] = set()
        self._linear: array[int] | None = None  # v1: rows in the order of the file entries

    # --- looking ---------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Rows, the header and unreadable lines included, pending ones too."""
        return len(self._kinds)

    @property
    def seq(self) -> int:
        """Ordinal of the last committed line; -1 before there is a header."""
        return self.committed - 1

    @property
    def leaf_id(self) -> str | None:
        """Where the next entry attaches, as everybody sees it."""
        return None if self.leaf == NONE else self._names[self.leaf]

    @property
    def pending_leaf_id(self) -> str | None:
        """Where the next entry attaches once everything queued is committed."""
        return None if self._pending_leaf == NONE else self._names[self._pending_leaf]

    @property
    def problems(self) -> list[Problem]:
        """What could not be taken as it is, in the order of the log."""
        return [*self._problems, self._torn] if self._torn is not None else list(self._problems)

    @property
    def damaged(self) -> bool:
        """Whether there is no valid header, so that nothing may be written."""
        return self.header is None

    def row(self, entry_id: str) -> int | None:
        """The committed row of an id, or None."""
        row = self._rows.get(entry_id)
        return row if row is not None and row < self.committed else None

    def any_row(self, entry_id: str) -> int | None:
        """The row of an id, pending or committed, or None."""
        return self._rows.get(entry_id)

    def id(self, row: int) -> str | None:
        """The id of a row; None for the header and for lines that are no entries."""
        return self._names[row]

    def kind(self, row: int) -> int:
        return self._kinds[row]

    def type(self, row: int) -> str:
        """The entry type of a row; "other" for a type unknown here."""
        return KINDS[self._kinds[row]]

    def role(self, row: int) -> int:
        """`USER`, `ASSISTANT` … of a message; 0 for anything else."""
        return self._roles[row]

    def parent(self, row: int) -> int:
        """The row of the parent, `NONE` for a root. Of entries that share an id the last one counts."""
        parent = self._parents[row]
        if self._superseded and parent in self._superseded:
            return self._rows[self._names[parent]]  # type: ignore[index]
        return parent

    def span(self, row: int) -> tuple[int, int]:
        """Where the line of a row lies in the log: first byte, and byte after its newline."""
        start = self._offsets[row]
        following = row + 1
        end = self._offsets[following] if following < len(self._offsets) else self.end
        return start, end

    def line(self, row: int) -> int:
        """The 0-based physical line of a row."""
        return row + self._lines_before

    def entry(self, row: int, raw: bytes) -> bytes:
        """The entry of a row as everybody sees it, from its stored line: valid UTF-8, migrated to v3 in memory."""
        line = lines.presentable(raw)
        if self.version >= entries.CURRENT_VERSION:
            return line
        return migrate.upgrade(line, self.version, self._id_and_parent(row), self._linear_id)

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

    def count_messages(self) -> int:
        """User and assistant messages, all branches."""
        return self._roles.count(USER, 0, self.committed) + self._roles.count(ASSISTANT, 0, self.committed)

    def count_entries(self) -> int:
        """Entries, all branches, whatever their type."""
        return self.committed - 1 - self._kinds.count(BAD, 0, self.committed)

    def first_user(self) -> int:
        """The row of the first user message, or `NONE`."""
        return self._roles.find(USER, 0, self.committed)

    def last_message(self) -> int:
        """The row of the last user or assistant message, or `NONE`."""
        return max(
            self._roles.rfind(USER, 0, self.committed), self._roles.rfind(ASSISTANT, 0, self.committed)
        )

    def has_assistant(self) -> bool:
        return self._roles.find(ASSISTANT) >= 0

    @property
    def irregular(self) -> bool:
        """Whether a walk down the tree may meet itself (cycles, duplicate ids)."""
        return self._irregular

    # --- reading a log ---------------------------------------------------------------------------------

    def read(self, data: bytes) -> None:
        """Take the bytes of the log that follow `end`. Lines may be cut anywhere between calls.

        After `finish`, reading may go on (another program has added lines), again from `end`.
        """
        if self.tail_is_entry:
            self.tail_is_entry = False
            if data.startswith(b"\n"):
                self.end += 1
                data = data[1:]
        self._torn = None
        cut = data.rfind(b"\n") + 1
        if not cut:
            self._rest += data
            return
        if self._rest:
            self._rest += data[:cut]
            block, self._rest = bytes(self._rest), bytearray(data[cut:])
        else:
            block, self._rest = data[:cut], bytearray(data[cut:])
        self._take(block)

    def finish(self) -> None:
        """The log ends here: look at a last line without newline, and report parents that never came."""
        self.tail, self.tail_is_entry = b"", False
        if self._rest:
            tail, self._rest = bytes(self._rest), bytearray()
            try:
                lines.skim(tail.removeprefix(lines.BOM) if self._first_line else tail)
            except lines.NotAnEntry as bad:
                self.tail = tail
                self._torn = Problem(self._line_number + 1, self.end, f"the last line is torn: {bad.reason}")
                if self._first_line:
                    self._begin(self.end, None, "there is no session header: the only line is torn")
            else:
                self._take(tail)
                self.tail_is_entry = True
        if self._first_line:
            self._begin(self.end, None, "there is no session header: the file is empty")
        for parent_id in self._waiting.keys() - self._reported:
            self._reported.add(parent_id)
            for row in self._waiting[parent_id]:
                self._problem(
                    self._offsets[row], f"entry {self._names[row]} names a parent that is not here: {parent_id}",
                    severity="warning", line=row + 1,
                )  # fmt: skip
        self.committed = len(self._kinds)
        self._pending_leaf = self.leaf

    def _take(self, block: bytes) -> None:
        position, base, find = 0, self.end, block.find
        if self._first_line:
            position = self._take_first_lines(block)
        linear = self.version < 2
        skims = iter(lines.skim_block(block[position:] if position else block))
        kind_of, role_of = KIND.get, ROLE.get
        offsets, kinds, roles = self._offsets.append, self._kinds.append, self._roles.append
        parents, names, rows, waiting = self._parents.append, self._names.append, self._rows, self._waiting
        size = len(block)
        row = len(self._kinds)
        while position < size:
            end = find(b"\n", position) + 1 or size
            self._line_number += 1
            try:
                skim = next(skims, None) or lines.skim(block[position:end])
                if linear:
                    skim.id, skim.parent_id = migrate.derived_id(row), self._last_linear()
                entry_id, type_ = skim.id, skim.type
                if type_.__class__ is not str:
                    raise lines.NotAnEntry("the entry has no type")
                if entry_id.__class__ is not str or not entry_id:
                    raise lines.NotAnEntry("the entry has no id")
            except lines.NotAnEntry as bad:
                if block[position:end].strip():
                    self._problem(base + position, bad.reason)
                offsets(base + position)
                kinds(BAD)
                roles(0)
                parents(NONE)
                names(None)
                row += 1
                position = end
                continue
            kind = kind_of(type_, OTHER)
            parent_id = skim.parent_id
            parent = NONE
            if parent_id is not None:
                parent = rows.get(parent_id, NONE) if parent_id.__class__ is str else NONE
                if parent == NONE:
                    self._adopt_later(row, entry_id, parent_id, base + position)
            offsets(base + position)
            kinds(kind if kind != HEADER else OTHER)
            roles(
                role_of(skim.message.role, _OTHER_ROLE) if kind == MESSAGE and skim.message is not None else 0
            )
            parents(parent)
            names(entry_id)
            if entry_id in rows:
                self._supersede(entry_id, row, base + position)
            rows[entry_id] = row
            if waiting and entry_id in waiting:
                self._adopt(entry_id, row)
            self.leaf = row
            if linear:
                self._linear.append(row)  # type: ignore[union-attr]
            if kind in _MARKS:
                self._mark(row, kind, block[position:end])
            row += 1
            position = end
        self.end = base + size

    def _take_first_lines(self, block: bytes) -> int:
        """Read the header, and oh-my-pi's title slot before it; answers where the entries begin."""
        position = 0
        for expected in ("title or session", "session"):
            end = block.find(b"\n", position) + 1 or len(block)
            if position >= len(block):
                return position  # the slot came alone; the header is in the next bytes
            line = block[position:end].removeprefix(lines.BOM if self._line_number == 0 else b"")
            try:
                first = lines.loads(line)
            except lines.NotAnEntry as bad:
                self._begin(self.end + position, None, f"there is no session header: {bad.reason}")
                return position
            if expected != "session" and first.get("type") == "title" and self.slot_title is None:
                title = first.get("title")
                self.slot_title = title if isinstance(title, str) else ""
                self.title = self.slot_title or None
                self._line_number += 1
                position = end
                continue
            self._line_number += 1
            header, reason = _header(first)
            self._begin(self.end + position, header, reason)
            if first.get("type") != "session":
                self._line_number -= 1
                return position  # what stands there may still be an entry
            return end
        return position

    def _begin(self, offset: int, header: entries.Header | None, reason: str | None) -> None:
        self._first_line = False
        self.header = header
        self._lines_before = 0 if self.slot_title is None else 1
        if reason is not None:
            self._problem(offset, reason, line=max(self._line_number, 1))
        if header is not None:
            self.version = header.version if header.version is not None else 1
            self.title = self.title or header.title or None
            self.tags = tuple(header.tags or ())
            if self.version < 2:
                self._linear = array("i", [0])
        self._offsets.append(offset)
        self._kinds.append(HEADER)
        self._roles.append(0)
        self._parents.append(NONE)
        self._names.append(None)

    def _last_linear(self) -> str | None:
        last = self._linear[-1]  # type: ignore[index]
        return self._names[last] if last else None

    def _linear_id(self, index: int) -> str | None:
        """v1: the id of the file entry with this index (the header is 0), or None."""
        linear = self._linear
        return self._names[linear[index]] if linear is not None and 0 < index < len(linear) else None

    def _id_and_parent(self, row: int) -> tuple[str | None, str | None]:
        parent = self.parent(row)
        return self._names[row], None if parent == NONE else self._names[parent]

    def _adopt_later(self, row: int, entry_id: str, parent_id: object, offset: int) -> None:
        if not isinstance(parent_id, str):
            self._problem(offset, "parentId is neither text nor null; the entry is taken as a root")
        elif parent_id == entry_id:
            self._problem(offset, f"entry {entry_id} is its own parent; it is taken as a root")
        else:
            self._waiting.setdefault(parent_id, []).append(row)

    def _adopt(self, entry_id: str, row: int) -> None:
        for child in self._waiting.pop(entry_id):
            self._parents[child] = row
        self._irregular = True

    def _supersede(self, entry_id: str, row: int, offset: int) -> None:
        self._superseded.add(self._rows[entry_id])
        self._irregular = True
        self._problem(
            offset, f"a second entry has the id {entry_id}; the later one counts", severity="warning"
        )

    def _problem(self, offset: int, reason: str, *, severity: str = "error", line: int | None = None) -> None:
        number = self._line_number if line is None else line
        self._problems.append(Problem(number, offset, reason, severity))  # type: ignore[arg-type]

    def _guarded_path(self, row: int) -> list[int]:
        walk: list[int] = []
        seen: set[int] = set()
        while row != NONE and row not in seen:
            seen.add(row)
            walk.append(row)
            row = self.parent(row)
        walk.reverse()
        return walk

    # --- growing ---------------------------------------------------------------------------------------

    def attach(self, rows: Sequence[NewRow], *, leaf: str | None) -> None:
        """Add pending rows. The caller has checked ids and parents; `leaf` is where the session goes with them."""
        for new in rows:
            row = len(self._kinds)
            self._offsets.append(self.end)
            self.end += len(new.line)
            self._kinds.append(KIND.get(new.type, OTHER))
            self._roles.append(0 if new.role is None else ROLE.get(new.role, _OTHER_ROLE))
            self._parents.append(NONE if new.parent_id is None else self._rows[new.parent_id])
            self._names.append(new.id)
            self._rows[new.id] = row
            self._pending.append(new)
        self._pending_leaf = NONE if leaf is None else self._rows[leaf]

    def commit(self, count: int, *, leaf: str | None) -> None:
        """Make the oldest `count` pending rows visible, with `leaf` as the leaf after them."""
        for new in self._pending[:count]:
            row = self.committed
            self.committed += 1
            self._line_number += 1
            kind = self._kinds[row]
            if kind in _MARKS:
                self._mark(row, kind, new.line)
        del self._pending[:count]
        self.leaf = NONE if leaf is None else self._rows[leaf]

    def roll_back(self) -> None:
        """Take all pending rows away again."""
        for name in self._names[self.committed :]:
            self._rows.pop(name, None)  # type: ignore[arg-type]
        if self.committed < len(self._offsets):
            self.end = self._offsets[self.committed]
        for column in (self._offsets, self._kinds, self._roles, self._parents, self._names):
            del column[self.committed :]  # type: ignore[attr-defined]
        self._pending.clear()
        self._pending_leaf = self.leaf

    def pending_line(self, row: int) -> bytes:
        """The entry of a pending row."""
        return self._pending[row - self.committed].line[:-1]

    def drop_tail(self) -> None:
        """The torn last line has been put aside and cut away."""
        self.tail, self._torn = b"", None

    def complete_tail(self) -> None:
        """The last line has been given its newline."""
        self.tail_is_entry = False
        self.end += 1

    def _mark(self, row: int, kind: int, line: bytes) -> None:
        """Take in what an entry says about the session: a label, the leaf, the title, the tags."""
        try:
            payload = entries.decode_payload(line)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return
        match payload:
            case entries.LabelEntry(target_id=target, label=text):
                if text:
                    self.labels[target] = Label(text, row)
                else:
                    self.labels.pop(target, None)
            case entries.LeafEntry(target_id=None):
                self.leaf = NONE
            case entries.LeafEntry(target_id=target):
                found = self._rows.get(target)
                if found is not None:
                    self.leaf = found
                else:
                    self._problem(
                        self._offsets[row], f"the leaf line names an entry that is not here: {target}"
                    )
            case entries.SessionInfoEntry(name=name):
                self.title = (name or "").strip() or None
            case entries.TitleChangeEntry(title=name):
                self.title = name.strip() or None
            case entries.CustomEntry(custom_type=entries.TAGS_TYPE, data={"tags": list(tags)}):
                self.tags = tuple(str(tag) for tag in tags)


def _header(first: dict[str, object]) -> tuple[entries.Header | None, str | None]:
    if first.get("type") != "session":
        return None, "there is no session header: the first line is something else"
    if not isinstance(first.get("id"), str) or not first["id"]:
        return None, "the session header has no id"

    def text(name: str) -> str | None:
        value = first.get(name)
        return value if isinstance(value, str) else None

    version = first.get("version")
    try:
        number = None if version is None else int(version)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        return None, f"the session header has a version that is no number: {version!r:.40}"
    return entries.Header(
        version=number, id=str(first["id"]), timestamp=text("timestamp") or "", cwd=text("cwd") or "",
        title=text("title"), parent_session=text("parentSession"), tags=_words(first.get("tags")),
    ), None  # fmt: skip


def _words(value: object) -> list[str] | None:
    return [word for word in value if isinstance(word, str)] if isinstance(value, list) else None
