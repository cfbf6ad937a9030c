r"""Replaces lone surrogates in strings, so that UTF-8 can encode them.

Other programs and undecodable paths produce them: JSON may escape half of a surrogate pair (`"\ud83d"`), and Python
decodes it to a string that cannot be encoded. All text in responses, notifications and the index passes
`valid_unicode`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def valid_unicode(text: str) -> str:
    """Return the text with lone surrogates replaced by U+FFFD; both halves of a pair become their character."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def valid_json(value: Any) -> Any:
    """Return a JSON value with `valid_unicode` applied to all its strings and keys."""
    if isinstance(value, str):
        return valid_unicode(value)
    if isinstance(value, dict):
        return {valid_json(key): valid_json(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [valid_json(inner) for inner in value]
    return value
