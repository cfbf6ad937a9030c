"""Reads settings of agents in JSON with comments and trailing commas. `setup/json_tree` edits such files in place."""

import re
from typing import Any, Final

import msgspec

_STRING: Final = r'"(?:[^"\\]|\\.)*+"'
_COMMENT: Final = re.compile(rf"{_STRING}|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_LAST_COMMA: Final = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)


def decoded(data: bytes) -> Any:
    """Return the value in a text. Raises `ValueError` for one that is not JSON also without comments."""
    text = data.decode("utf-8-sig")
    for unwanted in (_COMMENT, _LAST_COMMA):
        text = unwanted.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)
    try:
        return msgspec.json.decode(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
