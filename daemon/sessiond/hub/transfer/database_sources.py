"""Sessions in a database as sources of imports: the path of one is `<path of the database>#<id of the session>`."""

from pathlib import Path
from typing import Final

from sessiond.agents import opencode_database
from sessiond.agents.opencode_database import LastChange, UnreadableDatabase
from sessiond.hub.transfer.source_state import FileStatus

_SEPARATOR: Final = ".db#"
_NANOSECONDS: Final = 1_000_000
"""Nanoseconds in a millisecond."""


def is_database(path: str) -> bool:
    """Return whether a path names a database file."""
    return path.endswith(".db") and Path(path).is_file()


def sources_in(path: str) -> list[str]:
    """Return the sources in a database. If it cannot be read, only its path: reading that gives the reason."""
    try:
        return [source_of(path, name) for name in opencode_database.marks(path)] or [path]
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
    """Return the status of a source; None if there is none, or its database cannot be read."""
    parts = parts_of(path)
    if parts is None:
        return FileStatus.at(path)
    database = FileStatus.at(parts[0])
    try:
        changed = opencode_database.last_change(*parts)
    except UnreadableDatabase:
        return None
    return None if database is None or changed is None else status_in(database, changed)


def status_in(database: FileStatus, changed: LastChange) -> FileStatus:
    """Return the status of a session in a database. It differs after each change, and if the file is another one."""
    return FileStatus(database.device, database.inode, 0, changed.at * _NANOSECONDS, changed.event)


def size_of(path: str) -> int:
    """Return nearly the size of a source in bytes; 0 if there is none, or its database cannot be read."""
    parts = parts_of(path)
    try:
        return Path(path).stat().st_size if parts is None else opencode_database.size_of(*parts)
    except (OSError, UnreadableDatabase):
        return 0
