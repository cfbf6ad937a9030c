"""The words that developers use for the same thing, from the file `synonyms.txt`."""

from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Final

from sessiond.hub.recall.stemming import stems_of_texts

_FILE: Final = "synonyms.txt"
MAX_TERM_WORDS: Final = 3


@dataclass(frozen=True, slots=True)
class Term:
    """A term of a group: its words as they are written, and their stems."""

    words: tuple[str, ...]
    stems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Synonyms:
    """Groups of terms, and the numbers of the groups that may stand for a term, by the stems of the term."""

    groups: tuple[tuple[Term, ...], ...]
    by_stems: dict[tuple[str, ...], tuple[int, ...]]


@lru_cache(1)
def load() -> Synonyms:
    """Return the synonyms of the file, which is read once."""
    text = resources.files(__package__).joinpath(_FILE).read_text(encoding="utf-8")
    return read(text)


def read(text: str) -> Synonyms:
    """Return the synonyms of a text, which `synonyms.txt` describes."""
    lines = [line.partition("#")[0] for line in text.splitlines()]
    written = [[_terms(part) for part in line.split(":")] for line in lines if line.strip()]
    stems = iter(stems_of_texts([" ".join(words) for parts in written for part in parts for words in part]))
    groups: list[tuple[Term, ...]] = []
    by_stems: dict[tuple[str, ...], tuple[int, ...]] = {}
    for parts in written:
        names, *of_kinds = [tuple(Term(tuple(words), next(stems)) for words in part) for part in parts]
        kinds = tuple(term for part in of_kinds for term in part)
        for askers, group in ((names, names + kinds), (kinds, names)):
            if askers:
                for term in askers:
                    by_stems[term.stems] = (*by_stems.get(term.stems, ()), len(groups))
                groups.append(group)
    return Synonyms(tuple(groups), by_stems)


def _terms(part: str) -> list[list[str]]:
    return [term.split() for term in part.split(",") if term.split()]
