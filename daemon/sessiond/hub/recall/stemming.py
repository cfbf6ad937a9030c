"""The stems of words, as the index has them: SQLite's own tokenizer makes them."""

import sqlite3
from collections.abc import Collection, Sequence
from contextlib import closing
from typing import Final

from sessiond.hub.index.text_tables import STEM_TOKENIZER

MAX_CACHED: Final = 20_000
"""The maximum number of words whose stem is remembered."""
_SUFFIXES: Final = (
    "i", "er", "or", "ur", "al", "at", "ic", "iv", "abl", "age", "anc", "enc", "ent", "ant", "ist", "iti", "ment",
)  # fmt: skip
"""Endings that distinguish the stems of related words, such as `expiri` and `expir`."""
_LAST_LETTERS: Final = (("t", "s"), ("d", "s"))
"""The same endings for `convert` and `convers`, `extend` and `extens`."""
_SHORTEST: Final = 4


def related(stem: str) -> list[str]:
    """Return possible stems of words that are derived from the word of a stem, or that it is derived from."""
    found = [stem + suffix for suffix in _SUFFIXES]
    found += [stem.removesuffix(suffix) for suffix in _SUFFIXES if stem.endswith(suffix)]
    for pair in _LAST_LETTERS:
        found += [stem[:-1] + other for one, other in (pair, pair[::-1]) if stem.endswith(one)]
    return [form for form in dict.fromkeys(found) if len(form) >= _SHORTEST and form != stem]


def stems_of_texts(texts: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the stems of the words of each text, in order."""
    found: list[list[str]] = [[] for _ in texts]
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute(f'CREATE VIRTUAL TABLE texts USING fts5(text, tokenize="{STEM_TOKENIZER}")')
        connection.execute("CREATE VIRTUAL TABLE stems USING fts5vocab(texts, 'instance')")
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO texts(rowid, text) VALUES(?, ?)", enumerate(texts, 1))
        for stem, number in connection.execute("SELECT term, doc FROM stems ORDER BY doc, offset"):
            found[number - 1].append(stem)
    return [tuple(stems) for stems in found]


class Stemmer:
    """Remembers the stems of words. Used on one thread."""

    def __init__(self) -> None:
        self._known: dict[str, str | None] = {}

    def stems(self, words: Collection[str]) -> dict[str, str | None]:
        """Return the stem of each word; None for a text that is not a single word for the tokenizer."""
        if len(self._known) > MAX_CACHED:
            self._known.clear()
        new = [word for word in dict.fromkeys(words) if word not in self._known]
        for word, found in zip(new, stems_of_texts(new) if new else (), strict=True):
            self._known[word] = found[0] if len(found) == 1 else None
        return {word: self._known[word] for word in words}
