"""Words of a search: normalizes text for the index, parses queries, and finds their matches in a text.

A word is a run of letters and digits; case and diacritics are ignored. In scripts without spaces between words
(Chinese, Japanese, Korean, Thai and their neighbors) each character is a word, and a run of them in a query is a
phrase. `JOINT` is inserted before and after such characters within a run of letters, so that a tokenizer that knows
only letters separates them.
"""

import re
import unicodedata
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from sessiond.session.content.preview import clean

JOINT: Final = "\u200b"
"""A zero-width space. No tokenizer treats it as a letter. It is removed from every text before others are inserted."""

MAX_WORDS: Final = 32
"""Limit of the phrases in a query."""
_SINGLE: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31a0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_ANY_SINGLE: Final = re.compile(f"[{_SINGLE}]")
_UNSPACED: Final = re.compile(f"(?<=[{_SINGLE}])(?=\\w)|(?<=\\w)(?=[{_SINGLE}])")
_TOKEN: Final = re.compile(f"[{_SINGLE}]|[^\\W_{_SINGLE}]+")
_PART: Final = re.compile(r'"([^"]*)(?:"(\*?)|$)|([^\s"]+)')
_SNIPPET: Final = 160
"""Length of a snippet in characters."""
_LEAD: Final = 40
"""Characters of a snippet before its first match."""
_MAX_MATCHES: Final = 1_000
"""Matches in one text that are examined for the best snippet."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """Consecutive words. If `prefix` is true, the last one is the beginning of a word."""

    words: tuple[str, ...]
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class Snippet:
    """A part of a text as one line, and the ranges `[start, end)` of the matches in it, in code points."""

    text: str
    ranges: list[tuple[int, int]]


def searchable(text: str, limit: int) -> str:
    """Return text for the index: one clean line with `JOINT` between words of scripts without spaces.

    Args:
        text: The text.
        limit: Limit of the characters of `text` that are used.

    """
    text = " ".join(text[:limit].split())
    if not text.isprintable():
        text = " ".join(clean(text).replace(JOINT, "").split())
    return text if text.isascii() or _ANY_SINGLE.search(text) is None else _UNSPACED.sub(JOINT, text)


def readable(text: str) -> str:
    """Return indexed text without `JOINT`."""
    return text.replace(JOINT, "")


def phrases(query: str) -> list[Phrase]:
    """Parse a query into phrases, all of which must match; empty if the query has no letter and no digit.

    A query consists of words, "quoted phrases" and prefixes*. Every query is valid: a quote without an end extends to
    the end of the query, and other characters only separate words.
    """
    found: list[Phrase] = []
    for part in _PART.finditer(query.replace(JOINT, "")):
        quoted, is_prefix, unquoted = part.groups()
        text = unquoted if unquoted is not None else quoted
        words = tuple(_TOKEN.findall(text))
        if words:
            found.append(Phrase(words, bool(is_prefix) or (unquoted is not None and unquoted.endswith("*"))))
    return found[:MAX_WORDS]


def tokens(text: str) -> list[str]:
    """Return all words of a text, in order."""
    return _TOKEN.findall(text.replace(JOINT, ""))


def token_spans(text: str) -> Iterator[tuple[str, int, int]]:
    """Return each word of a text, folded, with its start and end."""
    return ((fold(word), start, end) for word, start, end in word_spans(text))


def word_spans(text: str) -> Iterator[tuple[str, int, int]]:
    """Return each word of a text as it is written, with its start and end."""
    return ((found[0], *found.span()) for found in _TOKEN.finditer(text))


def fold(word: str) -> str:
    """Return a word in lower case and without diacritics."""
    word = word.lower()
    if word.isascii():
        return word
    parts = unicodedata.normalize("NFD", word)
    return unicodedata.normalize("NFC", "".join(part for part in parts if not unicodedata.combining(part)))


def snippet(text: str, query_phrases: Sequence[Phrase]) -> Snippet:
    """Return the part of a text that contains the most of the phrases close together."""
    best = _best_place(text, query_phrases)
    start = best - _LEAD if best > _LEAD else 0
    if start and (gap := text.find(" ", start, best)) >= 0:
        start = gap + 1
    end = min(len(text), start + _SNIPPET)
    lead = "…" if start else ""
    excerpt = lead + text[start:end] + ("…" if end < len(text) else "")
    return Snippet(
        excerpt, _merge(sorted((first, last) for first, last, _ in _matches(excerpt, query_phrases)))
    )


def _best_place(text: str, query_phrases: Sequence[Phrase]) -> int:
    """Return the start of the range that fits into a snippet and contains the most different phrases."""
    best, most_kinds = 0, 0
    window: deque[tuple[int, int]] = deque()
    for start, end, number in islice(_matches(text, query_phrases), _MAX_MATCHES):
        window.append((start, number))
        while window[0][0] < end - (_SNIPPET - _LEAD) and len(window) > 1:
            window.popleft()
        kinds = len({kind for _, kind in window})
        if kinds > most_kinds:
            best, most_kinds = window[0][0], kinds
        if most_kinds == len(query_phrases):
            break
    return best


def _matches(text: str, query_phrases: Sequence[Phrase]) -> Iterator[tuple[int, int, int]]:
    """Yield the matches of phrases in a text: start, end and the index of the phrase."""
    folded = [(tuple(map(fold, phrase.words)), phrase.prefix) for phrase in query_phrases]
    seen_words: list[str] = []
    starts: list[int] = []
    for token in _TOKEN.finditer(text):
        word = fold(token[0])
        seen_words.append(word)
        starts.append(token.start())
        for number, ((*before, last), prefix) in enumerate(folded):
            if word == last or (prefix and word.startswith(last)):
                first = len(seen_words) - 1 - len(before)
                if first >= 0 and seen_words[first:-1] == before:
                    yield starts[first], token.end(), number


def _merge(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges in order, with overlapping ranges merged."""
    merged: list[tuple[int, int]] = []
    for start, end in ranges:
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged
