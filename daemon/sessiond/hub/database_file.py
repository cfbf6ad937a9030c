"""SQLite database files: opened on first use, renamed when damaged."""

import errno
import logging
import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Final, Literal, TypeVar

from sessiond.hub.errors import Draining
from sessiond.store.errors import StorageFailed, StorageFull

log = logging.getLogger(__name__)
T = TypeVar("T")

_SUFFIXES: Final = ("", "-wal", "-shm")
_PROBED_BYTES: Final = 64 * 1024


class DatabaseFile:
    """A SQLite database for use on one thread.

    With `synchronous="FULL"`, a committed transaction survives a power failure; with `NORMAL`, only the death of the
    process. If SQLite cannot use the file, it is renamed to `<name>.damaged-<n>`, and a new file is created.

    Args:
        path: The path of the file; "" means a temporary file.
        tables: An idempotent SQL script that creates the tables.
        name: The name of the database in log messages.
        synchronous: The `synchronous` pragma of SQLite.
        complete: Adds to the tables of an older file what they lack. It is called each time the file is opened.
    """

    def __init__(
        self,
        path: str,
        tables: str,
        *,
        name: str,
        synchronous: Literal["FULL", "NORMAL"],
        complete: Callable[[sqlite3.Connection], None] | None = None,
    ) -> None:
        self._path = path
        self._tables = tables
        self._name = name
        self._synchronous = synchronous
        self._complete = complete
        self._connection: sqlite3.Connection | None = None
        self._is_closed = False

    def use(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Call `work` with the connection and return its result.

        Raises:
            StorageFull: The disk is full.
            StorageFailed: The file is unusable.
            Draining: The file was closed.
        """
        if self._is_closed:
            raise Draining
        try:
            return work(self._connection or self._open())
        except sqlite3.OperationalError as error:
            # The disk is full, or another program holds a lock. The file itself is intact.
            raise refusal(self._path, error) from error
        except sqlite3.DatabaseError as error:
            log.warning("%s is damaged: %s", self._name, error)
            self.quarantine()
        try:
            return work(self._open())
        except sqlite3.Error as error:
            raise refusal(self._path, error) from error

    def close(self) -> None:
        """Close the connection. Later uses raise `Draining`, because nothing would close another connection."""
        self._is_closed = True
        self._disconnect()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    def _open(self) -> sqlite3.Connection:
        if os.path.islink(self._path):  # noqa: PTH114
            raise sqlite3.DatabaseError("it is a symbolic link")  # SQLite would write to its target
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            connection.executescript(self._tables)
            if self._complete is not None:
                self._complete(connection)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def quarantine(self) -> str:
        """Rename the damaged file, so that the next use creates a new one. Returns the new path."""
        self._disconnect()
        free = next(f"{self._path}.damaged-{number}" for number in count(1)
                    if not os.path.lexists(f"{self._path}.damaged-{number}"))  # fmt: skip
        for suffix in _SUFFIXES:
            with suppress(FileNotFoundError):
                os.rename(self._path + suffix, free + suffix)  # noqa: PTH104 - a name with a suffix
        log.warning("%s was renamed to %s, and a new one is created", self._name, free)
        return free


def refusal(path: str, error: sqlite3.Error) -> StorageFailed:
    """Return the error of a request that SQLite could not serve with the file at `path`; "" is a temporary file.

    SQLite names no cause but a full disk, and calls even some full disks, a quota and a read-only disk an I/O error.
    """
    cause = None
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
        cause = errno.ENOSPC
    elif path and isinstance(error, sqlite3.OperationalError):
        cause = _refused_write(os.path.dirname(path))  # noqa: PTH120
    kind = StorageFull if cause in (errno.ENOSPC, errno.EDQUOT) else StorageFailed
    return kind(f"{path}: {error}" if path else str(error), path=path or None, errno=cause)


def _refused_write(folder: str) -> int | None:
    """Return the number of the error with which a folder refuses a small new file; None if it takes one."""
    name = os.path.join(folder, f".sessiond-{os.urandom(6).hex()}")
    try:
        descriptor = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        try:
            os.write(descriptor, bytes(_PROBED_BYTES))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
            os.unlink(name)  # noqa: PTH108
    except OSError as error:
        return error.errno
    return None


class OptionalRecords:
    """A SQLite database of records that the daemon can do without. The methods block, on any thread.

    If the file cannot be used, a warning is logged, reads return a default, and changes have no effect.

    Args:
        path: The path of the file; None means a temporary file.
        tables: See `DatabaseFile`.
        name: See `DatabaseFile`.
        synchronous: See `DatabaseFile`.
    """

    def __init__(
        self, path: str | None, tables: str, *, name: str, synchronous: Literal["FULL", "NORMAL"]
    ) -> None:
        self._file = DatabaseFile(path or "", tables, name=name, synchronous=synchronous)
        self._name = name
        self._lock = threading.Lock()

    def read(self, work: Callable[[sqlite3.Connection], T], default: T) -> T:
        """Call `work` with the connection and return its result, or `default` if the file is unusable.

        Raises:
            Draining: The file was closed.
        """
        try:
            with self._lock:
                return self._file.use(work)
        except StorageFailed as error:
            log.warning("Cannot use %s: %s", self._name, error)
            return default

    def change(self, work: Callable[[sqlite3.Connection], None]) -> None:
        """Call `work` with the connection in a transaction. See `read`."""
        self.read(lambda connection: in_transaction(connection, lambda: work(connection)), None)

    def close(self) -> None:
        """Close the database file. Later calls raise `Draining`."""
        with self._lock:
            self._file.close()


def in_transaction(connection: sqlite3.Connection, work: Callable[[], T]) -> T:
    """Run `work` in a transaction and return its result. If it raises, all its changes are rolled back."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        answer = work()
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    return answer
