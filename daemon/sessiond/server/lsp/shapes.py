"""msgspec types for large LSP results, ten times as fast to encode as those of lsprotocol.

Creating and encoding 2,000 symbols takes 2 ms with these, and 20 ms with lsprotocol, during which the event loop is
blocked.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, TypeVar

import msgspec

from sessiond.hub.execution.slices import run_in_slices
from sessiond.session.tree.steps import Steps

_T = TypeVar("_T")
_TOGETHER: Final = 50  # items encoded in one step


class Shape(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """Base class of the types that are sent to an editor."""


class Position(Shape, frozen=True, omit_defaults=False):
    """A line and a character, both starting at 0."""

    line: int
    character: int


class Range(Shape, frozen=True):
    """A range from `start` to before `end`."""

    start: Position
    end: Position


class Symbol(msgspec.Struct, rename="camel", omit_defaults=True):
    """`DocumentSymbol`. It is mutable, because its children are added after it was created."""

    name: str
    detail: str
    kind: int
    range: Range
    selection_range: Range
    children: list["Symbol"] = msgspec.field(default_factory=list)


class Location(Shape, frozen=True):
    """A range in a document."""

    uri: str
    range: Range


class FlatSymbol(Shape, frozen=True):
    """`SymbolInformation`."""

    name: str
    kind: int
    location: Location


class Fold(Shape, frozen=True, omit_defaults=False):
    """`FoldingRange`, of whole lines."""

    start_line: int
    end_line: int
    kind: str = "region"


class DocumentLink(Shape, frozen=True):
    """`DocumentLink`."""

    range: Range
    target: str
    tooltip: str = ""


class LensCommand(Shape, frozen=True):
    """The command that a lens runs."""

    title: str
    command: str
    arguments: list[dict[str, Any]]


class Lens(Shape, frozen=True):
    """`CodeLens`."""

    range: Range
    command: LensCommand


class Hint(Shape, frozen=True):
    """`InlayHint`."""

    position: Position
    label: str
    tooltip: str = ""
    padding_right: bool = False


class Encoded:
    """A result that is already JSON."""

    __slots__ = ("body",)

    def __init__(self, body: bytes) -> None:
        self.body = body


def at(line: int, start: int, end: int) -> Range:
    """Return a range on one line."""
    return Range(Position(line, start), Position(line, end))


async def encoded(items: Iterable[Any]) -> Encoded:
    """Return a list as JSON, created and encoded in steps."""
    return await run_in_slices(_encoding(items))


def _encoding(items: Iterable[Any]) -> Steps[Encoded]:
    parts: list[bytes] = []
    for batch in _batches(iter(items)):
        parts.append(msgspec.json.encode(batch)[1:-1])
        yield
    return Encoded(b"[" + b",".join(parts) + b"]")


def _batches(items: Iterator[_T]) -> Iterator[Sequence[_T]]:
    while batch := list(islice(items, _TOGETHER)):
        yield batch
