"""Sessions that are not one file as sources of imports.

The path of one in a database is `<path of the database>#<id of the session>`. That of one in the files of earlier
versions of OpenCode is the path of its own file; its status is that of all its files.
"""

from pathlib import Path
from typing import Final

from sessiond.agents.opencode import database as opencode_database, storage as opencode_storage
from sessiond.agents.opencode.database import LastChange, UnreadableDatabase
from sessiond.agents.opencode.storage import SessionFiles
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
    if opencode_storage.storage_of(path) is not None:
        return _status_in_storage(path)
    parts = parts_of(path)
    if parts is None:
        return FileStatus.at(path)
    database = FileStatus.at(parts[0])
    try:
        changed = opencode_database.last_change(*parts)
    except UnreadableDatabase:
        return None
    return None if database is None or changed is None else status_in(database, changed)


def _status_in_storage(path: str) -> FileStatus | None:
    try:
        found = opencode_storage.files_of(path)
    except OSError:
        return None
    return None if found is None else status_in_storage(found)


def status_in_storage(found: SessionFiles) -> FileStatus:
    """Return the status of a session in files of earlier versions of OpenCode."""
    file = found.file
    return FileStatus(
        file.st_dev, file.st_ino, file.st_size + found.size, found.modified_ns, file.st_ctime_ns
    )


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
