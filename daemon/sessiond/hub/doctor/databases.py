"""The databases: the index, which may be thrown away, the history of prompts and the journal of commands."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sessiond.hub.doctor.scope import Scope

_PATIENCE: Final = 2.0  # seconds for a database that is being written
INDEX_FILES: Final = ("", "-wal", "-shm", "-journal", "-seal")


def look_at_databases(scope: Scope) -> Iterator[None]:
    """Have SQLite look through all, without changing them."""
    for kind, path in (
        ("damagedIndex", scope.places.index),
        ("damagedHistory", scope.places.history),
        ("damagedCommands", scope.places.commands),
    ):
        reason = damage_of(path)
        if reason is not None:
            scope.add(kind, reason, path)
        yield


def damage_of(path: str) -> str | None:
    """What SQLite finds wrong with a database; None when it is sound, is not there, or is busy."""
    try:
        if not Path(path).is_file() or not Path(path).stat().st_size:
            return None
    except OSError:
        return None  # gone meanwhile, or not to be looked at, which is noted with the folders
    try:
        with contextlib.closing(_opened(path)) as connection:
            found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.OperationalError as error:
        # Locked, or only the daemon may make the files that lie beside it: it says nothing of the content.
        return None if "locked" in str(error) or "unable to open" in str(error) else str(error)
    except (sqlite3.Error, ValueError) as error:
        return str(error)
    return None if found == "ok" else str(found)


def _opened(path: str) -> sqlite3.Connection:
    uri = Path(path).as_uri()
    # Without a log beside it nobody writes to it, and looking must leave nothing behind.
    mode = "mode=ro" if Path(f"{path}-wal").exists() else "mode=ro&immutable=1"
    return sqlite3.connect(f"{uri}?{mode}", uri=True, timeout=_PATIENCE)
