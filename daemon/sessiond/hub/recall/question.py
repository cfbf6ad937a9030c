"""Reads the wordings of a question: the concepts that each of them names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from sessiond.hub.recall.stemming import Stemmer, related
from sessiond.hub.recall.stop_words import STOP_WORDS
from sessiond.hub.recall.synonyms import MAX_TERM_WORDS, Synonyms, Term
from sessiond.session.content import identifiers, search_words

MAX_CONCEPTS: Final = 24
"""The maximum number of words of one wording that count."""
MAX_SYNONYMS: Final = 24
"""The maximum number of synonyms of one word."""
SYNONYM_WEIGHT: Final = 0.7
"""The value of a synonym, compared with the word itself, if the word is in one group."""
DERIVED_WEIGHT: Final = 0.6
"""The value of a word that is derived from it."""
REPEATED: Final = 0.35
"""The increase of the value of a word for each further wording with it."""
SHORTEST_NAME: Final = 5
"""The minimum length of a word that is also searched within names in code."""


_ASKS_NUMBER: Final = re.compile(
    r"\b(?:how (?:many|much|long|often|far|large|big|old)|when|(?:at )?what (?:time|moment|size)|limit|max(?:imum)?"
    r"|min(?:imum)?|count|number|percentage|fraction|share|ttl|lifetime|threshold|quota|duration|interval|period|size|port"
    r"|version|rate|cap|schedule|retention|timeout)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Concept:
    """A word of the question, and the terms that may replace it.

    Attributes:
        word: The word as the question has it.
        stem: Its stem.
        derived: Words that may be derived from it, or it from them, each as its stem.
        synonyms: Other terms for it.
        synonym_weight: The value of a synonym. It is lower for a word of several groups, which may mean other things.
        weight: The value of the word, higher if several wordings have it.
    """

    word: str
    stem: str
    derived: tuple[Term, ...]
    synonyms: tuple[Term, ...]
    synonym_weight: float
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """The concepts that the wordings of a question ask for.

    Attributes:
        concepts: The concepts of all wordings.
        wordings: The concepts of each wording, by their place in `concepts`.
        names: Names in code.
        asks_number: Whether the answer has a number or a time.
    """

    concepts: tuple[Concept, ...]
    wordings: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]
    asks_number: bool


def read(wordings: Sequence[str], synonyms: Synonyms, stemmer: Stemmer) -> ParsedQuestion:
    """Return the concepts that the wordings ask for."""
    places: dict[str, int] = {}
    concepts: list[Concept] = []
    read_wordings: list[tuple[int, ...]] = []
    names: dict[str, None] = {}
    for wording in wordings:
        of_wording: list[int] = []
        for concept in _concepts(wording, synonyms, stemmer):
            if concept.stem not in places:
                places[concept.stem] = len(concepts)
                concepts.append(concept)
            of_wording.append(places[concept.stem])
        if of_wording:
            read_wordings.append(tuple(of_wording))
        names |= dict.fromkeys(_names(wording))
    for place, concept in enumerate(concepts):
        count = sum(place in wording for wording in read_wordings)
        concepts[place] = replace(concept, weight=1 + REPEATED * (count - 1))
    asks_number = any(_ASKS_NUMBER.search(wording) for wording in wordings)
    return ParsedQuestion(tuple(concepts), tuple(read_wordings), tuple(names)[:MAX_CONCEPTS], asks_number)


def _concepts(wording: str, synonyms: Synonyms, stemmer: Stemmer) -> list[Concept]:
    words = search_words.tokens(f"{wording} {identifiers.found_in(wording).parts}")
    stems = stemmer.stems([search_words.fold(word) for word in words])
    pairs = [(word, stem) for word in map(search_words.fold, words) if (stem := stems[word]) is not None]
    only_stop_words = all(word in STOP_WORDS for word, _ in pairs)
    found: dict[str, Concept] = {}
    for place, (word, stem) in enumerate(pairs):
        if stem in found or (word in STOP_WORDS and not only_stop_words):
            continue
        groups = _groups_at(place, [paired_stem for _, paired_stem in pairs], synonyms)
        derived = [
            form for form, own in stemmer.stems(related(stem)).items() if form == own
        ]  # otherwise the text is not a stem
        found[stem] = _concept(word, stem, derived, groups, synonyms)
        if len(found) == MAX_CONCEPTS:
            break
    return list(found.values())


def _concept(
    word: str, stem: str, derived: Sequence[str], groups: Sequence[int], synonyms: Synonyms
) -> Concept:
    terms: dict[tuple[str, ...], Term] = {}
    for number in groups:
        for term in synonyms.groups[number]:
            if (
                term.stems and stem not in term.stems
            ):  # otherwise the word itself matches, which has a higher value
                terms.setdefault(term.stems, term)
    weight = SYNONYM_WEIGHT / max(1, len(groups)) ** 0.5
    return Concept(
        word,
        stem,
        tuple(Term((form,), (form,)) for form in derived),
        tuple(terms.values())[:MAX_SYNONYMS],
        weight,
    )


def _groups_at(place: int, stems: Sequence[str], synonyms: Synonyms) -> list[int]:
    """Return the groups of the terms that the word at a place is in: the longest terms first."""
    groups: dict[int, None] = {}
    for length in range(MAX_TERM_WORDS, 0, -1):
        for start in range(max(0, place - length + 1), place + 1):
            term = tuple(stems[start : start + length])
            if len(term) == length:
                groups |= dict.fromkeys(synonyms.by_stems.get(term, ()))
    return list(groups)


def _names(wording: str) -> list[str]:
    """Return the names in a wording, and its longer words, which may be part of a name."""
    words = [search_words.fold(word) for word in search_words.tokens(wording)]
    longer = [
        character
        for character in words
        if len(character) >= SHORTEST_NAME and character.isascii() and character not in STOP_WORDS
    ]
    return [*identifiers.found_in(wording).names.split(), *longer]
