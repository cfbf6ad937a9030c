"""Names in code within a text: their parts, and the distinct names themselves.

A tokenizer of words splits `retry_budget` but not `retryBudget`, so a question about a retry budget would miss it.
"""

import re
from typing import Final

_CAMEL: Final = re.compile(r"\b[A-Za-z0-9_]*(?:[a-z][A-Z]|[A-Za-z][0-9]|[A-Z]{2}[a-z])[A-Za-z0-9_]*\b")
"""A name whose parts are not all separated by other characters."""
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NAME: Final = re.compile(
    r"\b[A-Za-z0-9]+(?:[._/:-][A-Za-z0-9]+)+|\b[A-Za-z0-9_]*(?:[a-z][A-Z]|[A-Za-z][0-9]|[0-9][A-Za-z])[A-Za-z0-9_]*"
)
"""A word that people do not write in prose: it has a capital or a digit inside, or parts that a sign joins."""
_SHORTEST_PART: Final = 2
_LONGEST_NAME: Final = 80


def parts(text: str) -> str:
    """Return the parts of the names in a text such as `retryBudget`: `retry Budget`. Each name counts once."""
    names = dict.fromkeys(_CAMEL.findall(text))
    return " ".join(part for name in names for part in _PART.findall(name) if len(part) >= _SHORTEST_PART)


def names(text: str) -> str:
    """Return the distinct names, paths, versions and the like in a text, in lower case and separated by spaces."""
    found = dict.fromkeys(name.lower() for name in _NAME.findall(text) if len(name) <= _LONGEST_NAME)
    return " ".join(found)
