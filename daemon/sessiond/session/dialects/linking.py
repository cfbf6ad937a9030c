"""Putting entries that name their parents into an order in which every parent comes before its children.

Of lines that share an id each later one is a version of its own, and what comes after it means the later one.
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
    """A line that is an entry: the id it has there, and the parent it names (None: it is a root)."""

    line: SourceLine
    value: dict[str, Any]
    id: str
    parent: str | None


@dataclass(frozen=True, slots=True)
class PlacedEntry:
    """An entry in its place. `parent` is the linked entry above; `trouble` says what is wrong with its place."""

    linked: Linked
    parent: Linked | None
    trouble: str | None = None


def in_order(linked: Iterable[Linked]) -> Iterator[PlacedEntry]:
    """Parents before children, else as in the file. A parent that is not there makes a root, a cycle is cut."""
    rest = list(linked)
    shelf = _Shelf(Counter(it.id for it in rest))
    for it in rest:
        shelf.coming[it.id] -= 1
        if it.parent is None or it.parent in shelf.known:
            yield from shelf.take(it)
        elif it.parent == it.id and not shelf.coming[it.id]:
            yield from shelf.take(it, "it is its own parent; it is taken as a root")
        elif shelf.coming[it.parent] or shelf.held[it.parent]:
            shelf.hold(it)
        else:
            yield from shelf.take(it, f"its parent is not here: {it.parent:.80}; it is taken as a root")
    while (held := shelf.any_held()) is not None:
        yield from shelf.take(held, "its parents lead back to itself; it is taken as a root")


class _Shelf:
    """What was placed, by id, and what waits for a parent that comes later."""

    def __init__(self, coming: Counter[str]) -> None:
        self.coming = coming
        self.known: dict[str, Linked] = {}
        self.held: Counter[str] = Counter()
        self._waiting: dict[str, deque[Linked]] = {}

    def hold(self, it: Linked) -> None:
        """Let an entry wait for its parent."""
        self.held[it.id] += 1
        self._waiting.setdefault(it.parent or "", deque()).append(it)

    def any_held(self) -> Linked | None:
        """One that waits and will wait for ever; it waits no longer."""
        if not self._waiting:
            return None
        name, waiting = next(iter(self._waiting.items()))
        it = waiting.popleft()
        if not waiting:
            del self._waiting[name]
        self.held[it.id] -= 1
        return it

    def take(self, it: Linked, trouble: str | None = None) -> Iterator[PlacedEntry]:
        """Place an entry, then those that waited for it."""
        ready: list[tuple[Linked, str | None]] = [(it, trouble)]
        while ready:
            it, trouble = ready.pop()
            above = None if it.parent is None or trouble is not None else self.known.get(it.parent)
            self.known[it.id] = it
            yield PlacedEntry(it, above, trouble)
            released = self._waiting.pop(it.id, deque())
            for child in released:
                self.held[child.id] -= 1
            ready += [(child, None) for child in reversed(released)]


def name_of(value: dict[str, Any], *names: str) -> str | None:
    """The id in a field, whatever JSON type it was given; None for none."""
    found = fields.first(value, *names)
    if isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    return fields.text(found)


@dataclass(frozen=True, slots=True)
class Part:
    """What a line becomes, or one part of it: an entry type and its payload. `own`: it has the line's id."""

    type: str
    payload: dict[str, Any]
    own: bool = False


class Names:
    """The ids that lines have here, by those they have there; of several with one id the last that was placed."""

    def __init__(self) -> None:
        self._here: dict[str, str] = {}
        self._of: dict[int, str | None] = {}

    def of(self, name: object) -> str | None:
        """The id here of a line that something points to; null stays null."""
        found = name_of({"id": name}, "id")
        return None if found is None else self._here.get(found, fields.entry_id(found))

    def put(self, linked: Linked, name: str | None, last: str | None = None) -> None:
        """A line has become this entry; what hangs on it hangs on `last`, if it became several."""
        self._of[id(linked)] = last or name
        if name is not None:
            self._here[linked.id] = name

    def below(self, linked: Linked | None) -> str | None:
        """What a child of this line hangs on."""
        return None if linked is None else self._of.get(id(linked))


def carried(custom_type: object, data: object, names: Names) -> Part | None:
    """The entry that a custom entry of one of our exports carries, with the ids that it points to; or None."""
    kept = fields.mapping(fields.mapping(data).get("payload"))
    type = fields.text(fields.mapping(data).get("type"))
    if custom_type != TUNNEL_TYPE or type is None:
        return None
    for name in ("targetId", "fromId", "firstKeptEntryId"):
        if isinstance(kept.get(name), str) and kept[name] != "root":
            kept = {**kept, name: names.of(kept[name])}
    return Part(type, kept)


def newest(linked: Iterable[Linked]) -> Linked | None:
    """The last line in the file, whatever had to wait for its parent."""
    return max(linked, key=lambda it: it.line.number, default=None)


def weave(
    builder: ImportBuilder, linked: Iterable[Linked], parts_of: Callable[[Linked, Names], list[Part]]
) -> Names:
    """Add linked lines as entries. A line without parts is kept raw, and its children hang on what it hangs on.

    Of several parts the one that says so has the line's own id, else the last.
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
            builder.report.trouble(it.line.number, f"a second entry has the id {it.id:.80}; both are kept")
        seen[it.id] = it.line.raw
        if placed.trouble is not None:
            builder.report.trouble(it.line.number, placed.trouble)
        parts = parts_of(it, names)
        if not parts:
            kind = fields.as_text(it.value.get("type")) or "entry"
            builder.keep(it.line, kind, "it has no counterpart here")
            names.put(it, names.below(placed.parent))
        else:
            builder.count(next((part.type for part in parts if part.own), parts[-1].type))
            _add(builder, it, parts, names, names.below(placed.parent))
    return names


def _add(builder: ImportBuilder, it: Linked, parts: list[Part], names: Names, above: str | None) -> None:
    at = builder.tick(it.value.get("timestamp"))
    own = next((number for number, part in enumerate(parts) if part.own), len(parts) - 1)
    named: str | None = None
    for number, part in enumerate(parts):
        name = it.id if number == own else f"{it.id[:58]}-{number + 1}"
        above = builder.add(it.line, name, above, part.type, part.payload, at=at)
        named = above if number == own else named
    names.put(it, named, above)
