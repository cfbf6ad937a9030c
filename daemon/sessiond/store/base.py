"""The interface of every store: `Store` finds and creates logs, `Log` holds the lines of one session.

A store handles bytes. It does not parse lines, choose parents or distinguish drafts from sessions by content. It
repairs damage only on request: the hub reads a log, decides, and calls the method for the repair. All methods are
called on the event loop's thread, except `Log.read`, `Log.scan` and `Store.scan`, which are safe on any thread.

Every method that accesses the disk may raise `StorageFailed` (`StorageFull` if space is missing). `errors` has the
errors; `records` has the records of listings, the trash and terminals.

Several daemons may use one store, if it is not `Store.local`. Each of them then opens the same logs, and the lines of
the others arrive as those of another program do: in `Log.foreign_bytes`, reported by `Store.watch`. A method that
reaches a server may raise `StoreUnreachable`, and one that changes something may raise `OutcomeUnknown`.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol

from sessiond.store.blobs import BlobSource, BlobStore
from sessiond.store.errors import LogReplaced, StorageFailed
from sessiond.store.records import (
    UNKNOWN,
    AddedLog,
    Breadcrumb,
    Changes,
    Hold,
    Packed,
    Stored,
    Trashed,
    TrashNote,
    TrashPlace,
)

Durability = Literal["synced", "written"]


class Watch(Protocol):
    """A watch on logs, until it is closed."""

    def close(self) -> None:
        """Stop all notifications."""


class Census(Protocol):
    """The set of existing logs, polled for changes. Used by one thread at a time."""

    def poll(self, hints: Iterable[str] = ()) -> Changes:
        """Return the changes since the last call; at the first call, all logs.

        Args:
            hints: Refs of logs, or folders of logs, that are reported as changed.
        """


class Log(Protocol):
    """The lines of one open session."""

    session_id: str
    draft: bool
    closed_error: Exception | None
    """The error of a read after `close` that cannot be served; None for a `StorageFailed`."""

    @property
    def ref(self) -> str:
        """The ref that `Store.open_ref` takes to find this log again."""

    @property
    def log_id(self) -> str:
        """The id of this log, 32 hexadecimal digits. It is unchanged as long as lines are only added.

        The id survives a restart, `close`, `promote`, `move` and the trash. If another program cut off, replaced or
        changed lines, the log has another id when it is opened again. `rewrite` changes the id immediately.
        """

    @property
    def unchanged_size(self) -> int:
        """The number of first bytes that were unchanged at open since the log got its `log_id`; 0 for a new id."""

    @property
    def path(self) -> str | None:
        """The absolute path of the file; None in memory."""

    @property
    def size(self) -> int:
        """The readable bytes: present at open, accepted by `accept`, or written by `append`.

        Bytes that are written and have not yet reached their durability are included. A reader must stop at the last
        byte whose batch is done.
        """

    @property
    def read_only(self) -> str | None:
        """The reason why nothing can be appended (permission denied, closed …), or None."""

    @property
    def write_error(self) -> StorageFailed | LogReplaced | None:
        """The error of the last write, until a write succeeds or `retry` finds the cause gone.

        `LogMoved` is no such error. `StoreUnreachable` is, for as long as the server cannot be reached.
        """

    @property
    def stale(self) -> str | None:
        """The reason why the lines may be older than those in the store (its server cannot be reached …), or None.

        The readable bytes are then the last known ones. They stay readable.
        """

    async def retry(self) -> None:
        """Check whether the log can be written again, and recover from a failed sync or a lost connection.

        Nothing is appended. A remaining error stays in `write_error` and `read_only`. If none remains, every line that
        the store has is before `size` or in `foreign_bytes`: also those of an append whose outcome was unknown.
        """

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes `[start, end)`, or fewer if the log ends before. `end` may exceed `size`.

        Must not be called while the log is being closed.
        """

    def scan(self, start: int = 0) -> Iterator[bytes]:
        """Yield the bytes from `start` to `size` in slices of at most 64 KiB. `size` is read at the first slice."""

    async def read_open_index(self) -> memoryview | None:
        """Return the bytes that `write_open_index` stored for this `log_id`; None if there are none.

        They are unchanged, and stay readable if another index is stored.
        """

    async def write_open_index(self, parts: Sequence[bytes]) -> None:
        """Store bytes that are derived from the log, in place of the former ones. A refusal is only logged.

        They are deleted when the log is trashed, and may be deleted at any time. Does nothing for a closed log, and for
        one that another program has written to.
        """

    @property
    def is_touched(self) -> bool:
        """Whether another program is known to have written to the log while it was open.

        Bytes before `size` may then have changed, so a reader must verify them.
        """

    def distrust(self) -> LogReplaced:
        """Mark the log as replaced, because bytes that were read have changed. Return the error to raise."""

    def foreign_bytes(self) -> int:
        """Return the number of bytes that another program or another daemon has added after `size`.

        On a store of several daemons these are the lines that have arrived here; whole lines, readable with `read`.

        Raises:
            LogReplaced: The file is shorter, or another file. `LogGone` if it was moved to the trash elsewhere.
        """

    def accept(self, size: int) -> None:
        """Accept bytes that another program added, after the hub has read them: `size` becomes the given size.

        Batches that are queued and not yet written are placed after these bytes and report drift.

        Raises:
            ValueError: There are no such bytes.
        """

    def append(
        self, data: bytes, durability: Durability, ids: Sequence[str | None] = ()
    ) -> asyncio.Future[bool]:
        """Queue whole lines as one batch. Batches are written in the order of the calls.

        The call never blocks and never reorders. Each line is on a line of its own when the future is done. If another
        program has written half a line at the end, the append waits up to one second for the rest, and then starts a
        new line. If half a line is written between the check and the write, the lines of the batch are overwritten
        with blanks and appended again.

        If a batch fails, its bytes are removed, and every batch queued after it fails with the same error. This
        includes batches that were queued before the failure was reported, because they may have it as a parent. Later
        appends are possible. If another program has written after a failed batch, the batch cannot be removed and is
        then found as foreign bytes. Canceling the future does not withdraw the batch.

        On a store of several daemons, a batch fails with `LogMoved` if another daemon's lines came first, or if one of
        its ids is in the log. With `OutcomeUnknown`, the batch and those queued after it may be stored, from the first
        on: `retry` shows which. The same lines may then be appended again, because no id is stored twice in a log.

        Args:
            data: Lines, each with its newline.
            durability: The level at which the batch is done.
            ids: The entry id of each line, None for a line that has none. If empty, a store that needs them takes them
                from the lines.

        Returns:
            A future that is done, on a later tick of the loop, when this batch and all batches before it have reached
            their levels. It is True on drift: the batch is not at the expected offset, because bytes of another
            program (or a missing newline of the line before) came first. Then `size` includes these bytes and the
            caller must read again from its last committed byte. It raises `LogReadOnly` if the log is read-only,
            `LogMoved`, `StoreUnreachable` and `OutcomeUnknown` as above.

        Raises:
            ValueError: `data` does not end with a newline.
        """

    def extend(self, batch: asyncio.Future[bool], data: bytes, ids: Sequence[str | None] = ()) -> bool:
        """Add whole lines to the batch that was queued last, unless a write has taken it already.

        The lines are then part of the batch: they reach its durability with it, or fail with it.

        Args:
            batch: The future of the batch, as `append` returned it.
            data: Lines, each with its newline.
            ids: The entry ids of the lines, as for `append`.

        Returns:
            Whether the lines were added. If not, the caller queues them with `append`.
        """

    def locked(self) -> AbstractAsyncContextManager[None]:
        """Prevent other daemons from adding lines during the block.

        When the block begins, no batch is queued and every line of the store is before `size` or in `foreign_bytes`.
        Batches that are appended in the block are written together at its end, before it returns. They do not fail with
        `LogMoved`, unless the lock was lost. `promote` may be called in the block. The end of the block raises nothing:
        the futures of the batches have the errors. The store bounds how long a daemon waits for the lock, and how long
        it keeps it. Does nothing in a store that one daemon has for itself.

        Raises:
            StorageFailed: At the beginning: another daemon keeps the lock, or the store cannot be reached.
        """

    async def flush(self) -> bool:
        """Wait until everything queued is written and synced. Return False if there was nothing to sync."""

    async def complete_tail(self) -> None:
        """Add a newline to a last line that lacks one, synced."""

    async def quarantine_tail(self, start: int, seq: int) -> str:
        """Copy the bytes from `start` beside the log (`<name>.torn-<seq>`), then cut them away.

        An existing copy is not overwritten: a second one of the same name gets a number.

        Returns:
            The ref of the copy.

        Raises:
            ValueError: `start` is not inside the log.
        """

    async def rewrite(self, lines: bytes, version: int, *, same_log: bool = False) -> None:
        """Replace the whole log atomically. The original stays beside it as `<name>.v<version>.bak`.

        An existing original is not overwritten: the second one gets a number. If the new lines may not survive a power
        failure, `write_error` is `SyncFailed` (or `StorageFull`) afterwards, and the next append recovers from it.

        Args:
            lines: The new content.
            version: The version of the original.
            same_log: Whether only the header changes, so that readers need not read again.
        """

    async def overwrite(self, offset: int, former: bytes, new: bytes) -> None:
        """Overwrite `former` at `offset` with `new`, which has the same length, synced.

        Raises:
            LogReplaced: `former` is not at `offset`.
        """

    async def promote(self) -> None:
        """Move a draft to the sessions folder. Does nothing for a session.

        Raises:
            LogExists: The target exists.
        """

    async def move(self, cwd: str) -> None:
        """Move the log and its remains to the folder of another working directory. A draft stays a draft.

        Only for a log in a folder of the store (`Store.keeps`). Does nothing if the log is in that folder.

        Raises:
            LogExists: The target exists.
        """

    async def unpack(self) -> None:
        """Restore the plain file of a packed log (`Store.pack`), as every change does. Does nothing for others."""

    async def close(self) -> None:
        """Write and sync the queued batches, then release the log even if that fails. A second call does nothing."""


class Store(Protocol):
    """All logs of one storage location, and the blobs that they reference."""

    @property
    def local(self) -> bool:
        """Whether the logs are on this machine and this daemon has them for itself.

        If not, other daemons on other machines use them at the same time. No log has a file then, so checks of files do
        not apply, `Log.path` is None, and new entry ids must not repeat across machines. Breadcrumbs and terminals'
        holds are always those of this machine.
        """

    @property
    def blobs(self) -> BlobStore:
        """The blobs of all logs in the folders of this store."""

    def keeps(self, ref: str) -> bool:
        """Return whether a log is in a folder that this store owns. Only such a log may reference new blobs."""

    def holds(self, ref: str) -> bool:
        """Return whether a path is inside the data of this store, its records included. Exports must not go there.

        The folder for exports does not count.
        """

    def blobs_beside(self, ref: str) -> BlobSource | None:
        """Return another program's blobs that a log may reference, read-only, or None."""

    async def create(self, session_id: str, *, cwd: str, timestamp: str, lines: bytes, draft: bool) -> Log:
        """Create a log that contains `lines` (the header first), durable on return.

        Args:
            session_id: The id of the session.
            cwd: The working directory, which determines the folder.
            timestamp: The creation time (ISO 8601), part of the file's name.
            lines: The content.
            draft: Whether the log is a draft.

        Raises:
            LogExists: A log or draft with this id exists.
        """

    async def add(
        self,
        session_id: str,
        *,
        cwd: str,
        timestamp: str,
        lines: bytes,
        draft: bool,
        modified_ns: int | None = None,
    ) -> AddedLog:
        """Create a log as `create` does, without opening it. It is created even if the caller is canceled.

        `modified_ns` is the time of its last change, in nanoseconds since 1970; None for now.
        """

    async def add_file(
        self, session_id: str, *, cwd: str, timestamp: str, path: str, draft: bool
    ) -> AddedLog:
        """Create a log as `add` does, with the content of a file. The file is taken away if the store can use it.

        `path` is a file in the folder for files of `blobs`.
        """

    async def open(self, session_id: str) -> Log:
        """Open the log with this id in its name, drafts included. Raises `LogNotFound`."""

    async def open_ref(self, ref: str) -> Log:
        """Open the log of a ref: for files any absolute path. Raises `LogNotFound`."""

    async def list(self) -> list[Stored]:
        """Return every log, drafts included, in no particular order."""

    async def remains(self) -> Sequence[str]:
        """Return the refs of the remains of logs: torn tails, originals before a rewrite, trashed logs."""

    def census(self) -> Census:
        """Return a census of all logs that `list` lists."""

    def watch(self, changed: Callable[[set[str]], None]) -> Watch:
        """Call `changed` with the refs of logs that are written, moved or removed, with a short delay.

        It is called on another thread. Some changes may be missing, and changes by this daemon may be included.
        """

    def lists(self, ref: str) -> bool:
        """Return whether `list` would list a log of this ref."""

    def read_ends(self, ref: str, first: int, last: int) -> tuple[bytes, bytes]:
        """Return the first and the last bytes of a log that has at least `first` + `last` bytes.

        Safe on any thread. Raises `LogNotFound`, `StorageFailed`.
        """

    def scan(self, ref: str, start: int = 0) -> Iterator[bytes]:
        """Yield the bytes of a log, open or not, or of its remains, in slices of at most 64 KiB.

        Raises:
            LogNotFound: At the first slice.
        """

    async def count_other_daemons(self) -> int:
        """Return the number of other daemons that use this store now."""

    async def hold(self, ref: str) -> None:
        """Tell the other daemons of this store that clients of this daemon hold a session, until `release`.

        It ends by itself soon after this daemon has ended or has lost the store, and is made again when the store is
        reached again. A second call does nothing. Raises nothing.
        """

    async def release(self, ref: str) -> bool:
        """End the hold of this daemon on a session, if it has one. Return whether another daemon holds the session.

        If the last two daemons release a session at the same time, exactly one of them receives False. The result is
        True if the store cannot be reached.
        """

    async def held_elsewhere(self, refs: Collection[str]) -> set[str]:
        """Return which of these sessions other daemons of this store hold."""

    async def claim(self, ref: str, work: str) -> bool:
        """Reserve work on a session for this daemon, until `end_claim` or as long as a hold lasts.

        Args:
            ref: The ref of the session.
            work: The name of the work, such as `compaction`.

        Returns:
            Whether it is reserved now. False if another daemon has reserved it.
        """

    async def end_claim(self, ref: str, work: str) -> None:
        """End a reservation. Does nothing if this daemon has none. Raises nothing.

        One that cannot be ended, because the store cannot be reached, ends as a hold does.
        """

    def measured(self, stored: Stored) -> Stored:
        """Return the record of a log with the size of its lines, which of a packed log is not that of its file.

        Safe on any thread. Raises `LogNotFound`, `StorageFailed`.
        """

    def may_pack(self, ref: str) -> bool:
        """Return whether `pack` may pack the log at a ref: its file is plain and in a folder of this store."""

    async def pack(self, ref: str, *, unused_since_ns: int | None = None) -> Packed | None:
        """Store the lines of a log that is not open compressed, as long as nothing is appended to it.

        The log keeps its id, and everything that reads it works as before. The next append restores it first.

        Args:
            ref: The ref of the log.
            unused_since_ns: Only if the log is not known to have been open since this time, in nanoseconds since 1970.

        Returns:
            The packed log, which has another ref; None if it stays as it is: it is open, was used meanwhile, is packed
            already, would not get smaller, or this store packs no logs.

        Raises:
            StorageFailed: The disk refuses. The log is as before.
        """

    async def trash(self, log: Log, reason: str, about: TrashNote = UNKNOWN) -> TrashPlace:
        """Move a log to the trash with a note of the reason, and close it. Return its place there."""

    async def add_trashed(self, trashed: Trashed, *, cwd: str, timestamp: str, lines: bytes) -> None:
        """Store a log of another store's trash in the trash of this store. Does nothing if it has the deletion.

        Args:
            trashed: The log. Its places in the other store are not used.
            cwd: The working directory, and so the folder to which `restore` moves it.
            timestamp: The creation time of the log, as for `create`.
            lines: The content.
        """

    async def trashed(self) -> Sequence[Trashed]:
        """Return every log in the trash, the most recently trashed first."""

    async def restore(self, ref: str) -> str:
        """Move a log in the trash back to its origin, byte for byte. Return its ref there.

        Raises:
            LogExists: The origin exists, or a log with this id exists elsewhere.
            LogNotFound: The trash has no such log.
            StorageFailed: The note with the origin is missing.
        """

    async def purge(self, ref: str) -> None:
        """Delete a log in the trash permanently, with its note and its remains.

        After a crash the log is either still in the trash or deleted.

        Raises:
            LogNotFound: The trash has no such log.
        """

    async def durability(self) -> str:
        """Return in words where lines are stored and what an acknowledged append survives. Raises `StorageFailed`."""

    async def free_bytes(self) -> int | None:
        """Return the free bytes where new sessions are stored; None if unknown."""

    async def read_breadcrumbs(self, terminal_id: str) -> Sequence[Breadcrumb]:
        """Return the sessions that this terminal used last, one for each folder, the most recent first."""

    async def write_breadcrumb(self, terminal_id: str, crumb: Breadcrumb) -> None:
        """Store the session that this terminal uses in a folder, replacing the previous one of that folder."""

    async def remove_breadcrumbs(self, terminal_id: str) -> None:
        """Remove the breadcrumbs of a terminal, for a terminal that has ended and whose id is not used again."""

    async def remove_old_breadcrumbs(self, max_age: float, living: Collection[str]) -> int:
        """Remove breadcrumbs older than `max_age` seconds, except those of terminals in `living`.

        Returns:
            The number of removed terminals.
        """

    async def read_holds(self) -> Sequence[Hold]:
        """Return all holds on disk. A damaged hold is skipped, stays on disk, and is reported to the log."""

    async def write_hold(self, hold: Hold) -> None:
        """Store a hold, replacing the terminal's previous one. Raises `StorageFailed`."""

    async def remove_hold(self, terminal_id: str) -> None:
        """Remove the hold of a terminal, if there is one. Raises `StorageFailed`."""

    async def close(self) -> None:
        """Release the threads. Every log must be closed before."""
