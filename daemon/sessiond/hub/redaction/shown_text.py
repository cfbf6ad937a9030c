r"""The text that a reader sees: without colors and invisible characters, and with escapes and entities replaced.

A secret in colored output or in JSON with `\u0041` is as readable as any other. The finders search the shown text, and
`ShownText.original` returns the place in the text as it is written.
"""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_INVISIBLE: Final = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
_OTHER_FORMS: Final = (
    "\u2070-\u209c\u2100-\u214f\u2460-\u24ff\uff01-\uff5e\U0001d400-\U0001d7ff\U0001f100-\U0001f189"
)
"""Letters, digits and punctuation of ASCII in other forms: full width, circled, raised, letters of mathematics."""

_REPLACED: Final = re.compile(
    rf"[\x1b\x9b\\&%={_INVISIBLE}{_OTHER_FORMS}](?:"
    r"(?P<color>(?<=\x1b)\[[0-?]{0,64}[ -/]{0,4}[@-~]|(?<=\x9b)[0-?]{0,64}[@-~]"
    r"|(?<=\\)\\{0,7}(?:u001[bB]|x1[bB]|033|e)\[[0-9;]{0,64}m)"
    r"|(?<=\\)\\{0,7}(?:u\{(?P<braced>[0-9a-fA-F]{1,6})\}|u(?P<u>[0-9a-fA-F]{4})|x(?P<x>[0-9a-fA-F]{2}))"
    r"|(?<=&)(?:\#(?P<decimal>[0-9]{1,7})|\#[xX](?P<hex>[0-9a-fA-F]{1,6})|(?P<named>amp|lt|gt|quot|apos));"
    r"|(?<=%)(?P<percent>[0-9a-fA-F]{2})"
    r"|(?P<joined>(?<=\\)\r?\n[ \t]{0,40}+"  # a continued line, but not a line that ends like base64
    r"|(?<=[A-Za-z0-9]=)\r?\n(?=[A-Za-z0-9])(?!(?:export\ |[\w.-]{1,80}+[ \t]{0,4}+[=:])))"
    rf"|(?P<invisible>(?<=[{_INVISIBLE}]))|(?P<form>(?<=[{_OTHER_FORMS}])))"
)
_NAMED: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_INSIDE: Final = "\ue000"
"""Replaces a quote or a backslash that is written as an escape, because it does not end the value around it."""


@dataclass(frozen=True, slots=True)
class ShownText:
    """A text as a reader sees it.

    Attributes:
        text: The text that is shown.
        _shown: Offsets in `text` at which something was replaced, in order.
        _written: The offset in the text as it is written, for each of them.
    """

    text: str
    _shown: list[int]
    _written: list[int]

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Return the start and the end of a part of the shown text in the text as it is written."""
        at = bisect_right(self._shown, start) - 1
        first = self._written[at] + start - self._shown[at]
        at = bisect_left(self._shown, end)
        if at == len(self._shown) or self._shown[at] != end:
            at -= 1
        return first, self._written[at] + end - self._shown[at]


def shown_text(text: str) -> ShownText | None:
    """Return the text that a reader sees, or None if it is the same."""
    parts: list[str] = []
    shown, written = [0], [0]
    length = last = 0
    for found in _REPLACED.finditer(text):
        character = _character(found)
        if character is None:
            continue
        start, end = found.span()
        parts += (text[last:start], character)
        length += start - last
        if not character:
            shown.append(length)
            written.append(start)
        length += len(character)
        shown.append(length)
        written.append(end)
        last = end
    if not parts:
        return None
    return ShownText("".join((*parts, text[last:])), shown, written)


def _character(found: re.Match[str]) -> str | None:
    """Return the character that a reader sees in place of a match: "" for a color, None if it is not replaced."""
    kind = found.lastgroup
    if kind in ("color", "invisible", "joined"):
        return ""
    if kind == "form":
        return _in_ascii(found[0])
    if kind == "named":
        return _NAMED[found["named"]]
    assert kind is not None
    code = int(found[kind], 10 if kind == "decimal" else 16)
    if not 32 <= code < 0xD800:
        return None
    if kind in ("u", "x", "braced"):
        return _INSIDE if chr(code) in "\"'`\\" else _in_ascii(chr(code)) or chr(code)
    return chr(code) if code < 127 or kind != "percent" else None


@lru_cache(2_000)
def _in_ascii(character: str) -> str | None:
    """Return the ASCII character for another form of it, or None."""
    plain = unicodedata.normalize("NFKC", character)
    return plain if len(plain) == 1 and plain.isascii() else None
