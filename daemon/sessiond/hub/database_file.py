"""A SQLite file of ours, used on one thread: opened when it is first needed, put aside when it is damaged."""

import logging
import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Final, Literal, TypeVar

from sessiond.store.errors import StorageFailed

log = logging.getLogger(__name__)
T = TypeVar("T")

_BESIDE: Final = ("", "-wal", "-shm")


class DatabaseFile:
    """A database at `path` with `tables`, a script that may run again; `path` "" is a temporary file.

    With `synchronous` `FULL` a transaction survives a power cut once it is committed, with `NORMAL` only the death
    of the process. A file that SQLite cannot use is put aside as `<name>.damaged-<n>`, and a new one is begun.
    """

    def __init__(self, path: str, tables: str, *, name: str, synchronous: Literal["FULL", "NORMAL"]) -> None:
        self._path = path
        self._tables = tables
        self._name = name
        self._synchronous = synchronous
        self._connection: sqlite3.Connection | None = None

    def use(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What `work` answers with the connection. Raises `StorageFailed` when the file cannot be used now."""
        try:
            return work(self._connection or self._open())
        except sqlite3.OperationalError as error:
            # A full disk, or another program that has it locked: the file is as good as before.
            raise StorageFailed(f"{self._path}: {error}", path=self._path) from error
        except sqlite3.DatabaseError as error:
            log.warning("%s is damaged: %s", self._name, error)
            self.put_aside()
        try:
            return work(self._open())
        except sqlite3.Error as error:
            raise StorageFailed(f"{self._path}: {error}", path=self._path) from error

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    def _open(self) -> sqlite3.Connection:
        if os.path.islink(self._path):  # noqa: PTH114
            raise sqlite3.DatabaseError("it is a symbolic link")  # SQLite would write where it leads
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            connection.executescript(self._tables)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def put_aside(self) -> str:
        """Rename the file, which is damaged, so that the next use begins a new one; returns its new path."""
        self.close()
        free = next(f"{self._path}.damaged-{number}" for number in count(1)
                    if not os.path.lexists(f"{self._path}.damaged-{number}"))  # fmt: skip
        for suffix in _BESIDE:
            with suppress(FileNotFoundError):
                os.rename(self._path + suffix, free + suffix)  # noqa: PTH104 - a name with something behind it
        log.warning("%s was put aside as %s, and a new one is begun", self._name, free)
        return free


def in_transaction(connection: sqlite3.Connection, work: Callable[[], T]) -> T:
    """What `work` answers; what it changes is all there afterwards, or nothing of it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        answer = work()
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    return answer
