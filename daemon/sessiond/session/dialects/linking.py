"""Orders entries that name their parents, so that every parent comes before its children.

If several lines share an id, each later line is a separate version, and lines after it refer to that version.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sessiond.session.content import fields
from sessiond.session.dialects.exported import TUNNEL_TYPE
from sessiond.session.dialects.import_builder import ImportBuilder
from sessiond.session.dialects.source import SourceLine


@dataclass(frozen=True, slots=True)
class Linked:
    """A line that is an entry: its id in the source, and the parent that it names (None for a root)."""

    line: SourceLine
    value: dict[str, Any]
    id: str
    parent: str | None


@dataclass(frozen=True, slots=True)
class PlacedEntry:
    """An entry with its resolved parent. `problem` describes a problem with its place."""

    linked: Linked
    parent: Linked | None
    problem: str | None = None


def in_order(linked: Iterable[Linked]) -> Iterator[PlacedEntry]:
    """Yield the entries with parents before children, and otherwise in file order.

    An entry whose parent is missing becomes a root. A cycle is cut.
    """
    rest = list(linked)
    placement = _Placement(Counter(it.id for it in rest))
    for it in rest:
        placement.expected[it.id] -= 1
        if it.parent is None or it.parent in placement.known:
            yield from placement.place(it)
        elif it.parent == it.id and not placement.expected[it.id]:
            yield from placement.place(it, "it is its own parent; it becomes a root")
        elif placement.expected[it.parent] or placement.waiting_count[it.parent]:
            placement.wait(it)
        else:
            yield from placement.place(
                it, f"its parent is not in the file: {it.parent:.80}; it becomes a root"
            )
    while (left := placement.any_waiting()) is not None:
        yield from placement.place(left, "its parents lead back to itself; it becomes a root")


class _Placement:
    """The placed entries by id, and the entries that wait for a parent that comes later."""

    def __init__(self, expected: Counter[str]) -> None:
        self.expected = expected
        self.known: dict[str, Linked] = {}
        self.waiting_count: Counter[str] = Counter()
        self._waiting: dict[str, deque[Linked]] = {}

    def wait(self, it: Linked) -> None:
        """Queue an entry until its parent is placed."""
        self.waiting_count[it.id] += 1
        self._waiting.setdefault(it.parent or "", deque()).append(it)

    def any_waiting(self) -> Linked | None:
        """Remove and return an entry whose parent is never placed, or None."""
        if not self._waiting:
            return None
        name, waiting = next(iter(self._waiting.items()))
        it = waiting.popleft()
        if not waiting:
            del self._waiting[name]
        self.waiting_count[it.id] -= 1
        return it

    def place(self, it: Linked, problem: str | None = None) -> Iterator[PlacedEntry]:
        """Place an entry, then the entries that waited for it."""
        ready: list[tuple[Linked, str | None]] = [(it, problem)]
        while ready:
            it, problem = ready.pop()
            above = None if it.parent is None or problem is not None else self.known.get(it.parent)
            self.known[it.id] = it
            yield PlacedEntry(it, above, problem)
            released = self._waiting.pop(it.id, deque())
            for child in released:
                self.waiting_count[child.id] -= 1
            ready += [(child, None) for child in reversed(released)]


def name_of(value: dict[str, Any], *names: str) -> str | None:
    """Return the id in a field as a string, or None. Integers are accepted."""
    found = fields.first(value, *names)
    if isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    return fields.text(found)


@dataclass(frozen=True, slots=True)
class Part:
    """The entry type and payload that a line, or a part of it, becomes. `own`: it gets the line's id."""

    type: str
    payload: dict[str, Any]
    own: bool = False


class Names:
    """Maps ids of the source to entry ids. If several lines have one id, the last placed one counts."""

    def __init__(self) -> None:
        self._here: dict[str, str] = {}
        self._of: dict[int, str | None] = {}

    def of(self, name: object) -> str | None:
        """Return the entry id for a reference in the source. None stays None."""
        found = name_of({"id": name}, "id")
        return None if found is None else self._here.get(found, fields.entry_id(found))

    def put(self, linked: Linked, name: str | None, last: str | None = None) -> None:
        """Record the entry that a line became. If it became several, `last` is the parent of its children."""
        self._of[id(linked)] = last or name
        if name is not None:
            self._here[linked.id] = name

    def below(self, linked: Linked | None) -> str | None:
        """Return the entry that is the parent of this line's children."""
        return None if linked is None else self._of.get(id(linked))


def carried(custom_type: object, data: object, names: Names) -> Part | None:
    """Return the entry that a custom entry of an export carries, with its references mapped, or None."""
    kept = fields.mapping(fields.mapping(data).get("payload"))
    type = fields.text(fields.mapping(data).get("type"))
    if custom_type != TUNNEL_TYPE or type is None:
        return None
    for name in ("targetId", "fromId", "firstKeptEntryId"):
        if isinstance(kept.get(name), str) and kept[name] != "root":
            kept = {**kept, name: names.of(kept[name])}
    return Part(type, kept)


def newest(linked: Iterable[Linked]) -> Linked | None:
    """Return the linked line with the highest line number, or None."""
    return max(linked, key=lambda it: it.line.number, default=None)


def add_linked(
    builder: ImportBuilder, linked: Iterable[Linked], parts_of: Callable[[Linked, Names], list[Part]]
) -> Names:
    """Add linked lines as entries.

    A line without parts is stored unchanged, and its children get its parent. If a line has several parts, the part
    with `own` gets the line's id, or else the last part.

    Args:
        builder: Receives the entries.
        linked: The lines in file order.
        parts_of: Returns the entries that a line becomes.

    Returns:
        The entry ids by the ids of the source.
    """
    names = Names()
    seen: dict[str, bytes] = {}
    for placed in in_order(linked):
        it = placed.linked
        if seen.get(it.id) == it.line.raw:
            builder.count("repeated")
            names.put(it, names.of(it.id))
            continue
        if it.id in seen:
            builder.report.add_problem(
                it.line.number, f"a second entry has the id {it.id:.80}; both are imported"
            )
        seen[it.id] = it.line.raw
        if placed.problem is not None:
            builder.report.add_problem(it.line.number, placed.problem)
        parts = parts_of(it, names)
        if not parts:
            kind = fields.as_text(it.value.get("type")) or "entry"
            builder.preserve(it.line, kind, "it has no counterpart in sessiond")
            names.put(it, names.below(placed.parent))
        else:
            builder.count(next((part.type for part in parts if part.own), parts[-1].type))
            _add(builder, it, parts, names, names.below(placed.parent))
    return names


def _add(builder: ImportBuilder, it: Linked, parts: list[Part], names: Names, above: str | None) -> None:
    at = builder.time_of(it.value.get("timestamp"))
    own = next((number for number, part in enumerate(parts) if part.own), len(parts) - 1)
    named: str | None = None
    for number, part in enumerate(parts):
        name = it.id if number == own else f"{it.id[:58]}-{number + 1}"
        above = builder.add(it.line, name, above, part.type, part.payload, at=at)
        named = above if number == own else named
    names.put(it, named, above)
