"""JSON with comments as a tree of spans, so that a text can be edited where one value stands.

Settings files of agents are written by hand: they may have comments, trailing commas and any layout. A library would
write the whole file again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from sessiond.error_text import TemplatedError

_TRIVIA: Final = re.compile(r"[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"')
_SCALAR: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")
_MAX_DEPTH: Final = 200


class InvalidJsonError(TemplatedError):
    """Raised when a text is not JSON, with or without comments. `line` and `column` begin at 1."""

    sentence = "line {line}, column {column}: {reason}"

    def __init__(self, text: str, at: int, reason: str) -> None:
        line = text.count("\n", 0, at) + 1
        super().__init__(line=line, column=at - (text.rfind("\n", 0, at) + 1) + 1, reason=reason)
        self.line = line


@dataclass
class JsonNode:
    """A value and where it stands.

    Attributes:
        start: The index of its first character.
        end: The index after its last character.
        value: A scalar; None for containers.
        children: The values in an object or array; None for scalars.
        keys: The key of each child of an object, and the index where the key begins; None for other values.
        commas: The index of the comma after each child; None for a child without one.
    """

    start: int
    end: int = 0
    value: Any = None
    children: list[JsonNode] | None = None
    keys: list[tuple[str, int]] | None = None
    commas: list[int | None] = field(default_factory=list)

    def is_object(self) -> bool:
        return self.keys is not None

    def is_array(self) -> bool:
        return self.children is not None and self.keys is None

    def member(self, key: str) -> int | None:
        """Return the place of the last member with this key, which is the one that programs use; None without one."""
        found = [place for place, (name, _) in enumerate(self.keys or ()) if name == key]
        return found[-1] if found else None

    def get(self, key: str) -> JsonNode | None:
        """Return the value of a member of an object; None without one."""
        place = self.member(key)
        return None if place is None or self.children is None else self.children[place]

    def child_start(self, place: int) -> int:
        """Return where a child begins: for a member of an object, where its key begins."""
        if self.keys is not None:
            return self.keys[place][1]
        return (self.children or [])[place].start

    def plain(self) -> Any:
        """Return the value as Python has it, without comments and layout."""
        if self.keys is not None:
            return {
                key: child.plain() for (key, _), child in zip(self.keys, self.children or (), strict=True)
            }
        return self.value if self.children is None else [child.plain() for child in self.children]


def skip_trivia(text: str, at: int) -> int:
    """Return the index of the next character that belongs to neither whitespace nor a comment."""
    while (found := _TRIVIA.match(text, at)) is not None:
        at = found.end()
    return at


def last_comment(text: str, start: int, end: int) -> tuple[int, bool]:
    """Return where the last comment between two indexes ends, and whether it goes to the end of its line.

    Without a comment, the result is `start` and False. Between the indexes there is nothing but trivia.
    """
    at, after, to_line_end = start, start, False
    while at < end and (found := _TRIVIA.match(text, at, end)) is not None:
        at = found.end()
        if found[0].startswith("/"):
            after, to_line_end = at, found[0].startswith("//")
    return after, to_line_end


def parse(text: str) -> JsonNode:
    """Return the only value of a text. Raises `InvalidJsonError`."""
    at = skip_trivia(text, 1 if text.startswith("\ufeff") else 0)
    root = _value(text, at, 0)
    if (end := skip_trivia(text, root.end)) != len(text):
        raise InvalidJsonError(text, end, "there is text after the value")
    return root


def _value(text: str, at: int, depth: int) -> JsonNode:
    opening = text[at : at + 1]
    if opening in ("{", "["):
        if depth == _MAX_DEPTH:
            raise InvalidJsonError(text, at, f"more than {_MAX_DEPTH} containers are nested")
        return _container(text, at, depth)
    if opening == '"':
        value, end = _string(text, at)
        return JsonNode(at, end, value)
    if (found := _SCALAR.match(text, at)) is None:
        raise InvalidJsonError(text, at, "a value is missing")
    return JsonNode(at, found.end(), msgspec.json.decode(found[0]))


def _string(text: str, at: int) -> tuple[str, int]:
    if (found := _STRING.match(text, at)) is None:
        raise InvalidJsonError(text, at, "a string is missing, has no end, or has an invalid character")
    try:
        return msgspec.json.decode(found[0].encode("utf-8", "surrogatepass")), found.end()
    except msgspec.DecodeError as error:
        raise InvalidJsonError(text, at, "a string has half a surrogate pair") from error


def _container(text: str, at: int, depth: int) -> JsonNode:
    node = JsonNode(at, children=[], keys=[] if text[at] == "{" else None)
    assert node.children is not None
    closing = "]" if node.keys is None else "}"
    at = skip_trivia(text, at + 1)
    while text[at : at + 1] != closing:
        if node.commas and node.commas[-1] is None:
            raise InvalidJsonError(text, at, f"a comma or {closing} is missing")
        if node.keys is not None:
            key, end = _string(text, at)
            node.keys.append((key, at))
            at = skip_trivia(text, end)
            if text[at : at + 1] != ":":
                raise InvalidJsonError(text, at, "a colon is missing")
            at = skip_trivia(text, at + 1)
        child = _value(text, at, depth + 1)
        node.children.append(child)
        at = skip_trivia(text, child.end)
        comma = at if text[at : at + 1] == "," else None
        node.commas.append(comma)
        if comma is not None:
            at = skip_trivia(text, at + 1)
    node.end = at + 1
    return node
