"""Orders entries that name their parents, so that every parent comes before its children.

If several lines share an id, each later line is a separate version, and lines after it refer to that version.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sessiond.session.content import fields
from sessiond.session.dialects.exported import TUNNEL_TYPE
from sessiond.session.dialects.import_builder import ImportBuilder
from sessiond.session.dialects.source import SourceLine


@dataclass(frozen=True, slots=True)
class Linked:
    """A line that is an entry: its id in the source, and the parent that it names (None for a root).

    `chain` distinguishes lines that are written in turns, such as those of a sub-agent.
    """

    line: SourceLine
    value: dict[str, Any]
    id: str
    parent: str | None
    chain: str = ""


@dataclass(frozen=True, slots=True)
class PlacedEntry:
    """An entry with its resolved parent. `problem` describes a problem with its place."""

    linked: Linked
    parent: Linked | None
    problem: str | None = None


def in_order(linked: Iterable[Linked]) -> Iterator[PlacedEntry]:
    """Yield the entries with parents before children, and otherwise in file order.

    An entry whose parent is missing follows the entry before it in the file that is on the same chain. So does the
    entry at which a cycle is cut. Without such an entry, it is a root.
    """
    rest = list(linked)
    placement = _Placement(Counter(entry.id for entry in rest))
    for entry in rest:
        placement.expected[entry.id] -= 1
        above = placement.follow(entry)
        if entry.parent is None or entry.parent in placement.known:
            yield from placement.place(entry, entry.parent)
        elif entry.parent == entry.id and not placement.expected[entry.id]:
            yield from placement.place_after(entry, "it is its own parent")
        elif placement.expected[entry.parent] or placement.waiting_count[entry.parent]:
            placement.wait(entry, entry.parent)
        elif above is None or above.id in placement.known:
            yield from placement.place(entry, None if above is None else above.id, _missing(entry, above))
        else:
            placement.wait(entry, above.id, _missing(entry, above))
    while (left := placement.any_waiting()) is not None:
        yield from placement.place_after(left, "its parents lead back to itself")


def _missing(entry: Linked, above: Linked | None) -> str:
    return f"its parent is not in the file: {entry.parent:.80}; {_replacement(above)}"


def _replacement(above: Linked | None) -> str:
    return "it becomes a root" if above is None else f"it follows line {above.line.number}"


class _Placement:
    """The placed entries by id, and the entries that wait for a parent that comes later."""

    def __init__(self, expected: Counter[str]) -> None:
        self.expected = expected
        self.known: dict[str, Linked] = {}
        self.waiting_count: Counter[str] = Counter()
        self._waiting: dict[str, deque[tuple[Linked, str | None]]] = {}
        self._chains: dict[str, list[Linked]] = {}
        self._places: dict[int, int] = {}  # of each entry by identity, its position on its chain
        self._is_placed: dict[str, bytearray] = {}  # for each position of a chain

    def follow(self, entry: Linked) -> Linked | None:
        """Put an entry at the end of its chain. Returns the one before it."""
        chain = self._chains.setdefault(entry.chain, [])
        above = chain[-1] if chain else None
        self._places[id(entry)] = len(chain)
        self._is_placed.setdefault(entry.chain, bytearray()).append(0)
        chain.append(entry)
        return above

    def wait(self, entry: Linked, parent: str, problem: str | None = None) -> None:
        """Queue an entry until its parent is placed."""
        self.waiting_count[entry.id] += 1
        self._waiting.setdefault(parent, deque()).append((entry, problem))

    def any_waiting(self) -> Linked | None:
        """Remove and return an entry whose parent is never placed, or None."""
        if not self._waiting:
            return None
        name, waiting = next(iter(self._waiting.items()))
        entry, _ = waiting.popleft()
        if not waiting:
            del self._waiting[name]
        self.waiting_count[entry.id] -= 1
        return entry

    def place_after(self, entry: Linked, problem: str) -> Iterator[PlacedEntry]:
        """Place an entry after the last placed one that is before it in the file and on its chain."""
        place = self._is_placed[entry.chain].rfind(1, 0, self._places[id(entry)])
        above = self._chains[entry.chain][place] if place >= 0 else None
        yield from self._place(entry, above, f"{problem}; {_replacement(above)}")

    def place(self, entry: Linked, parent: str | None, problem: str | None = None) -> Iterator[PlacedEntry]:
        """Place an entry below its parent, then the entries that waited for it."""
        yield from self._place(entry, None if parent is None else self.known[parent], problem)

    def _place(self, entry: Linked, above: Linked | None, problem: str | None) -> Iterator[PlacedEntry]:
        ready: list[tuple[Linked, Linked | None, str | None]] = [(entry, above, problem)]
        while ready:
            entry, above, problem = ready.pop()
            self.known[entry.id] = entry
            self._is_placed[entry.chain][self._places[id(entry)]] = 1
            yield PlacedEntry(entry, above, problem)
            released = self._waiting.pop(entry.id, deque())
            for child, _ in released:
                self.waiting_count[child.id] -= 1
            ready += [(child, entry, why) for child, why in reversed(released)]


def without(linked: Iterable[Linked], links: Mapping[str, str | None]) -> list[Linked]:
    """Return the entries with parents that are entries.

    Args:
        linked: The entries.
        links: The ids of lines that are no entries, each with the id that takes its place as a parent.
    """
    found = list(linked)
    own = {entry.id for entry in found}
    replaced = {name: parent for name, parent in links.items() if name not in own}
    for number, entry in enumerate(found):
        parent, passed = entry.parent, dict[str, None]()
        while parent is not None and parent in replaced and parent not in passed:
            passed[parent] = None
            parent = replaced[parent]
        replaced.update(dict.fromkeys(passed, parent))
        if parent != entry.parent:
            found[number] = replace(entry, parent=parent)
    return found


def without_repeats(linked: Iterable[Linked], builder: ImportBuilder) -> list[Linked]:
    """Return the entries without lines that repeat an earlier line byte for byte, which are counted."""
    found: dict[tuple[str, bytes], Linked] = {}
    for entry in linked:
        if found.setdefault((entry.id, entry.line.raw), entry) is not entry:
            builder.count("repeated")
    return list(found.values())


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
    """Return the linked line that is last in the file, or None."""
    return max(linked, key=lambda entry: entry.line.place, default=None)


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
    seen: set[str] = set()
    for placed in in_order(linked):
        entry = placed.linked
        if entry.id in seen:
            builder.report.add_problem(
                entry.line.number, f"a second entry has the id {entry.id:.80}; both are imported"
            )
        seen.add(entry.id)
        if placed.problem is not None:
            builder.report.add_problem(entry.line.number, placed.problem)
        parts = parts_of(entry, names)
        if not parts:
            kind = fields.as_text(entry.value.get("type")) or "entry"
            builder.preserve(entry.line, kind, "it has no counterpart in sessiond")
            names.put(entry, names.below(placed.parent))
        else:
            builder.count(next((part.type for part in parts if part.own), parts[-1].type))
            _add(builder, entry, parts, names, names.below(placed.parent))
    return names


def _add(builder: ImportBuilder, entry: Linked, parts: list[Part], names: Names, above: str | None) -> None:
    at = builder.time_of(entry.value.get("timestamp"))
    own = next((number for number, part in enumerate(parts) if part.own), len(parts) - 1)
    named: str | None = None
    for number, part in enumerate(parts):
        name = entry.id if number == own else f"{entry.id[:58]}-{number + 1}"
        above = builder.add(entry.line, name, above, part.type, part.payload, at=at)
        named = above if number == own else named
    names.put(entry, named, above)
