"""Finds the places where a text matches the concepts of a question, and the part of the text that matches best."""

import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from sessiond.hub.recall.candidates import Values
from sessiond.hub.recall.question import Concept
from sessiond.hub.recall.stemming import Stemmer
from sessiond.hub.recall.stop_words import STOP_WORDS
from sessiond.session.content import identifiers, search_words

WINDOW: Final = 240
"""The maximum length of the part of a text in which matches count most, in characters. It lies in one sentence."""
MAX_CHARS: Final = 20_000
"""The characters of a text that are examined."""
_MAX_OCCURRENCES: Final = 600
_SENTENCE_END: Final = re.compile(r"[.!?]\s+|\n\s*")
_BEFORE: Final = 120
"""The characters before the best part in which words of the subject are searched."""
_MAX_SUBJECT: Final = 480
_NUMBER: Final = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|hundred|thousand|percent|half|twice|midnight|noon)"
    r"\b",
    re.IGNORECASE,
)


class Occurrence(NamedTuple):
    """A match in a text: its place, the place of its concept in the question, and its value."""

    start: int
    end: int
    concept: int
    value: float


@dataclass(frozen=True, slots=True)
class Match:
    """The matches of a text.

    Attributes:
        best: The best value of each concept in the whole text.
        near: The values of the concepts in its best part, in which each word counts for one concept only.
        start: Where the best part begins.
        end: Where the last match of the best part ends.
        has_number: Whether the sentence of the best part has a number.
    """

    best: dict[int, float]
    near: dict[int, float]
    start: int
    end: int
    has_number: bool


class Matcher:
    """Compares texts with the concepts of a question."""

    def __init__(self, concepts: Sequence[Concept], values: Sequence[Values], stemmer: Stemmer) -> None:
        self._stemmer = stemmer
        self._single: dict[str, list[tuple[int, float]]] = {}
        self._joined: list[tuple[tuple[str, ...], int, float]] = []
        for place, (concept, value) in enumerate(zip(concepts, values, strict=True)):
            self._single.setdefault(concept.stem, []).append((place, value.word))
            for stems, worth in value.synonyms.items():
                if len(stems) == 1:
                    self._single.setdefault(stems[0], []).append((place, worth))
                else:
                    self._joined.append((stems, place, worth))
        self._wanted_in: dict[str, tuple[str, ...]] = {}
        self._wanted = {*self._single, *(stem for stems, _, _ in self._joined for stem in stems)}

    def match(self, text: str) -> Match:
        """Return the matches of a text."""
        text = text[:MAX_CHARS]
        occurrences = self._occurrences(text)
        best: dict[int, float] = {}
        for occurrence in occurrences:
            best[occurrence.concept] = max(best.get(occurrence.concept, 0.0), occurrence.value)
        ends = [match.end() for match in _SENTENCE_END.finditer(text)]
        near, start, end = _best_part(occurrences, ends)
        has_number = _NUMBER.search(text, *_sentence(start, ends, len(text))) is not None
        return Match(best, near, start, end, has_number)

    def subject(self, text: str, match: Match) -> frozenset[str]:
        """Return the stems of the words of the sentence that the best part of a text is in, without numbers."""
        text = text[:MAX_CHARS]
        ends = [end.end() for end in _SENTENCE_END.finditer(text)]
        start, end = _sentence(match.start, ends, len(text))
        sentence = text[max(start, match.start - _BEFORE) : end][:_MAX_SUBJECT]
        words = {
            word
            for word, _, _ in search_words.token_spans(sentence)
            if word not in STOP_WORDS and not word[0].isdigit()
        }
        return frozenset(stem for stem in self._stemmer.stems(words).values() if stem is not None)

    def beyond(self, subject: frozenset[str]) -> frozenset[str]:
        """Return the stems of a subject that the words of the question and their synonyms do not have."""
        return subject - self._wanted

    def _occurrences(self, text: str) -> list[Occurrence]:
        places: dict[str, list[tuple[int, int]]] = {}
        spans = list(search_words.word_spans(text))
        self._learn({word for word, _, _ in spans} - self._wanted_in.keys())
        for word, start, end in spans:
            for stem in self._wanted_in[word]:
                places.setdefault(stem, []).append((start, end))
        found = [
            Occurrence(start, end, concept, value)
            for stem, spans_of_stem in places.items()
            for concept, value in self._single.get(stem, ())
            for start, end in spans_of_stem
        ]
        for term, concept, value in self._joined:
            if term[0] in places:
                found += _joined(places, term, concept, value)
        return sorted(found)[:_MAX_OCCURRENCES]

    def _learn(self, written: Collection[str]) -> None:
        """Cache the wanted stems of the words of texts and of the parts of names."""
        inner = {
            word: [search_words.fold(word), *identifiers.found_in(word).parts.lower().split()]
            for word in written
        }
        stems = self._stemmer.stems({word for words in inner.values() for word in words})
        for term, words in inner.items():
            found = dict.fromkeys(stems[word] for word in words)
            self._wanted_in[term] = tuple(stem for stem in found if stem is not None and stem in self._wanted)


def _joined(
    places: dict[str, list[tuple[int, int]]], term: Sequence[str], concept: int, value: float
) -> list[Occurrence]:
    """Return the matches of a term of several words, which must follow each other closely."""
    found = []
    for start, end in places.get(term[0], ()):
        last = end
        for stem in term[1:]:
            following = [
                occurrence for occurrence in places.get(stem, ()) if last < occurrence[0] <= last + 12
            ]
            if not following:
                break
            last = following[0][1]
        else:
            found.append(Occurrence(start, last, concept, value))
    return found


def _sentence(place: int, ends: Sequence[int], length: int) -> tuple[int, int]:
    """Return the start and the end of the sentence that a place of a text is in."""
    number = bisect_right(ends, place)
    return ends[number - 1] if number else 0, ends[number] if number < len(ends) else length


def _best_part(occurrences: Sequence[Occurrence], ends: Sequence[int]) -> tuple[dict[int, float], int, int]:
    """Return the values of the concepts in the part of a text that is worth most, its start and its end.

    The answer to a question is usually in one sentence. Matches in two sentences are more often accidental.
    """
    most, near, start, end = 0.0, dict[int, float](), 0, 0
    after = 0
    for first, occurrence in enumerate(occurrences):
        after = max(after, first)
        limit = min(occurrence.start + WINDOW, _sentence(occurrence.start, ends, MAX_CHARS)[1])
        while after < len(occurrences) and occurrences[after].start < limit:
            after += 1
        part = occurrences[first:after]
        if sum(other.value for other in part) <= most:
            continue
        values = _assigned(part)
        worth = sum(values.values())
        if worth > most:
            most, near, start, end = worth, values, occurrence.start, max(other.end for other in part)
    return near, start, end


def _assigned(part: Sequence[Occurrence]) -> dict[int, float]:
    """Return the values of the concepts if each word of a text counts for one concept, the best matches first.

    Wordings of a question name the same thing by several words, which are synonyms of each other. A text that has one
    of these words would otherwise count as a match of all.
    """
    values: dict[int, float] = {}
    used: set[int] = set()
    for occurrence in sorted(
        part, key=lambda occurrence: (-occurrence.value, occurrence.start, occurrence.concept)
    ):
        if occurrence.concept not in values and occurrence.start not in used:
            used.add(occurrence.start)
            values[occurrence.concept] = occurrence.value
    return values
