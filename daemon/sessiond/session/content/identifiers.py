"""Names in code within a text: their parts, and the distinct names themselves.

A tokenizer of words splits `retry_budget` but not `retryBudget`, so a question about a retry budget would miss it.
"""

import re
from typing import Final, NamedTuple

CAMEL: Final = re.compile(r"\b[A-Za-z0-9_]*(?:[a-z][A-Z]|[A-Za-z][0-9]|[A-Z]{2}[a-z])[A-Za-z0-9_]*\b")
"""A name whose parts are not all separated by other characters."""
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
NAME: Final = re.compile(
    r"\b[A-Za-z0-9]+(?:[._/:-][A-Za-z0-9]+)+|\b[A-Za-z0-9_]*(?:[a-z][A-Z]|[A-Za-z][0-9]|[0-9][A-Za-z])[A-Za-z0-9_]*"
)
"""A word that people do not write in prose: it has a capital or a digit inside, or parts that a sign joins."""
_CAMEL_MARK: Final = re.compile(r"[A-Z0-9](?:(?<=[a-z][A-Z])|(?<=[A-Za-z][0-9])|(?<=[A-Z][A-Z])(?=[a-z]))")
"""A place that every name of `CAMEL` has. It begins with one of few characters, so that it is found fast."""
_MARK: Final = re.compile(
    r"[A-Z0-9._/:-](?:(?<=[a-z][A-Z])|(?<=[A-Za-z][0-9])|(?<=[A-Z][A-Z])(?=[a-z])|(?<=[0-9][A-Z])|(?<=[0-9])(?=[a-z])"
    r"|(?<=[A-Za-z0-9][._/:-])(?=[A-Za-z0-9]))"
)
"""A place that every name has, by either pattern."""
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
    """Return the names in a text.

    No name has a blank. Most words between blanks have no mark of a name, and many occur twice. To look for marks in
    the different words takes a fraction of the time of applying the patterns to the text.
    """
    words = dict.fromkeys(text.replace("\n", " ").split(" "))
    marked = list(filter(_MARK.search, words))
    camel = dict.fromkeys(CAMEL.findall(" ".join(filter(_CAMEL_MARK.search, marked))))
    names = dict.fromkeys(
        [name.lower() for name in NAME.findall(" ".join(marked)) if len(name) <= _LONGEST_NAME]
    )
    parts = [part for part in _PART.findall(" ".join(camel)) if len(part) >= _SHORTEST_PART]
    return Identifiers(" ".join(parts), " ".join(names))
