"""One open session: its id, its holders and subscribers, and the parts that read, maintain and extend its log."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Collection, Coroutine, Generator, Iterator, Sequence
from typing import Any, Final, TypeVar

from msgspec import Raw, UnsetType

from sessiond.hub.errors import EntryNotFound, HubError
from sessiond.hub.session.append_queue import AppendQueue
from sessiond.hub.session.batches import Done, PlainRequests
from sessiond.hub.session.blobs import NO_BLOBS, SessionBlobs
from sessiond.hub.session.changes import SessionBefore
from sessiond.hub.session.derived_cache import DerivedCache
from sessiond.hub.session.divergence import Divergence
from sessiond.hub.session.drafts import NewMessage
from sessiond.hub.session.entry_placement import Placement
from sessiond.hub.session.line_union import ChosenLines, choose
from sessiond.hub.session.log_maintenance import LogMaintenance
from sessiond.hub.session.log_reader import LogReader, Moment
from sessiond.hub.session.observers import NO_OBSERVER, GrowthObserver, SessionObserver
from sessiond.hub.session.open_index_writer import OpenIndexWriter
from sessiond.hub.session.pending_batches import PendingBatches
from sessiond.hub.session.publisher import Publisher
from sessiond.hub.session.subscribers import Subscribers
from sessiond.hub.session.title_writer import TitleWriter
from sessiond.hub.session.tree_watches import TreeWatches
from sessiond.hub.session.write_block import WriteBlockMonitor
from sessiond.protocol import types as t
from sessiond.session.context.context import Context
from sessiond.session.tree.steps import Steps
from sessiond.session.tree.tree import Tree
from sessiond.session.views.outline import Outline
from sessiond.store.base import Durability, Log

log = logging.getLogger(__name__)

_T = TypeVar("_T")
_BY_ITSELF: Final = t.Origin(kind="daemon")


class LiveSession:
    """An open session. All methods that are not `async` run synchronously on the event loop's thread.

    Args:
        log: The log of the session.
        ephemeral: Whether the log is in memory only.
        blobs: The blobs of the session.
        observer: Called when the session is promoted or changed.
        growth_observer: Called for new rows.
        diverges: Called once, before other readers of the file may see a different session.
        is_shared: Whether other daemons may append to the log at the same time.

    Attributes:
        session_id: The id in the header, or a generated id for a file without a header.
        holders: The ids of the clients that hold the session.
        awaits_holder: Whether it was created for a client that does not hold it yet. It is not closed until then.
        cached_info: The description of the session, with the `facts_key` for which it was made.
        encoded_info: The encoded result of `session/info`, with the description for which it was made.
        used_at: The time of the last use.
        settings_lock: Held while tags or settings are read and changed.
        appending_jobs: The number of jobs under way that will append to the session.
        subscribers: The clients that receive notifications about the session.
        tree_watches: The clients that receive the changed rows of the tree.
    """

    def __init__(
        self,
        log: Log,
        *,
        ephemeral: bool,
        blobs: SessionBlobs = NO_BLOBS,
        observer: "SessionObserver[LiveSession]" = NO_OBSERVER,
        growth_observer: "GrowthObserver[LiveSession]" = NO_OBSERVER,
        diverges: "Callable[[LiveSession], None] | None" = None,
        is_shared: bool = False,
    ) -> None:
        self.log = log
        self.blobs = blobs
        self.ephemeral = ephemeral
        self.is_shared = is_shared
        self.session_id = log.session_id
        self.holders: set[str] = set()
        self.awaits_holder = False
        self.cached_info: tuple[object, t.SessionInfo] | None = None
        self.encoded_info: tuple[t.SessionInfo, Raw] | None = None
        self.used_at = time.monotonic()
        self.settings_lock = asyncio.Lock()
        self.appending_jobs = 0
        self._reader = reader = LogReader(log)
        self._divergence = Divergence(reader, None if diverges is None else lambda: diverges(self))
        self._write_block = write_block = WriteBlockMonitor(reader, self._write_block_changed)
        reader.on_replaced = write_block.update
        self.subscribers = Subscribers(
            self.session_id,
            lambda: reader.tree.committed,
            reader.page_rows,
            reader.read_rows,
            lambda: reader.tree.leaf_id,
            lambda: log.log_id,
        )
        self.tree_watches = TreeWatches(reader, self.session_id)
        self._publisher = publisher = Publisher[LiveSession](
            self, reader, self.subscribers, self.tree_watches, observer, growth_observer, self._titled
        )
        self._index_writer = OpenIndexWriter(reader)
        self._pending = PendingBatches(
            reader, write_block, publisher, lambda batches, error: self._appends.requeue(batches, error)
        )
        self._maintenance = LogMaintenance(reader, self._pending, write_block, self._ingested)
        self._title = TitleWriter(reader, self._maintenance, write_block)
        self._appends = AppendQueue(
            reader, blobs, self._pending, self._maintenance, write_block, publisher, is_shared=is_shared
        )

    async def load(self) -> None:
        """Read the whole log in slices. Raises `ForeignDialect` for a file of another program."""
        await self._reader.load()
        if self.tree.header is not None:
            self.set_id(self.tree.header.id)
        self._write_block.load()
        self._index_writer.start()
        if self.write_block is None and not self.tree.problems:
            self._divergence.loaded()
        else:
            self._divergence.begin()

    def set_id(self, session_id: str) -> None:
        """Set the session id: the one in the header, or a generated id for a file without a header."""
        self.session_id = self.subscribers.session_id = self.tree_watches.session_id = session_id

    # --- state -----------------------------------------------------------------------------------------

    @property
    def is_in_use(self) -> bool:
        """True while a client holds, subscribes to or watches the session, or work on it is under way.

        Always true for ephemeral sessions.
        """
        is_held = bool(self.holders or len(self.subscribers) or len(self.tree_watches) or self.awaits_holder)
        has_work = self.pending or bool(self.appending_jobs or self._reader.running_jobs)
        return is_held or has_work or self.ephemeral

    @property
    def is_draft(self) -> bool:
        """Whether it is a draft session. A log in the folder of drafts may have an answer by another program."""
        return self.log.draft and not self.tree.has_assistant()

    @property
    def is_as_in_file(self) -> bool:
        """Whether other readers of the file see the same session: nothing was written since it was loaded."""
        return self._divergence.is_as_loaded and not self.unwritten_bytes and self.write_block is None

    @property
    def write_block(self) -> t.WriteBlock | None:
        """The reason why the session accepts no writes, as last announced; None if it accepts writes."""
        return self._write_block.current

    @property
    def read_only(self) -> HubError | None:
        """The reason why the session is read-only; None if it can be written."""
        return self._write_block.read_only

    def facts_key(self) -> object:
        """Return a key that changes whenever the session's description changes. Pending lines do not affect it."""
        tree, log = self._reader.tree, self.log
        return (
            tree, tree.committed, tree.leaf, tree.end, tree.tail, log.draft, log.ref, log.log_id,
            log.write_error, log.stale, self._write_block.current,
        )  # fmt: skip

    def _write_block_changed(self) -> None:
        self._divergence.begin()
        if self.write_block is not None:
            log.warning("session %s takes no writes: %s", self.session_id, self.write_block.message)
        else:
            log.info("session %s takes writes again", self.session_id)
        self._publisher.changed(["writeBlock"], _BY_ITSELF)

    # --- reading: see `LogReader` ----------------------------------------------------------------------

    @property
    def tree(self) -> Tree:
        """The tree of the log."""
        return self._reader.tree

    @property
    def outline(self) -> Outline:
        """The part of the outline of the tree that was requested."""
        return self._reader.outline

    @property
    def derived(self) -> DerivedCache:
        """Results that are derived from the tree."""
        return self._reader.derived

    def moment(self) -> Moment:
        """Return the facts of the session now."""
        return self._reader.moment()

    def row(self, entry_id: str) -> int:
        """Return the committed row of an entry. Raises `EntryNotFound`."""
        return self._reader.row(entry_id)

    def row_at(self, leaf_id: str | UnsetType | None) -> int:
        """Return the row that a request names by an id. Raises `EntryNotFound`."""
        return self._reader.row_at(leaf_id)

    def not_found(self, entry_id: str) -> EntryNotFound:
        """Return the error for an unknown entry id, with the ids that begin with it."""
        return self._reader.not_found(entry_id)

    def read(self, row: int) -> bytes:
        """Return the entry of one row, which may be pending."""
        return self._reader.read(row)

    def read_rows(self, rows: Sequence[int]) -> list[bytes]:
        """Return the entries of committed rows."""
        return self._reader.read_rows(rows)

    def read_stored(self, first: int, end: int) -> bytes | None:
        """Return the stored lines of consecutive rows, or None if `read_rows` must check each line."""
        return self._reader.read_stored(first, end)

    def read_bytes(self, start: int, end: int) -> bytes:
        """Return bytes of the log, as the spans of `tree` count them, also during a rewrite."""
        return self._reader.read_bytes(start, end)

    def read_in_steps(self, rows: Sequence[int]) -> Steps[list[bytes]]:
        """Return the entries of committed rows, in steps."""
        return self._reader.read_in_steps(rows)

    def page_rows(self, row: int, size: int, count: int = 10_000) -> tuple[list[int], int]:
        """Return the rows of the entries from a row on, and their size in bytes."""
        return self._reader.page_rows(row, size, count)

    def page_rows_back(self, row: int, size: int, count: int) -> tuple[list[int], int]:
        """Return the rows of the entries from a row back to the first one, and their size in bytes."""
        return self._reader.page_rows_back(row, size, count)

    def context(self, leaf_row: int) -> Coroutine[Any, Any, Context]:
        """Return the context of a model at a row."""
        return self._reader.contexts.at(leaf_row)

    def drop_unused(self) -> None:
        """Drop the cached context and the outline if they were not requested recently."""
        self._reader.drop_unused()

    def drive(self, work: Generator[None, None, _T]) -> Coroutine[Any, Any, _T]:
        """Run long work in steps, interleaved with that of other requests."""
        return self._reader.drive(work)

    def in_use(self) -> contextlib.AbstractContextManager[None]:
        """Keep the session open during the block."""
        return self._reader.in_use()

    # --- writing: see `AppendQueue` --------------------------------------------------------------------

    @property
    def pending(self) -> bool:
        """Whether any append is not committed yet."""
        return self._appends.is_pending

    @property
    def unwritten_bytes(self) -> int:
        """The bytes of pending appends."""
        return self._appends.unwritten_bytes

    def unwritten(self) -> Iterator[bytes]:
        """Yield the data that is not in the log yet: waiting drafts and pending lines."""
        return self._appends.unwritten()

    def append(
        self,
        raw: Sequence[bytes],
        placement: Placement,
        durability: Durability,
        origin: t.Origin,
        done: Done,
    ) -> None:
        """Append a batch.

        If the session must be prepared first (a torn line, another program's lines), or the batch is large or has
        blobs, the append waits. Later appends wait for it.

        Args:
            raw: The drafts, as JSON.
            placement: Where the batch goes.
            durability: The durability at which the batch is committed.
            origin: The origin that notifications name.
            done: Called once, in log order, with the outcome or the error; before this method returns, or later.
        """
        self.used_at = time.monotonic()
        self._divergence.begin()
        self._appends.append(raw, placement, durability, origin, done)

    def append_messages(self, messages: Sequence[NewMessage], requests: PlainRequests) -> bool:
        """Append new messages at the leaf, one after the other, if no preparation and no wait is necessary.

        This is the short way of the most frequent append. It has the same effect as `append` for each of them.

        Args:
            messages: The messages.
            requests: The requests that append them. They receive the rows, and are answered in log order.

        Returns:
            False if the appends need the general way. Then nothing has changed.
        """
        if not self._appends.append_messages(messages, requests):
            return False
        self._divergence.begin()
        return True

    # --- maintenance: see `LogMaintenance` -------------------------------------------------------------

    @property
    def closing_error(self) -> HubError | None:
        """The error of further writes once the session is being closed, and of reads after that; None before."""
        return self._maintenance.closing_error

    @closing_error.setter
    def closing_error(self, error: HubError | None) -> None:
        self._maintenance.closing_error = self.log.closed_error = error

    async def retry(self) -> None:
        """Check whether a write-blocked session can be written again; see `LogMaintenance.retry`."""
        if not self.pending:
            await self._maintenance.retry()
        self._write_block.update()

    def update_write_block(self) -> None:
        """Determine whether the session accepts writes, and announce a change."""
        self._write_block.update()

    def fix_tail(self) -> Coroutine[Any, Any, str | None]:
        """Quarantine a torn line, as the next append would. Returns its new place, or None if there is no torn line."""
        return self._maintenance.fix_tail()

    def ingest(self) -> Coroutine[Any, Any, bool]:
        """Read and announce the lines that another program has added. Returns whether there were any.

        Raises `LogReplaced` if the file was truncated or replaced.
        """
        return self._maintenance.ingest()

    async def refreshed(self) -> "LiveSession":
        """Ask the store for lines of other daemons, and return this session with them."""
        await self.log.retry()
        await self.ingest()
        return self

    def _titled(self) -> None:
        """Write the title into the header, if the log is in a file that another program may read."""
        if not self.is_shared:
            self._title.start()

    def _ingested(self, before: SessionBefore) -> None:
        self._divergence.begin()
        self._publisher.ingested(before, self._appends.settle_stored())

    async def add_lines(
        self,
        offered: Sequence[bytes],
        superseding: Collection[str],
        expected: t.After | None,
        origin: t.Origin,
    ) -> ChosenLines:
        """Add the lines of another store that the session lacks, as they are: see `LogMaintenance.add_lines`.

        Args:
            offered: The lines, as `comparable` returns them.
            superseding: The ids with several lines at the sender.
            expected: The position of the last line; if it is elsewhere, nothing is added; None for any position.
            origin: The origin that a notification names if the draft session becomes a session.
        """
        self._divergence.begin()
        was_draft = self.log.draft
        if expected is not None and expected.log_id != self.log.log_id:
            return ChosenLines(is_outdated=True)
        last_seq = None if expected is None else expected.seq
        chosen = await self._maintenance.add_lines(
            lambda tree: choose(tree, self.log.read, offered, superseding, last_seq)
        )
        if was_draft and not self.log.draft:
            self._publisher.changed(["isDraft", "path"], origin)
        return chosen

    async def move(self, cwd: str, origin: t.Origin) -> None:
        """Move the session to another working directory."""
        self._divergence.begin()
        await self._maintenance.move(cwd)
        self._publisher.changed(["path", "cwd"], origin)

    async def unpack(self, origin: t.Origin) -> None:
        """Replace a packed file by the plain one."""
        was = self.log.ref
        await self._maintenance.unpack()
        if self.log.ref != was:
            self._publisher.changed(["path"], origin)

    # --- closing ---------------------------------------------------------------------------------------

    async def flush(self) -> bool:
        """Wait until every line is synced. Returns whether any line was not synced before."""
        was_pending = self.pending
        while self.pending:
            await self._appends.until_served()
            await self._pending.until_empty()
        await self._title.finish()
        return await self.log.flush() or was_pending

    async def close(self) -> None:
        """Finish the work in progress and close the log."""
        self.tree_watches.lapse_all("closed")
        await self._appends.until_served()
        await self._title.finish()
        await self._maintenance.stop()
        async with self._maintenance.exclusive():
            await self._index_writer.finish()
            await self.log.close()
