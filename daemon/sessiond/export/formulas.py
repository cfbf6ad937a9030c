"""Converts LaTeX formulas to MathML, which browsers display without a script or a font of the page.

The converter does not escape text and passes style and link attributes on, so its elements are written here: only
listed elements and attributes, with all text escaped. A formula that cannot be converted is shown as its source.
"""

import re
from functools import lru_cache
from html import escape, unescape
from typing import Final
from xml.etree.ElementTree import Element

from latex2mathml import exceptions
from latex2mathml.converter import convert_to_element

_MAX_CHARACTERS: Final = 2_000
"""Characters of one formula. The converter needs about 20 us for each."""
_MAX_DEPTH: Final = 60
"""Nested elements of one formula. Browsers stop to nest at 512."""
_MAX_CACHED: Final = 256
_ELEMENTS: Final = frozenset((
    "math", "mrow", "mi", "mn", "mo", "ms", "mtext", "mspace", "mfrac", "msqrt", "mroot", "msub", "msup", "msubsup",
    "munder", "mover", "munderover", "mmultiscripts", "mprescripts", "none", "mtable", "mtr", "mtd", "mstyle",
    "menclose", "mpadded", "mphantom",
))  # fmt: skip
_ATTRIBUTES: Final = frozenset((
    "display", "displaystyle", "scriptlevel", "mathvariant", "mathcolor", "stretchy", "fence", "separator", "form",
    "accent", "accentunder", "largeop", "movablelimits", "symmetric", "linethickness", "columnalign", "rowalign",
    "columnspacing", "rowspacing", "columnlines", "rowlines", "notation", "width", "lspace", "rspace", "minsize",
    "maxsize",
))  # fmt: skip
_VALUE: Final = re.compile(r"(?!.*\d{4})[#\w.%+ -]{1,24}", re.ASCII)
"""Values of attributes: words, colors and lengths of at most three digits."""

_ERRORS: Final[tuple[type[Exception], ...]] = (
    *(var for var in vars(exceptions).values() if isinstance(var, type) and issubclass(var, Exception)),
    ValueError, LookupError, TypeError, AttributeError, RecursionError, StopIteration, RuntimeError,
)  # fmt: skip
"""The errors of the converter for an incomplete formula: its own errors, which have no common base, and Python's."""


@lru_cache(_MAX_CACHED)
def formula(source: str, *, is_block: bool) -> str:
    """Return a formula as MathML, or its source as code if the converter does not understand it."""
    source = source.strip()
    if len(source) <= _MAX_CHARACTERS:
        try:
            element = convert_to_element(source, display="block" if is_block else "inline")
            return _written(element, 0)
        except _ERRORS:
            pass
    return f"<code>{escape(source)}</code>"


def _written(element: Element, depth: int) -> str:
    if depth > _MAX_DEPTH:
        raise RecursionError
    text = escape(unescape(element.text or ""))
    inside = text + "".join(_written(child, depth + 1) for child in element)
    if element.tag not in _ELEMENTS:
        return inside
    attributes = "".join(
        f' {name}="{value}"'
        for name, value in element.attrib.items()
        if name in _ATTRIBUTES and _VALUE.fullmatch(value)
    )
    return f"<{element.tag}{attributes}>{inside}</{element.tag}>"
