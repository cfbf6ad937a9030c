"""The tables of texts in the index: the texts, the words for search, and stems and names for recall.

The tables for recall hold no text of their own. An entry is removed from them by giving them its text again, so
`VERSION` of the database must be incremented when `_stems_of` or `_names_of` changes.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from sessiond.session.content import identifiers
from sessiond.session.content.search_text import SearchText

MAX_RECALLED_CHARS: Final = 20_000
"""Limit of the characters of one entry that recall finds."""
MAX_RECALLED_TOOL_CHARS: Final = 2_000
"""The same limit for the output of a tool, which seldom contains what a person asks for later."""
_TOOL_ROLES: Final = frozenset(("toolResult", "bashExecution", "pythonExecution", "fileMention"))

STEM_TOKENIZER: Final = "porter unicode61 remove_diacritics 2"
_HAS_TRIGRAMS: Final = sqlite3.sqlite_version_info >= (3, 34)
"""Older versions of SQLite do not have the tokenizer. With these, recall finds names by their words only."""

TABLES: Final = f"""
CREATE TABLE texts(id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(
    text, content='texts', content_rowid='id', tokenize="unicode61 remove_diacritics 2"
);
CREATE VIRTUAL TABLE stems USING fts5(text, content='', detail=none, tokenize="{STEM_TOKENIZER}");
CREATE VIRTUAL TABLE names USING fts5(
    text, content='', detail=none, tokenize="{"trigram" if _HAS_TRIGRAMS else "unicode61"}"
);
"""


def add(connection: sqlite3.Connection, texts: Sequence[tuple[int, SearchText]]) -> None:
    """Insert texts under their numbers. Must be called within a transaction."""
    connection.executemany("INSERT INTO texts VALUES(?, ?)", ((number, text.text) for number, text in texts))
    connection.executemany(
        "INSERT INTO words(rowid, text) VALUES(?, ?)", ((number, text.text) for number, text in texts)
    )
    recalled = list(_recalled((number, text.role, text.text) for number, text in texts))
    connection.executemany("INSERT INTO stems(rowid, text) VALUES(?, ?)", _stems_of(recalled))
    connection.executemany("INSERT INTO names(rowid, text) VALUES(?, ?)", _names_of(recalled))


def remove(connection: sqlite3.Connection, file: int) -> None:
    """Delete the texts of a file, before the rows of its entries are deleted. Must be called within a transaction."""
    connection.execute(
        "INSERT INTO words(words, rowid, text) SELECT 'delete', texts.id, text FROM texts"
        " JOIN entries ON entries.id = texts.id WHERE entries.file = ?",
        (file,),
    )
    for table, derive in (("stems", _stems_of), ("names", _names_of)):
        connection.executemany(
            f"INSERT INTO {table}({table}, rowid, text) VALUES('delete', ?, ?)",
            derive(_recalled(_texts_of(connection, file))),
        )
    connection.execute("DELETE FROM texts WHERE id IN (SELECT id FROM entries WHERE file = ?)", (file,))


def recalled_text(text: str, role: str | None) -> str:
    """Return the part of an entry's text that recall finds."""
    return text[: MAX_RECALLED_TOOL_CHARS if role in _TOOL_ROLES else MAX_RECALLED_CHARS]


class _Recalled(NamedTuple):
    """A match of recall in the text of an entry."""

    number: int
    text: str
    parts: str
    names: str


def _recalled(texts: Iterable[tuple[int, str | None, str]]) -> Iterator[_Recalled]:
    """Yield the parts of texts that recall finds, each with its number and its role."""
    for number, role, text in texts:
        part = recalled_text(text, role)
        yield _Recalled(number, part, *identifiers.found_in(part))


def _texts_of(connection: sqlite3.Connection, file: int) -> Iterator[tuple[int, str | None, str]]:
    return connection.execute(
        "SELECT texts.id, role, text FROM texts JOIN entries ON entries.id = texts.id WHERE entries.file = ?",
        (file,),
    )


def _stems_of(recalled: Iterable[_Recalled]) -> Iterator[tuple[int, str]]:
    for row in recalled:
        yield row.number, f"{row.text} {row.parts}" if row.parts else row.text


def _names_of(recalled: Iterable[_Recalled]) -> Iterator[tuple[int, str]]:
    return ((row.number, row.names) for row in recalled if row.names)
