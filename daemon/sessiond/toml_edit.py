"""Edits of TOML files: names in a list, `follow = ["codex"]` below `[agents]`, and what edits of a table need.

Other lines are unchanged. tomlkit keeps comments and layout, and every result is checked with the TOML parser: if
anything else than the list has changed, the file is refused.
"""

from __future__ import annotations

import contextlib
import re
import tomllib
from typing import TYPE_CHECKING, Any, Final

from sessiond.error_text import TemplatedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tomlkit import TOMLDocument
    from tomlkit.items import Array

_MARK: Final = "\0"  # no TOML file contains it
_GONE: Final = re.compile(
    r"""
    [ \t]*\r?\n[ \t]*"\\u0000"[ \t]*,?(?=[ \t]*\r?\n)       # alone on its line
    | (?:(?<=[\[,])[ \t]*\r?\n)?[ \t]*"\\u0000"[ \t]*,?     # before a comment, which may join a line without one
    """,
    re.VERBOSE,
)
"""A marked string in a list, with its comma."""


class UneditableTomlError(TemplatedError):
    """Raised when a TOML file cannot be edited without risk to the rest of the file."""

    sentence = "{reason}"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


def values(text: str) -> dict[str, Any]:
    """Return the values in a text. Raises `UneditableTomlError`."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UneditableTomlError(f"it is not TOML ({error})") from error


def header(text: str, form: str, start: int = 0) -> tuple[int, int] | None:
    """Return the ends of the line of the first header of a form. `form` is a pattern for the text after `[`.

    A line that only looks like a header is inside a string or a list: the text before it is not TOML.
    """
    for found in re.compile(rf"^[ \t]*\[[ \t]*{form}[^\r\n]*(?:\r?\n|\Z)", re.MULTILINE).finditer(
        text, start
    ):
        with contextlib.suppress(UneditableTomlError):
            values(text[: found.start()])
            return found.span()
    return None


def appendix(text: str, lines: Iterable[str]) -> str:
    """Return what adds lines to the end of a text: a blank line if there is any text, and the lines."""
    end = _line_end(text)
    separator = "" if not text or text.endswith("\n") else end
    return separator + (end if text.strip() else "") + end.join(lines) + end


def without_blank_line(text: str) -> str:
    """Return a text without the blank line at its end, if there is one."""
    return re.sub(r"(?<=\n)\r?\n\Z", "", text)


def names(text: str, table: str, key: str) -> list[str]:
    """Return the names in the list; none without one. Raises `UneditableTomlError`."""
    found = values(text).get(table, {})
    value = found.get(key, []) if isinstance(found, dict) else None
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UneditableTomlError(f"{table}.{key} is not a list of names")
    return value


def with_names(text: str, table: str, key: str, wanted: Sequence[str]) -> str:
    """Return the text with these names in the list, after the present names. Raises `UneditableTomlError`."""
    return with_list(text, table, key, [*names(text, table, key), *wanted])


def with_list(text: str, table: str, key: str, wanted: Sequence[str]) -> str:
    """Return the text with these names in the list and no others. Present names keep their order.

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
    before = values(original).get(table, {})
    if left == now and (left or key in before or key not in values(text).get(table, {})):
        return text
    if left or key in before:
        if left == before.get(key):
            before_it, section, after_it = _section(text, table, key)
            section[table][key] = _section(original, table, key)[1][table][key]
            return _checked(text, before_it + section.as_string() + after_it, table, key, left)
        return _checked(text, _written(text, table, key, left), table, key, left)
    start, section, end = _section(text, table, key)
    del section[table][key]
    shorter = start + section.as_string() + end
    if table not in values(original) and not values(shorter).get(table):
        shorter = _without_header(shorter, table)
        if not original and not shorter.strip():
            shorter = ""
    return _checked(text, shorter, table, key, None)


def _written(text: str, table: str, key: str, wanted: list[str]) -> str:
    """Return the text with the list in place of the present list, or on a new line."""
    import tomlkit

    try:
        "".join(wanted).encode()
    except UnicodeEncodeError as error:
        raise UneditableTomlError(f"a name for {table}.{key} is not UTF-8") from error
    if key in values(text).get(table, {}):
        before, section, after = _section(text, table, key)
        section[table][key] = _relisted(section[table][key], wanted)
        return before + section.as_string() + after
    line = f"{key} = {_relisted(tomlkit.array(), wanted).as_string()}"
    place = _own_header(text, table)
    if place is None:
        return text + appendix(text, (f"[{table}]", line))
    end = _line_end(text)
    before = text[: place[1]]
    return f"{before}{'' if before.endswith(end) else end}{line}{end}{text[place[1] :]}"


def _relisted(array: Array, wanted: list[str]) -> Array:
    """Return the list with the wanted names. A list on several lines stays one, and comments stay."""
    import tomlkit

    margin = re.search(r"\r?\n[ \t]*", array.as_string())
    if margin is None:
        array = tomlkit.array()
        array.extend(wanted)
        return array
    for name in [item for item in array if item not in wanted]:  # `remove` takes comments along
        array[array.index(name)] = _MARK
        array = tomlkit.array(_GONE.sub("", array.as_string()))
    for name in [name for name in wanted if name not in array]:  # `append` may continue a comment
        array.add_line(name, indent=margin[0], newline=False)
    return array


def _without_header(text: str, table: str) -> str:
    place = _own_header(text, table)
    if place is None or "#" in text[slice(*place)]:
        return text
    before, after = text[: place[0]], text[place[1] :]
    if not after or after.startswith(("\n", "\r\n")):
        before = without_blank_line(before)
    return before + after


def _section(text: str, table: str, key: str) -> tuple[str, TOMLDocument, str]:
    """Return the lines of a table as a document, and the text before and after it. Raises `UneditableTomlError`.

    tomlkit gets no other lines: it moves tables that stand between parts of another table.
    """
    import tomlkit  # takes 45 ms, and only an edit needs it

    place = _own_header(text, table)
    if place is not None:
        following = header(text, "", place[1])
        end = len(text) if following is None else following[0]
        with contextlib.suppress(tomlkit.exceptions.TOMLKitError, RecursionError):
            section = tomlkit.parse(text[place[0] : end])
            if key in section[table]:
                return text[: place[0]], section, text[end:]
    raise UneditableTomlError(f"{key} does not stand on a line of its own below [{table}]")


def _own_header(text: str, table: str) -> tuple[int, int] | None:
    return header(text, rf"{re.escape(table)}[ \t]*\]")


def _checked(before: str, after: str, table: str, key: str, wanted: list[str] | None) -> str:
    """Return the text after the edit if only the list has changed. Raises `UneditableTomlError`."""
    expected = values(before)
    expected.setdefault(table, {}).pop(key, None)
    found = values(after)
    value = found.setdefault(table, {}).pop(key, None)
    if found != expected or value != wanted:
        raise UneditableTomlError(f"{table}.{key} has a form that sessiond does not edit")
    return after


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
