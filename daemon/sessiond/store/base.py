"""What every store offers: `Store` finds and makes logs, `Log` holds the lines of one session.

A store keeps bytes. It does not parse lines, choose parents, know drafts from sessions by content or mend damage on
its own: the hub reads, decides and then calls the one method that does it. All methods are called on the event loop's
thread, except `Log.read`, `Log.scan` and `Store.scan`, which are safe on any.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

Durability = Literal["synced", "written"]


class StorageFailed(Exception):
    """The disk refused: {reason}. Nothing of this request was kept; it may be sent again."""

    def __init__(self, reason: str, *, path: str | None = None, errno: int | None = None) -> None:
        super().__init__(f"The disk refused: {reason}. Nothing of this request was kept; it may be sent again.")
        self.path = path
        self.errno = errno


class StorageFull(StorageFailed):
    """There is no room left where this session lives. Free some space and send the request again."""


class LogNotFound(Exception):
    """No file holds a session named {ref}."""

    def __init__(self, ref: str) -> None:
        super().__init__(f"No file holds a session named {ref}.")
        self.ref = ref


class LogExists(Exception):
    """There already is a session named {ref}. Choose another id, or open that one."""

    def __init__(self, ref: str) -> None:
        super().__init__(f"There already is a session named {ref}. Choose another id, or open that one.")
        self.ref = ref


class LogReplaced(Exception):
    """The file at {path} was cut short or replaced by another program. It is left as it is; open it again to read it."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"The file at {path} was cut short or replaced by another program. "
            "It is left as it is; open it again to read it."
        )
        self.path = path


class LogReadOnly(Exception):
    """This session cannot be written: {reason}."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"This session cannot be written: {reason}.")


@dataclass(frozen=True, slots=True)
class Stored:
    """One log as a listing finds it, without its content.

    `ref` is what `Store.open_ref` takes (a path for files, an id in memory); `session_id` is what the *name* says,
    the header decides. `stamp` changes whenever the content may have changed.
    """

    ref: str
    session_id: str
    draft: bool
    size: int
    modified_ns: int
    stamp: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Breadcrumb:
    """Which session a terminal last had, and in which folder (seed: oh-my-pi; the third line, the id, is ours)."""

    cwd: str
    ref: str
    session_id: str | None = None


class Log(Protocol):
    """The lines of one session, open."""

    session_id: str
    draft: bool

    @property
    def ref(self) -> str:
        """What `Store.open_ref` would take to find this log again."""

    @property
    def path(self) -> str | None:
        """Absolute path of the file, None in memory."""

    @property
    def size(self) -> int:
        """How many bytes are ours to read: those present at open, accepted by `accept`, or written by `append`."""

    @property
    def read_only(self) -> str | None:
        """Why nothing can be appended (no right to write …), or None."""

    def read(self, start: int, end: int) -> bytes:
        """The bytes `[start, end)`."""

    def scan(self, start: int = 0) -> Iterator[bytes]:
        """The bytes from `start` to the end of the log as it is now, in slices of at most 256 KiB."""

    def foreign_bytes(self) -> int:
        """How many bytes another program has added behind `size`. Raises `LogReplaced` on a shorter or other file."""

    def accept(self, size: int) -> None:
        """Take bytes that another program added: `size` grows to `size`, after the hub has read them."""

    def append(self, data: bytes, durability: Durability) -> asyncio.Future[bool]:
        """Queue whole lines (each ends in a newline) as one batch; batches are kept in the order of the calls.

        Never awaits and never reorders. The future is done when the batch has reached its level *and* all batches before it
        have; its result is True when another program's bytes got in between (drift): then `size` covers them
        and the caller must read again from its last committed byte. A batch that fails is cut away
        again and fails every batch queued behind it with the same error; the log stays usable for later appends.
        """

    async def flush(self) -> bool:
        """Wait until everything written is synced; False when there was nothing to sync."""

    async def complete_tail(self) -> None:
        """Give a last line that lacks its newline one, synced."""

    async def quarantine_tail(self, start: int, seq: int) -> str:
        """Copy the bytes from `start` beside the log (`<name>.torn-<seq>`), then cut them away. Returns where they are."""

    async def rewrite(self, lines: bytes, version: int) -> None:
        """Replace the whole log atomically, the original kept beside it as `<name>.v<version>.bak`."""

    async def promote(self) -> None:
        """Make a draft a session: it moves to the sessions folder. Does nothing when it is one already."""

    async def close(self) -> None:
        """Sync what is written and let go of the log."""


class Store(Protocol):
    """All logs of one kind of place."""

    async def create(self, session_id: str, *, cwd: str, timestamp: str, lines: bytes, draft: bool) -> Log:
        """Make a log that holds `lines` (the header first), durable when this returns. Raises `LogExists`."""

    async def open(self, session_id: str) -> Log:
        """Open the log whose name carries this id, drafts included. Raises `LogNotFound`."""

    async def open_ref(self, ref: str) -> Log:
        """Open the log at a place: a path for files. Raises `LogNotFound`."""

    async def list(self) -> list[Stored]:
        """Every log there is, drafts included, in no order."""

    def scan(self, ref: str, start: int = 0) -> Iterator[bytes]:
        """The bytes of a log that is not open, in slices of at most 256 KiB."""

    async def trash(self, log: Log, reason: str) -> str:
        """Move a log to the trash with a note of why; returns where it is. The log is closed."""

    async def read_breadcrumb(self, terminal_id: str) -> Breadcrumb | None:
        """What this terminal had last, or None."""

    async def write_breadcrumb(self, terminal_id: str, crumb: Breadcrumb) -> None:
        """Remember what this terminal has now, replacing what it had."""
