"""What every store offers: `Store` finds and makes logs, `Log` holds the lines of one session.

A store keeps bytes. It does not parse lines, choose parents, know drafts from sessions by content or fix
damage on its own: the hub reads, decides and then calls the one method that does it. All methods are called
on the event loop's thread, except `Log.read`, `Log.scan` and `Store.scan`, which are safe on any.

Every method that touches the disk may raise `StorageFailed` (`StorageFull` when room is what is missing). The errors
are in `errors`; what a listing, the trash and terminals consist of is in `records`.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Literal, Protocol

from sessiond.store.blobs import BlobSource, BlobStore
from sessiond.store.errors import LogReplaced, StorageFailed
from sessiond.store.records import UNKNOWN, Breadcrumb, Changes, Hold, Stored, Trashed, TrashNote

Durability = Literal["synced", "written"]


class Watch(Protocol):
    """Somebody who watches logs, until he is closed."""

    def close(self) -> None:
        """Tell of nothing any more."""


class Census(Protocol):
    """What logs there are, looked at again and again. Used by one thread at a time, whichever."""

    def look(self, hints: Iterable[str] = ()) -> Changes:
        """What is other than at the last look; at the first, all there is.

        `hints` are the refs of logs, or folders of them, that somebody saw change.
        """


class Log(Protocol):
    """The lines of one session, open."""

    session_id: str
    draft: bool

    @property
    def ref(self) -> str:
        """What `Store.open_ref` would take to find this log again."""

    @property
    def log_id(self) -> str:
        """Which log this is, as 32 hexadecimal digits: the same as long as lines are only added.

        It outlives the process, `close`, `promote`, `move` and the trash. A log whose lines another program cut off,
        replaced or changed has another one when it is opened again; `rewrite` gives it another one at once.
        """

    @property
    def path(self) -> str | None:
        """Absolute path of the file, None in memory."""

    @property
    def size(self) -> int:
        """How many bytes are ours to read: present at open, accepted by `accept`, or written by `append`.

        Bytes that are written but not yet at their level are counted: a reader must stop at the last byte
        whose batch is done.
        """

    @property
    def read_only(self) -> str | None:
        """Why nothing can be appended (no right to write, closed …), or None."""

    @property
    def trouble(self) -> StorageFailed | LogReplaced | None:
        """What the last write met, until one has succeeded or `retry` has found the cause gone."""

    async def retry(self) -> None:
        """Look whether the log can be written again after all, and fix what a failed sync left behind.

        Nothing is appended. What is still wrong stays in `trouble` and `read_only`.
        """

    def read(self, start: int, end: int) -> bytes:
        """The bytes `[start, end)`, fewer where the log ends before; `end` may lie behind `size`.

        Not while the log is being closed.
        """

    def scan(self, start: int = 0) -> Iterator[bytes]:
        """The bytes from `start` to `size` as it is at the first slice; a slice has at most 64 KiB."""

    @property
    def is_touched(self) -> bool:
        """Whether anybody but us has written to the log while it was open, as far as that shows.

        What lies before `size` may then be other than it was, so whoever reads has to make sure of it.
        """

    def distrust(self) -> LogReplaced:
        """What was read is not what was there: from now on the log counts as replaced. Answers what to raise."""

    def foreign_bytes(self) -> int:
        """How many bytes another program has added behind `size`.

        Raises `LogReplaced` on a shorter or other file.
        """

    def accept(self, size: int) -> None:
        """Take bytes that another program added: `size` grows to `size`, after the hub has read them.

        Batches that are queued but not yet written move behind these bytes and report drift. Raises
        `ValueError` when there are no such bytes.
        """

    def append(self, data: bytes, durability: Durability) -> asyncio.Future[bool]:
        """Queue whole lines (each ends in a newline) as one batch; batches stay in the order of the calls.

        Never awaits and never reorders; `ValueError` when `data` does not end in a newline. The future is
        done, on a later tick of the loop, when the batch has reached its level *and* all batches before it
        have. Its result is True when the batch is not where the caller had to expect it, since another
        program's bytes (or a newline that the line before it lacked) got in between (drift): then `size`
        covers them and the caller must read again from its last committed byte.

        Every line is on a line of its own when its future is done. If another program has written half a line at the
        end, the append waits for the rest, up to a second, and then starts a new line. If half a line gets between our
        look and our write, our lines are overwritten with blanks and appended again.

        A batch that fails is cut away again and fails every batch queued behind it with the same error,
        those included that were queued before the failure was told (they may have it as a parent); the log
        stays usable for later appends. Where another program's bytes lie behind a failed batch it cannot be
        cut away: it is then found as foreign bytes. A log that is read-only fails with `LogReadOnly`.
        Cancelling the future does not take the batch back.
        """

    async def flush(self) -> bool:
        """Wait until everything queued is written and synced; False when there was nothing to sync."""

    async def complete_tail(self) -> None:
        """Give a last line that lacks its newline one, synced."""

    async def quarantine_tail(self, start: int, seq: int) -> str:
        """Copy the bytes from `start` beside the log (`<name>.torn-<seq>`), then cut them away.

        Returns where they are. Nothing that was kept before is overwritten: a second one of the same name
        gets a number. Raises `ValueError` when `start` is not inside the log.
        """

    async def rewrite(self, lines: bytes, version: int, *, same_log: bool = False) -> None:
        """Replace the whole log atomically, the original kept beside it as `<name>.v<version>.bak`.

        `same_log` says that readers need not read again what they have read: only the header is another.

        An original that was kept before is never overwritten: the second gets a number. Where the new lines
        are in place but may not survive a power cut, `trouble` is `SyncFailed` afterwards (or `StorageFull`), and
        the next append fixes it.
        """

    async def overwrite(self, offset: int, former: bytes, new: bytes) -> None:
        """Overwrite bytes in place, synced: `former`, which stands at `offset`, with as many other bytes.

        Raises `LogReplaced` when something else stands there.
        """

    async def promote(self) -> None:
        """Make a draft a session: it moves to the sessions folder. Does nothing when it is one already.

        Raises `LogExists` when something else is already there.
        """

    async def move(self, cwd: str) -> None:
        """Move the log, and what it left beside it, to the folder of another working directory, a draft as a draft.

        Only for a log that its store keeps. Does nothing where it is there already; raises `LogExists` when
        something else is.
        """

    async def close(self) -> None:
        """Write and sync what is queued and let go of the log, also when that fails. Twice is once."""


class Store(Protocol):
    """All logs of one kind of place, and the blobs that they name."""

    @property
    def blobs(self) -> BlobStore:
        """The blobs of all logs that this store keeps."""

    def keeps(self, ref: str) -> bool:
        """Whether a log lies where this store keeps its own: only such a log may name new blobs."""

    def holds(self, ref: str) -> bool:
        """Whether a file of this path lies among what this store keeps, its records included: nobody exports there.

        The folder that is meant for exports is none of that.
        """

    def blobs_beside(self, ref: str) -> BlobSource | None:
        """Another program's blobs that a log may name, only to be read; None when it has none."""

    async def create(self, session_id: str, *, cwd: str, timestamp: str, lines: bytes, draft: bool) -> Log:
        """Make a log that holds `lines` (the header first), durable when this returns.

        Raises `LogExists` when any log, draft or not, has this id.
        """

    async def open(self, session_id: str) -> Log:
        """Open the log whose name carries this id, drafts included. Raises `LogNotFound`."""

    async def open_ref(self, ref: str) -> Log:
        """Open the log at a place: an absolute path for files, anywhere. Raises `LogNotFound`."""

    async def list(self) -> list[Stored]:
        """Every log there is, drafts included, in no order."""

    async def remains(self) -> Sequence[str]:
        """What logs have left behind, for `scan`: torn tails, originals before a rewrite, trashed logs."""

    def census(self) -> Census:
        """A census of all logs that `list` lists."""

    def watch(self, changed: Callable[[set[str]], None]) -> Watch:
        """Have `changed` called with the refs of logs that anybody writes, moves or removes, soon after.

        It is called on another thread. Some changes may not be told, and some of ours are.
        """

    def lists(self, ref: str) -> bool:
        """Whether `list` would list a log of this ref, were there one."""

    def scan(self, ref: str, start: int = 0) -> Iterator[bytes]:
        """The bytes of a log, open or not, or of what one left behind, in slices of at most 64 KiB.

        Raises `LogNotFound` at the first slice.
        """

    async def trash(self, log: Log, reason: str, about: TrashNote = UNKNOWN) -> str:
        """Move a log to the trash with a note of why; returns where it is, for `scan`. The log is closed."""

    async def trashed(self) -> Sequence[Trashed]:
        """Every log in the trash, those that went there last first."""

    async def restore(self, ref: str) -> str:
        """Put a log of the trash back to where it was, byte for byte; returns its ref there.

        Nothing is overwritten: raises `LogExists` when anything is there, or a log of its id elsewhere. Raises
        `LogNotFound` when the trash has no such log, `StorageFailed` when its note is lost.
        """

    async def purge(self, ref: str) -> None:
        """Take a log out of the trash and out of the world, with its note and its remains: there is no way back.

        Raises `LogNotFound`. After a crash it is in the trash still, or gone.
        """

    async def free_bytes(self) -> int | None:
        """How much may still be written where new sessions go; None when nobody knows."""

    async def read_breadcrumbs(self, terminal_id: str) -> Sequence[Breadcrumb]:
        """Return what this terminal had, one a folder, the last one written first."""

    async def write_breadcrumb(self, terminal_id: str, crumb: Breadcrumb) -> None:
        """Remember what this terminal has now in a folder, replacing what it had there."""

    async def remove_breadcrumbs(self, terminal_id: str) -> None:
        """Forget what this terminal had, as when the terminal has ended and its id never comes again."""

    async def remove_old_breadcrumbs(self, max_age: float, living: Collection[str]) -> int:
        """Forget terminals whose breadcrumbs are older than `max_age` seconds; return how many.

        Those whose ids are in `living` stay.
        """

    async def read_holds(self) -> Sequence[Hold]:
        """Return all holds on disk. A damaged one is left out, kept where it is, and reported to the log."""

    async def write_hold(self, hold: Hold) -> None:
        """Store a hold, replacing the terminal's previous one. Raises `StorageFailed`."""

    async def remove_hold(self, terminal_id: str) -> None:
        """Remove the hold of a terminal, if there is one. Raises `StorageFailed`."""

    async def close(self) -> None:
        """Let go of threads, once every log is closed."""
