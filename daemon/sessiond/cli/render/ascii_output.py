"""Output in ASCII, for a locale that has no other characters (`LC_ALL=C`)."""

from __future__ import annotations

import codecs
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from io import TextIOWrapper
    from typing import TextIO

_LIKE = {
    "…": "...", "–": "-", "—": "-", "‐": "-", "‘": "'", "’": "'", "“": '"', "”": '"', "•": "*", "·": "*", "→": "->",
    "←": "<-", "×": "x", "≤": "<=", "≥": ">=", "\u00a0": " ", "─": "-", "│": "|", "├": "|", "└": "`", "●": "*",
    "○": "o", "◀": "<",
}  # fmt: skip
"""Characters that have a similar text in ASCII."""

_SIMILAR = "sessiond.similar"
_ESCAPED = "sessiond.escaped"

_DATA = ("rpc", "schema", "export")
"""Commands whose output is always for programs."""


def is_wanted(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether the locale is C or POSIX.

    Python itself writes UTF-8 there (PEP 540). If LC_ALL is not set, it changes a C locale in the environment into a
    UTF-8 one (PEP 538).
    """
    chosen = next((value for name in ("LC_ALL", "LC_CTYPE", "LANG") if (value := environ.get(name))), "")
    return chosen in ("C", "POSIX")


def use(stream: TextIOWrapper) -> None:
    r"""Make a stream write ASCII: a similar text where there is one, else `\uXXXX`."""
    codecs.register_error(_SIMILAR, _similar)
    stream.reconfigure(encoding="ascii", errors=_SIMILAR)


def use_for_data(stream: TextIO, command: str) -> None:
    r"""Make a stream that `use` changed suitable for output that programs read.

    JSON is written with `\uXXXX`, which keeps the characters. An export to a file or a pipe is written as UTF-8.
    """
    if command != "export":
        codecs.register_error(_ESCAPED, _escaped)
        stream.reconfigure(errors=_ESCAPED)  # type: ignore[attr-defined]  # a TextIOWrapper
    elif not stream.isatty():
        stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[attr-defined]


def is_data(command: str, *, as_json: bool) -> bool:
    """Return whether the command `command` writes output for programs; `as_json`: it has the option `--json`."""
    return command in _DATA or as_json


def _similar(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    characters = error.object[error.start : error.end]
    return "".join(_LIKE.get(character) or as_json_escape(character) for character in characters), error.end


def _escaped(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return "".join(map(as_json_escape, error.object[error.start : error.end])), error.end


def as_json_escape(character: str) -> str:
    """Return a character as its escape in a JSON string; above U+FFFF these are two escapes."""
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\u{0xD7C0 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
