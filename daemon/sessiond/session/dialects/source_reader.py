"""A reader that takes the lines of a file as they are written, a part at a time.

Its state is plain data. A reader with the state of another one continues where that one ended, so that the lines
that are added to a file of any size are read alone, with the result of reading the whole file (decision 0036).
"""

from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias

from sessiond.session.dialects.import_builder import ImportBuilder, Imported
from sessiond.session.dialects.source import Source, SourceLine


class SourceReader(Protocol):
    """The reader of one file."""

    @property
    def builder(self) -> ImportBuilder:
        """The builder of its entries. Entries that are drained from it are in no result."""

    @property
    def is_behind(self) -> bool:
        """Whether a line changes the place or the time of an earlier one, so that the file must be read whole."""

    def take(self, lines: Iterable[SourceLine]) -> None:
        """Take the next lines."""

    def end(self) -> None:
        """Take also the lines that wait for later ones, because no later lines follow."""

    def result(self) -> Imported:
        """Return the session with the entries of the lines that were taken since the last call."""

    def state(self) -> bytes | None:
        """Return the state behind the lines that were taken; None if no reader can continue there."""


NewReader: TypeAlias = Callable[[Source, bytes | None], SourceReader]
"""Returns a reader of a source that continues with a state; a new reader for None."""
