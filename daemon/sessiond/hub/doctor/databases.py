"""Checks the databases: the index, which can be rebuilt, the prompt history and the journal of commands."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sessiond.hub.doctor.scope import Scope

_TIMEOUT_SECONDS: Final = 2.0  # seconds to wait for a locked database
INDEX_FILES: Final = ("", "-wal", "-shm", "-journal", "-seal")


def check_databases(scope: Scope) -> Iterator[None]:
    """Check all databases with SQLite's `quick_check`, without changing them."""
    for kind, path in (
        ("damagedIndex", scope.locations.index),
        ("damagedHistory", scope.locations.history),
        ("damagedCommands", scope.locations.commands),
    ):
        reason = damage_of(path)
        if reason is not None:
            scope.add(kind, reason, path)
        yield


def damage_of(path: str) -> str | None:
    """Return the first problem that SQLite finds in a database; None if it is intact, missing, empty or locked."""
    try:
        if not Path(path).is_file() or not Path(path).stat().st_size:
            return None
    except OSError:
        return None  # it was removed, or permission is denied, which the check of folders reports
    try:
        with contextlib.closing(opened_read_only(path)) as connection:
            found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.OperationalError as error:
        # If it is locked, or only the daemon may create its WAL files, nothing is known of the content.
        return None if "locked" in str(error) or "unable to open" in str(error) else str(error)
    except (sqlite3.Error, ValueError) as error:
        return str(error)
    return None if found == "ok" else str(found)


def opened_read_only(path: str) -> sqlite3.Connection:
    """Open an existing database without changing it. Raises `sqlite3.Error`."""
    uri = Path(path).as_uri()
    # Without a WAL file there is no writer, and `immutable` avoids creating one.
    mode = "mode=ro" if Path(f"{path}-wal").exists() else "mode=ro&immutable=1"
    return sqlite3.connect(f"{uri}?{mode}", uri=True, timeout=_TIMEOUT_SECONDS)
