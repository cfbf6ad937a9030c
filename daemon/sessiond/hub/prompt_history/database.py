"""The prompt database: the table `history` and its full-text index `history_fts`, as in oh-my-pi.

It is used on one thread. A file that SQLite cannot use is renamed to `<name>.damaged-<n>`, and a new file is created.
"""

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sessiond.hub import clock
from sessiond.hub.database_file import DatabaseFile, in_transaction
from sessiond.protocol import types as t
from sessiond.session.content import search_words
from sessiond.session.tree.lines import sound

_LONGEST: Final = 100_000
"""Limit of a stored prompt, in characters. A longer one is truncated."""
_COMMANDS: Final = 1_000
"""Limit of commands whose outcome is recorded. The journal of commands asks for the last ones after a crash."""
_TABLES: Final = """
BEGIN;
CREATE TABLE IF NOT EXISTS history(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    prompt TEXT NOT NULL,
    created_at INTEGER NOT NULL,   -- seconds since 1970
    cwd TEXT
);
CREATE TABLE IF NOT EXISTS commands(id TEXT PRIMARY KEY, added INTEGER NOT NULL);
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
    """The prompt database in a file; `path` None: in a temporary file.

    Its methods raise `StorageFailed` if the file cannot be used.
    """

    def __init__(self, path: str | None) -> None:
        self._file = DatabaseFile(path or "", _TABLES, name="the history of prompts", synchronous="NORMAL")

    def add(self, prompt: str, cwd: str | None, said_at: str, command_id: str | None = None) -> bool:
        """Add a prompt, unless it is empty or equal to the last one.

        Args:
            prompt: The text.
            cwd: The folder in which it was entered.
            said_at: When it was entered, in ISO format.
            command_id: The `commandId` of the request. The outcome is recorded in the same transaction, for
                `added_by`.

        Returns:
            Whether the prompt was added.
        """
        return self._file.use(
            lambda it: in_transaction(it, lambda: _add_for(it, (prompt, cwd, said_at), command_id))
        )

    def added_by(self, command_id: str) -> bool | None:
        """Return whether a command has added a prompt; None if it was not carried out."""
        found = self._file.use(
            lambda it: it.execute("SELECT added FROM commands WHERE id = ?", [command_id]).fetchone()
        )
        return None if found is None else bool(found[0])

    def add_all(self, prompts: Sequence[tuple[str, str | None, str]]) -> int:
        """Add prompts, each with its folder and time, in one transaction. Returns how many were added."""
        return self._file.use(lambda it: in_transaction(it, lambda: _add_all(it, prompts)))

    def page(self, query: str, cwd: str | None, below: int, limit: int) -> list[tuple[int, t.Prompt]]:
        """Return the newest prompts that match, each with its number.

        Args:
            query: The words that a prompt must contain. Empty: every prompt matches.
            cwd: The folder. None: prompts of all folders match.
            below: Only prompts with a lower number match.
            limit: How many are returned at most.
        """
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
        rows = self._file.use(
            lambda it: it.execute(f"{sql} ORDER BY id DESC LIMIT ?", [*values, limit]).fetchall()
        )
        return [
            (number, t.Prompt(prompt=prompt, created_at=clock.iso(at * 1_000_000_000), cwd=where))
            for number, prompt, at, where in rows
        ]

    def close(self) -> None:
        self._file.close()


def _add_for(
    connection: sqlite3.Connection, prompt: tuple[str, str | None, str], command_id: str | None
) -> bool:
    added = _add_all(connection, [prompt]) > 0
    if command_id is not None:
        connection.execute("INSERT OR REPLACE INTO commands(id, added) VALUES(?, ?)", [command_id, added])
        newest = connection.execute("SELECT max(rowid) FROM commands").fetchone()[0]
        connection.execute("DELETE FROM commands WHERE rowid <= ?", [newest - _COMMANDS])
    return added


def _add_all(connection: sqlite3.Connection, prompts: Sequence[tuple[str, str | None, str]]) -> int:
    """Add prompts that are neither empty nor equal to the one before. Returns how many were added."""
    newest = connection.execute("SELECT prompt FROM history ORDER BY id DESC LIMIT 1").fetchone()
    last, added = None if newest is None else newest[0], 0
    for said, cwd, said_at in prompts:
        prompt = "\n".join(line.rstrip() for line in sound(said).splitlines()).strip()[:_LONGEST]
        if prompt and prompt != last:
            connection.execute(
                "INSERT INTO history(prompt, created_at, cwd) VALUES(?, ?, ?)",
                (prompt, int(datetime.fromisoformat(said_at).timestamp()), cwd),
            )
            last, added = prompt, added + 1
    return added


def _match(word: str) -> str:
    """Return an FTS5 prefix query for a word; empty if the word has no letter and no digit."""
    parts = [part for phrase in search_words.phrases(word.replace('"', " ")) for part in phrase.words]
    return f'"{" ".join(parts)}" *' if parts else ""


def _escaped(word: str) -> str:
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
