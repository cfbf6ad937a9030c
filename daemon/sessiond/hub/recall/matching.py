"""Where a text matches the concepts of a question, and the part of it that matches best."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from sessiond.hub.recall.candidates import Values
from sessiond.hub.recall.question import Concept
from sessiond.hub.recall.stemming import Stemmer
from sessiond.session.content import identifiers, search_words

WINDOW: Final = 400
"""The length of the part of a text in which matches count most, in characters."""
MAX_CHARS: Final = 20_000
"""The characters of a text that are examined."""
_MAX_OCCURRENCES: Final = 600


class Occurrence(NamedTuple):
    """A match in a text: where it is, the place of its concept in the question, and its value."""

    start: int
    end: int
    concept: int
    value: float


@dataclass(frozen=True, slots=True)
class Match:
    """The matches of a text: the best value of each concept in all of it, and in its best part, from `start` on."""

    best: dict[int, float]
    near: dict[int, float]
    start: int


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
        self._wanted = {*self._single, *(stem for stems, _, _ in self._joined for stem in stems)}

    def match(self, text: str) -> Match:
        """Return the matches of a text."""
        occurrences = self._occurrences(text[:MAX_CHARS])
        best: dict[int, float] = {}
        for it in occurrences:
            best[it.concept] = max(best.get(it.concept, 0.0), it.value)
        near, start = _best_part(occurrences)
        return Match(best, near, start)

    def _occurrences(self, text: str) -> list[Occurrence]:
        spans = list(search_words.token_spans(text))
        parts = [identifiers.parts(text[start:end]).lower().split() for _, start, end in spans]
        words = {word for word, _, _ in spans} | {part for it in parts for part in it}
        stems = self._stemmer.stems(words)
        places: dict[str, list[tuple[int, int]]] = {}
        for (word, start, end), inner in zip(spans, parts, strict=True):
            for it in (word, *inner):
                stem = stems[it]
                if stem is not None and stem in self._wanted:
                    places.setdefault(stem, []).append((start, end))
        found = [
            Occurrence(start, end, concept, value)
            for stem, matches in self._single.items()
            for concept, value in matches
            for start, end in places.get(stem, ())
        ]
        for term, concept, value in self._joined:
            found += _joined(places, term, concept, value)
        return sorted(found)[:_MAX_OCCURRENCES]


def _joined(
    places: dict[str, list[tuple[int, int]]], term: Sequence[str], concept: int, value: float
) -> list[Occurrence]:
    """Return the matches of a term of several words, which must follow each other closely."""
    found = []
    for start, end in places.get(term[0], ()):
        last = end
        for stem in term[1:]:
            following = [it for it in places.get(stem, ()) if last < it[0] <= last + 12]
            if not following:
                break
            last = following[0][1]
        else:
            found.append(Occurrence(start, last, concept, value))
    return found


def _best_part(occurrences: Sequence[Occurrence]) -> tuple[dict[int, float], int]:
    """Return the values of the concepts in the part of a text that is worth most, and its start."""
    most, near, start = 0.0, dict[int, float](), 0
    for first, it in enumerate(occurrences):
        values: dict[int, float] = {}
        for other in occurrences[first:]:
            if other.end > it.start + WINDOW:
                break
            values[other.concept] = max(values.get(other.concept, 0.0), other.value)
        worth = sum(values.values())
        if worth > most:
            most, near, start = worth, values, it.start
    return near, start
