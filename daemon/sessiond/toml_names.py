"""Names in a list of a TOML file: `follow = ["codex"]` below `[agents]`. Other lines stay as they are.

The line is found by its look, and every result is checked with the TOML parser: if anything else than the list has
changed, the file is refused.
"""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any, Final

from sessiond.error_text import TemplatedError

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEADER: Final = re.compile(
    r"^[ \t]*\[[ \t]*([A-Za-z0-9_-]+)[ \t]*\][ \t]*(?:#[^\r\n]*)?(\r?\n|\Z)", re.MULTILINE
)
_ANY_HEADER: Final = re.compile(r"^[ \t]*\[", re.MULTILINE)


class UneditableTomlError(TemplatedError):
    """Raised when a list in a TOML file cannot be edited without risk to the rest of the file."""

    sentence = "{reason}"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


def names(text: str, table: str, key: str) -> list[str]:
    """Return the names in the list; none without one. Raises `UneditableTomlError`."""
    found = _parsed(text).get(table, {})
    value = found.get(key, []) if isinstance(found, dict) else None
    if not isinstance(value, list) or not all(isinstance(it, str) for it in value):
        raise UneditableTomlError(f"{table}.{key} is not a list of names")
    return value


def with_names(text: str, table: str, key: str, wanted: Sequence[str]) -> str:
    """Return the text with these names in the list, after those that are there. Raises `UneditableTomlError`."""
    return with_list(text, table, key, [*names(text, table, key), *wanted])


def with_list(text: str, table: str, key: str, wanted: Sequence[str]) -> str:
    """Return the text with these names in the list and no others. Names that are there keep their order.

    Raises:
        UneditableTomlError: The list cannot be edited safely.
    """
    now = names(text, table, key)
    left = [name for name in now if name in wanted]
    listed = [*left, *dict.fromkeys(name for name in wanted if name not in now)]
    if listed == now:
        return text
    return _checked(text, _written(text, table, key, listed), table, key, listed)


def without_names(text: str, original: str, table: str, key: str, unwanted: Sequence[str]) -> str:
    """Return the text without these names, and without the list or table if `original` had none and it is empty.

    Raises:
        UneditableTomlError: The list cannot be removed safely.
    """
    now = names(text, table, key)
    left = [name for name in now if name not in unwanted]
    before = _parsed(original).get(table, {})
    if left == now and (left or key in before or key not in _parsed(text).get(table, {})):
        return text
    if key in before and left == before[key]:
        start, end = _assignment(text, table, key)
        old_start, old_end = _assignment(original, table, key)
        return _checked(text, text[:start] + original[old_start:old_end] + text[end:], table, key, left)
    if left or key in before:
        return _checked(text, _written(text, table, key, left), table, key, left)
    start, end = _assignment(text, table, key)
    line = text.rfind("\n", 0, start) + 1
    shorter = text[:line] + text[_line_end(text, end) :]
    if table not in _parsed(original) and not _parsed(shorter).get(table):
        shorter = _without_header(shorter, table)
        if not original and not shorter.strip():
            shorter = ""
    return _checked(text, shorter, table, key, None)


def _written(text: str, table: str, key: str, wanted: list[str]) -> str:
    """Return the text with the list in place of the one that is there, or on a new line."""
    value = "[" + ", ".join(map(_quoted, wanted)) + "]"
    end = "\r\n" if "\r\n" in text else "\n"
    if key in _parsed(text).get(table, {}):
        start, stop = _assignment(text, table, key)
        return text[:start] + _relisted(text[start:stop], wanted, value) + text[stop:]
    header = next((it for it in _HEADER.finditer(text) if it[1] == table), None)
    if header is None:
        separator = "" if not text or text.endswith("\n") else end
        blank = end if text.strip() else ""
        return f"{text}{separator}{blank}[{table}]{end}{key} = {value}{end}"
    before = "" if header[2] else end
    return text[: header.end()] + f"{before}{key} = {value}{end}" + text[header.end() :]


def _relisted(value: str, wanted: list[str], fresh: str) -> str:
    """Return the value with the wanted names: edited in place where it has comments or several lines."""
    inner = value[1:-1]
    if "\n" not in inner and "#" not in inner:
        return fresh
    margin = re.search(r"\n[ \t]*", inner)
    for name in re.findall(r"""["']([a-z-]+)["']""", re.sub(r"#[^\n]*", "", inner)):
        if name not in wanted:
            inner = re.sub(rf"""(?:[ \t]*\r?\n)?[ \t]*["']{name}["'][ \t]*,?""", "", inner, count=1)
    more = [name for name in wanted if _quoted(name) not in inner and f"'{name}'" not in inner]
    if more:
        code = re.sub(r"#[^\n]*", lambda it: " " * len(it[0]), inner).rstrip()
        separator = "," if code and not code.endswith(",") else ""
        lines = "".join(f"{margin[0] if margin else ' '}{_quoted(name)}," for name in more)
        inner = (
            inner[: len(code)]
            + separator
            + inner[len(code) :].rstrip()
            + lines
            + ("\n" if "\n" in inner else "")
        )
    return f"[{inner}]"


def _quoted(name: str) -> str:
    """Return a name as a string of TOML."""
    plain = name.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(it if it.isprintable() else f"\\U{ord(it):08x}" for it in plain) + '"'


def _assignment(text: str, table: str, key: str) -> tuple[int, int]:
    """Return where the value of a key begins and ends. Raises `UneditableTomlError`."""
    header = next((it for it in _HEADER.finditer(text) if it[1] == table), None)
    if header is not None:
        following = _ANY_HEADER.search(text, header.end())
        end = following.start() if following is not None else len(text)
        found = re.compile(rf"^[ \t]*{re.escape(key)}[ \t]*=[ \t]*(?=\[)", re.MULTILINE).search(
            text, header.end(), end
        )
        if found is not None:
            return found.end(), _closing(text, found.end(), end)
    raise UneditableTomlError(f"{key} does not stand on a line of its own below [{table}]")


def _closing(text: str, at: int, end: int) -> int:
    """Return the index behind the bracket that closes a list of strings. Raises `UneditableTomlError`."""
    token = re.compile(r"""[^"'#\]]|"[^"\n]*"|'[^'\n]*'|#[^\n]*""")
    at += 1
    while at < end and text[at] != "]":
        if (found := token.match(text, at, end)) is None:
            break
        at = found.end()
    if text[at : at + 1] != "]":
        raise UneditableTomlError("the list has no end")
    return at + 1


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _without_header(text: str, table: str) -> str:
    header = next((it for it in _HEADER.finditer(text) if it[1] == table), None)
    if header is None or "#" in header[0]:
        return text
    before, after = text[: header.start()], text[header.end() :]
    if before.endswith(("\n\n", "\n\r\n")) and (not after or after.startswith(("\n", "\r\n"))):
        before = before[: before.rfind("\n", 0, len(before) - 1) + 1]
    return before + after


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UneditableTomlError(f"it is not TOML ({error})") from error


def _checked(before: str, after: str, table: str, key: str, wanted: list[str] | None) -> str:
    """Return the text after the edit if only the list has changed. Raises `UneditableTomlError`."""
    expected = _parsed(before)
    expected.setdefault(table, {}).pop(key, None)
    found = _parsed(after)
    value = found.setdefault(table, {}).pop(key, None)
    if found != expected or value != wanted:
        raise UneditableTomlError(f"{table}.{key} has a form that sessiond does not edit")
    return after
