"""The records of every store: logs in a listing and in the trash, breadcrumbs, holds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple


class Stored(NamedTuple):
    """One log in a listing, without its content.

    `ref` is the argument of `Store.open_ref` (a path for files, an id in memory). `session_id` is the id in the name;
    the id in the header is authoritative. `size` is that of the file; `Store.measured` has that of a packed log.
    `stamp` changes whenever the content may have changed. `identity` is
    unchanged by a rename.
    """

    ref: str
    session_id: str
    draft: bool
    size: int
    modified_ns: int
    stamp: tuple[int, ...]
    identity: tuple[int, ...]


class AddedLog(NamedTuple):
    """A log that was created and not opened: its ref, the path of its file (None in memory), and its stamp."""

    ref: str
    path: str | None
    stamp: tuple[int, ...]


class Packed(NamedTuple):
    """A log that was packed: its ref, the size of the log, and the size of its file, in bytes."""

    ref: str
    size: int
    packed_size: int


@dataclass(frozen=True, slots=True)
class TrashNote:
    """The details of a trashed log besides the reason: the actor, and data by which a person recognizes the log.

    If `session_id` is None, the id in the log's name is used. `command_id` is that of the request that trashed the
    log.
    """

    by: str = "daemon"
    session_id: str | None = None
    cwd: str | None = None
    title: str | None = None
    command_id: str | None = None


UNKNOWN: Final = TrashNote()
"""The note of a log with nothing known but its name."""


class TrashPlace(NamedTuple):
    """The place of a log in the trash: the id of this deletion, and the ref there."""

    trash_id: str
    ref: str


class Trashed(NamedTuple):
    """One log in the trash.

    `trash_id` identifies this deletion: a log that is deleted again has another. `ref` is its present place, for
    `scan`, `restore` and `purge`. `origin` is its former ref; if its note is lost, it
    is None and the log cannot be restored. `trashed_at` is ISO 8601, UTC. `leftovers` are the files that it left beside
    its origin (torn tails, originals before a rewrite).
    """

    trash_id: str
    ref: str
    session_id: str
    origin: str | None
    draft: bool
    size: int
    reason: str
    trashed_at: str
    about: TrashNote
    leftovers: tuple[str, ...] = ()


class Changes(NamedTuple):
    """The changes that a census found since its last call: new or changed logs, and refs that are gone."""

    found: list[Stored]
    gone: list[str]


@dataclass(frozen=True, slots=True)
class Breadcrumb:
    """The session that a terminal used last in a folder (decision 0025)."""

    cwd: str
    ref: str
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class Process:
    """A process, identified so that a later process with the same id is distinct.

    Attributes:
        pid: its process id.
        start_time: when it started: clock ticks after boot or, without a boot id, seconds since 1970.
        boot_id: identifies the boot of the machine; None on systems without such an id.
    """

    pid: int
    start_time: int
    boot_id: str | None = None


@dataclass(frozen=True, slots=True)
class Hold:
    """The sessions that a living terminal holds, by folder.

    Attributes:
        terminal_id: the terminal.
        kind: the kind of the terminal, as its client named it.
        process: the first process of the terminal: the hold ends with it.
        sessions: session ids by absolute folder; the last one used comes last.
    """

    terminal_id: str
    kind: str
    process: Process
    sessions: Mapping[str, str]
