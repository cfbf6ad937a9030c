"""Sessions in the databases of an agent as sources. The databases are only read.

So are the folders of files that the agent had before: sessions in them are sources, unless a database beside them has
them, too. Of these files, the folders of messages are watched, since a message is written last.

A database that was written is opened only if its files have another status than before. The marks of its sessions then
show which of them changed, so that only these are read.
"""

import os
import stat
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Final

import msgspec

from sessiond.agents.agent import Agent, Environ
from sessiond.agents.folder_walk import VisitedFolders, reason, session_files, status_of
from sessiond.agents.session_database import SessionDatabase, SessionFiles, UnreadableDatabase
from sessiond.hub.following import sources
from sessiond.hub.following.database_tail import DatabaseTail, tail_of
from sessiond.hub.following.sources import AgentSources, ContainerChange
from sessiond.hub.transfer import database_sources
from sessiond.hub.transfer.source_state import FileStatus, SourceState

TOO_MANY: Final = (
    f"it has more than {sources.MAX_SOURCES:,} sessions; of the others, only later changes are read"
)
REPLACED: Final = "it was replaced by another database; sessions that only the former one had stay here"
_WAL: Final = "-wal"
_WATCHED_FOLDERS: Final = 500
"""Limit of folders of messages that are watched; a census finds the changes in the others."""
_SETTLED_NS: Final = 100_000_000
"""Nanoseconds after which a write has another time than the last one. Clocks of file systems step by milliseconds."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A database as it was read last.

    Attributes:
        files: The status of its file and of its `-wal` file.
        is_settled: Whether a later write gives another status.
        marks: The marks of its sessions; none if it could not be read.
        problem: Why it could not be read.
    """

    files: tuple[FileStatus | None, FileStatus | None]
    is_settled: bool
    marks: dict[str, tuple[int, ...]]
    problem: str | None = None


class DatabaseSources:
    """The sessions in the databases of an agent. See `SessionSources` for the methods."""

    is_recursive = False
    min_tail_bytes = 0

    def __init__(self, agent: Agent, environ: Environ, reader: SessionDatabase) -> None:
        self.tail_dialects = frozenset(() if agent.dialect is None else (agent.dialect,))
        self._reader = reader
        self._former = None if agent.load_folders is None else agent.load_folders()
        self._agent = agent
        self._environ = environ
        self._seen: dict[str, _Seen] = {}
        self._replaced: set[str] = set()
        self._in_storage: dict[str, dict[str, FileStatus]] = {}  # by the folder of the files

    def census(self) -> AgentSources:
        """Return the sessions in all databases. Reads the row of every part, and the content of none."""
        census, visited = AgentSources(), VisitedFolders()
        for folder in [path for path in self._agent.folders(self._environ) if os.path.isdir(path)]:  # noqa: PTH112 - a text
            with closing(session_files(self._agent, folder, visited)) as found:
                for item in found:
                    if (status := status_of(item, visited)) is None:
                        continue
                    if not stat.S_ISREG(status.st_mode):
                        census.problems[item.path] = "it is not a regular file"
                    else:
                        self._add(item.path, census)
            if self._former is not None:
                self._add_storage(self._former.storage_in(folder), census)
        census.problems.update(visited.problems)
        census.folders += visited.paths
        return census

    def look_at(self, path: str) -> FileStatus | str | None:
        """Look at a session."""
        container = self.container_of(path)
        if container is None:
            return None
        if database_sources.folders_of(path) is not None:
            return database_sources.status_of(path)
        database = FileStatus.at(container)
        parts = database_sources.parts_of(path)
        if database is None or parts is None:
            return None
        try:
            changed = self._reader.last_change(*parts)
        except UnreadableDatabase as error:
            return str(error)
        return None if changed is None else database_sources.status_in(database, changed)

    def status(self, path: str) -> FileStatus | None:
        """Return the status of a session."""
        return database_sources.status_of(path)

    def size_of(self, sources: Mapping[str, FileStatus]) -> int:
        """Return the size of the databases of these sessions, and of the messages in files."""
        found = {container for path in sources if (container := self.container_of(path)) is not None}
        in_files = sum(status.size for path, status in sources.items() if self._storage(path) is not None)
        databases = [container for container in found if self._storage(container) is None]
        return in_files + sum(file.size for path in databases for file in _files_of(path) if file is not None)

    def written(self, path: str) -> str | None:
        """Return the database, or the folder of files, to which a file belongs."""
        return self._storage(path) or self._database(path.removesuffix(_WAL))

    def container_of(self, path: str) -> str | None:
        """Return the database that a path names, or that has the session."""
        return self._storage(path) or self._database(path) or self._database(path.rpartition("#")[0])

    def changes_in(self, container: str) -> ContainerChange:
        """Return the sessions that changed in a database, or in a folder of files."""
        if self._storage(container) is not None:
            return self._changes_in_storage(container)
        before, files = self._seen.get(container), _files_of(container)
        problem = REPLACED if container in self._replaced else None
        if before is not None and before.is_settled and before.files == files:
            return ContainerChange(problem=before.problem or problem)
        if files[0] is None:  # its sessions are gone
            self._seen.pop(container, None)
            gone = () if before is None else before.marks
            return ContainerChange([database_sources.source_of(container, name) for name in gone])
        if before is None or before.problem is not None or _identity(before.files[0]) != _identity(files[0]):
            return ContainerChange(None)
        try:
            self._seen[container] = now = _seen(self._reader, container, files)
        except UnreadableDatabase as error:
            return ContainerChange(problem=str(error), is_passing=error.is_passing)
        changed = [name for name, mark in now.marks.items() if before.marks.get(name) != mark]
        changed += [name for name in before.marks if name not in now.marks]
        return ContainerChange([database_sources.source_of(container, name) for name in changed], problem)

    def tail(self, path: str, dialect: str, state: SourceState, reader: bytes | None) -> DatabaseTail | None:
        """Return the tail of a session; None if it is short."""
        return tail_of(path, dialect)

    def _storage(self, path: str) -> str | None:
        former = self._former
        if former is None:
            return None
        folders = (former.storage_in(folder) for folder in self._agent.folders(self._environ))
        return next((folder for folder in folders if path == folder or path.startswith(f"{folder}/")), None)

    def _changes_in_storage(self, storage: str) -> ContainerChange:
        before = self._in_storage.get(storage, {})
        census = AgentSources()
        self._add_storage(storage, census)
        now = self._in_storage.get(storage, {})
        if now.keys() != before.keys():
            return ContainerChange(None)  # a census also finds the folders to watch
        return ContainerChange([name for name, status in now.items() if before[name] != status])

    def _add_storage(self, storage: str, census: AgentSources) -> None:
        """Add the sessions in a folder of files that no database has."""
        former = self._former
        self._in_storage.pop(storage, None)
        if former is None or former.names_in(storage) is None:
            return
        known = {name for seen in self._seen.values() for name in seen.marks}
        found: dict[str, SessionFiles] = {}
        try:
            for path in former.session_paths(storage):
                name = path.rpartition("/")[2].removesuffix(".json")
                if name not in known and (files := former.files_of(path)) is not None:
                    found[path] = files
        except OSError as error:
            census.problems[storage] = reason(error)
            census.is_complete = False
            return
        self._in_storage[storage] = {
            path: database_sources.status_in_storage(session_files) for path, session_files in found.items()
        }
        census.sources |= self._in_storage[storage]
        census.containers.append(storage)
        newest = sorted(found.values(), key=lambda session_files: -session_files.modified_ns)[
            :_WATCHED_FOLDERS
        ]
        watched = [session_files.folder for session_files in newest if os.path.isdir(session_files.folder)]  # noqa: PTH112 - a text
        census.folders += [f"{storage}/message", *watched] if found else []

    def _database(self, path: str) -> str | None:
        folder, _, name = path.rpartition("/")
        is_database = folder in self._agent.folders(self._environ) and self._agent.is_session_file(name)
        return path if is_database else None

    def _add(self, path: str, census: AgentSources) -> None:
        """Add the sessions of a database to a census."""
        census.containers.append(path)
        files, before = _files_of(path), self._seen.get(path)
        if files[0] is None:
            return
        if before is not None and _identity(before.files[0]) != _identity(files[0]):
            self._replaced.add(path)
        if path in self._replaced:
            census.problems[path] = REPLACED
        try:
            seen = _seen(self._reader, path, files)
            found = self._reader.sessions(path)  # a later change than the marks have is only read twice
        except UnreadableDatabase as error:
            census.problems[path] = str(error)
            census.is_complete = False
            self._seen[path] = _Seen(files, _is_settled(files) and not error.is_passing, {}, str(error))
            return
        self._seen[path] = seen
        for name, changed in found.items():
            if len(census.sources) >= sources.MAX_SOURCES:
                census.problems[path] = TOO_MANY
                census.is_complete = False
                return
            census.sources[database_sources.source_of(path, name)] = database_sources.status_in(
                files[0], changed
            )


def _seen(reader: SessionDatabase, path: str, files: tuple[FileStatus | None, FileStatus | None]) -> _Seen:
    """Read the marks of a database whose files had this status before. Raises `UnreadableDatabase`."""
    is_settled = _is_settled(files)
    return _Seen(files, is_settled, reader.marks(path))


def _is_settled(files: tuple[FileStatus | None, FileStatus | None]) -> bool:
    written = max(file.modified_ns for file in files if file is not None)
    return time.time_ns() - written > _SETTLED_NS


def _files_of(path: str) -> tuple[FileStatus | None, FileStatus | None]:
    """Return the status of a database and of its `-wal` file, without the times of changes of the status.

    If this process belongs to root, SQLite sets the owner of the `-wal` file whenever it opens the file.
    """
    return _written(path), _written(path + _WAL)


def _written(path: str) -> FileStatus | None:
    status = FileStatus.at(path)
    return None if status is None else msgspec.structs.replace(status, changed_ns=0)


def _identity(status: FileStatus | None) -> tuple[int, int] | None:
    return None if status is None else (status.device, status.inode)
