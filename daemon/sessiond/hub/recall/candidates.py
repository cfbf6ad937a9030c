"""Finds the entries that may answer a question, from the tables of stems and names.

A term in many entries has little value, so only its newest entries are considered. Their number bounds the work.
"""

import heapq
import math
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from sessiond.hub.recall.question import DERIVED_WEIGHT, Concept, ParsedQuestion

MAX_ROWS: Final = 4_000
"""The maximum number of entries of one term that are considered."""
MAX_ROWS_OF_MANY: Final = 50_000
"""The same limit before the entries of other projects are left out."""
PER_WORDING: Final = 100
"""The number of entries that are examined for each wording."""
_TRIGRAM: Final = 3
_MAX_NAME_ROWS: Final = 60
_COUNTS: Final = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.stem_counts USING fts5vocab(main, 'stems', 'row')"


@dataclass(frozen=True, slots=True)
class Values:
    """The values of matches of a concept: of its word, and of each of its synonyms, by their stems."""

    word: float
    synonyms: dict[tuple[str, ...], float]


@dataclass(frozen=True, slots=True)
class Candidates:
    """The numbers of the entries to examine, the values of the concepts, and the entries by the names they contain."""

    entries: Collection[int]
    values: Sequence[Values]
    by_name: dict[str, Sequence[int]]


def find(
    connection: sqlite3.Connection, question: ParsedQuestion, allowed: Collection[int] | None
) -> Candidates:
    """Return the entries that may answer a question, of the allowed numbers; None allows all."""
    connection.execute(_COUNTS)
    total = connection.execute("SELECT coalesce(max(id), 0) FROM entries").fetchone()[0]
    stems = {concept.stem for concept in question.concepts} | {
        stem
        for concept in question.concepts
        for term in (*concept.derived, *concept.synonyms)
        for stem in term.stems
    }
    counts = {stem: _count(connection, stem) for stem in stems}
    values = [_values(concept, counts, total) for concept in question.concepts]
    rows: dict[tuple[str, ...], Sequence[int]] = {}
    scores = [
        _scores(connection, concept, value, rows, allowed)
        for concept, value in zip(question.concepts, values, strict=True)
    ]
    chosen: dict[int, None] = {}
    for wording in question.wordings:
        total_scores: dict[int, float] = {}
        for place in wording:
            for entry, value in scores[place].items():
                total_scores[entry] = total_scores.get(entry, 0.0) + value
        best = heapq.nlargest(PER_WORDING, total_scores.items(), key=lambda pair: (pair[1], pair[0]))
        chosen |= dict.fromkeys(entry for entry, _ in best)
    by_name = {name: _named(connection, name, allowed) for name in question.names}
    by_name = {name: found for name, found in by_name.items() if 0 < len(found) < _MAX_NAME_ROWS}
    for found in by_name.values():
        chosen |= dict.fromkeys(found)
    return Candidates(chosen, values, by_name)


def _count(connection: sqlite3.Connection, stem: str) -> int:
    row = connection.execute("SELECT doc FROM temp.stem_counts WHERE term = ?", (stem,)).fetchone()
    return 0 if row is None else int(row[0])


def _rarity(count: int, total: int) -> float:
    return math.log(1 + (max(total, count) - count + 0.5) / (count + 0.5))


def _values(concept: Concept, counts: dict[str, int], total: int) -> Values:
    own = _rarity(counts[concept.stem], total)
    limit = own if counts[concept.stem] else math.inf
    synonyms: dict[tuple[str, ...], float] = {}
    weighted = [(term, DERIVED_WEIGHT) for term in concept.derived]
    weighted += [(synonym, concept.synonym_weight) for synonym in concept.synonyms]
    for term, weight in weighted:
        count = min(counts[stem] for stem in term.stems)
        if count:
            value = concept.weight * weight * min(_rarity(count, total), limit)
            synonyms[term.stems] = max(value, synonyms.get(term.stems, 0.0))
    return Values(concept.weight * own, synonyms)


def _scores(
    connection: sqlite3.Connection, concept: Concept, values: Values,
    known: dict[tuple[str, ...], Sequence[int]], allowed: Collection[int] | None,
) -> dict[int, float]:  # fmt: skip
    """Return the entries that match a concept, with the value of the best term."""
    terms: list[tuple[tuple[str, ...], tuple[str, ...], float]] = [
        ((concept.stem,), (concept.word,), values.word)
    ]
    terms += [
        (term.stems, term.words, values.synonyms[term.stems])
        for term in (*concept.derived, *concept.synonyms)
        if term.stems in values.synonyms
    ]
    scores: dict[int, float] = {}
    for stems, words, value in sorted(terms, key=lambda term: -term[2]):
        if stems not in known:
            known[stems] = _rows(connection, "stems", words, allowed)
        for entry in known[stems]:
            scores.setdefault(entry, value)
    return scores


def _rows(
    connection: sqlite3.Connection, table: str, words: Iterable[str], allowed: Collection[int] | None
) -> Sequence[int]:
    """Return the newest entries that contain all of the words, which contain only letters and digits."""
    match = " AND ".join(f'"{word}"' for word in words)
    limit = MAX_ROWS if allowed is None else MAX_ROWS_OF_MANY
    found = connection.execute(
        f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid DESC LIMIT {limit}", (match,)
    )
    return [entry for (entry,) in found if allowed is None or entry in allowed][:MAX_ROWS]


def _named(connection: sqlite3.Connection, name: str, allowed: Collection[int] | None) -> Sequence[int]:
    """Return the newest entries with a name in code that may contain this text."""
    plain = name.replace('"', "")
    trigrams = dict.fromkeys(plain[start : start + _TRIGRAM] for start in range(len(plain) - _TRIGRAM + 1))
    return _rows(connection, "names", trigrams, allowed) if trigrams else []
