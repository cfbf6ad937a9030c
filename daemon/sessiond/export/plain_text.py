"""Recognizes Markdown that consists of plain paragraphs, which need not be parsed."""

import re
from typing import Final

_INLINE_MARKUP: Final = re.compile(
    r"[\\`*_\[<&~$\r\v\f\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
)
"""Characters of inline markup, and unusual white space, which the parser removes at some places."""
_BLOCK_MARKUP: Final = re.compile(r"\n(?:[ \t]*(?:[#>+=|:-]|\d{1,9}[.)])|[ \t]*\n(?: {4}| {0,3}\t))")
"""The beginning of a line that may be block markup, or of an indented block after an empty line."""


def is_plain(text: str) -> bool:
    """Return whether a Markdown parser finds only paragraphs of text in a text. Some such texts are not recognized."""
    return not _INLINE_MARKUP.search(text) and not _BLOCK_MARKUP.search(f"\n\n{text}")
