"""The tables of texts in the index: the texts, the words for search, and stems and names for recall.

The tables of words hold no text of their own. An entry is removed from them by giving them its text again, so `VERSION`
of the database must be incremented when `indexed_text` changes.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from sessiond.session.content import identifiers

MAX_RECALLED_CHARS: Final = 20_000
"""Limit of the characters of one entry that recall finds."""
MAX_RECALLED_TOOL_CHARS: Final = 2_000
"""The same limit for the output of a tool, which seldom contains what a person asks for later."""
_REMOVED_TOGETHER: Final = 100
"""The number of texts that are in memory while the texts of a file are removed."""
_TOOL_ROLES: Final = frozenset(("toolResult", "bashExecution", "pythonExecution", "fileMention"))

STEM_TOKENIZER: Final = "porter unicode61 remove_diacritics 2"
_HAS_TRIGRAMS: Final = sqlite3.sqlite_version_info >= (3, 34)
"""Older versions of SQLite do not have the tokenizer. With these, recall finds names by their words only."""

TABLES: Final = f"""
CREATE TABLE texts(id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(
    text, content='texts', content_rowid='id', columnsize=0, tokenize="unicode61 remove_diacritics 2"
);
CREATE VIRTUAL TABLE stems USING fts5(text, content='', detail=none, columnsize=0, tokenize="{STEM_TOKENIZER}");
CREATE VIRTUAL TABLE names USING fts5(
    text, content='', detail=none, columnsize=0, tokenize="{"trigram" if _HAS_TRIGRAMS else "unicode61"}"
);
"""


class IndexedText(NamedTuple):
    """A text as the tables have it.

    Attributes:
        text: The whole text.
        stems: The part that recall finds by its stems.
        names: The names in that part, which recall finds by their parts; may be empty.
    """

    text: str
    stems: str
    names: str


def indexed_text(text: str, role: str | None) -> IndexedText:
    """Return what the tables have of the text of an entry."""
    part = recalled_text(text, role)
    found = identifiers.found_in(part)
    return IndexedText(text, f"{part} {found.parts}" if found.parts else part, found.names)


def add(connection: sqlite3.Connection, texts: Iterable[tuple[int, IndexedText]]) -> None:
    """Insert texts under their numbers. Must be called within a transaction."""
    numbered = list(texts)
    connection.executemany(
        "INSERT INTO texts VALUES(?, ?)", [(number, text.text) for number, text in numbered]
    )
    for table, rows in _rows_of(numbered):
        connection.executemany(f"INSERT INTO {table}(rowid, text) VALUES(?, ?)", rows)


def remove(connection: sqlite3.Connection, file: int) -> None:
    """Delete the texts of a file, before the rows of its entries are deleted. Must be called within a transaction."""
    of_file = connection.execute(
        "SELECT texts.id, role, text FROM texts JOIN entries ON entries.id = texts.id WHERE entries.file = ?",
        (file,),
    )
    while numbered := [
        (number, indexed_text(text, role)) for number, role, text in of_file.fetchmany(_REMOVED_TOGETHER)
    ]:
        for table, rows in _rows_of(numbered):
            connection.executemany(f"INSERT INTO {table}({table}, rowid, text) VALUES('delete', ?, ?)", rows)
    connection.execute("DELETE FROM texts WHERE id IN (SELECT id FROM entries WHERE file = ?)", (file,))


def recalled_text(text: str, role: str | None) -> str:
    """Return the part of an entry's text that recall finds."""
    return text[: MAX_RECALLED_TOOL_CHARS if role in _TOOL_ROLES else MAX_RECALLED_CHARS]


def _rows_of(texts: Sequence[tuple[int, IndexedText]]) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """Yield each table of words with its rows."""
    yield "words", [(number, text.text) for number, text in texts]
    yield "stems", [(number, text.stems) for number, text in texts]
    yield "names", [(number, text.names) for number, text in texts if text.names]
