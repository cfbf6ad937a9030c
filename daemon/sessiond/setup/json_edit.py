"""Adds children to containers in a JSON text, and removes them, without touching any other character.

A removal right after an addition returns the same text. An addition keeps the layout of its container: one child a
line, or all on one line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from sessiond.setup.json_tree import JsonNode, last_comment, skip_trivia

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_DEFAULT_INDENT: Final = "  "


def line_end(text: str) -> str:
    """Return the line end that the text uses first; a newline if it has none."""
    at = text.find("\n")
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


def indent_unit(text: str, root: JsonNode) -> str:
    """Return the whitespace of one level of indentation, as the first child of the root has it."""
    for place in range(len(root.children or ())):
        if (margin := _margin(text, root.child_start(place))) is not None:
            return margin or _DEFAULT_INDENT
    return _DEFAULT_INDENT


def added(text: str, root: JsonNode, path: Sequence[str], value: Any, key: str | None = None) -> str:
    """Return the text with a value after the last child of a container.

    Args:
        text: The document.
        root: The tree of the document.
        path: The keys that lead from the root to the container.
        value: The value, in Python's types.
        key: The key of the value, if the container is an object.
    """
    container = at_path(root, path)
    assert container is not None
    assert container.children is not None
    prefix = "" if key is None else f"{_scalar(key)}: "
    closing = container.end - 1
    if not container.children:
        return _added_first(text, root, container, prefix, value, len(path))
    last = len(container.children) - 1
    comma = container.commas[last]
    behind = container.children[last].end if comma is None else comma + 1
    point, _ = last_comment(text, behind, closing)
    margin = _margin(text, container.child_start(last))
    if margin is None and "\n" in text[behind:point] + text[point:closing]:
        margin = indent_unit(text, root) * (len(path) + 1)
    if margin is None:
        piece = " " + prefix + "".join(_compact(value))
    else:
        end = line_end(text)
        piece = end + margin + prefix + "".join(_laid_out(value, margin, indent_unit(text, root), end))
    if comma is not None:
        return text[:point] + piece + "," + text[point:]
    return text[:behind] + "," + text[behind:point] + piece + text[point:]


def _added_first(text: str, root: JsonNode, container: JsonNode, prefix: str, value: Any, depth: int) -> str:
    """Return the text with the first child of an empty container."""
    inner = text[container.start + 1 : container.end - 1]
    point, to_line_end = last_comment(text, container.start + 1, container.end - 1)
    one_line = "\n" not in text[root.start : root.end] and root is not container and not to_line_end
    if one_line:
        piece = prefix + "".join(_compact(value))
        return text[:point] + piece + text[point:]
    end, unit = line_end(text), indent_unit(text, root) if root is not container else _DEFAULT_INDENT
    margin = unit * (depth + 1)
    piece = end + margin + prefix + "".join(_laid_out(value, margin, unit, end))
    closes = "" if "\n" in inner[point - container.start - 1 :] else end + unit * depth
    return text[:point] + piece + closes + text[point:]


def removed(text: str, container: JsonNode, place: int, empty: str = "") -> str:
    """Return the text without one child of a container, its comma, and the whitespace before it.

    Args:
        text: The document.
        container: The container.
        place: The place of the child.
        empty: The content of the container when it had no child. It is put back if nothing but whitespace differs.
    """
    assert container.children is not None
    start, end = container.child_start(place), container.children[place].end
    comma = container.commas[place]
    before = container.start + 1
    if place:
        earlier = container.commas[place - 1]
        assert earlier is not None
        before = earlier + 1
    point, to_line_end = last_comment(text, before, start)
    rest = text[end:]
    if comma is not None:
        rest = text[end:comma].rstrip(" \t") + text[comma + 1 :]
    head = text[:point]
    if to_line_end and not rest.startswith(("\n", "\r")):
        head += line_end(text[point:])
    if comma is None and place:
        head = text[: before - 1] + head[before:]
    if len(container.children) == 1:
        inner = head[container.start + 1 :] + rest[: container.end - 1 - len(text)]
        if inner.split() == empty.split():
            return text[: container.start + 1] + empty + text[container.end - 1 :]
    if not place and point == start:
        rest = rest.lstrip(" ")
    return head + rest


def at_path(root: JsonNode, path: Sequence[str]) -> JsonNode | None:
    """Return the value to which the keys lead; None if there is none."""
    node: JsonNode | None = root
    for key in path:
        node = node.get(key) if node is not None else None
    return node


def has_comments(text: str, container: JsonNode) -> bool:
    """Return whether an empty container has anything but whitespace in it."""
    return bool(text[container.start + 1 : container.end - 1].strip(" \t\r\n"))


def document(value: Any, end: str = "\n") -> str:
    """Return a whole document, indented by two spaces, with a newline at its end."""
    return "".join(_laid_out(value, "", _DEFAULT_INDENT, end)) + end


def _margin(text: str, start: int) -> str | None:
    """Return the whitespace before a value that is the first of its line; None for another value."""
    line = text.rfind("\n", 0, start) + 1
    before = text[line:start]
    return before if line and not before.strip(" \t") and skip_trivia(text, line) == start else None


def _scalar(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _compact(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield "{"
        for place, (key, item) in enumerate(value.items()):
            yield (", " if place else "") + _scalar(key) + ": "
            yield from _compact(item)
        yield "}"
    elif isinstance(value, list):
        yield "["
        for place, item in enumerate(value):
            yield ", " if place else ""
            yield from _compact(item)
        yield "]"
    else:
        yield _scalar(value)


def _laid_out(value: Any, margin: str, unit: str, end: str) -> Iterator[str]:
    if not isinstance(value, dict | list) or not value:
        yield _scalar(value)
        return
    opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
    items = (
        [(f"{_scalar(key)}: ", member) for key, member in value.items()]
        if isinstance(value, dict)
        else [("", item) for item in value]
    )
    yield opening
    for place, (prefix, item) in enumerate(items):
        yield ("," if place else "") + end + margin + unit + prefix
        yield from _laid_out(item, margin + unit, unit, end)
    yield end + margin + closing
