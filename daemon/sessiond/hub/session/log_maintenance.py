"""Maintenance of an open log: prepares it for writes, and ingests the lines of other programs.

Torn lines are quarantined, old versions are migrated, lines of other programs are read, and the log moves with its
working directory; all under one lock, in order of arrival. `append_queue` takes the same lock.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable
from typing import Final

from sessiond.hub.errors import HubError
from sessiond.hub.session import changes
from sessiond.hub.session.line_union import ChosenLines
from sessiond.hub.session.log_reader import LogReader, read_into
from sessiond.hub.session.migration import migrated, with_cwd
from sessiond.hub.session.pending_batches import PendingBatches
from sessiond.hub.session.write_block import WriteBlockMonitor
from sessiond.session.tree import entries
from sessiond.session.tree.steps import Steps
from sessiond.session.tree.tree import Tree
from sessiond.session.union.comparable import as_batch
from sessiond.store.errors import LogReplaced, StorageFailed

log = logging.getLogger(__name__)

FOREIGN_SLICE: Final = 256 * 1024
"""The bytes of another program's lines that are ingested in one turn of the event loop."""
RETRY_SECONDS: Final = 5.0
"""The interval between checks whether a write-blocked session can be written again (decision 0005)."""
SETTLE_SECONDS: Final = 0.3
"""An incomplete last line counts as torn after it has not changed for this time."""


class LogMaintenance:
    """Maintains the log of one session.

    Args:
        reader: The log.
        pending: The batches that are queued at the log. Maintenance waits for them.
        write_block: Determines why the log is read-only.
        ingested: Called after lines of other programs were read, with the facts of the session before them.

    Attributes:
        closing_error: The error of further writes once the session is being closed; None before.
        lock: Held during each operation.
    """

    def __init__(
        self,
        reader: LogReader,
        pending: PendingBatches,
        write_block: WriteBlockMonitor,
        ingested: Callable[[changes.SessionBefore], None],
    ) -> None:
        self.closing_error: HubError | None = None
        self.lock = asyncio.Lock()
        self._reader = reader
        self._log = reader.log
        self._pending = pending
        self._write_block = write_block
        self._ingested = ingested
        self._retried_at = time.monotonic()
        self._settling: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def exclusive(self) -> AsyncIterator[None]:
        """Hold the lock during the block, which begins when no batch is queued."""
        async with self.lock:
            await self._pending.until_empty()
            yield

    async def retry(self) -> None:
        """Check whether a write-blocked log can be written again, at most every `RETRY_SECONDS`."""
        if time.monotonic() - self._retried_at > RETRY_SECONDS:
            self._retried_at = time.monotonic()
            async with self.lock:
                await self._log.retry()

    async def prepare_for_writes(self) -> None:
        """Prepare the end, the version and the place of the log for new lines. The caller holds the lock."""
        await self._pending.until_empty()
        if self._log.read_only is not None:
            await self._log.retry()
        await self._ingest()
        refusal = self._write_block.read_only
        if refusal is not None:
            raise refusal
        reader = self._reader
        while await self._quarantine_tail() is None and self._lacks_newline():
            await self._log.complete_tail()
            # In addition to the newline, there may be lines that another program wrote just before it.
            before = changes.facts(reader.tree)
            reader.read_new_lines()
            self._ingested(before)
        if reader.tree.version < entries.CURRENT_VERSION:
            await self._migrate()
        self._pending.is_log_prepared = True

    async def fix_tail(self) -> str | None:
        """Quarantine a torn line, as the next append would. Returns its new place, or None if there is no torn line."""
        async with self.exclusive():
            await self._ingest()
            refusal = self._write_block.read_only
            if refusal is not None:
                raise refusal
            return await self._quarantine_tail()

    async def _quarantine_tail(self) -> str | None:
        while self._reader.tree.tail:
            await self._let_the_tail_settle()
            tree = self._reader.tree
            if not tree.tail or tree.tail_may_be_entry:
                break
            try:
                copy = await self._log.quarantine_tail(tree.end, len(tree))
            except StorageFailed:
                if not self._log.foreign_bytes():
                    raise
                await self._ingest()  # the other program is still writing
            else:
                tree.drop_tail()
                return copy
        return None

    async def _let_the_tail_settle(self) -> None:
        """Wait until an incomplete last line, which another program may still be writing, has settled."""
        until = time.monotonic() + SETTLE_SECONDS
        while self._reader.tree.tail and time.monotonic() < until:
            await asyncio.sleep(0.02)
            if self._log.foreign_bytes():
                await self._ingest()
                until = time.monotonic() + SETTLE_SECONDS

    async def _migrate(self) -> None:
        """Rewrite a v1 or v2 log as v3 and store the original beside it. Rows and their seqs stay the same.

        Readers continue meanwhile: they read the old rows from the old bytes until the new tree is complete.
        """
        old_tree, tree = self._reader.tree, Tree()
        old_content = b"".join(self._log.scan())
        lines = await migrated(old_tree, old_content)
        await read_into(tree, [lines])
        await self._rewrite(lines, tree, old_content, old_tree.version)

    async def _rewrite(
        self, lines: bytes, tree: Tree, old_content: bytes, version: int, *, same_log: bool = False
    ) -> None:
        """Replace the content of the log with `lines`.

        Args:
            lines: The new content.
            tree: The tree of `lines`.
            old_content: The old content, which readers use until the rewrite is complete.
            version: The format version of the old content.
            same_log: Whether the log keeps its log id.
        """
        with self._reader.reading_from(old_content):
            await self._log.rewrite(lines, version, same_log=same_log)
            self._reader.replace_tree(tree)
        if self._log.write_error is not None:
            raise self._log.write_error

    async def move(self, cwd: str) -> None:
        """Move the log to the folder of another working directory, and write the directory into its header.

        pi, oh-my-pi and our lists read the header, and only we would read an entry that overrides it. So the header is
        rewritten, with its other fields and every other line unchanged, and the original is stored beside the log. The
        log moves first: after a crash in between, the header decides, and the same request completes the move.
        """
        async with self.lock:
            if self.closing_error is not None:
                raise self.closing_error
            self._pending.is_log_prepared = False  # appends wait for the lock
            await self.prepare_for_writes()
            self._pending.is_log_prepared = False
            tree, header = self._reader.tree, self._reader.tree.header
            await self._log.move(cwd)
            if header is not None and header.cwd != cwd:
                old_content, moved = b"".join(self._log.scan()), Tree()
                lines = with_cwd(tree, old_content, cwd)
                await read_into(moved, [lines])
                await self._rewrite(lines, moved, old_content, tree.version, same_log=True)

    async def unpack(self) -> None:
        """Replace a packed file by the plain one."""
        async with self.lock:
            if self.closing_error is not None:
                raise self.closing_error
            await self._log.unpack()

    async def add_lines(self, choose: "Callable[[Tree], Steps[ChosenLines]]") -> ChosenLines:
        """Append lines of another store as they are, synced. They are read as lines of another program are.

        `choose` is called when no other lines can be appended. Raises `StorageFailed`, and why the log takes no writes.
        """
        async with self.lock:
            if self.closing_error is not None:
                raise self.closing_error
            self._pending.is_log_prepared = False  # appends wait for the lock
            await self.prepare_for_writes()
            self._pending.is_log_prepared = False
            written: asyncio.Future[bool] | None = None
            async with self._log.locked():
                await self._ingest()  # lines that other daemons added before the lock
                chosen = await self._reader.drive(choose(self._reader.tree))
                if chosen.new:
                    data = await asyncio.to_thread(as_batch, chosen.new)
                    if self._log.draft and chosen.has_answer:
                        await self._log.promote()
                    written = self._log.append(data, "synced")
            if written is not None:
                await written
                await self._read_written()
            return chosen

    async def _read_written(self) -> None:
        """Read the lines after the tree up to the end of the log, and announce them."""
        tree = self._reader.tree
        before = changes.facts(tree)
        for data in self._log.scan(tree.end):
            self._reader.read_added(data)
            await asyncio.sleep(0)
        tree.finish(settled=False)
        self._ingested(before)

    async def ingest(self) -> bool:
        """Read and announce the lines that another program has added. Returns whether there were any.

        Raises `LogReplaced` if the file was truncated or replaced.
        """
        async with self.exclusive():
            rows = self._reader.tree.committed
            await self._ingest()
            if self._reader.tree.tail_may_be_entry and self._settling is None:
                self._settling = asyncio.get_running_loop().create_task(self._settle())
            return self._reader.tree.committed > rows

    async def _settle(self) -> None:
        """Read a last line that lacks only its newline as an entry, after it has not changed for `SETTLE_SECONDS`."""
        try:
            while self._reader.tree.tail_may_be_entry:
                size = self._log.size
                await asyncio.sleep(SETTLE_SECONDS)
                async with self.exclusive():
                    await self._ingest()
                    if self._log.size == size:
                        before = changes.facts(self._reader.tree)
                        self._reader.tree.settle_tail()
                        self._ingested(before)
        except (StorageFailed, LogReplaced) as error:  # `write_error` keeps it for the next request
            log.warning("session %s: its last line cannot be read: %s", self._log.session_id, error)
        finally:
            self._settling = None

    async def stop(self) -> None:
        """Stop waiting until the last line has settled. The session is closing."""
        settling = self._settling
        if settling is not None:
            async with self.lock:  # not in the middle of a read
                settling.cancel()
            await asyncio.wait([settling])

    def _lacks_newline(self) -> bool:
        """Whether the last line is an entry without its newline."""
        return self._reader.tree.tail_is_entry or self._reader.tree.tail_may_be_entry

    async def _ingest(self) -> None:
        foreign = self._log.foreign_bytes()
        if not foreign:
            return
        tree = self._reader.tree
        before = changes.facts(tree)
        size, position = self._log.size + foreign, tree.end
        while position < size:
            data = self._log.read(position, min(position + FOREIGN_SLICE, size))
            if not data:
                raise LogReplaced(self._log.ref)
            position += len(data)
            self._reader.read_added(data)
            await asyncio.sleep(0)
        tree.finish(settled=False)
        self._log.accept(size)
        if tree.tail or tree.tail_is_entry:
            self._pending.is_log_prepared = False
        self._ingested(before)
