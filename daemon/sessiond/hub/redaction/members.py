"""Finds the values in objects whose other members say that they are secret: `{"value": …, "name": "DB_PASSWORD"}`."""

import re
from collections.abc import Iterator
from typing import Any, Final

from sessiond.hub.redaction.assignments import assigned_secret
from sessiond.hub.redaction.spans import Span

VALUES: Final = frozenset(
    ("value", "result", "content", "default", "default_value", "defaultvalue", "secretstring", "plaintext")
)
"""The names of members that hold the value of another one, in lower case."""
_NAMES: Final = frozenset(("name", "key", "variable", "variable_name", "parameter", "field", "setting"))
"""The names of members that hold the name of a value, in lower case."""
_HINTS: Final = ("value", "random_password", "content\"", "default\"", "secretstring", "plaintext\"")  # fmt: skip
_QUOTE: Final = r"\\{0,3}+[\"']"
_VALUE: Final = re.compile(
    rf"(?:{'|'.join(sorted(VALUES, reverse=True))})(?:{_QUOTE})?\s{{0,4}}+[:=]\s{{0,4}}+"
    rf"(?:{_QUOTE}(?P<quoted>[^\"'\\\r\n]{{4,400}}+)"
    r"|(?P<bare>[^\s\"'{}\[\],]{6,400}+)(?=[ \t]{0,4}+(?:[\r\n,}]|\Z)))"
)
_NAME: Final = re.compile(
    rf"\b(?:{'|'.join(sorted(_NAMES, reverse=True))})(?:{_QUOTE})?\s{{0,4}}+[:=]\s{{0,4}}+(?:{_QUOTE})?"
    rf"(?P<name>[\w./-]{{2,80}}+)"
)
_OWNER: Final = re.compile(rf"(?P<name>[\w./-]{{2,80}}+)(?:{_QUOTE})?\s{{0,4}}+[:=]\s{{0,4}}+\Z")
_RANDOM: Final = "random_password"
"""The type of a resource of Terraform, whose value is in an object within it."""
_BEFORE, _BEHIND = 400, 200
"""The number of characters before and after a member in which the other members of its object are searched."""


def names_in(members: dict[str, Any]) -> list[str]:
    """Return the names that an object gives to its value: `name`, or a `type` that says it is a password."""
    return [
        value
        for name, value in members.items()
        if isinstance(value, str)
        and (name.lower() in _NAMES or (name == "type" and "password" in value.lower()))
    ]


def in_members(text: str, lowered: str) -> Iterator[Span]:
    """Yield the values whose object says in another member, or whose own name says, that they are secret.

    Args:
        text: The text.
        lowered: The text in lower case, with the same length.
    """
    if not any(hint in lowered for hint in _HINTS):
        return
    for found in _VALUE.finditer(lowered):
        group = "quoted" if found["quoted"] is not None else "bare"
        start, end = found.span(group)
        value = text[start:end]
        if value.isalpha() and value.islower():
            continue
        for name in _names(text, found.start(), found.end()):
            kind = assigned_secret(name, value)
            if kind is not None:
                yield Span(start, end, kind)
                break


def _names(text: str, start: int, end: int) -> Iterator[str]:
    """Yield the names that a value has in its object, and that of the object."""
    before = text[max(0, start - _BEFORE) : start]
    if _RANDOM in before:
        yield _RANDOM
    own = before.rfind("{") + 1
    for part in (
        before[max(own, before.rfind("}"), before.rfind("\n\n"), before.rfind("\n- ")) :],
        _rest(text, end),
    ):
        for found in _NAME.finditer(part.lower()):
            yield part[found.start("name") : found.end("name")]
    owner = _OWNER.search(before[max(0, own - 100) : own - 1]) if own else None
    if owner is not None:
        yield owner["name"]


def _rest(text: str, end: int) -> str:
    """Return the text after a value up to the end of its object."""
    rest = text[end : end + _BEHIND]
    return min((rest.partition(mark)[0] for mark in ("{", "}", "\n\n", "\n- ", "\n  - ")), key=len)
