"""Checks phrases in the texts of entries, since the index knows which words an entry has, and not where.

The words of a phrase are those that SQLite's tokenizer finds. In a text of well-known characters a regular expression
finds the same, after letters with accents are replaced by what the tokenizer makes of them; any other text is given to
SQLite.
"""

import re
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from contextlib import closing
from functools import cache
from typing import Final

from sessiond.session.content.search_words import JOINT, Phrase

TOKENIZER: Final = "unicode61 remove_diacritics 2"

LETTERS: Final = "0-9a-z\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fa5\uac00-\ud7a3"
"""Characters of words that the tokenizer leaves as they are."""
_ASCII_LETTERS: Final = "0-9a-z"
SIGNS: Final = (
    f"\u00a0-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf{JOINT}\u2010-\u2027\u2030-\u205e\u2190-\u22ff"
    "\u2500-\u26ff\u2701-\u2767\u2794-\u27bf\u3000-\u3004\u3008-\u3020\uff01-\uff0f\uff1a-\uff20"
)
"""Characters beyond ASCII that separate words for the tokenizer."""
_FREQUENT_SIGNS: Final = "→—–…’‘“”•│─├✓"
"""Those of `SIGNS` that many texts have. To replace them takes a tenth of the time of a search for other characters."""
FOLDED: Final = range(0x80, 0x530)
"""The Latin, Greek and Cyrillic characters that are replaced by what the tokenizer makes of them."""


class PhraseChecks:
    """The phrases of a query: how the index is asked for entries, and which of these match.

    Args:
        phrases: The phrases, all of which must match. Their words contain only letters and digits.
    """

    def __init__(self, phrases: Sequence[Phrase]) -> None:
        words = [
            phrase.words
            if len(phrase.words) == 1 and phrase.words[0].isascii()
            else _tokens(" ".join(phrase.words))
            for phrase in phrases
        ]
        self.match = " AND ".join(
            _query(found, prefix=phrase.prefix) if found else _string(phrase.words, prefix=phrase.prefix)
            for phrase, found in zip(phrases, words, strict=True)
        )
        """The query of FTS5 for the entries that have all of the words."""
        checked = [(phrase, found) for phrase, found in zip(phrases, words, strict=True) if len(found) > 1]
        self._whole = " AND ".join(_string(phrase.words, prefix=phrase.prefix) for phrase, _ in checked)
        self._patterns, self._ascii_patterns = (
            [_pattern(found, letters, prefix=phrase.prefix) for phrase, found in checked]
            for letters in (LETTERS + _folded_letters(), _ASCII_LETTERS)
        )

    @property
    def are_needed(self) -> bool:
        """Whether an entry that has all of the words may not match."""
        return bool(self._patterns)

    def matching(self, texts: Iterable[tuple[int, str]]) -> Collection[int]:
        """Return the numbers of the texts in which all phrases occur. Call it only if checks are needed.

        Args:
            texts: Texts in which all words of the phrases occur, with their numbers.
        """
        found: set[int] = set()
        others: list[tuple[int, str]] = []
        for number, whole in texts:
            text = whole if whole.isascii() else _without_signs(whole)
            if text.isascii():
                patterns = self._ascii_patterns
            elif _others().search(text := _folded(text)) is None:
                patterns = self._patterns
            else:
                others.append((number, text))
                continue
            lower = text.lower()
            if all(pattern.search(lower) for pattern in patterns):
                found.add(number)
        if others:
            with closing(_table()) as connection:
                connection.executemany("INSERT INTO texts(rowid, text) VALUES(?, ?)", others)
                sql = "SELECT rowid FROM texts WHERE texts MATCH ?"
                found.update(number for (number,) in connection.execute(sql, (self._whole,)))
        return found


def _without_signs(text: str) -> str:
    for sign in _FREQUENT_SIGNS:
        text = text.replace(sign, " ")
    return text


def _folded(text: str) -> str:
    """Return a text with what the tokenizer makes of each of the characters that are `FOLDED`."""
    folds = _folds()
    for character in set(text):
        if character in folds:
            text = text.replace(character, folds[character])
    return text


@cache
def _folds() -> dict[str, str]:
    """Return what the tokenizer makes of each of the characters that are `FOLDED`.

    That is a letter, a blank for a character that separates words, and nothing for a mark that it leaves out.
    """
    found: dict[str, str] = {}
    with closing(_table()) as connection:
        connection.executemany(
            "INSERT INTO texts(rowid, text) VALUES(?, ?)", [(code, f"a{chr(code)}a") for code in FOLDED]
        )
        connection.execute("CREATE VIRTUAL TABLE tokens USING fts5vocab(texts, 'instance')")
        for code, term in connection.execute("SELECT doc, term FROM tokens"):
            found[chr(code)] = " " if term == "a" else term[1:-1]
    return found


@cache
def _folded_letters() -> str:
    """Return the letters beyond ASCII that `_folds` returns, for a class of characters."""
    return "".join(sorted({letter for letter in _folds().values() if not letter.isascii()}))


@cache
def _others() -> re.Pattern[str]:
    """Return the expression for a character that only SQLite knows."""
    return re.compile(f"[^\\x00-\\x7f{LETTERS}{SIGNS}{_folded_letters()}]")


def _query(words: Sequence[str], *, prefix: bool) -> str:
    """Return the part of a query that finds the entries with all of these words."""
    *others, last = words
    return " AND ".join([*(_string([word], prefix=False) for word in others), _string([last], prefix=prefix)])


def _string(words: Sequence[str], *, prefix: bool) -> str:
    """Return a phrase in the syntax of FTS5. Letters and digits cannot contain any of that syntax."""
    return f'"{" ".join(words)}"{" *" if prefix else ""}'


def _pattern(words: Sequence[str], letters: str, *, prefix: bool) -> re.Pattern[str]:
    """Return the expression for consecutive words in a text in lower case whose words consist of these letters.

    It begins with the first word, which `re` finds much faster than a place where a word may begin.
    """
    first, *others = map(re.escape, words)
    end = "" if prefix else f"(?![{letters}])"
    rest = "".join(f"[^{letters}]+{word}" for word in others)
    return re.compile(f"{first}(?<![{letters}]{first}){rest}{end}")


def _tokens(text: str) -> Sequence[str]:
    """Return the words of a text as the tokenizer gives them."""
    with closing(_table()) as connection:
        connection.execute("CREATE VIRTUAL TABLE tokens USING fts5vocab(texts, 'instance')")
        connection.execute("INSERT INTO texts(rowid, text) VALUES(1, ?)", (text,))
        return [token for (token,) in connection.execute("SELECT term FROM tokens ORDER BY offset")]


def _table() -> sqlite3.Connection:
    """Return a database in memory with an empty table `texts`, which knows where the words of a text are."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute(f"CREATE VIRTUAL TABLE texts USING fts5(text, content='', tokenize=\"{TOKENIZER}\")")
    return connection
