"""One open session: its id, its holders and subscribers, and the notifications that they receive.

`appending` writes lines to its log.
"""

import asyncio
import itertools
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from sessiond.hub import clock
from sessiond.hub.session import changes
from sessiond.hub.session.appending import AppendedSession
from sessiond.hub.session.batches import Batch
from sessiond.hub.session.blobs import NO_BLOBS, SessionBlobs
from sessiond.hub.session.observers import NOBODY, GrowthObserver, SessionObserver
from sessiond.hub.session.subscribers import LARGE, REPLAY_SLICE, Subscribers
from sessiond.hub.session.write_block import refusal_of
from sessiond.protocol import methods as m, types as t
from sessiond.session.tree.header_title import title_change
from sessiond.session.tree.tree import BAD, HEADER, Tree
from sessiond.store.base import Log
from sessiond.store.errors import LogReplaced, StorageFailed

log = logging.getLogger(__name__)

HEAD_BYTES: Final = 64 * 1024
"""The bytes at the start of a log that are searched for the header, to write the title into it."""
RETRY_SECONDS: Final = 5.0
"""The interval between checks whether a write-blocked session can be written again (decision 0005)."""
_BY_ITSELF: Final = t.Origin(kind="daemon")
_FOREIGN: Final = t.Origin(kind="foreign")


class LiveSession(AppendedSession):
    """An open session. All methods that are not `async` run synchronously on the event loop's thread."""

    def __init__(
        self,
        log: Log,
        *,
        ephemeral: bool,
        blobs: SessionBlobs = NO_BLOBS,
        listener: "SessionObserver[LiveSession]" = NOBODY,
        follower: "GrowthObserver[LiveSession]" = NOBODY,
        diverges: "Callable[[LiveSession], None] | None" = None,
    ) -> None:
        """`diverges` is called once, before other readers of the file may see a different session."""
        super().__init__(log, blobs)
        self._diverges = diverges
        self.ephemeral = ephemeral
        self.session_id = log.session_id
        self.holders: set[str] = set()
        self.awaits_holder = False
        """Whether it was created for a client that does not hold it yet. It is not closed until then."""
        self.known_info: tuple[object, t.SessionInfo] | None = None
        self.loaded_tree: Tree | None = None
        self.loaded_rows = 0
        """The tree and its committed rows as loaded. The tree is None if other readers see the file differently."""
        self.subscribers = Subscribers(
            self.session_id,
            self._rows,
            self.page_rows,
            self.read_rows,
            lambda: self.tree.leaf_id,
            lambda: self.log.log_id,
        )
        self.used_at = time.monotonic()
        self.changing = asyncio.Lock()  # held while tags or settings are read and changed
        self.listener, self.follower = listener, follower
        self.engaged = 0  # jobs under way that will append here
        self._retried_at = time.monotonic()
        self._titling: asyncio.Task[None] | None = None  # writes the title where oh-my-pi reads it

    async def load(self) -> None:
        """Read the whole log in slices."""
        await super().load()
        if self.tree.header is not None:
            self.name(self.tree.header.id)
        self.write_block = self._refusal()
        if self.write_block is None and not self.tree.problems:
            self.loaded_tree, self.loaded_rows = self.tree, self.tree.committed
        else:
            self._diverge()

    def _diverge(self) -> None:
        """Report once that the session may differ from its file: see `is_as_in_file`."""
        diverges, self._diverges = self._diverges, None
        if diverges is not None:
            diverges(self)

    @property
    def is_as_in_file(self) -> bool:
        """Whether other readers of the file see the same session: nothing was written since it was loaded."""
        tree = self.tree
        return (
            tree is self.loaded_tree
            and tree.committed == self.loaded_rows
            and not self.unwritten_bytes
            and self.write_block is None
        )

    def facts_key(self) -> object:
        """Return a key that changes whenever the session's description changes. Pending lines do not affect it."""
        tree, log = self.tree, self.log
        return (
            tree, tree.committed, tree.leaf, tree.end, tree.tail,
            log.draft, log.ref, log.log_id, log.trouble, self.write_block,
        )  # fmt: skip

    def name(self, session_id: str) -> None:
        """Set the session id: the header's, or one that is generated for a file without a header."""
        self.session_id = self.subscribers.session_id = session_id

    def _rows(self) -> int:
        return self.tree.committed

    @property
    def wanted(self) -> bool:
        """True while a client holds or subscribes to the session, or work on it is under way.

        Always true for ephemeral sessions.
        """
        is_held = bool(self.holders or len(self.subscribers) or self.awaits_holder)
        return is_held or self.pending or bool(self.engaged or self.works) or self.ephemeral

    @property
    def is_draft(self) -> bool:
        """Whether it is a draft session. A log in the folder of drafts may have an answer by another program."""
        return self.log.draft and not self.tree.has_assistant()

    def _refusal(self) -> t.WriteBlock | None:
        return refusal_of(self.tree, self.read_only, self.log.trouble, time.time_ns())

    def note_refusal(self) -> None:
        """Check whether the session accepts writes, and announce a change once."""
        before, now = self.write_block, self._refusal()
        if (before and before.reason) == (now and now.reason):
            return
        self.write_block = now
        self._diverge()
        if now is not None:
            log.warning("session %s takes no writes: %s", self.session_id, now.message)
        else:
            log.info("session %s takes writes again", self.session_id)
        self.listener.changed(self, ["writeBlock"], _BY_ITSELF)

    def _entries(self, rows: Sequence[int], lines: Sequence[bytes]) -> list[bytes]:
        try:
            return super()._entries(rows, lines)
        except LogReplaced:
            self.note_refusal()
            raise

    def _bytes(self, start: int, end: int) -> bytes:
        try:
            return super()._bytes(start, end)
        except LogReplaced:
            self.note_refusal()
            raise

    async def retry(self) -> None:
        """Check whether a write-blocked session can be written again, at most every `RETRY_SECONDS`."""
        if not self.pending and time.monotonic() - self._retried_at > RETRY_SECONDS:
            self._retried_at = time.monotonic()
            async with self._lock:
                await self.log.retry()
        self.note_refusal()

    # --- notifications ---------------------------------------------------------------------------------

    def _begin_to_append(self) -> None:
        self.used_at = time.monotonic()
        self._diverge()

    def _tell_of_ours(self, batch: Batch, first: int, before: changes.SessionBefore | None) -> None:
        rows = batch.prepared.rows
        if batch.size > LARGE:
            self.subscribers.catch_up()
        elif len(self.subscribers):
            lines = [row.line[:-1] for row in rows]
            self.subscribers.appended(lines, range(first, first + len(rows)), batch.origin)
        if before is not None:
            self._tell_of_meaning(before, batch.origin)
        self.follower.grew(self, first)

    def _tell_of_read(self, before: changes.SessionBefore, ours: Mapping[str, t.Origin]) -> None:
        try:
            self._tell_of_lines(before, ours)
        except (StorageFailed, LogReplaced) as error:
            log.warning("session %s cannot be told of: %s", self.session_id, error)
            self.subscribers.cut_off()

    def _tell_of_others(self, before: changes.SessionBefore) -> None:
        self._diverge()
        self._tell_of_lines(before, {})

    def _tell_of_lines(self, before: changes.SessionBefore, ours: Mapping[str, t.Origin]) -> None:
        """Announce the lines read from the log since `before`, each run of one origin as one notification.

        Args:
            before: The facts of the session before the lines.
            ours: The origins of the entries that clients sent, by entry id. All others are another program's.
        """
        tree, subscribers = self.tree, self.subscribers
        rows = [row for row in range(before.rows, tree.committed) if tree.kind(row) not in (BAD, HEADER)]
        if not rows:
            return
        if len(subscribers) and tree.end - tree.span(rows[0])[0] > REPLAY_SLICE:
            subscribers.catch_up()
        elif len(subscribers):
            for origin, run in itertools.groupby(rows, lambda row: ours.get(tree.id(row) or "", _FOREIGN)):
                some = list(run)
                subscribers.appended(self.read_rows(some), some, origin)
        self._tell_of_meaning(before, ours.get(tree.id(rows[-1]) or "", _FOREIGN))
        self.follower.grew(self, before.rows)

    def _tell_of_meaning(self, before: changes.SessionBefore, origin: t.Origin) -> None:
        """Notify subscribers if the leaf moved, and the observer if fields that lists show changed."""
        tree = self.tree
        if changes.leaf_moved(before, tree) and len(self.subscribers):
            note = t.LeafMovedNote(
                session_id=self.session_id, leaf_id=tree.leaf_id, previous_leaf_id=before.leaf_id,
                log_id=self.log.log_id, seq=tree.seq, origin=origin,
            )  # fmt: skip
            self.subscribers.tell(m.LEAF_MOVED, note)
        if self.just_promoted:
            self.just_promoted = False
            self.listener.created(self, origin)
        changed = changes.aspects(before, tree)
        if "title" in changed:
            self.title_changed()
        if changed:
            self.listener.changed(self, changed, origin)

    async def move(self, cwd: str, origin: t.Origin) -> None:
        """Move the session to another working directory."""
        self._diverge()
        await self._move(cwd)
        self.listener.changed(self, ["path", "cwd"], origin)

    # --- the title -------------------------------------------------------------------------------------

    def title_changed(self) -> None:
        """Write the title to the header, where oh-my-pi reads it, in the background."""
        if self._titling is None:
            self._titling = asyncio.get_running_loop().create_task(self._write_title())

    async def _write_title(self) -> None:
        try:
            async with self._lock:
                await self._until_idle()
                self._titling = None  # a later title change starts another task
                if self.ended is None and self.read_only is None:
                    head = self.log.read(0, min(self.log.size, HEAD_BYTES))
                    change = title_change(head, self.tree.title, clock.timestamp())
                    if change is not None:
                        await self.log.overwrite(*change)
        except (LogReplaced, StorageFailed) as error:
            log.warning("session %s: the title is not in the header: %s", self.session_id, error)

    async def _until_titled(self) -> None:
        if self._titling is not None:
            await asyncio.wait([self._titling])

    # --- closing ---------------------------------------------------------------------------------------

    async def flush(self) -> bool:
        """Wait until every line is synced. Returns whether there was anything to do."""
        busy = self.pending
        await self._until_served()
        await self._until_idle()
        await self._until_titled()
        return await self.log.flush() or busy

    async def close(self) -> None:
        """Finish the work under way and close the log."""
        await self._until_served()
        await self._until_titled()
        async with self._lock:
            await self._until_idle()
            await self.log.close()

    async def _until_served(self) -> None:
        while self._serving is not None:
            await asyncio.wait([self._serving])
