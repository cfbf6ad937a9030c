"""The prompt database: the table `history` and its full-text index `history_fts`, as in oh-my-pi.

Each row also has the session and the entry that the prompt became. The id of a prompt is the id of the file, a hyphen
and the number of its row, so it is never that of a prompt in another file. The module is used on one thread. A file
that SQLite cannot use is renamed to `<name>.damaged-<n>`, and a new file is created.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final

from sessiond.hub import clock
from sessiond.hub.database_file import DatabaseFile, in_transaction
from sessiond.hub.prompt_history.additions import Addition, NewPrompt
from sessiond.protocol import types as t
from sessiond.session.content import search_words
from sessiond.session.tree.lines import valid_text

_MAX_CHARACTERS: Final = 100_000
"""Limit of a stored prompt, in characters. A longer one is truncated."""
_COMMANDS: Final = 1_000
"""Limit of commands whose outcome is recorded. After a crash, the journal of commands queries the last ones."""
_MAX_DIGITS: Final = 18
_TABLES: Final = """
BEGIN;
CREATE TABLE IF NOT EXISTS history(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    prompt TEXT NOT NULL,
    created_at INTEGER NOT NULL,   -- seconds since 1970
    cwd TEXT,
    session_id TEXT,
    entry_id TEXT
);
CREATE TABLE IF NOT EXISTS commands(
    id TEXT PRIMARY KEY,
    added INTEGER NOT NULL,
    number INTEGER                 -- the row that was added
);
CREATE TABLE IF NOT EXISTS file_id(id TEXT NOT NULL);
INSERT INTO file_id SELECT lower(hex(randomblob(3))) WHERE NOT EXISTS (SELECT 1 FROM file_id);
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
PRAGMA user_version = 2;
COMMIT;
"""


_ADDED_COLUMNS: Final = (
    ("history", "session_id TEXT"),
    ("history", "entry_id TEXT"),
    ("commands", "number INTEGER"),
)
"""The columns that version 2 added. A daemon of version 1 can still write to the file."""
_INDEXES: Final = (
    ("history_time", "created_at, id"),
    ("history_cwd_time", "cwd, created_at, id"),
    ("history_session_time", "session_id, created_at, id"),
)
_FORMER_INDEXES: Final = ("history_cwd", "history_session")
"""Indexes for the order of ids, which was that of lists before prompts could be imported."""

_INSERT: Final = "INSERT INTO history(prompt, created_at, cwd, session_id, entry_id) VALUES(?, ?, ?, ?, ?)"


class Prompts:
    """The prompt database in a file; `path` is None for a temporary file.

    Its methods raise `StorageFailed` if the file cannot be used.
    """

    def __init__(self, path: str | None) -> None:
        self._file = DatabaseFile(path or "", _TABLES, name="the history of prompts", synchronous="NORMAL",
                                  complete=_complete)  # fmt: skip

    def add(self, prompt: NewPrompt, command_id: str | None = None) -> Addition:
        """Add a prompt, unless it is empty or equal to the last one.

        Args:
            prompt: The prompt.
            command_id: The `commandId` of the request. The outcome is recorded in the same transaction, for
                `added_by`.
        """
        return self._file.use(
            lambda connection: in_transaction(connection, lambda: _add_for(connection, prompt, command_id))
        )

    def added_by(self, command_id: str) -> Addition | None:
        """Return the outcome of a command; None if it was not carried out."""

        def work(connection: sqlite3.Connection) -> Addition | None:
            found = connection.execute(
                "SELECT added, number FROM commands WHERE id = ?", [command_id]
            ).fetchone()
            return None if found is None else Addition(bool(found[0]), _prompt_id(connection, found[1]))

        return self._file.use(work)

    def add_all(self, prompts: Sequence[NewPrompt]) -> None:
        """Add prompts in one transaction, except those that are empty or equal to the one before."""
        self._file.use(lambda connection: in_transaction(connection, lambda: _add_all(connection, prompts)))

    def merge(self, prompts: Sequence[NewPrompt]) -> int:
        """Add the prompts of another history that this one lacks, in one transaction. Return their number."""
        return self._file.use(
            lambda connection: in_transaction(connection, lambda: _merge(connection, prompts))
        )

    def known(self, prompt_ids: Sequence[str]) -> list[str]:
        """Return those of the ids that prompts have."""
        return self._file.use(lambda connection: list(_numbers(connection, prompt_ids)))

    def delete(self, prompt_ids: Sequence[str]) -> list[str]:
        """Delete prompts, also from the free space of the file. Returns the ids of those that existed."""

        def work(connection: sqlite3.Connection) -> list[str]:
            connection.execute("PRAGMA secure_delete = ON")  # overwrites the free space with zeros
            deleted = in_transaction(connection, lambda: _delete(connection, prompt_ids))
            if deleted:
                with suppress(sqlite3.OperationalError):  # a reader has the file: the log is emptied later
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return deleted

        return self._file.use(work)

    def page(
        self, query: str, cwd: str | None, session_id: str | None, below: tuple[int, int], limit: int
    ) -> list[tuple[tuple[int, int], t.Prompt]]:
        """Return the newest prompts that match, each with its time and number.

        Args:
            query: The words that a prompt must contain. Empty: every prompt matches.
            cwd: The folder; None for prompts of all folders.
            session_id: The session; None for prompts of all sessions and of none.
            below: Only prompts with an earlier time, or with the same time and a lower number, match.
            limit: The maximum number of returned prompts.
        """
        conditions, values = ["(created_at, history.id) < (?, ?)"], [*below]  # type: tuple[list[str], list[object]]
        for column, value in (("cwd", cwd), ("session_id", session_id)):
            if value is not None:
                conditions.append(f"{column} = ?")
                values.append(value)
        for word in query.split():
            like, full = "prompt LIKE ? ESCAPE '\\'", _match(word)
            conditions.append(
                f"({like} OR history.id IN (SELECT rowid FROM history_fts WHERE history_fts MATCH ?))"
                if full
                else like
            )
            values += [f"%{_escaped(word)}%", *([full] if full else [])]
        sql = (
            "SELECT file_id.id, history.id, prompt, created_at, cwd, session_id, entry_id "
            f"FROM history, file_id WHERE {' AND '.join(conditions)} ORDER BY created_at DESC, history.id DESC LIMIT ?"
        )
        rows = self._file.use(lambda connection: connection.execute(sql, [*values, limit]).fetchall())
        return [
            (
                (at, number),
                t.Prompt(
                    prompt_id=f"{file_id}-{number}", prompt=prompt, created_at=clock.iso(at * 1_000_000_000),
                    cwd=cwd, session_id=session, entry_id=entry,
                ),
            )
            for file_id, number, prompt, at, cwd, session, entry in rows
        ]  # fmt: skip

    def close(self) -> None:
        """Close the database file."""
        self._file.close()


def _complete(connection: sqlite3.Connection) -> None:
    """Add the columns and the indexes that a file of an older daemon lacks."""
    for table, column in _ADDED_COLUMNS:
        known = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        if column.split()[0] not in known:
            connection.execute(f"ALTER TABLE {table} ADD COLUMN {column}")
    for name, columns in _INDEXES:
        connection.execute(f"CREATE INDEX IF NOT EXISTS {name} ON history({columns})")
    for name in _FORMER_INDEXES:
        connection.execute(f"DROP INDEX IF EXISTS {name}")


def _add_for(connection: sqlite3.Connection, prompt: NewPrompt, command_id: str | None) -> Addition:
    number = _add_all(connection, [prompt])
    if command_id is not None:
        connection.execute(
            "INSERT OR REPLACE INTO commands(id, added, number) VALUES(?, ?, ?)",
            [command_id, number is not None, number],
        )
        newest = connection.execute("SELECT max(rowid) FROM commands").fetchone()[0]
        connection.execute("DELETE FROM commands WHERE rowid <= ?", [newest - _COMMANDS])
    return Addition(number is not None, _prompt_id(connection, number))


def _delete(connection: sqlite3.Connection, prompt_ids: Sequence[str]) -> list[str]:
    found = _numbers(connection, prompt_ids)
    if found:
        connection.executemany("DELETE FROM history WHERE id = ?", [[number] for number in found.values()])
        connection.execute("INSERT INTO history_fts(history_fts) VALUES ('optimize')")  # drops deleted words
    return list(found)


def _numbers(connection: sqlite3.Connection, prompt_ids: Sequence[str]) -> dict[str, int]:
    """Return the numbers of the rows that exist, by the ids of their prompts."""
    file_id = connection.execute("SELECT id FROM file_id").fetchone()[0]
    found: dict[str, int] = {}
    for prompt_id in prompt_ids:
        file, _, number = prompt_id.partition("-")
        if file == file_id and number.isascii() and number.isdecimal() and len(number) <= _MAX_DIGITS:
            row = connection.execute("SELECT id FROM history WHERE id = ?", [int(number)]).fetchone()
            if row is not None and f"{file}-{row[0]}" == prompt_id:
                found[prompt_id] = row[0]
    return found


def _prompt_id(connection: sqlite3.Connection, number: int | None) -> str | None:
    if number is None:
        return None
    return f"{connection.execute('SELECT id FROM file_id').fetchone()[0]}-{number}"


def _add_all(connection: sqlite3.Connection, prompts: Sequence[NewPrompt]) -> int | None:
    """Add prompts that are neither empty nor equal to the one before. Returns the number of the last added row."""
    newest = connection.execute(
        "SELECT prompt FROM history ORDER BY created_at DESC, id DESC LIMIT 1"
    ).fetchone()
    last: str | None = None if newest is None else newest[0]
    added: int | None = None
    for new in prompts:
        prompt = _normal(new.prompt)
        if prompt and prompt != last:
            added = connection.execute(_INSERT, _row(prompt, new)).lastrowid
            last = prompt
    return added


def _merge(connection: sqlite3.Connection, prompts: Sequence[NewPrompt]) -> int:
    added = 0
    for new in prompts:
        row = _row(_normal(new.prompt), new)
        # Only the few prompts of the same second are compared.
        known = (
            "SELECT 1 FROM history WHERE created_at = ?2 AND prompt = ?1 AND cwd IS ?3 AND session_id IS ?4"
        )
        if row[0] and connection.execute(known, row[:4]).fetchone() is None:
            connection.execute(_INSERT, row)
            added += 1
    return added


def _normal(prompt: str) -> str:
    lines = [line.rstrip() for line in valid_text(prompt).splitlines()]
    return "\n".join(lines).strip()[:_MAX_CHARACTERS]


def _row(prompt: str, new: NewPrompt) -> tuple[str, int, str | None, str | None, str | None]:
    said_at = int(datetime.fromisoformat(new.said_at).timestamp())
    return prompt, said_at, new.cwd, new.session_id, new.entry_id


def _match(word: str) -> str:
    """Return an FTS5 prefix query for a word; empty if the word has no letter and no digit."""
    parts = [part for phrase in search_words.phrases(word.replace('"', " ")) for part in phrase.words]
    return f'"{" ".join(parts)}" *' if parts else ""


def _escaped(word: str) -> str:
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
