"""The tables of the words in texts: the words for search, and stems and names for recall.

The tables hold no text. An entry is removed from them by giving them its text again, from `packed_texts`, so `VERSION`
of the database must be incremented when `indexed_text` changes.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from sessiond.hub.index.packed_texts import PackedTexts
from sessiond.hub.index.phrase_checks import TOKENIZER
from sessiond.session.content import identifiers

MAX_RECALLED_CHARS: Final = 20_000
"""Limit of the characters of one entry that recall finds."""
MAX_RECALLED_TOOL_CHARS: Final = 2_000
"""The same limit for the output of a tool, which seldom contains what a person asks for later."""
_TOOL_ROLES: Final = frozenset(("toolResult", "bashExecution", "pythonExecution", "fileMention"))

STEM_TOKENIZER: Final = f"porter {TOKENIZER}"
_HAS_TRIGRAMS: Final = sqlite3.sqlite_version_info >= (3, 34)
"""Older versions of SQLite do not have the tokenizer. With these, recall finds names by their words only."""

NAMES: Final = ("words", "stems", "names")
"""The names of the tables."""
TABLES: Final = f"""
CREATE VIRTUAL TABLE words USING fts5(text, content='', detail=none, columnsize=0, tokenize="{TOKENIZER}");
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


def add(connection: sqlite3.Connection, texts: Sequence[tuple[int, IndexedText]]) -> None:
    """Insert the words of texts under their numbers. Must be called within a transaction."""
    for table, rows in _rows_of(texts):
        connection.executemany(f"INSERT INTO {table}(rowid, text) VALUES(?, ?)", rows)


def remove(connection: sqlite3.Connection, packed: PackedTexts, file: int) -> None:
    """Delete the texts of a file, before the rows of its entries are deleted. Must be called within a transaction."""
    for first, texts in packed.of_file(file):
        roles = connection.execute(
            "SELECT id, role FROM entries WHERE id BETWEEN ? AND ?", (first, first + len(texts) - 1)
        ).fetchall()
        numbered = [(number, indexed_text(texts[number - first], role)) for number, role in roles]
        for table, rows in _rows_of(numbered):
            connection.executemany(f"INSERT INTO {table}({table}, rowid, text) VALUES('delete', ?, ?)", rows)
    packed.remove(file)


def recalled_text(text: str, role: str | None) -> str:
    """Return the part of an entry's text that recall finds."""
    return text[: MAX_RECALLED_TOOL_CHARS if role in _TOOL_ROLES else MAX_RECALLED_CHARS]


def _rows_of(texts: Sequence[tuple[int, IndexedText]]) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """Yield each table of words with its rows."""
    yield "words", [(number, text.text) for number, text in texts]
    yield "stems", [(number, text.stems) for number, text in texts]
    yield "names", [(number, text.names) for number, text in texts if text.names]
