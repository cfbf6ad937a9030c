"""Builds v3 entries from a foreign file. When the file grows, new entries are only added at the end.

The conversation is one tree, with the parents that the source names. Entries about the session as a whole, and every
line without a counterpart, are on a separate chain that starts at `sessiond.origin`. That chain changes no parent in
the tree and is in no context.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

import msgspec

from sessiond.session.content import fields
from sessiond.session.dialects import copy_mark
from sessiond.session.dialects.source import Place, Source, SourceLine
from sessiond.session.tree import entries, origin

IMPORT_TYPE: Final = "sessiond.import"
"""`customType` of an entry that stores a line without a counterpart: {origin, line, reason, raw}."""
MOVE_TYPE: Final = "sessiond.leafMoved"
"""`customType` of an entry that records that a line of the source moved its leaf: {targetId}."""
ROLLED_BACK: Final = "rolled-back"
"""The label on the last entry of a branch that was rolled back."""
MISSING_HISTORY: Final = (
    "it is a fork of {source}, whose file was not found: what was said before the fork is not in this session"
)
"""The problem of a fork without its history, if the session with the history was not found."""
MAX_PROBLEMS: Final = 100
MAX_NULS: Final = 4096
"""Limit of NUL bytes at the ends of a line that is stored unchanged; more are only counted."""
_USUAL: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{5,20}(Z|[+-][0-9:]{4,6})?", re.ASCII)
_EPOCH: Final = "1970-01-01T00:00:00.000Z"


class BesideEntry(NamedTuple):
    """An entry about the session as a whole, which gets its parent when all of them are known.

    `place` is that of its line, which orders these entries.
    """

    place: Place
    id: str
    type: str
    at: str
    payload: dict[str, Any]

    def entry(self, parent: str | None) -> "ImportedEntry":
        """Return the entry below a parent."""
        line = line_of_entry(self.type, self.id, parent, self.at, self.payload)
        return ImportedEntry(self.id, parent, self.type, line)


class ImportedEntry(msgspec.Struct, frozen=True, gc=False):
    """One v3 entry: its line without newline, and the fields that a tree needs."""

    id: str
    parent_id: str | None
    type: str
    line: bytes
    role: str | None = None


@dataclass(frozen=True, slots=True)
class SourceProblem:
    """A problem in the source that affects its conversion. `line` counts from 1; 0 is the whole file."""

    line: int
    message: str


@dataclass(slots=True)
class ImportReport:
    """Counts of the lines: `converted` by the result's kind, `preserved` by kind for lines that are stored unchanged.

    `held_back_count` counts lines at the end of a growing file that are left for a later import.
    """

    converted: Counter[str] = field(default_factory=Counter)
    preserved: Counter[str] = field(default_factory=Counter)
    problems: list[SourceProblem] = field(default_factory=list)
    problem_count: int = 0
    held_back_count: int = 0

    def add_problem(self, line: int, message: str) -> None:
        """Record a problem. After the first `MAX_PROBLEMS`, problems are only counted."""
        self.problem_count += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(SourceProblem(line, message))

    def add_all(self, other: "ImportReport") -> None:
        """Record the problems of another report."""
        for problem in other.problems:
            self.add_problem(problem.line, problem.message)
        self.problem_count += other.problem_count - len(other.problems)


@dataclass(frozen=True, slots=True)
class Imported:
    """A session read from a foreign file. `source_id` and `parent_source` are ids of the source program.

    `source_version` is the version of the program, if the file names it.
    """

    dialect: str
    source_id: str
    timestamp: str
    cwd: str
    title: str | None
    tags: tuple[str, ...]
    parent_source: str | None
    entries: list[ImportedEntry]
    leaf: str | None
    report: ImportReport

    conversation_count: int
    """The number of `entries` that belong to the conversation tree."""

    source_version: str | None = None

    inherited: frozenset[str] = frozenset()
    """The ids of those of `entries` that come from lines of other files: the history of a fork."""

    is_cut: bool = False
    """Whether messages of the file may be lost, so that its leaf may be an earlier entry than before."""

    is_state: bool = False
    """Whether the file has a working state and no conversation. A later state may lack parts of an earlier one.

    The ids of its entries begin with the name of the dialect and `-`.
    """

    is_list: bool = False
    """Whether the conversation is a list, in which a new message may later appear before existing ones."""

    untouched_copy_of: str | None = None
    """The session that this one is an unchanged copy of, written by `session/resume`."""

    @property
    def has_assistant(self) -> bool:
        """Whether an entry is an assistant message."""
        return any(entry.role == "assistant" for entry in self.entries)

    @property
    def has_messages(self) -> bool:
        """Whether an entry is a message of a user or an assistant. A file may have only what its program added."""
        return any(entry.role in ("user", "assistant") for entry in self.entries)

    @property
    def is_answered(self) -> bool:
        """Whether it is more than a draft session: it has an assistant message, or is a working state."""
        return self.is_state or self.has_assistant


def session_ids(dialect: str, source_id: str) -> list[str]:
    """Return the ids that a session may get here: its own if it is valid, then one derived from it.

    A session of a home dialect gets only the derived id.
    """
    made = fields.digest(dialect, source_id) + fields.digest(source_id, dialect)
    derived = f"{made[:8]}-{made[8:12]}-{made[12:16]}-{made[16:20]}-{made[20:]}"
    keeps_own = dialect not in HOME and entries.valid_session_id(source_id)
    return [source_id, derived] if keeps_own else [derived]


HOME: Final = frozenset(("pi",))
"""Dialects whose files can be opened in place. An imported copy gets an id of its own."""


class BuilderState(msgspec.Struct):
    """The part of a builder that another one needs to continue after the same lines: see `ImportBuilder.state`."""

    timestamp: str | None
    clock: str | None
    last: str | None
    last_beside: str | None
    taken: set[str]
    versions: dict[str, int]


class BuilderOutline(msgspec.Struct):
    """The description of a session as far as it was read, which `BuilderState` lacks: the attributes of a builder."""

    source_id: str
    cwd: str
    title: str | None
    tags: tuple[str, ...]
    parent_source: str | None
    source_version: str | None
    untouched_copy_of: str | None
    origin: dict[str, Any]
    inherited: set[str]


class ImportBuilder:
    """Builds the entries of one import and counts the lines in its report.

    The result of a source that grows can be taken part by part: `finish` returns what was added since the last call.
    """

    def __init__(self, dialect: str, source: Source) -> None:
        self.dialect = dialect
        self.source_id = source.name
        self.timestamp: str | None = None
        self.cwd = ""
        self.title: str | None = None
        self.tags: tuple[str, ...] = ()
        self.parent_source: str | None = None
        self.leaf: str | None = None
        self.source_version: str | None = None
        self.untouched_copy_of: str | None = None
        self.is_cut = False
        self.is_state = False
        self.is_list = False
        self.origin: dict[str, Any] = {}
        self.report = ImportReport()
        self.last: str | None = None
        self._source = source
        self.clock: str | None = None
        self._tree: list[ImportedEntry] = []
        self._taken: set[str] = set()
        self._versions: dict[str, int] = {}
        self._beside: list[BesideEntry] = []
        self._last_beside: str | None = None
        self._inherited: set[str] = set()

    def state(self) -> BuilderState:
        """Return the state after the entries that `finish` has returned."""
        return BuilderState(
            self.timestamp, self.clock, self.last, self._last_beside, self._taken, self._versions
        )

    def restore(self, state: BuilderState) -> None:
        """Continue after the entries of an earlier builder."""
        self.timestamp, self.clock, self.last = state.timestamp, state.clock, state.last
        self._last_beside, self._taken, self._versions = state.last_beside, state.taken, state.versions

    def outline(self) -> BuilderOutline:
        """Return the description of the session, for a builder that continues in place of this one."""
        return BuilderOutline(
            self.source_id, self.cwd, self.title, self.tags, self.parent_source, self.source_version,
            self.untouched_copy_of, self.origin, self._inherited,
        )  # fmt: skip

    def restore_outline(self, outline: BuilderOutline, report: ImportReport) -> None:
        """Take the description of a session, and the report on its lines, after `restore`."""
        self.source_id, self.cwd, self.title, self.tags = (
            outline.source_id, outline.cwd, outline.title, outline.tags,
        )  # fmt: skip
        self.parent_source, self.source_version = outline.parent_source, outline.source_version
        self.untouched_copy_of, self.origin = outline.untouched_copy_of, outline.origin
        self._inherited, self.report = outline.inherited, report

    # --- the results of a line -------------------------------------------------------------------------

    def add(
        self, line: SourceLine, name: str, parent: str | None, type: str, payload: dict[str, Any],
        *, at: str | None = None,
    ) -> str | None:  # fmt: skip
        """Add an entry to the tree.

        Args:
            line: The line that the entry comes from.
            name: The entry's id. If the id is taken, a number is appended, so that no line hides another.
            parent: The id of an added entry, or None for a root.
            type: The entry type.
            payload: The fields of the entry beside type, id, parent and time.
            at: The time of the entry (ISO 8601). Default: the time of the last line.

        Returns:
            The entry's id. If the entry cannot be written because it is nested too deeply, the line is stored
            unchanged and `parent` is returned, so that its children get its parent.
        """
        name = self._free(fields.entry_id(name))
        at = at or self.clock or _EPOCH
        try:
            written = line_of_entry(type, name, parent, at, payload)
        except (RecursionError, ValueError, TypeError):
            self._taken.discard(name)
            self.preserve(line, "nested too deeply", "it is nested too deeply")
            return parent
        self._put(name, parent, type, written, payload)
        self.last = name
        if line.is_inherited:
            self._inherited.add(name)
        return name

    def add_verbatim(self, name: str, parent: str | None, type: str, line: bytes, role: str | None) -> None:
        """Add an entry whose line is v3 already, byte for byte."""
        self._taken.add(name)
        self._tree.append(ImportedEntry(name, parent, type, line, role))
        self.last = name

    def add_beside(
        self, line: SourceLine, type: str, payload: dict[str, Any],
        *, at: str | None = None, name: str | None = None,
    ) -> str:  # fmt: skip
        """Add an entry about the session as a whole, which is not part of the conversation.

        Its id comes from the line's number, or from `name` if the content of the line may change in the source.

        Returns:
            The entry's id.
        """
        name = self._free(name or f"line-{line.key}")
        self._beside.append(BesideEntry(line.place, name, type, at or self.clock or _EPOCH, payload))
        if line.is_inherited:
            self._inherited.add(name)
        return name

    def record_takeover(
        self, line: SourceLine, *, by: Literal["person", "program"], name: str | None = None
    ) -> None:
        """Record that a person, or a program, gives the prompts of the session from a line on."""
        data = {"customType": entries.TAKEN_OVER_TYPE, "data": {"by": by}}
        self.add_beside(line, "custom", data, name=name)

    def record_missing_history(self, line: SourceLine, source: str, count: int) -> None:
        """Record that a fork begins with a number of lines of another session, which were not found."""
        self.report.add_problem(line.number, MISSING_HISTORY.format(source=source))
        self.origin[origin.MISSING_HISTORY] = {"sessionId": source, "lineCount": count}

    def record_leaf_move(self, line: SourceLine, target: str | None) -> None:
        """Record that a line moved the leaf. An import of a grown file moves the leaf only if an entry is new."""
        self.add_beside(line, "custom", {"customType": MOVE_TYPE, "data": {"targetId": target}})
        self.report.converted["leaf"] += 1

    def preserve(self, line: SourceLine, kind: str, reason: str, *, name: str | None = None) -> str:
        """Store a line without a counterpart unchanged. `kind` is its name in the import report.

        The entry's id comes from the line's number, or from `name` if the number may change in the source.

        Returns:
            The id of the entry.
        """
        self.report.preserved[kind] += 1
        raw, nuls = _without_nuls(line.raw)
        data = {"origin": self.dialect, "line": line.number, "reason": reason, **nuls}
        try:
            data["raw"] = raw.decode()
        except UnicodeDecodeError:
            data["rawHex"] = raw.hex()
        payload = {"customType": IMPORT_TYPE, "data": data}
        name = self._free(name or f"raw-{line.key}")
        self._beside.append(BesideEntry(line.place, name, "custom", self.clock or _EPOCH, payload))
        return name

    def preserve_unreadable(self, line: SourceLine) -> None:
        """Store a line that contains no object unchanged, and record a problem."""
        self.report.add_problem(line.number, line.reason)
        self.preserve(line, "unreadable", line.reason)

    def take_damage(self, rest: Iterable[bytes]) -> None:
        """Store the bytes of a damaged document that no message has, and record a problem for each.

        While its program may still write the document, the bytes wait. Empty bytes mean that its end was cut off.
        """
        self.is_cut = True
        if self._source.growing:
            self.report.held_back_count += 1
            return
        for raw in rest:
            reason = (
                f"{len(raw):,} bytes of a damaged document were not read" if raw else "its end is cut off"
            )
            self.report.add_problem(1, reason)
            if raw:
                self.preserve(
                    SourceLine(1, raw, None), "unreadable", reason, name=f"raw-{fields.digest(raw.hex())}"
                )

    def take_mark(self, value: object, count: int | None = None) -> None:
        """Take the mark of a session that was written for the agent (`copy_mark`), or None.

        Args:
            value: The value of the field with the mark.
            count: The number of messages of a document; None for a file of lines.
        """
        if value is not None:
            self.origin |= copy_mark.origin_fields(value)
            lines = self._source.newline_count if count is None else count
            self.untouched_copy_of = copy_mark.untouched_copy_of(value, lines)

    def count(self, kind: str) -> None:
        """Count a converted line under the kind of its result."""
        self.report.converted[kind] += 1

    def time_of(self, value: object, *, unit: float = 1.0) -> str:
        """Return the time of a line; if it has none, the time of the line before.

        Args:
            value: The time as the source has it.
            unit: Seconds in one unit of a number.
        """
        at = fields.time(value, unit=unit) or self.clock or fields.time(self._source.modified) or _EPOCH
        self.clock = at
        if self.timestamp is None:
            self.timestamp = at
        return at

    def begin(self, times: Iterable[object]) -> None:
        """Set the clock to the first valid time, for lines that come before any line with a time."""
        at = next((found for value in times if (found := fields.time(value)) is not None), None)
        if at is not None:
            self.time_of(at)

    def has(self, name: str) -> bool:
        """Return whether an entry of this id was added."""
        return name in self._taken

    # --- the session -----------------------------------------------------------------------------------

    def drain(self) -> tuple[list[ImportedEntry], list[BesideEntry]]:
        """Return the entries that were added since the last call, and give them up: the tree's, and those beside it.

        `finish` then returns the session without them. The caller gives the entries beside the tree their parents.
        """
        tree, self._tree = self._tree, []
        beside, self._beside = self._beside, []
        return tree, beside

    def finish(self) -> Imported:
        """Return the imported session: its origin, and the entries that were added since the last call."""
        if self.leaf is not None and self.leaf not in self._taken:
            self.report.add_problem(
                0, f"the leaf is not in the file: {self.leaf:.80}; the last entry becomes the leaf"
            )
            self.leaf = self.last
        start = _fit(self.timestamp) or _fit(self._source.modified) or _EPOCH
        found, self._tree = self._tree, []
        inherited, self._inherited = frozenset(self._inherited), set()
        report, self.report = self.report, ImportReport()
        return Imported(
            dialect=self.dialect, source_id=self.source_id, timestamp=start, cwd=self.cwd, title=self.title,
            tags=self.tags, parent_source=self.parent_source, entries=self._all(start, found),
            leaf=self.leaf, report=report, conversation_count=len(found),
            source_version=self.source_version, inherited=inherited, is_cut=self.is_cut,
            is_state=self.is_state, is_list=self.is_list,
            untouched_copy_of=self.untouched_copy_of,
        )  # fmt: skip

    def _all(self, start: str, tree: list[ImportedEntry]) -> list[ImportedEntry]:
        """Return the origin, the tree, and the chain beside it in line order."""
        origin = {"source": self.dialect, "sourceId": self.source_id}
        if isinstance(path := self._source.beside.get("sourcePath"), str):
            origin["sourcePath"] = path
        if self.source_version is not None:
            origin["sourceVersion"] = self.source_version
        origin |= self.origin
        root = origin_id(self.dialect, self.source_id)
        payload = {"customType": entries.ORIGIN_TYPE, "data": origin}
        first = ImportedEntry(root, None, "custom", line_of_entry("custom", root, None, start, payload))
        chain: list[ImportedEntry] = []
        above = self._last_beside or root
        for beside in in_line_order(self._beside):
            chain.append(beside.entry(above))
            above = self._last_beside = beside.id
        self._beside = []
        return [first, *tree, *chain]

    def _put(self, name: str, parent: str | None, type: str, written: bytes, payload: dict[str, Any]) -> None:
        role = fields.mapping(payload.get("message")).get("role") if type == "message" else None
        self._tree.append(ImportedEntry(name, parent, type, written, role if isinstance(role, str) else None))

    def _free(self, name: str) -> str:
        """Return the id, with a number if it is taken. The number is stored per id, so no search is needed."""
        found = name
        while found in self._taken:
            self._versions[name] = version = self._versions.get(name, 1) + 1
            found = f"{name[:54]}-v{version}"
        self._taken.add(found)
        return found


def line_of_entry(type: str, name: str, parent: str | None, at: str, payload: dict[str, Any]) -> bytes:
    """Return the line of an entry, without newline."""
    return fields.dumps({"type": type, "id": name, "parentId": parent, "timestamp": at, **payload})


def in_line_order(beside: Iterable[BesideEntry]) -> list[BesideEntry]:
    """Return entries in the order of their lines."""
    return sorted(beside, key=lambda entry: entry.place)


def _without_nuls(raw: bytes) -> tuple[bytes, dict[str, int]]:
    """Return a line without the NUL bytes at its ends, and their numbers, if there are many.

    After a power failure, or in a file with a hole, a line may have gigabytes of NUL bytes that use no disk space.
    """
    inner = raw.strip(b"\0")
    if len(raw) - len(inner) <= MAX_NULS:
        return raw, {}
    leading = len(raw) - len(raw.lstrip(b"\0")) if inner else 0
    return inner, {"leadingNulCount": leading, "trailingNulCount": len(raw) - len(inner) - leading}


def origin_id(dialect: str, source_id: str) -> str:
    """Return the id of the `sessiond.origin` entry. A second import of the same session is recognized by it."""
    return f"origin-{fields.digest(dialect, source_id)}"


def _fit(timestamp: str | None) -> str | None:
    """Return a time that can begin a file name. A time in the usual form is unchanged."""
    at = fields.seconds(timestamp)
    if at is None or timestamp is None:
        return None
    return timestamp if _USUAL.fullmatch(timestamp) else fields.time(at)
