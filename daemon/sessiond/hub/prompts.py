"""The database of prompts: table `history` and its full-text twin `history_fts`, as oh-my-pi has them.

Used on one thread. A file that SQLite cannot use is put aside as `<name>.damaged-<n>` and a new one begun.
"""

import logging
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import count
from typing import Final, TypeVar

from sessiond.hub import clock
from sessiond.protocol import types as t
from sessiond.session import words
from sessiond.session.lines import sound
from sessiond.store.base import StorageFailed

log = logging.getLogger(__name__)
T = TypeVar("T")

_LONGEST: Final = 100_000
"""Characters of a prompt that are remembered: nobody recalls a longer one to type it again."""
_BESIDE: Final = ("", "-wal", "-shm")
_TABLES: Final = """
BEGIN;
CREATE TABLE IF NOT EXISTS history(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    prompt TEXT NOT NULL,
    created_at INTEGER NOT NULL,   -- seconds since 1970
    cwd TEXT
);
CREATE INDEX IF NOT EXISTS history_cwd ON history(cwd, id);
CREATE VIRTUAL TABLE IF NOT EXISTS history_fts USING fts5(prompt, content='history', content_rowid='id');
CREATE TRIGGER IF NOT EXISTS history_ai AFTER INSERT ON history BEGIN
    INSERT INTO history_fts(rowid, prompt) VALUES (new.id, new.prompt);
END;
CREATE TRIGGER IF NOT EXISTS history_ad AFTER DELETE ON history BEGIN
    INSERT INTO history_fts(history_fts, rowid, prompt) VALUES ('delete', old.id, old.prompt);
END;
CREATE TRIGGER IF NOT EXISTS history_au AFTER UPDATE ON history BEGIN
    INSERT INTO history_fts(history_fts, rowid, prompt) VALUES ('delete', old.id, old.prompt);
    INSERT INTO history_fts(rowid, prompt) VALUES (new.id, new.prompt);
END;
PRAGMA user_version = 1;
COMMIT;
"""


class Prompts:
    """The prompts in a file; `path` None: in a temporary one. Raises `StorageFailed` when it cannot be used now."""

    def __init__(self, path: str | None) -> None:
        self._path = path or ""
        self._connection: sqlite3.Connection | None = None
        self._last: str | None = None

    def add(self, prompt: str, cwd: str | None, said_at: str) -> bool:
        """Add a prompt, unless it is empty or the same as the one before; whether it was added."""
        return self.add_all([(prompt, cwd, said_at)]) > 0

    def add_all(self, prompts: Sequence[tuple[str, str | None, str]]) -> int:
        """Add prompts, each with its folder and time, all at once; how many were."""
        return self._with_connection(lambda it: self._add_all(it, prompts))

    def page(self, query: str, cwd: str | None, below: int, limit: int) -> list[tuple[int, t.Prompt]]:
        """The newest prompts with a number below this one, with their numbers, which hold all words of the query."""
        conditions, values = ["id < ?"], [below]  # type: tuple[list[str], list[object]]
        if cwd is not None:
            conditions.append("cwd = ?")
            values.append(cwd)
        for word in query.split():
            like, full = "prompt LIKE ? ESCAPE '\\'", _match(word)
            conditions.append(
                f"({like} OR id IN (SELECT rowid FROM history_fts WHERE history_fts MATCH ?))"
                if full
                else like
            )
            values += [f"%{_escaped(word)}%", *([full] if full else [])]
        sql = f"SELECT id, prompt, created_at, cwd FROM history WHERE {' AND '.join(conditions)}"
        rows = self._with_connection(
            lambda it: it.execute(f"{sql} ORDER BY id DESC LIMIT ?", [*values, limit]).fetchall()
        )
        return [
            (number, t.Prompt(prompt=prompt, created_at=clock.iso(at * 1_000_000_000), cwd=where))
            for number, prompt, at, where in rows
        ]

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    def _add_all(self, connection: sqlite3.Connection, prompts: Sequence[tuple[str, str | None, str]]) -> int:
        last = self._last
        connection.execute("BEGIN")
        try:
            added = sum(self._add(connection, *each) for each in prompts)
            connection.execute("COMMIT")
        except BaseException:
            self._last = last
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise
        return added

    def _add(self, connection: sqlite3.Connection, prompt: str, cwd: str | None, said_at: str) -> int:
        prompt = "\n".join(line.rstrip() for line in sound(prompt).splitlines()).strip()[:_LONGEST]
        if not prompt or prompt == self._last:
            return 0
        connection.execute(
            "INSERT INTO history(prompt, created_at, cwd) VALUES(?, ?, ?)",
            (prompt, int(datetime.fromisoformat(said_at).timestamp()), cwd),
        )
        self._last = prompt
        return 1

    def _with_connection(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return work(self._connection or self._open())
        except sqlite3.OperationalError as error:
            # A full disk, or another program that has it locked: the file is as good as before.
            raise StorageFailed(f"{self._path}: {error}", path=self._path) from error
        except sqlite3.DatabaseError as error:
            log.warning("the history of prompts is damaged: %s", error)
            self.close()
            self._put_aside()
        try:
            return work(self._open())
        except sqlite3.Error as error:
            raise StorageFailed(f"{self._path}: {error}", path=self._path) from error

    def _open(self) -> sqlite3.Connection:
        if os.path.islink(self._path):  # noqa: PTH114
            raise sqlite3.DatabaseError("it is a symbolic link")  # SQLite would write where it leads
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.executescript(_TABLES)
            row = connection.execute("SELECT prompt FROM history ORDER BY id DESC LIMIT 1").fetchone()
        except BaseException:
            connection.close()
            raise
        self._last = None if row is None else row[0]
        self._connection = connection
        return connection

    def _put_aside(self) -> None:
        free = next(f"{self._path}.damaged-{number}" for number in count(1)
                    if not os.path.lexists(f"{self._path}.damaged-{number}"))  # fmt: skip
        for suffix in _BESIDE:
            with suppress(FileNotFoundError):
                os.rename(self._path + suffix, free + suffix)  # noqa: PTH104 - a name with something behind it
        log.warning("it was put aside as %s, and a new one is begun", free)


def _match(word: str) -> str:
    """A word in FTS5's words, as the beginning of one; empty when it holds no letter and no digit."""
    parts = [part for phrase in words.phrases(word.replace('"', " ")) for part in phrase.words]
    return f'"{" ".join(parts)}" *' if parts else ""


def _escaped(word: str) -> str:
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
