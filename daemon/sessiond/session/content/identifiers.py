"""Names in code within a text: their parts, and the distinct names themselves.

A tokenizer of words splits `retry_budget` but not `retryBudget`, so a question about a retry budget would miss it.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

CAMEL: Final = re.compile(r"\b[A-Za-z0-9_]*(?:[a-z][A-Z]|[A-Za-z][0-9]|[A-Z]{2}[a-z])[A-Za-z0-9_]*\b")
"""A name whose parts are not all separated by other characters."""
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
NAME: Final = re.compile(
    r"\b[A-Za-z0-9]+(?:[._/:-][A-Za-z0-9]+)+|\b[A-Za-z0-9_]*(?:[a-z][A-Z]|[A-Za-z][0-9]|[0-9][A-Za-z])[A-Za-z0-9_]*"
)
"""A word that people do not write in prose: it has a capital or a digit inside, or parts that a sign joins."""
_MARK: Final = re.compile(
    r"[A-Z0-9._/:-](?:(?<=[a-z][A-Z])|(?<=[A-Za-z][0-9])|(?<=[A-Z][A-Z])(?=[a-z])|(?<=[0-9][A-Z])|(?<=[0-9])(?=[a-z])"
    r"|(?<=[A-Za-z0-9][._/:-])(?=[A-Za-z0-9]))"
)
"""A place that every name has, by either pattern. It begins with one of few characters, so that it is found fast."""
_BLANK: Final = re.compile(r"[ \n]")
_SHORTEST_PART: Final = 2
_LONGEST_NAME: Final = 80


class Identifiers(NamedTuple):
    """The names in a text.

    Attributes:
        parts: The parts of names such as `retryBudget`: `retry Budget`. Each name counts once.
        names: The distinct names, paths, versions and the like, in lower case and separated by spaces.
    """

    parts: str
    names: str


def found_in(text: str) -> Identifiers:
    """Return the names in a text, in one pass."""
    camel: dict[str, None] = {}
    names: dict[str, None] = {}
    for begin, end in _places(text):
        camel.update(dict.fromkeys(CAMEL.findall(text, begin, end)))
        names.update(
            (name.lower(), None) for name in NAME.findall(text, begin, end) if len(name) <= _LONGEST_NAME
        )
    parts = (part for name in camel for part in _PART.findall(name) if len(part) >= _SHORTEST_PART)
    return Identifiers(" ".join(parts), " ".join(names))


def _places(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the words, split at blanks, that have a mark of a name.

    Most words have none. To search a text for marks takes a tenth of the time of applying the patterns to every word.
    """
    end = 0
    for found in _MARK.finditer(text):
        place = found.start()
        if place >= end:
            begin = max(end - 1, text.rfind(" ", end, place), text.rfind("\n", end, place)) + 1
            blank = _BLANK.search(text, place)
            end = len(text) if blank is None else blank.start()
            yield begin, end
