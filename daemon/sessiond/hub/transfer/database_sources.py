"""Sessions in a database as sources of imports: the path of one is `<path of the database>#<id of the session>`."""

from pathlib import Path
from typing import Final

from sessiond.agents import opencode_database
from sessiond.agents.opencode_database import UnreadableDatabase
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
        return [f"{path}#{name}" for name, _ in opencode_database.sessions(path)] or [path]
    except UnreadableDatabase:
        return [path]


def parts_of(path: str) -> tuple[str, str] | None:
    """Return the path of the database and the id of the session of a source in a database, otherwise None."""
    head, separator, name = path.rpartition(_SEPARATOR)
    if not separator or not name or Path(path).exists():
        return None
    return f"{head}.db", name


def status_of(path: str) -> FileStatus | None:
    """Return the status of a source. In a database, it follows from the database and the session's last change."""
    parts = parts_of(path)
    if parts is None:
        return FileStatus.at(path)
    database = FileStatus.at(parts[0])
    try:
        changed = opencode_database.updated(*parts)
    except UnreadableDatabase:
        return None
    if database is None or changed is None:
        return None
    return FileStatus(database.device, database.inode, 0, changed * _NANOSECONDS, 0)
