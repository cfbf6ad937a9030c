r"""Text that UTF-8 can hold: lone surrogates, which other programs and undecodable paths leave in a string, replaced.

JSON may escape half of a surrogate pair (`"\ud83d"`), and Python decodes it to a string that cannot be encoded. All
text that answers, notifications or the index hold passes `valid_unicode`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def valid_unicode(text: str) -> str:
    """The text with each lone surrogate replaced by U+FFFD; both halves of a pair become their character."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def valid_json(value: Any) -> Any:
    """A value of dicts, lists and strings, all of its strings and keys passed through `valid_unicode`."""
    if isinstance(value, str):
        return valid_unicode(value)
    if isinstance(value, dict):
        return {valid_json(key): valid_json(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [valid_json(inner) for inner in value]
    return value
