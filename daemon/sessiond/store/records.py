"""The records of every store: logs in a listing and in the trash, breadcrumbs, holds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple


class Stored(NamedTuple):
    """One log as a listing finds it, without its content.

    `ref` is what `Store.open_ref` takes (a path for files, an id in memory); `session_id` is what the *name*
    says, the header decides. `stamp` changes whenever the content may have changed; `identity` stays when
    the log gets another name.
    """

    ref: str
    session_id: str
    draft: bool
    size: int
    modified_ns: int
    stamp: tuple[int, ...]
    identity: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TrashNote:
    """What is noted of a log that goes to the trash, beside the reason: by whom, and how a person knows it.

    `session_id` None: the one in the log's name. `command_id` is that of the request which moved it there.
    """

    by: str = "daemon"
    session_id: str | None = None
    cwd: str | None = None
    title: str | None = None
    command_id: str | None = None


UNKNOWN: Final = TrashNote()
"""The note of a log of which no more is known than its name."""


class Trashed(NamedTuple):
    """One log in the trash.

    `ref` is where it is now, for `scan`, `restore` and `purge`. `origin` is the ref that it had; None when its note
    is lost, and with it the way back. `trashed_at` is ISO 8601, UTC. `remains` are the files that it left beside
    its origin (torn tails, originals before a rewrite).
    """

    ref: str
    session_id: str
    origin: str | None
    draft: bool
    size: int
    reason: str
    trashed_at: str
    about: TrashNote
    remains: tuple[str, ...] = ()


class Changes(NamedTuple):
    """What a census found since the one before: logs that are new or changed, and refs that are gone."""

    found: list[Stored]
    gone: list[str]


@dataclass(frozen=True, slots=True)
class Breadcrumb:
    """Which session a terminal last had, and in which folder (decision 0025)."""

    cwd: str
    ref: str
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class Process:
    """A process, named so that no later one is taken for it.

    Attributes:
        pid: its process id.
        start_time: when it started: clock ticks after boot or, without a boot id, seconds since 1970.
        boot_id: what names this run of the machine; None on systems that do not tell.
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
