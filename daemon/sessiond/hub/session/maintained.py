"""A log that is looked after: what must be seen to before a line of ours, and what is taken in of other programs.

A torn tail is put aside, an old version migrated, another program's lines are read, a log moves with its folder; all
of it under one lock, first come first served. What is appended here, and who is told, is `LiveSession`'s.
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
SETTLE_SECONDS: Final = 0.3
"""How long a foreign program's half line must have stood still before it counts as torn."""


class TendedSession(LoadedSession, ABC):
    """A session whose log is looked after."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self.ended: HubError | None = None  # why nothing more is taken, when it is about to go
        self._lock = asyncio.Lock()
        self._writable = False  # tail, version and place have been seen to

    @abstractmethod
    async def _until_idle(self) -> None:
        """Wait until nothing of ours is on its way to the log."""

    @abstractmethod
    def _tell_of_others(self, before: changes.SessionBefore) -> None:
        """Tell of the lines of other programs that came since `before`."""

    @property
    def read_only(self) -> HubError | None:
        """Why nothing may be written here, or None."""
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
            # Not only the newline may be new: what another program wrote just before it is the log's, too.
            before = changes.facts(self.tree)
            self._read_rest()
            self._tell_of_others(before)
        if self.tree.version < entries.CURRENT_VERSION:
            await self._migrate()
        self._writable = True

    async def fix_tail(self) -> str | None:
        """Put a torn tail aside, as the next append would; where it lies now, None when there is none (any more)."""
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
                await self._ingest()  # the other program went on writing after all
            else:
                self.tree.drop_tail()
                return kept
        return None

    async def _let_the_tail_settle(self) -> None:
        """A half line may be another program's write under way: give it time before it counts as torn."""
        until = time.monotonic() + SETTLE_SECONDS
        while self.tree.tail and time.monotonic() < until:
            await asyncio.sleep(0.02)
            if self.log.foreign_bytes():
                await self._ingest()
                until = time.monotonic() + SETTLE_SECONDS

    async def _migrate(self) -> None:
        """Rewrite a v1 or v2 log as v3, the original kept; the rows and their seqs stay the same.

        Readers go on meanwhile: they find the old rows in the old bytes until the new tree is there.
        """
        version, tree = self.tree.version, Tree()
        former = b"".join(self.log.scan())
        lines = await migrated(self.tree, former)
        await read_into(tree, [lines])
        await self._rewrite(lines, tree, former, version)

    async def _rewrite(
        self, lines: bytes, tree: Tree, former: bytes, version: int, *, same_log: bool = False
    ) -> None:
        """Put lines in the place of all that the log holds; `tree` is made of them, the readers' of `former`."""
        self._former = former
        try:
            await self.log.rewrite(lines, version, same_log=same_log)
            self.tree, self.outline = tree, Outline()
        finally:
            self._former = None
        if self.log.trouble is not None:
            raise self.log.trouble

    async def _move(self, cwd: str) -> None:
        """Have the log lie where those of another working directory lie, and its header say so.

        pi and oh-my-pi go by the header, and so do our lists; a line that overruled it would be ours alone. So the
        header is rewritten, its other fields and every other line as they are, and the original kept beside it.
        The log moves first: after a crash in between the header decides, and the same request does the rest.
        """
        async with self._lock:
            if self.ended is not None:
                raise self.ended
            self._writable = False  # whoever appends waits for us
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
        """Take in what another program has added, and announce it; whether there was anything.

        Raises `LogReplaced` when the file was cut short or replaced.
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
