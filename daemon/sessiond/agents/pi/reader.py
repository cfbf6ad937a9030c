"""Copies files of pi (versions 1 to 3) and oh-my-pi line by line: the home format.

Version 3 lines are copied byte for byte, without the record of a daemon's command. Version 1 lines get ids from their
position. Version 2 roles are renamed (decision 0011). oh-my-pi overwrites its title line in place, so its title is
read and the line is not copied.
"""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from sessiond.agents.formats import Dialect
from sessiond.session.content import fields
from sessiond.session.dialects import copy_mark, go, operator
from sessiond.session.dialects.import_builder import BuilderState, ImportBuilder, Imported
from sessiond.session.dialects.linking import Linked, Names, in_order, name_of, without
from sessiond.session.dialects.source import Place, Source, SourceLine
from sessiond.session.tree import lines, migrate, payloads
from sessiond.session.tree.entries import COMMAND_FIELD

NAME: Final = "pi"


def detect(first: list[dict[str, Any]]) -> bool:
    """Return whether these are lines of pi or oh-my-pi, and not of a format whose header has the same type."""
    if first and first[0].get("type") == "title":
        first = first[1:]
    is_session = bool(first) and first[0].get("type") == "session"
    return is_session and not operator.detect(first) and not go.detect(first)


def read(source: Source) -> Imported:
    """Read the session in a file of pi or oh-my-pi."""
    reader = PiReader(source)
    reader.take(source.lines())
    return reader.result()


class _State(msgspec.Struct):
    """The state of a reader after the lines that it has taken: ids and digests, and no messages.

    Attributes:
        builder: The state of its builder.
        source_id: The id of the session.
        has_header: Whether the header came.
        version: The version of the format.
        entries: The entry that each id names.
        digests: The digest of the last line with each id, and of the last header by an empty id.
        others: The parents of lines with an id that are no entries.
        last: The id of the last line.
        last_number: Its number.
        leaf: The id that the last line names as the leaf, if it does.
        moves_leaf: Whether the last line sets the leaf.
        missing: The parents that were not in the file when a child was taken.
        began: The time of the header, which lines have that are no entries.
    """

    builder: BuilderState | None = None
    source_id: str | None = None
    has_header: bool = False
    version: int = 1
    entries: dict[str, str | None] = {}
    digests: dict[str, str] = {}
    others: dict[str, str | None] = {}
    last: str | None = None
    last_number: int = 0
    leaf: str | None = None
    moves_leaf: bool = False
    missing: set[str] = set()
    began: str | None = None


class PiReader:
    """Takes the lines of a file, a part at a time.

    Args:
        source: The file. Its lines are given to `take`.
        state: The state of a reader that has taken the lines before; None if there are none.
    """

    def __init__(self, source: Source, state: bytes | None = None) -> None:
        self._builder = ImportBuilder(NAME, source)
        self._state = _State() if state is None else msgspec.msgpack.decode(state, type=_State)
        self._before = 0
        self._has_taken = state is not None
        self.is_behind = False
        if self._state.builder is not None:
            self._builder.restore(self._state.builder)
            self._builder.source_id = self._state.source_id or self._builder.source_id

    @property
    def builder(self) -> ImportBuilder:
        """The builder of its entries."""
        return self._builder

    def state(self) -> bytes | None:
        """Return the state behind the lines that were taken; None for version 1, whose ids derive from the lines."""
        if self._state.version < 2 or not self._state.has_header:
            return None
        self._state.builder, self._state.source_id = self._builder.state(), self._builder.source_id
        return msgspec.msgpack.encode(self._state)

    def end(self) -> None:
        """Take the lines that wait for later ones: none does."""

    def take(self, lines: Iterable[SourceLine]) -> None:
        """Take the next lines."""
        builder, state, some = self._builder, self._state, list(lines)
        had_header, clock = state.has_header, builder.clock
        if had_header:
            builder.clock = state.began
        found = self._numbered(some)
        state.began = builder.clock
        # The lines before the header have its time, and the entries of version 1 are numbered from it.
        is_late = state.has_header != had_header or (state.version < 2 and bool(found))
        self.is_behind = self.is_behind or (self._has_taken and is_late)
        self._has_taken = self._has_taken or bool(some)
        linked, migrated = self._linked(found)  # which preserves lines without an id
        if had_header:
            builder.clock = clock
        self._add_entries(linked, migrated)

    def _numbered(self, some: list[SourceLine]) -> list[tuple[int, SourceLine, dict[str, Any]]]:
        """Return the lines that are entries with their numbers from the header. The others are taken."""
        builder, state = self._builder, self._state
        found: list[tuple[int, SourceLine, dict[str, Any]]] = []
        headers = (line.value for line in some if line.value and line.value.get("type") == "session")
        if not state.has_header:
            builder.begin(header.get("timestamp") for header in headers)
        for line in some:
            value = line.value
            if value is None:
                builder.preserve_unreadable(line)
            elif not state.has_header and value.get("type") == "title":
                builder.origin["agent"] = "oh-my-pi"  # pi writes no such line
                title = fields.text(value.get("title"))
                if title is not None:  # it may change, so it becomes an entry and not a header field
                    builder.add_beside(
                        line, "session_info", {"name": title}, name=f"title-{fields.digest(title)}"
                    )
                builder.count("title")
            elif not state.has_header and value.get("type") == "session":
                state.has_header, self._before = True, line.number
                self._is_repeat("", line)
                version = _take_header(builder, line, value)
                state.version = 1 if version is None else version
            elif value.get("type") == "session" and self._is_repeat("", line):
                continue
            elif not fields.text(value.get("type")):
                builder.preserve(line, "without a type", "it has no type")
                if "parentId" in value and (name := name_of(value, "id")) is not None:
                    state.others[name] = name_of(value, "parentId")
            elif state.has_header:
                found.append((line.number - self._before, line, value))
            else:
                builder.preserve(line, fields.as_text(value["type"]), "it precedes the header")
        return found

    def result(self) -> Imported:
        """Return the session with the entries of the lines that were taken since the last call."""
        state = self._state
        named = state.leaf if state.moves_leaf else state.last
        self._builder.leaf = None if named is None else self._of(named)
        return self._builder.finish()

    def _of(self, name: object) -> str | None:
        """Return the entry for a reference in the source."""
        found = name_of({"id": name}, "id")
        return None if found is None else self._state.entries.get(found) or fields.entry_id(found)

    def _add_entries(self, linked: list[Linked], migrated: set[Place]) -> None:
        builder, state = self._builder, self._state
        linked = without(
            [entry for entry in linked if not self._is_repeat(entry.id, entry.line)], state.others
        )
        names = Names()
        there = self._there(linked, names)
        for placed in in_order([*there, *linked]):
            entry = placed.linked
            if entry.line.value is None:
                continue
            self.is_behind = self.is_behind or entry.id in state.missing
            if placed.problem is not None:
                builder.report.add_problem(entry.line.number, placed.problem)
                state.missing.add(entry.parent or "")
            if builder.has(entry.id):
                problem = f"a second entry has the id {entry.id:.80}; both are imported"
                builder.report.add_problem(entry.line.number, problem)
            made = _add(builder, entry, names.below(placed.parent), migrated=entry.line.place in migrated)
            names.put(entry, made)
            state.entries[entry.id] = made
        if linked:
            last = max(linked, key=lambda entry: entry.line.place)
            state.last, state.last_number = last.id, last.line.number
            state.moves_leaf = last.value.get("type") == "leaf"
            state.leaf = name_of(last.value, "targetId") if state.moves_leaf else None

    def _is_repeat(self, name: str, line: SourceLine) -> bool:
        """Return whether the last line with this id has the same bytes; if it has not, this is the last one now."""
        digest = fields.digest(line.raw.decode("latin-1"))
        if self._state.digests.get(name) == digest:
            self._builder.count("repeated")
            return True
        self._state.digests[name] = digest
        return False

    def _linked(self, found: list[tuple[int, SourceLine, dict[str, Any]]]) -> tuple[list[Linked], set[Place]]:
        """Return the lines that are entries, as version 3, and the places of those that this changed."""
        state = self._state
        if state.version < 2 and found and migrate.has_links(found[0][2]):
            self._builder.report.add_problem(0, migrate.WRONG_VERSION)
            state.version = 3
        linear: list[str] = []
        linked: list[Linked] = []
        migrated: set[Place] = set()
        for row, line, value in found:
            entry = value
            if state.version < 2:
                own = f"{migrate.derived_id(row)}{f'-{line.part}' if line.part else ''}"
                place = own, linear[-1] if linear else None
                entry = migrate.to_v2(entry, place, lambda index: _linear(linear, index))
                linear.append(place[0])
            if state.version < 3:
                entry = migrate.to_v3(entry)
            if entry.get("type") == "reset":  # of OpenClaw: only what follows goes to the model
                entry = {**entry, "type": "reset_boundary"}
            if entry is not value and entry != value:
                migrated.add(line.place)
            name = name_of(entry, "id")
            if name is None:
                self._builder.preserve(line, fields.as_text(value.get("type")), "it has no id")
            else:
                linked.append(Linked(line, entry, name, name_of(entry, "parentId")))
        return linked, migrated

    def _there(self, linked: list[Linked], names: Names) -> list[Linked]:
        """Return the parents of lines that were taken before, and the last line of these at the end."""
        state = self._state
        ids = dict.fromkeys(entry.parent for entry in linked if entry.parent in state.entries)
        if state.last is not None:
            ids.pop(state.last, None)
            ids[state.last] = None
        line = SourceLine(state.last_number, b"", None)
        found = [Linked(line, {}, entry_id or "", None) for entry_id in ids]
        for parent in found:
            names.put(parent, state.entries.get(parent.id))
        return found


def _take_header(builder: ImportBuilder, line: SourceLine, value: dict[str, Any]) -> int | None:
    builder.source_id = name_of(value, "id") or builder.source_id
    builder.cwd = fields.as_text(value.get("cwd"))
    builder.title = fields.text(value.get("title"))
    builder.parent_source = fields.text(value.get("parentSession"))
    builder.time_of(value.get("timestamp"))
    builder.take_mark(value.get(copy_mark.MARK))
    builder.count("header")
    tags = [tag for tag in fields.items(value.get("tags")) if isinstance(tag, str)]
    builder.tags = tuple(tags)
    rest = fields.without(
        value,
        "type",
        "version",
        "id",
        "timestamp",
        "cwd",
        "title",
        "parentSession",
        "tags",
        COMMAND_FIELD,
        copy_mark.MARK,
    )
    if rest:
        builder.preserve(line, "header", "it has fields that a header does not have")
    version = value.get("version")
    if version is None:
        return None
    try:
        return int(version)
    except (TypeError, ValueError, OverflowError):
        builder.report.add_problem(
            line.number, f"a version that is not a number: {version!r:.40}; 3 is assumed"
        )
        return 3


def _add(builder: ImportBuilder, linked: Linked, parent: str | None, *, migrated: bool) -> str | None:
    type = fields.as_text(linked.value.get("type"))
    builder.count(type)
    at = builder.time_of(linked.value.get("timestamp"))
    stays = (
        not migrated
        and "parentId" in linked.value
        and not builder.has(linked.id)
        and fields.entry_id(linked.id) == linked.id
    )
    if stays and isinstance(linked.value.get("id"), str) and linked.value.get("parentId") == parent:
        try:
            role = fields.mapping(linked.value.get("message")).get("role")
            line = payloads.without_field(lines.presentable(linked.line.raw), COMMAND_FIELD)
            payloads.with_field(line, "id", linked.id)  # raises if msgspec cannot read it
        except (ValueError, RecursionError, lines.NotAnEntry):
            pass
        else:
            builder.add_verbatim(
                linked.id, parent, type, line, role if isinstance(role, str) and type == "message" else None
            )
            return linked.id
    payload = fields.without(linked.value, "type", "id", "parentId", "timestamp", COMMAND_FIELD)
    return builder.add(linked.line, linked.id, parent, type, payload, at=at)


def _linear(linear: list[str], index: int) -> str | None:
    return linear[index - 1] if 0 < index <= len(linear) else None


DIALECT: Final = Dialect(NAME, "pi and oh-my-pi", detect, read, reader=PiReader, adds_text=False)
