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
    """The groups, and the numbers of the groups that each term is in, by the stems of the term."""

    groups: tuple[tuple[Term, ...], ...]
    by_stems: dict[tuple[str, ...], tuple[int, ...]]


@lru_cache(1)
def load() -> Synonyms:
    """Return the synonyms of the file, which is read once."""
    text = resources.files(__package__).joinpath(_FILE).read_text(encoding="utf-8")
    return read(text)


def read(text: str) -> Synonyms:
    """Return the synonyms of a text: one group a line, terms separated by commas, comments after `#`."""
    lines = [line.partition("#")[0] for line in text.splitlines()]
    written = [[term.split() for term in line.split(",") if term.split()] for line in lines if line.strip()]
    stems = iter(stems_of_texts([" ".join(words) for group in written for words in group]))
    groups = tuple(tuple(Term(tuple(words), next(stems)) for words in group) for group in written)
    by_stems: dict[tuple[str, ...], tuple[int, ...]] = {}
    for number, group in enumerate(groups):
        for term in group:
            by_stems[term.stems] = (*by_stems.get(term.stems, ()), number)
    return Synonyms(groups, by_stems)
