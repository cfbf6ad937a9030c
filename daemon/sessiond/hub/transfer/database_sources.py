"""Sessions that are not one file as sources of imports.

The path of one in a database is `<path of the database>#<id of the session>`. That of one in the folders
that an agent had before is the path of its own file; its status is that of all its files.
"""

from pathlib import Path
from typing import Final

from sessiond.agents.session_database import (
    LastChange,
    SessionDatabase,
    SessionFiles,
    SessionFolders,
    UnreadableDatabase,
)
from sessiond.agents.table import AGENTS
from sessiond.hub.transfer.source_state import FileStatus

_SEPARATOR: Final = ".db#"
_NANOSECONDS: Final = 1_000_000
"""Nanoseconds in a millisecond."""
_DATABASES: Final = [
    (agent, agent.load_database()) for agent in AGENTS.values() if agent.load_database is not None
]
_FOLDERS: Final = [agent.load_folders() for agent in AGENTS.values() if agent.load_folders is not None]


def database_at(path: str) -> SessionDatabase:
    """Return the reader of the database at a path. By default, it is that of the first agent."""
    name = path.rpartition("/")[2]
    return next((found for agent, found in _DATABASES if agent.is_session_file(name)), _DATABASES[0][1])


def dialect_of(path: str) -> str | None:
    """Return the format of the sessions in the database at a path; None if it has the name of no agent's database."""
    name = path.rpartition("/")[2]
    return next((agent.dialect for agent, _ in _DATABASES if agent.is_session_file(name)), None)


def folders_of(path: str) -> SessionFolders | None:
    """Return the reader of the session with its file at a path, if the session has further files."""
    return next((folder for folder in _FOLDERS if folder.storage_of(path) is not None), None)


def names_in(folder: str) -> list[str] | None:
    """Return the names of the folders with files of sessions in a storage; None for a folder that is none."""
    return next((names for folders in _FOLDERS if (names := folders.names_in(folder)) is not None), None)


def is_no_file(path: str) -> bool:
    """Return whether the path of a source differs from the path of a single file with the session."""
    return path.endswith(".db") or parts_of(path) is not None or folders_of(path) is not None


def is_database(path: str) -> bool:
    """Return whether a path names a database file."""
    return path.endswith(".db") and Path(path).is_file()


def sources_in(path: str) -> list[str]:
    """Return the sources in a database. If it cannot be read, return only its path: reading that gives the reason."""
    try:
        return [source_of(path, name) for name in database_at(path).marks(path)] or [path]
    except UnreadableDatabase:
        return [path]


def source_of(path: str, session_id: str) -> str:
    """Return the path of the source that is a session in the database at a path."""
    return f"{path}#{session_id}"


def parts_of(path: str) -> tuple[str, str] | None:
    """Return the path of the database and the id of the session of a source in a database, otherwise None."""
    head, separator, name = path.rpartition(_SEPARATOR)
    if not separator or not name or Path(path).exists():
        return None
    return f"{head}.db", name


def status_of(path: str) -> FileStatus | None:
    """Return the status of a source; None if it does not exist, or its database cannot be read."""
    if (folders := folders_of(path)) is not None:
        return _status_in(folders, path)
    parts = parts_of(path)
    if parts is None:
        return FileStatus.at(path)
    database = FileStatus.at(parts[0])
    try:
        changed = database_at(parts[0]).last_change(*parts)
    except UnreadableDatabase:
        return None
    return None if database is None or changed is None else status_in(database, changed)


def _status_in(folders: SessionFolders, path: str) -> FileStatus | None:
    try:
        found = folders.files_of(path)
    except OSError:
        return None
    return None if found is None else status_in_storage(found)


def status_in_storage(found: SessionFiles) -> FileStatus:
    """Return the status of a session in folders."""
    file = found.file
    return FileStatus(
        file.st_dev, file.st_ino, file.st_size + found.size, found.modified_ns, file.st_ctime_ns
    )


def status_in(database: FileStatus, changed: LastChange) -> FileStatus:
    """Return the status of a session in a database. It differs after each change, and after the file was replaced."""
    return FileStatus(database.device, database.inode, 0, changed.at * _NANOSECONDS, changed.event)


def size_of(path: str) -> int:
    """Return the approximate size of a source in bytes; 0 if it does not exist, or its database cannot be read."""
    parts = parts_of(path)
    try:
        return Path(path).stat().st_size if parts is None else database_at(parts[0]).size_of(*parts)
    except (OSError, UnreadableDatabase):
        return 0
