"""Reads a log: its tree, rows by id, lines in pages, long work in steps."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from msgspec import UnsetType

from sessiond.agents.recognition import foreign_program_of
from sessiond.error_text import TemplatedError
from sessiond.hub.errors import EntryNotFound, ForeignDialect
from sessiond.hub.execution.slices import run_in_slices
from sessiond.hub.session.derived_cache import ContextCache, DerivedCache
from sessiond.session.tree import open_index, tree as trees
from sessiond.session.tree.batches import first_of_incomplete_batch, incomplete_batch_reason
from sessiond.session.tree.lines import NotAnEntry, skim
from sessiond.session.tree.steps import Steps, batches
from sessiond.session.tree.tree import Tree
from sessiond.session.tree.turns import SilentTurns
from sessiond.session.views.outline import Outline
from sessiond.store.base import Log
from sessiond.store.errors import LogReplaced

T = TypeVar("T")

OUTLINE_SECONDS: Final = 600.0
"""An outline is dropped after this time without a request. It takes 6 to 10 bytes for each row."""
MIN_INDEXED_BYTES: Final = 1 << 20
"""Bytes that are read from a log rather than restored from its open index: they take about 3 ms."""
_TOGETHER: Final = 1 << 20
"""Adjacent rows are read together up to about this many bytes."""
_SMALL: Final = 20_000
"""Similar ids are searched only in sessions of up to this many rows."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The facts of a session at one moment, for long work. Only rows below `committed` belong to it.

    Rows keep their numbers and their entries, also when the log is migrated; a read raises `LogReplaced` if a line
    belongs to another entry now. Their place in the tree may change in a log that other programs write. When a parent
    that was missing arrives, the path of a row becomes longer, also by rows that do not belong to the moment. When an
    id is repeated, it names the later row.
    """

    committed: int
    leaf: int
    leaf_id: str | None
    title: str | None
    tags: tuple[str, ...]


class ReadableSession(Protocol):
    """A session that can be read, open or not: see `LogReader` and `LiveSession`."""

    @property
    def log(self) -> Log:
        """The log of the session."""

    @property
    def tree(self) -> Tree:
        """The tree of the log."""

    @property
    def outline(self) -> Outline:
        """The part of the outline of the tree that was requested."""

    def read(self, row: int) -> bytes:
        """Return the entry of one row, which may be pending."""

    def read_rows(self, rows: Sequence[int]) -> list[bytes]:
        """Return the entries of committed rows."""

    def read_stored(self, first: int, end: int) -> bytes | None:
        """Return the stored lines of consecutive rows, or None if `read_rows` must check each line."""

    def read_bytes(self, start: int, end: int) -> bytes:
        """Return bytes of the log, as the spans of `tree` count them."""

    def page_rows(self, row: int, size: int, count: int = 10_000) -> tuple[list[int], int]:
        """Return the rows of the entries from a row on, and their size in bytes."""

    async def drive(self, work: Generator[None, None, T]) -> T:
        """Run long work in steps, interleaved with that of other requests."""


class LogRewritten(TemplatedError):
    """Raised when work in steps reads spans of a tree whose log this daemon has rewritten meanwhile."""

    sentence = "The session {session_id} was rewritten while it was read."

    def __init__(self, session_id: str) -> None:
        super().__init__(session_id=session_id)


def bytes_of_present_tree(session: ReadableSession) -> Callable[[int, int], bytes]:
    """Return a function that reads spans of the tree that a session has now, for work in steps.

    It raises `LogRewritten` after the log was rewritten: the work must then begin again with the new tree.
    """
    tree = session.tree

    def read(start: int, end: int) -> bytes:
        if session.tree is not tree:
            raise LogRewritten(session.log.session_id)
        return session.read_bytes(start, end)

    return read


class LogReader:
    """A log and the tree of its lines. All methods that are not `async` run synchronously on the event loop's thread.

    Attributes:
        log: The log.
        tree: The tree. A rewrite of the log replaces it.
        silent_turns: The rows that views omit, as far as they are known. They take one byte for each row.
        contexts: The last context that was requested.
        derived: Results that are derived from the tree.
        indexed_size: The bytes of the log that need not be added to its open index.
        running_jobs: The number of long jobs that read the session now.
        on_replaced: Called when a read finds that the log was truncated or replaced.
    """

    def __init__(self, log: Log) -> None:
        self.log = log
        self.tree = Tree()
        self.silent_turns = SilentTurns()
        self._outline = Outline(self.silent_turns)
        self._outline_requested = time.monotonic()
        self.contexts = ContextCache(self)
        self.derived = DerivedCache(self)
        self.indexed_size = 0
        self.running_jobs = 0
        self.on_replaced: Callable[[], None] = _ignore
        self._old_content: bytes | None = None

    @property
    def outline(self) -> Outline:
        """The part of the outline of the tree that was requested."""
        self._outline_requested = time.monotonic()
        return self._outline

    @outline.setter
    def outline(self, outline: Outline) -> None:
        self._outline = outline

    def drop_unused(self) -> None:
        """Drop the context and the outline if they were not requested recently."""
        self.contexts.drop_unused()
        if time.monotonic() - self._outline_requested > OUTLINE_SECONDS:
            self._outline = Outline(self.silent_turns)

    def moment(self) -> Moment:
        """Return the facts of the session now."""
        tree = self.tree
        return Moment(tree.committed, tree.leaf, tree.leaf_id, tree.title, tuple(tree.tags))

    async def load(self) -> None:
        """Read the log in slices, from the end of its open index on. An incomplete last batch is excluded as a whole.

        Raises `ForeignDialect` for a file of another program.
        """
        program = foreign_program_of(lambda size: self.log.read(0, min(size, self.log.size)))
        if program is not None:
            raise ForeignDialect(self.log.path or self.log.session_id, program)
        await self._restore()
        await read_into(self.tree, self.log.scan(self.tree.end))
        first = first_of_incomplete_batch(self.tree, self.log.read)
        if first is not None:
            start, lines = self.tree.span(first)[0], self.tree.committed - first
            self._begin(Tree(), SilentTurns())
            await read_into(self.tree, _until(self.log.scan(), start))
            self.tree.exclude_tail(self.log.read(start, self.log.size), incomplete_batch_reason(lines))

    async def _restore(self) -> None:
        """Restore the tree of the lines that are in the open index of the log, if it has one."""
        index = None if self.log.size < MIN_INDEXED_BYTES else await self.log.read_open_index()
        if index is None:
            return
        found = await asyncio.to_thread(open_index.restore, index, self.log.unchanged_size, self.log.read)
        if found is not None:
            self._begin(found.tree, found.silent)
            self.indexed_size = found.tree.end

    def read_new_lines(self) -> None:
        """Read the lines that follow those of the tree, up to the end of the log.

        Raises the same `LogReplaced` as `read_added`.
        """
        for data in self.log.scan(self.tree.end):
            self.read_added(data)
        self.tree.finish(settled=False)

    def read_added(self, data: bytes) -> None:
        """Read bytes that follow those of the tree.

        Raises `LogReplaced` if they continue the line of the last entry: then its row is no entry any more.
        """
        if self.tree.tail_is_entry and data and not data.startswith(b"\n"):
            error = self.log.distrust()
            self.on_replaced()
            raise error
        self.tree.read(data)

    @contextlib.contextmanager
    def reading_from(self, content: bytes) -> Iterator[None]:
        """Read rows from `content`, the content of a log before its rewrite, during the block."""
        self._old_content = content
        try:
            yield
        finally:
            self._old_content = None

    def replace_tree(self, tree: Tree) -> None:
        """Set the tree of a rewritten log."""
        self._begin(tree, SilentTurns())
        self.indexed_size = 0

    def _begin(self, tree: Tree, silent: SilentTurns) -> None:
        self.tree, self.silent_turns, self._outline = tree, silent, Outline(silent)

    def row(self, entry_id: str) -> int:
        """Return the committed row of an entry. Raises `EntryNotFound`."""
        row = self.tree.row(entry_id)
        if row is None:
            raise self.not_found(entry_id)
        return row

    def not_found(self, entry_id: str) -> EntryNotFound:
        """Return the error for an unknown entry id, with the ids that begin with it."""
        return EntryNotFound(entry_id, did_you_mean=self._similar_ids(entry_id))

    def row_at(self, leaf_id: str | UnsetType | None) -> int:
        """Return the row that a request names by an id: the leaf if it is unset, `NONE` if it is None.

        `NONE` means the place before the first entry. Raises `EntryNotFound`.
        """
        if isinstance(leaf_id, UnsetType):
            return self.tree.leaf
        return trees.NONE if leaf_id is None else self.row(leaf_id)

    def _similar_ids(self, entry_id: str) -> list[str]:
        """Return ids that begin with a mistyped one. Large sessions are not searched."""
        if len(entry_id) < 3 or len(self.tree) > _SMALL:
            return []
        names = (self.tree.id(row) for row in range(1, self.tree.committed))
        return [name for name in names if name is not None and name.startswith(entry_id)][:3]

    def read(self, row: int) -> bytes:
        """Return the entry of one row, which may be pending."""
        if row >= self.tree.committed:
            return self.tree.pending_line(row)
        return self._entries([row], [self.read_bytes(*self.tree.span(row))])[0]

    def read_rows(self, rows: Sequence[int]) -> list[bytes]:
        """Return the entries of committed rows. Adjacent rows are read together."""
        if len(rows) == 1:
            return self._entries(rows, [self.read_bytes(*self.tree.span(rows[0]))])
        found: list[bytes] = []  # lines, as they are stored
        tree, position = self.tree, 0
        while position < len(rows):
            last = position
            start, end = tree.span(rows[position])
            spans = [(start, end)]
            while last + 1 < len(rows) and rows[last + 1] == rows[last] + 1 and end - start < _TOGETHER:
                last += 1
                spans.append(tree.span(rows[last]))
                end = spans[-1][1]
            block = self.read_bytes(start, end)
            found += [block[first - start : after - start] for first, after in spans]
            position = last + 1
        return self._entries(rows, found)

    def read_stored(self, first: int, end: int) -> bytes | None:
        """Return the stored lines of the committed rows from `first` to before `end`.

        Returns None if another program has written to the file; then `read_rows` checks each line.
        """
        block = self.read_bytes(self.tree.span(first)[0], self.tree.span(end - 1)[1])
        return None if self._old_content is None and self.log.is_touched else block

    def _entries(self, rows: Sequence[int], lines: Sequence[bytes]) -> list[bytes]:
        """Return the entries in the lines of rows. Raises `LogReplaced` if a line belongs to another entry now."""
        if self._old_content is None and self.log.is_touched and not all(map(self._is_still, rows, lines)):
            error = self.log.distrust()
            self.on_replaced()
            raise error
        return list(map(self.tree.entry, rows, lines))

    def _is_still(self, row: int, line: bytes) -> bool:
        """Whether a line still belongs to the entry of its row. Its content may have changed."""
        if self.tree.kind(row) in (trees.BAD, trees.HEADER):
            return True
        try:
            found = skim(line)
        except NotAnEntry:
            return False
        return self.tree.version < 2 or found.id == self.tree.id(row)

    def read_in_steps(self, rows: Sequence[int]) -> Steps[list[bytes]]:
        """Return the entries of rows as `read_rows` does, in steps."""
        found: list[bytes] = []
        for some in batches(self.tree, rows):
            found += self.read_rows(some)
            yield
        return found

    def page_rows(self, row: int, size: int, count: int = 10_000) -> tuple[list[int], int]:
        """Return the rows of the entries from a row on, and their size in bytes.

        They have at most about `size` bytes and `count` entries, and at least one entry if there is any.
        """
        return self._page(range(row, self.tree.committed), size, count)

    def page_rows_back(self, row: int, size: int, count: int) -> tuple[list[int], int]:
        """Return the rows of the entries from a row back to the first one, with the same limits."""
        return self._page(range(row, 0, -1), size, count)

    def _page(self, rows: Iterable[int], size: int, count: int) -> tuple[list[int], int]:
        tree = self.tree
        page: list[int] = []
        taken = 0
        for row in rows:
            if len(page) >= count or taken >= size:
                break
            if tree.kind(row) not in (trees.BAD, trees.HEADER):
                start, end = tree.span(row)
                taken += end - start
                page.append(row)
        return page, taken

    async def drive(self, work: Generator[None, None, T]) -> T:
        """Run long work in steps, interleaved with that of other requests."""
        with self.in_use():
            return await run_in_slices(work)

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep the session open during the block."""
        self.running_jobs += 1
        try:
            yield
        finally:
            self.running_jobs -= 1

    def read_bytes(self, start: int, end: int) -> bytes:
        """Return the bytes `[start, end)` of the log, as the spans of `tree` count them, also during a rewrite.

        Raises `LogReplaced` if another program has truncated or replaced the log.
        """
        if self._old_content is not None:
            return self._old_content[start:end]
        try:
            return self.log.read(start, end)
        except LogReplaced:
            self.on_replaced()
            raise


def _ignore() -> None:
    """Do nothing."""


def _until(slices: Iterable[bytes], end: int) -> Iterator[bytes]:
    """Yield the slices of a log up to a byte."""
    for data in slices:
        yield data[:end]
        end -= len(data)
        if end <= 0:
            return


async def read_into(tree: Tree, slices: Iterable[bytes]) -> None:
    """Feed a tree with the bytes after its `end`, up to the end of the log."""
    await run_in_slices(_reading(tree, slices))
    tree.finish()


def _reading(tree: Tree, slices: Iterable[bytes]) -> Steps[None]:
    for data in slices:
        tree.read(data)
        yield
