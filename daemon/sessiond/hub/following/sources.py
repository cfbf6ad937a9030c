"""The sessions of an agent as sources of imports: files, or sessions in databases.

The follower knows sources by their paths and their status, and nothing else of them. Each kind of storage has one
implementation (`file_sources`, `database_sources`). All methods but `written` and `container_of` block.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from sessiond.hub.following.tails import Added
from sessiond.hub.transfer.source_state import FileStatus, SourceState

MAX_SOURCES: Final = 100_000
"""Limit of the sources of one agent in a census; as many as there can be records of imports."""


@dataclass(slots=True)
class AgentSources:
    """The sources of one agent.

    Attributes:
        sources: The status of each source, by its path.
        containers: The paths of the databases that hold them.
        problems: The reason why a file or folder is left out, by its path.
        folders: The folders that hold sessions, with all folders below.
        has_links: Whether a folder below is a symbolic link to a folder. A recursive watch would follow it.
        is_complete: Whether all sources are in `sources`, or left out for a reason that is theirs alone.
    """

    sources: dict[str, FileStatus] = field(default_factory=dict)
    containers: list[str] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    has_links: bool = False
    is_complete: bool = True


@dataclass(frozen=True, slots=True)
class ContainerChange:
    """Changes in a database.

    Attributes:
        changed: The sources that may have changed, or may be gone; None if a census must find them.
        problem: The problem of the database; None if there is none.
        is_passing: Whether it may be readable in a moment.
    """

    changed: list[str] | None = field(default_factory=list)
    problem: str | None = None
    is_passing: bool = False


class SourceTail(Protocol):
    """The end of a source, from which only added lines are read."""

    def read_added(self) -> Added | None:
        """Read and convert what was added. Returns None if the whole source must be read. Raises `OSError`."""


class SessionSources(Protocol):
    """The sources of one agent."""

    is_recursive: bool
    """Whether the folders below the agent's folders hold sources, too."""
    tail_dialects: frozenset[str]
    """The formats whose sources can be read without what was read before."""
    min_tail_bytes: int
    """The size from which a source is read so."""

    def census(self) -> AgentSources:
        """Return all sources with their status."""

    def look_at(self, path: str) -> FileStatus | str | None:
        """Look at one path.

        Returns:
            The status of a source; the reason why it is left out; None if there is no such source.
        """

    def status(self, path: str) -> FileStatus | None:
        """Return the status of a source; None if there is none."""

    def size_of(self, sources: Mapping[str, FileStatus]) -> int:
        """Return the size in bytes of the files that hold all these sources."""

    def written(self, path: str) -> str | None:
        """Return the source or container that has changed if the file at this path was written; None if none has."""

    def container_of(self, path: str) -> str | None:
        """Return the database that a path names, or that has the source at this path; None if it is a file."""

    def changes_in(self, container: str) -> ContainerChange:
        """Return the sources in a database that changed since the last census, or the last call."""

    def tail(self, path: str, dialect: str, state: SourceState, reader: bytes | None) -> SourceTail | None:
        """Return the tail of a source that was read whole; None if it must be read whole each time.

        Args:
            path: The path of the source.
            dialect: Its format.
            state: Its state when it was read.
            reader: The state of its reader after the lines that were read, if it is known.
        """
