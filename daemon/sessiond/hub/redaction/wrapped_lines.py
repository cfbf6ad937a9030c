"""Joins the lines of a token that was too long for a terminal, as in text that was copied from one."""

import re
from typing import Final

from sessiond.hub.redaction.shown_text import ShownText

_NARROWEST: Final = 32
_WIDEST: Final = 400
"""Limits of the width of a terminal in columns."""
_NEXT: Final = re.compile(rf"\n(?P<rest>[A-Za-z0-9_.+/~-]{{1,{_WIDEST}}}+={{0,2}}+)(?=[\r\n]|\Z)")
"""A line that has only characters of tokens."""
_TAIL: Final = re.compile(r"[A-Za-z0-9_.+/~-]{1,64}+\Z")
_FILE: Final = re.compile(r"\w\.[a-z][a-z0-9]{0,3}\Z|\A--|/\Z")
_SHOWN: Final = 64
_LEAST: Final = 8
"""The minimum length of the beginning of a token, and the number of its characters that are examined."""
_NEAR: Final = 1_000
"""A line within this many characters of a token must not be wider than the lines of the token."""

_BLOCK: Final = 24
"""More lines of the same width than this are a file in base64 or a list of hashes rather than a token."""


def unwrapped(text: str) -> ShownText | None:
    """Return a text in which tokens that a terminal broke into lines are joined, or None if it has no such token.

    All lines of a token except the last one are as wide as the terminal.
    """
    parts: list[str] = []
    shown, written = [0], [0]
    length = last = 0
    for found in _NEXT.finditer(text):
        end = found.start() - text.startswith("\r", found.start() - 1)
        start = text.rfind("\n", max(0, end - _WIDEST), end) + 1
        width = end - start
        if not _NARROWEST <= width <= _WIDEST or len(found["rest"]) > width:
            continue
        begin = found.start("rest")
        if any(
            _is_in_block(text, start + offset * (width + 1), width + 1)
            for offset in (0, -_BLOCK // 2, -_BLOCK)
        ):
            continue
        rest, tail = found["rest"], _TAIL.search(text, max(start, end - _SHOWN), end)
        if tail is None or not _is_piece(rest) or _FILE.search(rest) is not None:
            continue
        if len(rest) < width and not (len(tail[0]) >= _LEAST and _is_piece(tail[0])):
            continue  # the end of a command or a sentence
        if any(len(line) > width for line in text[max(0, start - _NEAR) : begin + _NEAR].splitlines()[1:-1]):
            continue  # no terminal broke these lines
        parts.append(text[last:end])
        length += end - last
        shown += (length, length)
        written += (end, begin)
        last = begin
    if not parts:
        return None
    return ShownText("".join((*parts, text[last:])), shown, written)


def _is_piece(text: str) -> bool:
    """Return whether a text may be a piece of a token rather than a word or a line of dashes."""
    return any(character.isdigit() or character.isupper() for character in text)


def _is_in_block(text: str, place: int, width: int) -> bool:
    """Return whether the lines before and after a place have the same width."""
    ends = (place - 1, place - 1 + (_BLOCK // 2) * width, place - 1 + _BLOCK * width)
    return ends[0] >= 0 and all(text[end : end + 1] == "\n" for end in ends)
