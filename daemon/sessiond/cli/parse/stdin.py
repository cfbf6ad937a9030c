"""Text that a command reads from standard input, as it is asked to with a lone -."""

from __future__ import annotations

import sys

from sessiond.cli.parse.arguments import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sessiond.cli.parse.arguments import Given


def whole() -> str:
    """All of standard input, which has to be UTF-8."""
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is not UTF-8 (byte {error.start})") from error


def text(given: Given, option: str) -> str | None:
    """The value of an option, or what standard input has instead of a -; None when the option was left out."""
    value = given.text(option)
    return None if value is None else meant(value)


def meant(value: str) -> str:
    """A value, or what standard input has instead of a -, without the blanks round it. It can be read once."""
    if value != "-":
        return value
    said = whole().strip()
    if not said:
        raise UsageError("there is nothing on standard input for the -", "It is read once, for one -.")
    return said


def ids(given: Given) -> list[str]:
    """The last words of a command, or instead of a single - what standard input has, one on each line."""
    return whole().split() if given.rest == ["-"] else given.rest
