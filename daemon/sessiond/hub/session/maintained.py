"""Maintenance of an open log: prepares it for writes, and ingests the lines of other programs.

Torn lines are quarantined, old versions are migrated, lines of other programs are read, and the log moves with its
working directory; all under one lock, first come, first served. `appending` adds appends, and `live` the
notifications.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from typing import Final

from sessiond.hub.errors import HubError, ReadOnly, UnsupportedVersion
from sessiond.hub.session import changes
from sessiond.hub.session.migration import migrated, with_cwd
from sessiond.hub.session.readable import LoadedSession, read_into
from sessiond.session.tree import entries
from sessiond.session.tree.tree import Tree
from sessiond.session.views.tree_view import Outline
from sessiond.store.base import Log
from sessiond.store.errors import LogReplaced, StorageFailed

FOREIGN_SLICE: Final = 256 * 1024
"""The bytes of another program's lines that are ingested in one turn of the event loop."""
SETTLE_SECONDS: Final = 0.3
"""An incomplete last line counts as torn after it has not changed for this time."""


class TendedSession(LoadedSession, ABC):
    """A session whose log is maintained."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self.ended: HubError | None = None  # the error of further requests, once it is being closed
        self._lock = asyncio.Lock()
        self._writable = False  # tail, version and place are prepared

    @abstractmethod
    async def _until_idle(self) -> None:
        """Wait until no append is pending."""

    @abstractmethod
    def _tell_of_others(self, before: changes.SessionBefore) -> None:
        """Announce the lines of other programs that were added since `before`."""

    @property
    def read_only(self) -> HubError | None:
        """Why the session is read-only; None if it can be written."""
        if self.tree.damaged:
            return ReadOnly("it has no valid header; the file is left as it is", path=self.log.path)
        if self.tree.version > entries.CURRENT_VERSION or self.tree.version < 1:
            return UnsupportedVersion(self.tree.version)
        if self.log.read_only is not None:
            return ReadOnly(self.log.read_only, path=self.log.path)
        return None

    async def _make_writable(self) -> None:
        await self._until_idle()
        if self.log.read_only is not None:
            await self.log.retry()
        await self._ingest()
        refusal = self.read_only
        if refusal is not None:
            raise refusal
        if await self._put_tail_aside() is None and self.tree.tail_is_entry:
            await self.log.complete_tail()
            # Besides the newline, there may be lines that another program wrote just before it.
            before = changes.facts(self.tree)
            self._read_rest()
            self._tell_of_others(before)
        if self.tree.version < entries.CURRENT_VERSION:
            await self._migrate()
        self._writable = True

    async def fix_tail(self) -> str | None:
        """Quarantine a torn line, as the next append would. Returns its new place, or None if there is none."""
        async with self._lock:
            await self._until_idle()
            await self._ingest()
            if self.read_only is not None:
                raise self.read_only
            return await self._put_tail_aside()

    async def _put_tail_aside(self) -> str | None:
        while self.tree.tail:
            await self._let_the_tail_settle()
            if not self.tree.tail:
                break
            try:
                kept = await self.log.quarantine_tail(self.tree.end, len(self.tree))
            except StorageFailed:
                if not self.log.foreign_bytes():
                    raise
                await self._ingest()  # the other program is still writing
            else:
                self.tree.drop_tail()
                return kept
        return None

    async def _let_the_tail_settle(self) -> None:
        """Wait until an incomplete last line, which another program may still be writing, has settled."""
        until = time.monotonic() + SETTLE_SECONDS
        while self.tree.tail and time.monotonic() < until:
            await asyncio.sleep(0.02)
            if self.log.foreign_bytes():
                await self._ingest()
                until = time.monotonic() + SETTLE_SECONDS

    async def _migrate(self) -> None:
        """Rewrite a v1 or v2 log as v3 and store the original beside it. Rows and their seqs stay the same.

        Readers continue meanwhile: they read the old rows from the old bytes until the new tree is complete.
        """
        version, tree = self.tree.version, Tree()
        former = b"".join(self.log.scan())
        lines = await migrated(self.tree, former)
        await read_into(tree, [lines])
        await self._rewrite(lines, tree, former, version)

    async def _rewrite(
        self, lines: bytes, tree: Tree, former: bytes, version: int, *, same_log: bool = False
    ) -> None:
        """Replace the content of the log with `lines`.

        Args:
            lines: The new content.
            tree: The tree of `lines`.
            former: The old content, which readers use until the rewrite is complete.
            version: The format version of the old content.
            same_log: Whether the log keeps its log id.
        """
        self._former = former
        try:
            await self.log.rewrite(lines, version, same_log=same_log)
            self.tree, self.outline = tree, Outline()
        finally:
            self._former = None
        if self.log.trouble is not None:
            raise self.log.trouble

    async def _move(self, cwd: str) -> None:
        """Move the log to the folder of another working directory, and write the directory into its header.

        pi, oh-my-pi and our lists read the header, and only we would read an entry that overrides it. So the header is
        rewritten, with its other fields and every other line unchanged, and the original is stored beside the log. The
        log moves first: after a crash in between, the header decides, and the same request completes the move.
        """
        async with self._lock:
            if self.ended is not None:
                raise self.ended
            self._writable = False  # appends wait for the lock
            await self._make_writable()
            self._writable = False
            tree, header = self.tree, self.tree.header
            await self.log.move(cwd)
            if header is not None and header.cwd != cwd:
                former, moved = b"".join(self.log.scan()), Tree()
                lines = with_cwd(tree, former, cwd)
                await read_into(moved, [lines])
                await self._rewrite(lines, moved, former, tree.version, same_log=True)

    async def ingest(self) -> bool:
        """Read and announce the lines that another program has added. Returns whether there were any.

        Raises `LogReplaced` if the file was truncated or replaced.
        """
        async with self._lock:
            await self._until_idle()
            return await self._ingest()

    async def _ingest(self) -> bool:
        foreign = self.log.foreign_bytes()
        if not foreign:
            return False
        before = changes.facts(self.tree)
        size, position = self.log.size + foreign, self.tree.end
        while position < size:
            data = self.log.read(position, min(position + FOREIGN_SLICE, size))
            if not data:
                raise LogReplaced(self.log.ref)
            position += len(data)
            self.tree.read(data)
            await asyncio.sleep(0)
        self.tree.finish()
        self.log.accept(size)
        self._writable = self._writable and not self.tree.tail and not self.tree.tail_is_entry
        self._tell_of_others(before)
        return self.tree.committed > before.rows

    def _read_rest(self) -> None:
        for data in self.log.scan(self.tree.end):
            self.tree.read(data)
        self.tree.finish()
